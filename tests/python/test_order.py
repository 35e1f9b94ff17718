# SPDX-License-Identifier: Apache-2.0
"""Choices, and the order of an epoch beside the second implementation."""

import collections
import math
import pickle
import unittest

import hpdsl
import order_model
from common import Packed


def chunks_of(ds):
    """Samples of each chunk."""
    counts = collections.Counter(ds.members(n)[0].chunk
                                 for n in range(len(ds)))
    return [counts[c] for c in range(ds.counts.chunks)]


class Orders(Packed):
    def test_positions_agree_with_the_model(self):
        ds = hpdsl.Dataset(self.packed)
        samples = chunks_of(ds)
        for seed, epoch, W, L, K, D in ((0, 0, 16, 8, 32, 1),
                                        (7, 3, 2, 3, 5, 1),
                                        (1 << 63, 1, 1, 6, 4, 3),
                                        (2, 9, 7, 1, 1000, 1)):
            order = hpdsl.Order(seed=seed, epoch=epoch, window=W, lanes=L,
                                run=K, parts=D)
            want = order_model.epoch_of(samples, None, seed, epoch, W, L, K, D)
            e = hpdsl.Epoch(ds, order)
            self.assertEqual([e[p] for p in range(len(e))], want)
            self.assertEqual(list(e), want)
            self.assertEqual(e[-1], want[-1])
            self.assertEqual(list(pickle.loads(pickle.dumps(e))), want)

    def test_steps_agree_with_the_model(self):
        ds = hpdsl.Dataset(self.packed)
        e = hpdsl.Epoch(ds, hpdsl.Order(run=6, step_runs=4))
        self.assertEqual((e.batch, e.order.window, e.order.lanes),
                         (24, 16, 8))
        for end in "mask", "repeat", "drop":
            self.assertEqual(e.steps(end),
                             order_model.steps_of(len(e), 6, 4, end))
            for ranks in 1, 2, 4:
                for rank in range(ranks):
                    for step in range(e.steps(end)):
                        want = order_model.places_of(len(e), 6, 4, end, step,
                                                     rank, ranks)
                        got = e.step(step, rank=rank, ranks=ranks, end=end)
                        self.assertEqual(
                            got, [(p, e[p], real) for p, real in want])

    def test_weights_agree_with_the_model(self):
        ds = hpdsl.Dataset(self.packed)
        weights = [(n % 5) * 0.75 for n in range(len(ds))]
        choice = hpdsl.Choice(ds, sample_weight=weights)
        units = [int(w * order_model.ONE) for w in weights]
        want = order_model.epoch_of(chunks_of(ds), units, 4, 2, 16, 8, 32, 1)
        e = hpdsl.Epoch(ds, hpdsl.Order(seed=4, epoch=2), choice)
        self.assertEqual(list(e), want)

    def test_cost(self):
        ds = hpdsl.Dataset(self.packed)
        cost = hpdsl.Epoch(ds).cost()
        self.assertGreater(cost.window_bytes, 0)
        self.assertGreaterEqual(cost.job_bytes, cost.window_bytes)
        self.assertGreaterEqual(cost.median_read, cost.smallest_read)
        self.assertGreaterEqual(cost.reads, 7)
        self.assertFalse(math.isnan(cost.mates_expected))

    def test_errors(self):
        ds = hpdsl.Dataset(self.packed)
        e = hpdsl.Epoch(ds)
        for position in 200, -201:
            with self.assertRaises(hpdsl.RangeError):
                e[position]
        for step in 1, -1:
            with self.assertRaisesRegex(hpdsl.RangeError, f"no step {step},"):
                e.step(step)
        large = hpdsl.Epoch(ds, hpdsl.Order(run=1 << 31, step_runs=1 << 31))
        with self.assertRaisesRegex(hpdsl.UsageError, "too many"):
            large.step(0)
        for call, text in ((lambda: e["x"], "integer"),
                           (lambda: hpdsl.Order(seed=1.5), "order: seed: .*"),
                           (lambda: hpdsl.Epoch(ds, {}), "hpdsl.Order"),
                           (lambda: hpdsl.Epoch(ds, choice=[1]),
                            "choice: wanted hpdsl.Choice, not list"),
                           (lambda: hpdsl.Epoch("packed"), "hpdsl.Dataset")):
            with self.assertRaisesRegex(TypeError, text):
                call()
        for call in (lambda: e.step(0, ranks=3),
                     lambda: e.step(0, rank=2, ranks=2),
                     lambda: e.steps("never"),
                     lambda: hpdsl.Order(seed=-1),
                     lambda: hpdsl.Order(run=1 << 32),
                     lambda: hpdsl.Epoch(ds, hpdsl.Order(lanes=3, parts=2))):
            with self.assertRaises(hpdsl.UsageError) as raised:
                call()
            self.assertIsInstance(raised.exception, ValueError)
        with self.assertRaisesRegex(hpdsl.UsageError, "3 ranks do not divide a "
                                    r"step of 8 runs \(uneven: "):
            e.step(0, ranks=3)
        self.assertEqual(len(e.step(0, rank=1, ranks=3, uneven=True)), 96)


