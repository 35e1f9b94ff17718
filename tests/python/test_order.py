# SPDX-License-Identifier: Apache-2.0
"""Choices, and the order of an epoch beside the second implementation."""

import collections
import fractions
import inspect
import itertools
import math
import os
import pathlib
import pickle
import re
import unittest
from unittest import mock

import hpdsl
from hpdsl._job import Dealt
from common import Packed, make_tree, pack
from hpdsl import _called
from hpdsl._called import _TORCHS, no_argument


# hpdsl-order(7): 23 samples in chunks of 6, 6, 6 and 5.
VECTORS = (
    ({"batch": 4, "lanes": 4, "piece": 2, "windows": 1}, "7 18 9 20 8 13 10 17 "
     "15 14 1 0 16 21 2 6 3 22 11 19 4 5 12"),
    ({"seed": 42, "epoch": 1, "batch": 4, "lanes": 4, "piece": 2,
      "windows": 2}, "15 2 22 0 16 19 12 11 13 20 5 18 14 3 6 21 7 4 9 17 8 1 "
     "10"),
    ({"seed": 42, "batch": 2, "lanes": 4, "piece": 2, "windows": 1}, "11 22 8 6 "
     "18 0 13 1 9 15 14 2 10 16 5 19 3 20 12 17 4 21 7"),
    ({"seed": 42, "batch": 6, "lanes": 2, "piece": 3, "windows": 1}, "12 13 14 "
     "4 5 0 9 10 11 1 2 15 20 21 22 16 17 18 6 7 8 19 3"),
    ({"seed": (1 << 64) - 1, "epoch": 7, "batch": 5, "lanes": 5, "piece": 3,
      "windows": 2, "parts": 2}, "16 2 13 7 9 17 3 14 11 10 0 12 15 22 18 4 19 "
     "20 6 8 5 1 21"),
    ({"seed": 3, "batch": 4, "lanes": 4, "piece": 1, "windows": 1,
      "parts": 3}, "18 22 6 15 19 21 7 12 3 2 10 13 0 4 11 17 5 20 8 14 1 16 "
     "9"),
)
WEIGHTED = ("11 19 19 11 13 15 1 2 3 14 5 3 6 19 2 17 7 20 15 18 9 21 7 7 3 22 "
            "14 10 6 18 15 10 11")


