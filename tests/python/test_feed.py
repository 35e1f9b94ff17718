# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow and DALI would get, asked for as they ask."""

import itertools
import sys
import types
import unittest
import unittest.mock

import numpy

import hpdsl
import hpdsl.feed
from common import Packed, content

ORDER = hpdsl.Order(batch=18)


class Feed(Packed):
    def setUp(self):
        super().setUp()
        self.ds = hpdsl.Dataset(self.packed)
        self.loader = hpdsl.Loader(self.ds, order=ORDER)
        self.addCleanup(self.loader.close)

    def want(self, epoch):
        order = hpdsl.Order(epoch=epoch, batch=18)
        return [(self.keys[self.ds.key(n)], self.ds.labels[n])
                for n in hpdsl.Epoch(self.ds, order)]

    def test_samples_for_from_generator(self):
        """It calls the function again for each of its epochs."""
        source = hpdsl.feed.samples(self.loader)
        for epoch in range(3):
            self.assertEqual(list(iter(source())),
                             [(content(n, "bin"), label)
                              for n, label in self.want(epoch)])

    def test_members_for_from_generator(self):
        source = hpdsl.feed.samples(self.loader, "json", "txt")
        self.assertEqual(list(source()),
                         [(content(n, "json"),
                           b"" if n % 3 else content(n, "txt"), label)
                          for n, label in self.want(0)])

    def test_batches_for_from_generator(self):
        source = hpdsl.feed.batches(self.loader)
        got = list(source())
        self.assertEqual([len(labels) for _, labels, _ in got], [18] * 12)
        flat = [(data, label) for batch in got
                for data, label, real in zip(*batch) if real]
        self.assertEqual(flat, [(content(n, "bin"), label)
                                for n, label in self.want(0)])
        self.assertTrue(all(type(data) is bytes for data, _ in flat))

    def test_dali(self):
        """It asks for iter() and next(), and for iter() again when an epoch
        has ended with StopIteration."""
        source = hpdsl.feed.Dali(self.loader, "bin", "json")
        for epoch in range(2):
            got, rest = [], iter(source)
            for images, texts, labels, mask in itertools.islice(rest, 99):
                self.assertEqual(len(images), 18)
                for array in images + texts:
                    self.assertEqual((array.dtype.name, array.ndim),
                                     ("uint8", 1))
                self.assertEqual((labels.dtype.name, labels.shape),
                                 ("int32", (18,)))
                self.assertEqual((mask.dtype.name, mask.shape),
                                 ("bool", (18,)))
                got += [(image.tobytes(), text.tobytes(), int(label))
                        for image, text, label, real
                        in zip(images, texts, labels, mask) if real]
            with self.assertRaises(StopIteration):
                next(rest)
            self.assertEqual(got, [(content(n, "bin"), content(n, "json"),
                                    label) for n, label in self.want(epoch)])

    def test_a_place_that_was_trained_on(self):
        """What is fetched ahead is not behind it, whichever way it came."""
        makes = hpdsl.feed.batches, hpdsl.feed.samples, hpdsl.feed.Dali
        for make in makes:
            self.loader.seek(0)
            source = make(self.loader, place=True)
            *_, place = list(source() if callable(source) else source)[-1]
            self.assertEqual(list(place if make is not makes[2] else place[0]),
                             [0, 11])
            self.assertEqual(self.loader.state_dict()["epoch"], 1)
            state = self.loader.state_dict((0, numpy.int64(2)))
            self.assertEqual((state["epoch"], state["step"]), (0, 3))
            with hpdsl.Loader(self.ds, order=ORDER) as again:
                again.load_state_dict(state)
                source = make(again, place=True)
                first = next(iter(source() if callable(source) else source))
                self.assertEqual(numpy.array(first[-1]).reshape(-1, 2).tolist(),
                                 [[0, 3]] * (1 if make is not makes[2] else 18))
                got = first[0] if make is makes[1] else bytes(first[0][0])
                self.assertEqual(got, content(self.want(0)[54][0], "bin"))

    def test_dali_by_number(self):
        """It asks for steps by epoch and iteration, beyond an epoch's end more than
        once, and with its checkpoint's numbers."""
        source = hpdsl.feed.dali(self.loader, "bin", place=True)

        def asked(epoch, iteration):
            contents, labels, mask, place = source(
                types.SimpleNamespace(epoch_idx=epoch, iteration=iteration))
            self.assertEqual(place.tolist(), [[epoch, iteration]] * len(place))
            return [(array.tobytes(), int(label)) for array, label, real
                    in zip(contents, labels, mask) if real]

        for epoch, first in (0, 0), (1, 0), (0, 7), (1, 3):
            want = self.want(epoch)[18 * first:]
            got = [one for k in range(first, 12) for one in asked(epoch, k)]
            self.assertEqual(got, [(content(n, "bin"), label) for n, label in want])
            for past in 12, 13:
                self.assertRaises(StopIteration, asked, epoch, past)
        with self.assertRaisesRegex(hpdsl.UsageError, "batch_info=True"):
            source(3)

    def test_a_dataset_of_tensorflow(self):
        """As a TensorFlow would be asked for one."""
        asked = []

        class Made:
            def __getattr__(self, name):
                return lambda *given: (asked.append((name, *given)), self)[1]

        named = types.ModuleType("tensorflow")
        named.string, named.int32, named.int64, named.bool = "string", 4, 8, 1
        named.TensorSpec = lambda shape, kind: (shape, kind)
        named.data = types.SimpleNamespace(
            Dataset=types.SimpleNamespace(from_generator=lambda f, output_signature: (
                asked.append(output_signature), Made())[1]),
            experimental=types.SimpleNamespace(assert_cardinality=lambda n: n))
        with unittest.mock.patch.dict(sys.modules, tensorflow=named):
            hpdsl.feed.tf(self.loader, "bin", "json")
            self.assertEqual(asked, [
                (((None,), "string"), ((None,), "string"), ((None,), 4), ((None,), 1),
                 ((2,), 8)), ("apply", 12), ("prefetch", 2)])
            del asked[:]
            self.loader.seek(1, 3)
            hpdsl.feed.tf(self.loader, prefetch=5)
            self.assertEqual(asked[1:], [("prefetch", 5)])
            del asked[:]
            choice = hpdsl.Choice(self.ds, balanced=True)
            with hpdsl.Loader(self.ds, 18, choice=choice) as weighted:
                hpdsl.feed.tf(weighted)
            self.assertEqual(asked[1:], [("prefetch", 2)])

    def test_what_is_no_suffix(self):
        """Said at once, and not at the first sample."""
        for make in (hpdsl.feed.samples, hpdsl.feed.batches, hpdsl.feed.Dali,
                     hpdsl.feed.dali):
            for wrong in ["bin"], 3, None, b"bin":
                with self.assertRaisesRegex(TypeError, "wanted str"):
                    make(self.loader, "json", wrong)


if __name__ == "__main__":
    unittest.main()