class Choices(Packed):
    def chosen(self, ds, **options):
        choice = hpdsl.Choice(ds, **options)
        got = {n for n in range(-2, len(ds) + 2) if n in choice}
        self.assertEqual(len(choice), len(got))
        self.assertEqual(set(hpdsl.Epoch(ds, choice=choice)), got)
        again = pickle.loads(pickle.dumps(choice))
        self.assertEqual(again.digest, choice.digest)
        return got

    def test_by_label(self):
        ds = hpdsl.Dataset(self.packed)
        zero = ds.class_names.index("class0")
        want = {n for n, of in enumerate(ds.labels) if of == zero}
        self.assertEqual(self.chosen(ds, labels=["class0"]), want)
        self.assertEqual(self.chosen(ds, labels=[zero]), want)
        self.assertEqual(self.chosen(ds, labels=[None, zero, -1]), want)
        others = [of for of in range(3) if of != zero]
        self.assertEqual(self.chosen(ds, labels=others),
                         set(range(200)) - want)

    def test_by_pattern_and_number(self):
        ds = hpdsl.Dataset(self.packed)
        keys = [ds.key(n) for n in range(200)]
        self.assertEqual(
            self.chosen(ds, include=["*.txt"]),
            {n for n, key in enumerate(keys) if self.keys[key] % 3 == 0})
        self.assertEqual(
            self.chosen(ds, include=["class1/**"], exclude=["*7.*"]),
            {n for n, key in enumerate(keys)
             if key.startswith("class1/") and not key.endswith("7")})
        self.assertEqual(self.chosen(ds, samples=(n for n in [5, 5, 0, 199])),
                         {0, 5, 199})
        self.assertEqual(
            self.chosen(ds, samples=range(50), labels=["class2"]),
            {n for n in range(50) if keys[n].startswith("class2")})

    def test_splits(self):
        ds = hpdsl.Dataset(self.packed)
        train = self.chosen(ds, split=(0, 0.8), split_seed=3)
        val = self.chosen(ds, split=(0.8, 1), split_seed=3)
        self.assertEqual((len(train), len(val)), (160, 40))
        self.assertEqual(train | val, set(range(200)))
        self.assertNotEqual(train, self.chosen(ds, split=(0, 0.8)))

    def test_weights(self):
        ds = hpdsl.Dataset(self.packed)
        two = ds.class_names.index("class2")
        counts = collections.Counter(hpdsl.Epoch(ds, choice=hpdsl.Choice(
            ds, class_weight={"class2": 3, "class0": 0})))
        for n, of in enumerate(ds.labels):
            want = 3 if of == two else int(ds.class_names[of] == "class1")
            self.assertEqual(counts[n], want)
        few = [n for n, of in enumerate(ds.labels) if of == two][:20]
        some = hpdsl.Choice(ds, balanced=True, samples=few + [
            n for n, of in enumerate(ds.labels) if of == 1 - min(two, 1)][:60])
        seen = collections.Counter()
        for epoch in range(20):
            for n in hpdsl.Epoch(ds, hpdsl.Order(epoch=epoch), some):
                seen[ds.labels[n]] += 1
        a, b = seen.values()
        self.assertAlmostEqual(a / b, 1, delta=0.2)
        self.assertAlmostEqual(a + b, 20 * len(some), delta=100)

    def test_errors(self):
        ds = hpdsl.Dataset(self.packed)
        for options, text in (
                ({"labels": ["class9"]}, "no class 'class9'"),
                ({"labels": [3]}, "no class 3, there are 3"),
                ({"labels": []}, "labels"),
                ({"samples": []}, "samples"),
                ({"samples": [200]}, "200"),
                ({"split": (0, 0)}, "split"),
                ({"split": (0.5, 0.2)}, "split"),
                ({"split": (0, 1.5)}, "split"),
                ({"split": (0, 1e-12)}, "less than a billionth"),
                ({"split": 0.9}, "wanted .a, b."),
                ({"split_seed": -1}, "split_seed -1"),
                ({"split_seed": 1 << 64}, "split_seed"),
                ({"samples": [-1]}, "samples"),
                ({"include": ["*.gif"]}, ""),
                ({"balanced": True, "class_weight": {0: 2}}, ""),
                ({"sample_weight": [1.0]}, "1 for 200 samples"),
                ({"class_weight": {0: -1}}, "weight"),
                ({"class_weight": {0: float("nan")}}, "weight"),
                ({"class_weight": {"class2": 4e9}},
                 "class 2: no weight may be above 2147483648"),
                ({"sample_weight": [1.0] * 199 + [2.0 ** 31 + 1]},
                 "sample 199: no weight")):
            with self.subTest(options), self.assertRaisesRegex(
                    hpdsl.UsageError, text):
                hpdsl.Choice(ds, **options)
        for options in ({"include": "*.bin"}, {"samples": [1.5]},
                        {"labels": "12"}, {"labels": [1.5]}):
            with self.assertRaises(TypeError):
                hpdsl.Choice(ds, **options)

    def test_outlives_what_it_was_made_of(self):
        ds = hpdsl.Dataset(self.packed)
        choice = hpdsl.Choice(ds, samples=[1, 2])
        epoch = hpdsl.Epoch(ds, choice=choice)
        ds.close()
        self.assertEqual(sorted(epoch), [1, 2])
        del choice
        self.assertEqual(sorted(epoch), [1, 2])


if __name__ == "__main__":
    unittest.main()