class Orders(Packed):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.small = cls._folder.name + "/small"
        make_tree(cls.small + "-tree", 23)
        pack(cls.small + "-tree", cls.small, "--chunks=4", "--shuffle=none")

    def test_vectors_of_the_page(self):
        ds = hpdsl.Dataset(self.small)
        for given, want in VECTORS:
            want = list(map(int, want.split()))
            e = hpdsl.Epoch(ds, hpdsl.Order(**given))
            self.assertEqual([e[p] for p in range(len(e))], want)
            self.assertEqual(list(e), want)
            self.assertEqual(e[-1], want[-1])
            self.assertEqual([e.where(n) for n in want], list(range(23)))
            self.assertEqual(list(pickle.loads(pickle.dumps(e))), want)

    def test_weights(self):
        ds = hpdsl.Dataset(self.small)
        choice = hpdsl.Choice(ds, sample_weight=[0, 1, 2, 3] * 5 + [1] * 3)
        e = hpdsl.Epoch(ds, hpdsl.Order(seed=5, batch=4, lanes=4, piece=2,
                                        windows=1), choice)
        self.assertEqual(list(e), list(map(int, WEIGHTED.split())))
        for number, times in collections.Counter(e).items():
            self.assertEqual(
                sorted(e.where(number, k) for k in range(times)),
                [p for p in range(len(e)) if e[p] == number])
            self.assertIsNone(e.where(number, times))
        self.assertIsNone(e.where(0))

    def test_steps_are_positions(self):
        """Slot g of step s is position s G + g; what fills the last step up is
        what came before in its lane, or where nothing did, position g mod N."""
        ds = hpdsl.Dataset(self.packed)
        for given in ({"batch": 24}, {"batch": 24, "lanes": 48},
                      {"batch": 256}, {"batch": 24, "shuffle": False}):
            e = hpdsl.Epoch(ds, hpdsl.Order(**given))
            G, N = e.batch, len(e)
            m = max(1, e.order.lanes // G)
            self.assertEqual(e.steps("drop"), N // G)
            for end in "mask", "repeat":
                self.assertEqual(e.steps(end), -(-N // G))
                for step in range(e.steps(end)):
                    want = []
                    for g in range(G):
                        p, real = step * G + g, step * G + g < N
                        if not real:
                            p = p - m * G if p >= m * G else g % N
                        want.append((p, e[p], real or end == "repeat"))
                    for ranks in 1, 2, 4, 8:
                        got = [e.step(step, rank=r, ranks=ranks, end=end)
                               for r in range(ranks)]
                        self.assertEqual({len(of) for of in got}, {G // ranks})
                        self.assertEqual(sum(got, []), want)

    def test_short_steps_of_the_page(self):
        ds = hpdsl.Dataset(self.small)
        page = pathlib.Path(__file__).parents[2] / "man/hpdsl-order.7"
        block = page.read_text().split('.\\" SHORT\n.Bd -literal -compact\n')[1]
        rows = block.split("\n.Ed")[0].replace("\n| ", " | ").replace(
            "21\n22", "21 22").splitlines()
        self.assertEqual(len(rows), 11)
        for row in rows:
            numbers, want = row.split(": ")
            batch, lanes, ranks = map(int, numbers.split())
            e = hpdsl.Epoch(ds, hpdsl.Order(batch=batch, lanes=lanes))
            self.assertEqual(want, " | ".join(
                " ".join(f"{p.position}" if p.real else f"({p.position})"
                         for p in e.step(23 // batch, rank=rank, ranks=ranks,
                                         end="short", uneven=True))
                for rank in range(ranks)))

    def test_what_counts_of_a_step_on_all_ranks(self):
        """As Batch.whole has it, whatever the end and the ranks."""
        ds = hpdsl.Dataset(self.packed)
        for end, ranks, batch in itertools.product(
                ("mask", "short", "repeat", "drop"), (1, 2, 3, 5),
                (5, 9, 33, 256)):
            e = hpdsl.Epoch(ds, hpdsl.Order(batch=batch))
            dealt = Dealt.of(e, end, ranks)
            for step in range(e.steps(end)):
                places = [e.step(step, rank=rank, ranks=ranks, end=end,
                                 uneven=True) for rank in range(ranks)]
                real = [sum(p.real for p in of) for of in places]
                self.assertEqual(sum(real), dealt.whole(step))
                self.assertTrue(all(places))
                # the mean over ranks of their shares is the step's mean
                share = [ranks * fractions.Fraction(n, dealt.whole(step))
                         for n in real]
                self.assertEqual(sum(share), ranks)
                if end == "short" and dealt.whole(step) >= ranks:
                    self.assertTrue(all(real))

    def test_stored_order(self):
        ds = hpdsl.Dataset(self.packed)
        e = hpdsl.Epoch(ds, hpdsl.Order(epoch=3, shuffle=False))
        self.assertEqual(list(e), list(range(200)))
        self.assertEqual((e.order.shuffle, e.where(7)), (False, 7))

    def test_defaults_are_those_of_the_job(self):
        ds = hpdsl.Dataset(self.packed)
        one = hpdsl.Epoch(ds)
        self.assertEqual(one.batch, 64)
        self.assertTrue(all(getattr(one.order, name) for name in (
            "batch", "lanes", "piece", "windows", "parts")))
        self.assertEqual(hpdsl.Epoch(ds, batch_size=16, ranks=4).batch, 64)
        self.assertEqual(list(hpdsl.Epoch(ds, one.order, ranks=4)), list(one))

    def test_cost(self):
        ds = hpdsl.Dataset(self.packed)
        e = hpdsl.Epoch(ds, hpdsl.Order(batch=24, lanes=12, piece=2))
        cost = e.cost()
        self.assertEqual(cost.steps, e.steps())
        self.assertGreaterEqual(cost.reads, 7)
        self.assertGreaterEqual(cost.read_bytes, cost.wanted_bytes)
        self.assertGreater(cost.wanted_bytes, 0)
        self.assertGreaterEqual(cost.held_peak, cost.first_batch)
        self.assertFalse(math.isnan(cost.mates))
        halves = [e.cost(rank=r, ranks=2, memory="16M") for r in range(2)]
        self.assertEqual(sum(c.lanes for c in halves), e.order.lanes)
        some = e.cost(first=2, steps=3)
        self.assertEqual(some.steps, 3)
        self.assertLess(some.wanted_bytes, cost.wanted_bytes)
        for given in ({"memory": "1M"}, {"ranks": 7}, {"memory": "x"},
                      {"end": "never"}):
            with self.assertRaises(hpdsl.UsageError):
                e.cost(**given)
        with self.assertRaises(hpdsl.RangeError):
            e.cost(first=e.steps() + 1)

    def test_errors(self):
        ds = hpdsl.Dataset(self.packed)
        e = hpdsl.Epoch(ds, batch_size=200)
        for position in 200, -201:
            with self.assertRaises(hpdsl.RangeError):
                e[position]
        for sample in 200, -1:
            with self.assertRaises(hpdsl.RangeError):
                e.where(sample)
        for step in 1, -1:
            with self.assertRaisesRegex(hpdsl.RangeError, f"no step {step},"):
                e.step(step)
        large = hpdsl.Epoch(ds, hpdsl.Order(batch=1 << 31))
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
                     lambda: hpdsl.Order(batch=1 << 32),
                     lambda: hpdsl.Epoch(ds, batch_size=-1),
                     lambda: hpdsl.Epoch(ds, hpdsl.Order(batch=4, lanes=3))):
            with self.assertRaises(hpdsl.UsageError) as raised:
                call()
            self.assertIsInstance(raised.exception, ValueError)
        self.assertEqual([len(e.step(0, rank=r, ranks=3, uneven=True))
                          for r in range(3)], [66, 67, 67])


class Choices(Packed):
    def test_names_of_others(self):
        ds = hpdsl.Dataset(self.packed)
        for text, given in (("called labels", {"classes": ["class1"]}),
                            ("called samples", {"numbers": [1]}),
                            ("called samples", {"indices": [1]}),
                            ("called split_seed", {"seed": 1})):
            with self.assertRaisesRegex(
                    TypeError, "^Choice has no argument .*: it is " + text):
                hpdsl.Choice(ds, **given)
        with self.assertRaisesRegex(
                TypeError, r"^Choice: \['class1'\] wants a name, one of "
                "labels=, folder=, .*samples="):
            hpdsl.Choice(ds, ["class1"])

    def test_what_there_is(self):
        """Each once, where no name is near."""
        self.assertEqual(str(no_argument("One", "order", ["self", "worker", "copy",
                                                          "worker"])),
                         "One has no argument 'order'; there are worker, copy")
        self.assertEqual(str(no_argument("One", "wroker", ["worker"])),
                         "One has no argument 'wroker': is it worker?")

    def test_names_in_the_page(self):
        """What hpdsl-python(7) has of other libraries is answered."""
        page = os.path.join(os.path.dirname(__file__),
                            "../../man/hpdsl-python.7")
        with open(page) as f:
            table = f.read().split(".Ss You come from")[1].split(".Ed")[0]
        theirs = {name for line in table.splitlines() if line[:1] == " "
                  for name in re.findall(r"(\w+)=", line[:35])}
        self.assertGreater(len(theirs), 20)
        ours = [*inspect.signature(hpdsl.Loader.__init__).parameters, *_TORCHS]
        for name in theirs.difference(ours):
            self.assertRegex(str(no_argument("Loader", name, ours)),
                             "^Loader has no argument .*: [^?]+$")

    def test_each_name_is_answered(self):
        """By a name that there is here, of an argument or an attribute."""
        choices = [*inspect.signature(hpdsl.Choice.__init__).parameters]
        loaders = [*inspect.signature(hpdsl.Loader.__init__).parameters, *_TORCHS]
        for here, names in _called._OTHERS.items():
            self.assertIn(here, [*choices, *loaders, "path"])
            known = loaders if here in loaders else (
                choices if here in choices else ["path", "copy"])
            for name in set(names).difference(known, _called._NOT_HERE):
                self.assertRegex(str(no_argument("One", name, known)),
                                 f"^One has no argument '{name}': it is called ")
        for of, table in ((hpdsl, _called._MODULES),
                          (hpdsl.Dataset, _called._DATASETS),
                          (hpdsl.Sample, _called._SAMPLES)):
            names = " ".join(table.values()).split()
            self.assertEqual(len(names), len(set(names)))
            self.assertEqual([name for name in names if of is hpdsl and
                              hasattr(hpdsl, name)], [])
            self.assertEqual([here for here in table if here.isidentifier() and
                              of is not hpdsl and not hasattr(of, here)], [])
        for name in _called._IN_TORCH:
            self.assertIn(f"here it is hpdsl.torch.{name}",
                          str(_called.no_name("hpdsl", name, ())))

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

    def test_as_a_sequence(self):
        """Numbers in order, samples by their place; in many calls or in one."""
        for some in hpdsl._choice._SOME, 7:
            with mock.patch.object(hpdsl._choice, "_SOME", some):
                choice = hpdsl.Choice(self.packed, split=(0.2, 0.9))
                ds = choice.dataset
                numbers = [n for n in range(len(ds)) if n in choice]
                self.assertEqual(list(choice), numbers)
                self.assertEqual(len(choice), len(numbers))
        for at in 0, 5, -1, -len(numbers):
            self.assertEqual((choice[at].number, choice[at].all), (
                numbers[at], ds[numbers[at]].all))
        self.assertEqual([one.number for one in choice[3:90:20]], numbers[3:90:20])
        for at in len(numbers), -len(numbers) - 1:
            with self.assertRaises(IndexError):
                choice[at]
        with self.assertRaises(TypeError):
            choice["class0/00000"]
        self.assertEqual(sum(1 for _ in hpdsl.Loader(
            self.packed, len(ds), choice=choice, epochs=1)), 1)

    def test_splits(self):
        ds = hpdsl.Dataset(self.packed)
        train = self.chosen(ds, split=(0, 0.8), split_seed=3)
        val = self.chosen(ds, split=(0.8, 1), split_seed=3)
        self.assertEqual((len(train), len(val)), (160, 40))
        self.assertEqual(train | val, set(range(200)))
        self.assertNotEqual(train, self.chosen(ds, split=(0, 0.8)))

    def test_by_folder(self):
        """One pack of train/ and val/: numbers and classes of the whole."""
        tree, packed = (self._folder.name + "/parts" + of for of in ("-in", ""))
        for part, samples in (("train", 90), ("val", 24), ("val-2", 9)):
            make_tree(f"{tree}/{part}", samples)
        pack(tree, packed, "--labels=dir:2", "--chunks=5")
        ds = hpdsl.Dataset(packed)
        keys = [ds.key(n) for n in range(len(ds))]

        def below(*folders):
            return {n for n, key in enumerate(keys)
                    if key.startswith(tuple(of + "/" for of in folders))}

        for folder, want in (
                ("train", below("train")), ("val/", below("val")),
                (b"./val", below("val")),
                (pathlib.PurePath("val/class1"), below("val/class1")),
                (["val", "train/class2"], below("val", "train/class2")),
                (iter(["val", "val/class0"]), below("val"))):
            with self.subTest(folder):
                self.assertEqual(self.chosen(ds, folder=folder), want)
        self.assertEqual(len(below("train")), 90)
        self.assertEqual(ds.class_names, ["class0", "class1", "class2"])
        self.assertEqual(
            self.chosen(ds, folder="val", labels=["class1"]),
            below("val/class1"))
        halves = [self.chosen(ds, folder="train", split=split)
                  for split in ((0, 0.5), (0.5, 1))]
        self.assertEqual(halves[0] | halves[1], below("train"))
        self.assertFalse(halves[0] & halves[1])
        for of in "train", "val":
            got = []
            with hpdsl.Loader(ds, batch_size=16, seed=3,
                              choice=hpdsl.Choice(ds, folder=of)) as loader:
                for batch in loader:
                    for sample, real in zip(batch.numbers, batch.mask):
                        if real:
                            got.append(sample)
                    for sample, label in zip(batch.numbers, batch.labels):
                        self.assertIn(f"/{ds.class_names[label]}/",
                                      keys[sample])
            self.assertEqual(sorted(got), sorted(below(of)))
        for folder, text in (
                ("vall", "no sample is in folder 'vall', there are 'train', "
                 "'val', 'val-2'"),
                (["train", "val/class7"], "in 'val' there are 'class0', "
                 "'class1', 'class2'"),
                ("Train", "there are 'train', 'val'"), ("", "names no folder"),
                (".", "names no folder"), ("train/../val", "names no folder"),
                ("val\0", "a NUL"), ([], "folder: there are none")):
            with self.subTest(folder), self.assertRaisesRegex(
                    hpdsl.UsageError, text):
                hpdsl.Choice(ds, folder=folder)
        for folder in (5, [5], [None]):
            with self.assertRaises(TypeError):
                hpdsl.Choice(ds, folder=folder)

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
                ({"labels": ["class9"]}, "no class 'class9'; there are 'class0', "),
                ({"labels": [3]}, "no class 3, there are 3"),
                ({"labels": []}, "labels"),
                ({"samples": []}, "samples"),
                ({"samples": [200]}, "200"),
                ({"split": (0, 0)}, "split"),
                ({"split": (0.5, 0.2)}, "split"),
                ({"split": (0, 1.5)}, "split"),
                ({"split": (0, 1e-12)}, "less than a billionth"),
                ({"split": 0.9}, "wanted .a, b., .*folder=\"val\"$"),
                ({"split": "train"}, "folder='train'$"),
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
