# SPDX-License-Identifier: Apache-2.0
"""Loaders and their batches: what comes, in which order, from where."""

import errno
import gc
import itertools
import json
import os
import queue
import random
import shutil
import sys
import threading
import types
import unittest
import warnings
from unittest import mock

import hpdsl
import hpdsl.feed
from hpdsl import _batch, _meant
from hpdsl._course import Course
from common import (Packed, command, content, flip, pack, threads,
                    until_true)

SMALL = {"batch": 18, "lanes": 6, "piece": 3, "windows": 2}


def numbers(batches):
    """Of the samples that count, in order."""
    return [n for b in batches for n, real in zip(b.numbers, b.mask) if real]


class Batches(Packed):
    def setUp(self):
        super().setUp()
        self.told = []
        _meant._told.add("going on")

    def test_a_batch_is_a_step_of_the_order(self):
        ds = hpdsl.Dataset(self.packed)
        for end in "mask", "repeat", "drop", "short":
            order = hpdsl.Order(seed=9, **SMALL)
            epoch = hpdsl.Epoch(ds, order)
            with hpdsl.Loader(ds, order=order, epochs=1, end=end) as loader:
                batches = list(loader)
            self.assertEqual(len(batches), epoch.steps(end))
            for step, batch in enumerate(batches):
                self.assertEqual((batch.epoch, batch.step), (0, step))
                places = epoch.step(step, end=end)
                self.assertEqual(len(batch), len(places))
                self.assertEqual(list(zip(batch.numbers, batch.mask)),
                                 [(p.sample, p.real) for p in places])
                self.assertEqual(batch.bad, [False] * len(batch))
                self.assertEqual(batch.labels,
                                 [ds.labels[n] for n in batch.numbers])
                self.assertEqual(
                    [bytes(view) for view in batch.data],
                    [content(self.keys[ds.key(n)], "bin")
                     for n in batch.numbers])

    def test_samples_that_fill_a_step_are_told_when_it_is_unpacked(self):
        ds = hpdsl.Dataset(self.packed)
        for end, words in ("mask", "epoch 0, step 11: 16 of 18 samples only"), (
                "short", None):
            _batch._told.clear()
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), epochs=2,
                                  end=end) as loader:
                    for _ in range(2):
                        self.assertEqual(sum(b.whole for b in loader), 200)
                        loader.seek(0)
                        for data, labels in loader:
                            pass
            self.assertEqual([str(one.message)[:39] for one in told],
                             [words] if words else [])
            self.assertTrue(all(one.filename == __file__ for one in told))

    def test_each_sample_once_over_ranks_and_workers(self):
        ds = hpdsl.Dataset(self.packed)
        order = hpdsl.Order(seed=2, **SMALL)
        for ranks, workers in ((1, 2), (2, 1), (3, 2), (6, 3)):
            steps, seen = {}, []
            for rank in range(ranks):
                for worker in range(workers):
                    with hpdsl.Loader(ds, order=order, epochs=1, rank=rank,
                                      ranks=ranks, worker=worker,
                                      workers=workers, threads=1) as loader:
                        got = list(loader)
                        self.assertEqual(len(got), len(loader))
                    for b in got:
                        self.assertEqual(b.step % workers, worker)
                        steps.setdefault(b.step, []).extend(b.numbers)
                    seen += numbers(got)
            self.assertEqual(sorted(seen), list(range(200)))
            epoch = hpdsl.Epoch(ds, order)
            self.assertEqual(sorted(steps), list(range(epoch.steps())))
            for step, got in steps.items():
                self.assertEqual(sorted(got), sorted(
                    p.sample for p in epoch.step(step)))

    def test_ranks_that_do_not_divide(self):
        ds = hpdsl.Dataset(self.packed)
        order = hpdsl.Order(**SMALL)
        with self.assertRaises(hpdsl.UsageError):
            hpdsl.Loader(ds, order=order, rank=1, ranks=4)
        seen = []
        for rank in range(4):
            with hpdsl.Loader(ds, order=order, rank=rank, ranks=4,
                              uneven=True) as loader:
                seen += numbers(loader)
        self.assertEqual(sorted(seen), list(range(200)))

    def test_a_batch_is_two(self):
        with hpdsl.Loader(self.packed, 25, shuffle=False, epochs=1) as loader:
            self.assertEqual((loader.batch_size, len(loader)), (25, 8))
            self.assertEqual(loader.dataset.path,
                             hpdsl.Dataset(self.packed).path)
            n = 0
            for data, labels in loader:
                self.assertEqual((len(data), len(labels)), (25, 25))
                n += 1
            self.assertEqual(n, 8)
            loader.seek(0)
            batch = next(iter(loader))
            loader.set_epoch(0)
            self.assertEqual(next(iter(loader)).step, 1)
            loader.set_epoch(0)
            self.assertEqual((batch[0], batch[1]), tuple(batch))
            for kind, of in ((IndexError, 2), (TypeError, slice(2)),
                             (TypeError, "mask")):
                with self.assertRaisesRegex(kind, "numbers, mask, bad, epoch"):
                    batch[of]
        with hpdsl.Loader(self.packed) as loader:
            loader.set_epoch(3)
            self.assertEqual(next(iter(loader)).epoch, 3)
            loader.set_epoch(3)
            self.assertEqual(next(iter(loader)).step, 1)

    def test_names_of_others(self):
        for text, given in (
                ("it is called ranks", {"world_size": 2}),
                ("no disk is filled by a loader", {"cache_limit": "1G"}),
                ("hpdsl.torch.Loader has collate, and gets",
                 {"collate_fn": list}),
                ("hpdsl.torch.Loader has num_workers", {"num_workers": 2}),
                ("it is called choice, as", {"split": (0, 1)}),
                ("samples=\\.\\.\\)$", {"filter": len}),
                ("it is called suffixes$", {"to_tuple": ["jpg"]}),
                ("torch.Loader has decode, and gets the", {"map": len}),
                ("partial=False, it is drop_last=True", {"partial": False}),
                ("no disk is filled by a loader", {"max_cache_size": "1G"}),
                ("sample_weight=.*how often it comes in an epoch, and no sh",
                 {"weights": [0.5, 0.5]}),
                ("class_weight=\\.\\.\\), {class: how often",
                 {"class_weight": {0: 2}}),
                ("Choice\\(ds, labels=\\.\\.\\)", {"classes": ["class1"]}),
                ("Choice\\(ds, samples=\\.\\.\\)", {"indices": [1]}),
                ("Choice\\(ds, folder=\\.\\.\\)", {"folder": "val"}),
                ("'bacth_size': is it batch_size", {"bacth_size": 2}),
                ("'foo'; there are dataset, batch_size, rank, ranks, ", {"foo": 2}),
                ("'ordre': is it order", {"ordre": 2}),
                ("'broken'; there are", {"broken": 2})):
            with self.assertRaisesRegex(TypeError, "^Loader has no .*" + text):
                hpdsl.Loader(self.packed, **given)
        subset = types.SimpleNamespace(dataset=hpdsl.Dataset(self.packed),
                                       indices=[1])
        with self.assertRaisesRegex(TypeError, r"hpdsl\.Choice\(ds, samples="):
            hpdsl.Loader(subset)
        for path, text in ((self.packed + "/a/b", "folder='a/b'"),
                           (os.path.dirname(self.packed), "not a dataset")):
            for of in hpdsl.Loader, hpdsl.Dataset:
                with self.assertRaisesRegex(FileNotFoundError if "a/b" in path
                                            else hpdsl.Error, text):
                    of(path)

    def test_its_dataset_is_what_was_given(self):
        ds = hpdsl.Dataset(self.packed)
        part = hpdsl.Choice(ds, split=(0, 0.3))
        with hpdsl.Loader(ds, 10, epochs=1, end="short") as loader:
            self.assertIs(loader.dataset, ds)
        with hpdsl.Loader(ds, 10, choice=part, epochs=1, end="short") as loader:
            self.assertIs(loader.dataset, part)
            self.assertEqual(len(loader.dataset), sum(map(len, loader)))
            self.assertEqual(loader.dataset.class_names, ds.class_names)
            self.assertIs(loader.dataset.dataset, ds)
            for name, here in (("classes", "dataset.class_names"),
                               ("class_names", "dataset.class_names"),
                               ("num_samples", r"len\(\) of its dataset")):
                with self.assertRaisesRegex(
                        AttributeError, f"^'Loader' .* '{name}': here it is "
                        f"{here}$"):
                    getattr(loader, name)
        with hpdsl.Loader(loader.dataset, 10, epochs=1, end="short") as again:
            self.assertEqual(sorted(numbers(again)), list(part))
        with self.assertRaisesRegex(hpdsl.UsageError, "^choice: the dataset"):
            hpdsl.Loader(part, choice=part)
        ds.close()
        with self.assertRaisesRegex(AttributeError, "here it is dataset.labels"):
            part.labels

    def test_a_json_among_pictures(self):
        """comes without a picture, and a choice leaves it out."""
        tree = os.path.join(self.at, "coco")
        for name in "annotations/all.json", "train/0.jpg", "train/1.jpg":
            path = os.path.join(tree, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as f:
                f.write(name)
        packed = os.path.join(self.at, "packed")
        command("hpdsl-pack", "-q", tree, packed)
        ds, told = hpdsl.Dataset(packed), []
        pictures = hpdsl.Choice(ds, include=["*.jpg"])
        for choice, empty in (None, 1), (pictures, 0):
            with hpdsl.Loader(ds, 4, suffixes=["jpg"], choice=choice, epochs=1,
                              on_warning=told.append) as loader:
                batch = next(iter(loader))
                found = [bytes(d) for d, real in zip(batch.data, batch.mask)
                         if real]
            self.assertEqual(sorted(found), [b""] * empty + [
                b"train/0.jpg", b"train/1.jpg"])
        self.assertEqual(len(told), 1)
        self.assertRegex(told[0], "'annotations/all' has no member of suffix")

    def test_modules_come_when_they_are_asked_for(self):
        feed = sys.modules.pop("hpdsl.feed")
        del hpdsl.feed
        try:
            self.assertEqual(hpdsl.feed.__name__, "hpdsl.feed")
            with self.assertRaisesRegex(AttributeError, "no attribute 'food'"):
                hpdsl.food
        finally:
            sys.modules["hpdsl.feed"] = hpdsl.feed = feed

    def test_in_words(self):
        """What most people say, and what comes of it."""
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, batch_size=30, seed=4, drop_last=True,
                          epochs=1) as loader:
            self.assertEqual([len(b) for b in loader], [30] * 6)
            self.assertEqual((loader.order.batch, loader.order.seed),
                             (30, 4))
        with hpdsl.Loader(ds, batch_size=30, shuffle=False,
                          epochs=1) as loader:
            self.assertEqual(numbers(loader), list(range(200)))
        with hpdsl.Loader(ds, windows=1, lanes=8, piece=2, parts=2) as loader:
            order = loader.order
            self.assertEqual((order.windows, order.lanes, order.piece,
                              order.parts, order.batch), (1, 8, 2, 2, 64))

    def test_ranks_of_the_environment(self):
        ds = hpdsl.Dataset(self.packed)
        with mock.patch.dict(os.environ, RANK="1", WORLD_SIZE="2"):
            with hpdsl.Loader(ds, 9) as loader:
                self.assertEqual(loader.plan()["ranks_from"], "RANK")
                self.assertEqual(loader.next_batch().numbers, [
                    p.sample for p in hpdsl.Epoch(ds, loader.order).step(
                        0, rank=1, ranks=2)])

    def test_ranks_that_came_later(self):
        """It has read since it was made, and not this rank's share."""
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, 9) as early, hpdsl.Loader(
                ds, 9, rank=0, ranks=1) as alone, hpdsl.Loader(ds, 9) as begun:
            begun.next_batch()
            with mock.patch.dict(os.environ, RANK="1", WORLD_SIZE="2"):
                with self.assertRaisesRegex(hpdsl.UsageError, (
                        r"this is rank 1 of 2 \(RANK\), and the loader was made "
                        "before that was known")):
                    early.next_batch()
                alone.next_batch()
                begun.next_batch()

    def test_numbers_of_any_kind(self):
        class Number:  # as NumPy's are
            def __init__(self, n):
                self.n = n

            def __index__(self):
                return self.n

        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, Number(9), rank=Number(1), ranks=Number(2),
                          epochs=Number(1), seed=Number(4), worker=Number(0),
                          workers=Number(1), memory=Number(16 << 20),
                          threads=Number(1)) as loader:
            self.assertEqual(len(loader.next_batch()), 9)
            self.assertEqual(loader.plan()["batch"], 18)
        ds = hpdsl.Dataset(self.packed)
        for kind in hpdsl.Loader, Course:
            for given in hpdsl.Order(), "9", 9.5:
                with self.assertRaisesRegex(TypeError, "batch_size"):
                    kind(ds, given)
            with self.assertRaisesRegex(TypeError, "64 if it is left out; single"):
                kind(ds, None)
            with self.assertRaisesRegex(hpdsl.UsageError, "0: wanted 1 at least"):
                kind(ds, batch_size=0)

    def test_an_epoch_without_a_step_is_told(self):
        _meant._told.discard("no step")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with hpdsl.Loader(self.packed, 201, drop_last=True) as loader:
                self.assertEqual([list(loader) for _ in range(2)], [[], []])
        self.assertEqual([(str(w.message).partition(",")[0], w.filename)
                          for w in told], [("an epoch has no step: its samples do not "
                                            "fill one of 201", __file__)])

    def test_in_a_shell_of_slurm_it_reads_everything(self):
        ds = hpdsl.Dataset(self.packed)
        with mock.patch.dict(os.environ, SLURM_NTASKS="8", SLURM_PROCID="0",
                             SLURM_JOB_ID="7"):
            with hpdsl.Loader(ds, epochs=1) as loader:
                self.assertEqual(sorted(numbers(loader)), list(range(200)))

    def test_epochs_follow_each_other(self):
        ds = hpdsl.Dataset(self.packed)
        order = hpdsl.Order(seed=1, epoch=5, **SMALL)
        with hpdsl.Loader(ds, order=order) as loader:
            for epoch in 5, 6, 7:
                self.assertEqual((loader.epoch, loader.step), (epoch, 0))
                got = []
                for batch in loader:
                    self.assertEqual(batch.epoch, epoch)
                    self.assertEqual(loader.step, (batch.step + 1) % len(loader))
                    got.append(batch)
                    if epoch == 6 and batch.step == 3:
                        break
                if epoch == 6:
                    self.assertEqual(loader.epoch, 6)
                    got += loader
                self.assertEqual(numbers(got), list(hpdsl.Epoch(
                    ds, hpdsl.Order(seed=1, epoch=epoch, **SMALL))))
                got.clear()

    def test_a_loop_that_was_left_is_told_where_the_next_begins(self):
        """But for who has said the place, keeps the iterator, or had an error."""
        def left(loader, steps=1):
            return list(itertools.islice(loader, steps))

        def told(what, **options):
            _meant._told.discard("going on")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with hpdsl.Loader(self.packed, 25, **options) as loader:
                    what(loader)
            self.assertEqual({w.filename for w in caught} - {__file__}, set())
            return [str(w.message) for w in caught]

        def resumed(loader):
            left(loader, 3)
            state = loader.state_dict()
            left(loader)
            _meant._told.discard("going on")
            loader.load_state_dict(state)
            left(loader)

        text = ("epoch 0: this `for` goes on with step {} of 8, where the one before "
                "was left; loader.seek(0) begins the epoch anew")
        self.assertEqual(told(lambda of: [left(of) for _ in range(3)]),
                         [text.format(1)])
        self.assertEqual(told(lambda of: [left(of) for _ in range(3)], worker=1,
                              workers=3), [text.format(4)])
        self.assertEqual(told(resumed), [text.format(3)])
        for nothing in (lambda of: left(iter(of), 3), lambda of: left(of, 8) + left(of),
                        lambda of: left(of) and of.seek(0, 3) or left(of),
                        lambda of: of.seek(0, 3) or left(of),
                        lambda of: of.next_batch() and left(of),
                        lambda of: left(of) and of.set_epoch(1) or left(of)):
            self.assertEqual(told(nothing), [])
        self.assertEqual(told(left, order=hpdsl.Order(step=3)), [])

    def test_the_last_epoch(self):
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, epochs=2) as loader:
            self.assertEqual([len(list(loader)) for _ in range(4)],
                             [4, 4, 0, 0])
            self.assertIsNone(loader.next_batch())
        with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), epochs=2) as loader:
            steps = []
            while True:
                batch = loader.next_batch()
                if batch is None:
                    break
                steps.append((batch.epoch, batch.step))
        self.assertEqual(steps, [(e, s) for e in range(2) for s in range(12)])

    def test_more_workers_than_steps(self):
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, 200, worker=2, workers=3, epochs=2) as loader:
            self.assertEqual(len(loader), 0)
            self.assertEqual([list(loader) for _ in range(3)], [[], [], []])

    def test_a_choice(self):
        ds = hpdsl.Dataset(self.packed)
        choice = hpdsl.Choice(ds, labels=["class1"], split=(0, 0.5))
        want = [n for n in range(200) if n in choice]
        with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), choice=choice) as loader:
            del choice
            gc.collect()
            self.assertEqual(sorted(numbers(loader)), want)

    def test_a_plan_of_suffixes(self):
        ds = hpdsl.Dataset(self.packed)
        plans = []
        for suffixes in None, ["txt"]:
            with hpdsl.Loader(ds, 200, epochs=1, suffixes=suffixes) as loader:
                plans.append(loader.plan()["held_peak"])
        self.assertLess(plans[1], plans[0])

    def test_members_by_suffix(self):
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), epochs=1) as plain, \
                hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), epochs=1,
                             suffixes=["txt", "bin"],
                             on_warning=self.told.append) as chosen:
            for a, b in zip(plain, chosen):
                of = [self.keys[ds.key(n)] for n in a.numbers]
                for suffix in "bin", "json":
                    self.assertEqual([bytes(v) for v in a.members(suffix)],
                                     [content(n, suffix) for n in of])
                text = [content(n, "txt") if n % 3 == 0 else b"" for n in of]
                for batch in a, b:
                    self.assertEqual([bytes(v) for v in
                                      batch.members("txt")], text)
                self.assertEqual([bytes(v) for v in b.data], text)
                for suffix in "bin", ".bin":
                    self.assertEqual([bytes(v) for v in b.members(suffix)],
                                     [content(n, "bin") for n in of])
                with self.assertRaisesRegex(KeyError, "given 'txt', 'bin'"):
                    b.members("json")
                for wrong in 3, ["bin"], b"gif":
                    for batch in a, b:
                        with self.assertRaises(TypeError):
                            batch.members(wrong)

    def test_a_suffix_of_no_sample(self):
        """Said before the first batch, with those that there are: of a choice
        too, and where a loader that was given none is asked for one."""
        ds = hpdsl.Dataset(self.packed)
        has = "there are 'bin', 'json', 'txt'$"
        for wrong in "jpg", ".jpg", "..bin", "BIN", "bin ", "":
            with self.assertRaisesRegex(hpdsl.UsageError, has):
                hpdsl.Loader(ds, suffixes=["bin", wrong])
            with self.assertRaisesRegex(hpdsl.UsageError, has):
                hpdsl.Epoch(ds).cost(suffixes=[wrong])
        choice = hpdsl.Choice(ds, labels=["class1"])
        self.assertGreater(len(choice), 0)
        has = ("'txt': none of the samples chosen has such a member; there are "
               "'bin', 'json'$")
        with self.assertRaisesRegex(hpdsl.UsageError, has):
            hpdsl.Loader(ds, suffixes=[".txt"], choice=choice)
        with hpdsl.Loader(ds, choice=choice) as loader:
            batch = loader.next_batch()
            for _ in range(2):
                with self.assertRaisesRegex(hpdsl.UsageError, has):
                    batch.members("txt")
            for make in hpdsl.feed.samples, hpdsl.feed.batches, hpdsl.feed.Dali:
                with self.assertRaisesRegex(hpdsl.UsageError, has):
                    make(loader, "bin", "txt")
        with hpdsl.Loader(ds, suffixes=["bin"]) as loader:
            with self.assertRaisesRegex(KeyError, "given 'bin'"):
                hpdsl.feed.samples(loader, "json")

    def test_a_suffix_that_some_lack(self):
        """Counted, and told once."""
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, 20, epochs=2, suffixes=[".txt", "json", "txt"],
                          on_warning=self.told.append) as loader:
            for _ in range(2):
                batches = list(loader)
            stats = loader.stats()
        lack = sum(n % 3 > 0 for n in self.keys.values())
        self.assertEqual(stats["lacking"], 4 * lack)
        self.assertEqual(stats["bad_samples"], 0)
        self.assertEqual(len(self.told), 2)
        for told in self.told:
            self.assertRegex(told, "sample [0-9]+ 'class[12]/[0-9]+' has no "
                             "member of suffix 'txt': ")
        self.assertEqual([bytes(v) for b in batches for v in b.members("txt")],
                         [b"" if self.keys[ds.key(n)] % 3 else
                          content(self.keys[ds.key(n)], "txt")
                          for b in batches for n in b.numbers])

    def test_compressed_and_keeping_the_cache(self):
        pack(self.tree, self.at + "/z", "--zstd", "--chunks=3")
        ds = hpdsl.Dataset(self.at + "/z")
        for cache in "auto", "keep":
            with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), cache=cache) as loader:
                for batch in loader:
                    for n, view in zip(batch.numbers, batch.data):
                        self.assertEqual(view, content(
                            self.keys[ds.key(n)], "bin"))

    def test_statistics(self):
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, epochs=1, suffixes=["bin"]) as loader:
            size = sum(len(v) for b in loader for v, real in
                       zip(b.data, b.mask) if real)
            got = loader.stats()
        self.assertEqual(json.loads(json.dumps(got))["steps"], 4)
        self.assertEqual(got["lanes"], loader.order.lanes)
        self.assertGreater(got["share_bytes"], 0)
        self.assertLessEqual(got["held_peak"], got["memory_peak"])
        self.assertEqual(got["bad_samples"], 0)
        self.assertGreaterEqual(got["bytes"], size)
        self.assertGreater(got["reads"], 0)
        self.assertEqual(sum(got["read_sizes"]), got["reads"])
        self.assertEqual(got["memory"], 1 << 30)
        self.assertFalse(got["unchecked"])
        self.assertGreaterEqual(got["seconds"], got["stall_seconds"])

    def test_what_makes_no_sense(self):
        ds = hpdsl.Dataset(self.packed)
        for options in ({"rank": 1}, {"ranks": 0}, {"worker": 2},
                        {"end": "stop"}, {"cache": "all"}, {"epochs": -1},
                        {"threads": 1 << 32}, {"memory": -5}, {"ranks": 9},
                        {"memory": "2X"}, {"batch_size": -1},
                        {"batch_size": 1 << 32}, {"seed": -1},
                        {"drop_last": True, "end": "mask"},
                        {"rank": 0, "ranks": 2, "group": 1}):
            with self.subTest(options), self.assertRaises(hpdsl.UsageError):
                hpdsl.Loader(ds, **options)
        for options, text in (({"memory": 1}, "16 MiB or more, not 1 bytes"),
                              ({"threads": 100000}, "100000 threads are too "
                               "many: 4096 at most")):
            with self.assertRaisesRegex(hpdsl.UsageError, text):
                hpdsl.Loader(ds, **options)
        with self.assertRaises(TypeError):
            hpdsl.Loader(ds, suffixes="bin")
        loader = hpdsl.Loader(ds)
        loader.close()
        loader.close()
        for call in loader.next_batch, loader.state_dict, loader.stats:
            with self.assertRaisesRegex(ValueError, "closed"):
                call()


class Memory(Packed):
    """Whose memory it is, and when it goes back."""

    samples = 60

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.large = os.path.join(cls._folder.name, "large")
        os.mkdir(cls.large + "-tree")
        for n in range(60):
            with open(f"{cls.large}-tree/{n}", "wb") as f:
                f.write(bytes([n]) * (1 << 20))
        command("hpdsl-pack", "-q", "--chunks=12", cls.large + "-tree",
                cls.large)

    def setUp(self):
        super().setUp()
        gc.collect()

    def batches(self, **options):
        order = hpdsl.Order(batch=2, lanes=2, piece=1)
        return hpdsl.Loader(hpdsl.Dataset(self.large), order=order,
                            memory=16 << 20, **options)

    def test_views_are_read_only_and_outlive_everything(self):
        ds = hpdsl.Dataset(self.packed)
        loader = hpdsl.Loader(ds, order=hpdsl.Order(**SMALL))
        batch = loader.next_batch()
        view = batch.data[0]
        self.assertTrue(view.readonly)
        self.assertEqual((view.format, view.ndim, view.itemsize), ("B", 1, 1))
        with self.assertRaises(TypeError):
            view[0] = 1
        kept = [(v[len(v) // 3:], content(self.keys[ds.key(n)], "bin"))
                for n, v in zip(batch.numbers, batch.data)]
        del view, batch
        for _ in range(30):
            loader.next_batch()
        loader.close()
        ds.close()
        del loader, ds
        gc.collect()
        for view, want in kept:
            self.assertEqual(view, want[len(want) // 3:])

    def test_memory_goes_back_with_the_last_view(self):
        """Sixty times what fits goes through; what is kept is not touched."""
        with self.batches() as loader:
            kept = [loader.next_batch().data[1]]
            want = bytes(kept[0])
            for _ in range(600):
                batch = loader.next_batch()
                for view in batch.data:
                    self.assertEqual(view[0], view[-1])
            self.assertEqual(kept[0], want)
            self.assertLessEqual(loader.stats()["memory_peak"], 16 << 20)

    def test_batches_that_are_kept_hold_all_memory(self):
        with self.batches() as loader:
            kept = []
            with self.assertRaises(hpdsl.SystemFailure) as raised:
                for _ in range(60):
                    kept.append(loader.next_batch())
            self.assertEqual(raised.exception.errno, errno.ENOBUFS)
            steps = [b.step for b in kept]
            self.assertEqual(steps, list(range(len(steps))))
            kept.clear()
            self.assertEqual(loader.next_batch().step, len(steps))

    def test_garbage_is_collected_when_memory_is_short(self):
        gc.disable()
        try:
            with self.batches(epochs=1) as loader:
                for batch in loader:
                    ring = [batch]
                    ring.append(ring)
        finally:
            gc.enable()

    def test_finalizers_of_garbage_still_see_the_bytes(self):
        class Looks:
            def __del__(self):
                seen.append(bytes(self.view[:9]))

        seen = []
        with self.batches() as loader:
            for _ in range(20):
                ring = Looks()
                ring.batch = loader.next_batch()
                ring.view, ring.loader = ring.batch.data[0], loader
                want = bytes(ring.view[:9])
                ring.ring, ring = [ring], None
                gc.collect()
                self.assertEqual(seen.pop(), want)

    def test_threads_end_with_the_loader(self):
        before = threads()
        loader = self.batches()
        batch = loader.next_batch()
        self.assertGreater(threads(), before)
        loader.close()
        del loader
        batch = None
        self.assertEqual(threads(), before)
        # one that is part of a ring, through what it calls
        ring = []
        ring.append(self.batches(on_bad=ring.append))
        ring.append(ring[0].next_batch())
        del ring
        gc.collect()
        self.assertEqual(threads(), before)
        self.assertIsNone(batch)

    def test_garbage_with_the_dataset(self):
        """In whichever order it is finalized: threads end first."""
        before = threads()
        order = hpdsl.Order(batch=2, lanes=2, piece=1)
        for k in range(40):
            dataset = hpdsl.Dataset(self.large)
            ring = [hpdsl.Loader(dataset, order=order, memory=16 << 20), dataset]
            ring[k % 2].ring = ring
            if k % 8 > 3:
                ring[0].close()
                choice = hpdsl.Choice(dataset, split=(0, 0.5))
                dataset.ring = ring[0] = hpdsl.Loader(
                    dataset, order=order, choice=choice, memory=16 << 20)
                del choice
            if k % 4 > 1:
                ring.append(ring[0].next_batch())
            del dataset, ring
            gc.collect()
        self.assertEqual(threads(), before)

    def test_the_last_view_goes_in_another_thread(self):
        before = threads()
        loader = self.batches()
        views = [loader.next_batch().data]
        del loader
        t = threading.Thread(target=views.clear)
        t.start()
        t.join()
        until_true(lambda: threads() <= before)

    def test_batches_released_by_many_threads(self):
        with self.batches() as loader:
            batches, wrong = queue.Queue(2), []

            def look():
                while (batch := batches.get()) is not None:
                    for view in batch.data:
                        if view[:100] != bytes([view[-1]]) * 100:
                            wrong.append(batch.step)
                    # All of them must fit beside what is being read.
                    del view, batch

            those = [threading.Thread(target=look) for _ in range(4)]
            for t in those:
                t.start()
            for _ in range(400):
                batches.put(loader.next_batch())
            for _ in those:
                batches.put(None)
            for t in those:
                t.join()
            self.assertEqual(wrong, [])

    def test_reads_that_are_smaller_than_pieces_are_told(self):
        told = []
        ds = hpdsl.Dataset(self.large)
        order = hpdsl.Order(batch=2, lanes=2, piece=20, windows=1)
        want = list(hpdsl.Epoch(ds, order))
        with hpdsl.Loader(ds, order=order, memory="16M", epochs=1,
                          on_warning=told.append) as loader:
            self.assertEqual(numbers(loader), want)
            self.assertLess(loader.stats()["share_bytes"], 20 << 20)
            self.assertLessEqual(loader.stats()["memory_peak"], 16 << 20)
        self.assertEqual(len(told), 1)
        self.assertRegex(told[0], "reads of .*with a memory of")
        with self.assertWarnsRegex(RuntimeWarning, "reads of"), \
                hpdsl.Loader(ds, order=order, memory=16 << 20) as loader:
            for _ in loader:
                pass

    def test_plan(self):
        ds = hpdsl.Dataset(self.large)
        with hpdsl.Loader(ds, 3, rank=1, ranks=2, epochs=1) as loader:
            plan = loader.plan()
            for _ in loader:
                pass
            stats = loader.stats()
        self.assertEqual([plan[name] for name in (
            "rank", "ranks", "ranks_from", "batch", "batch_size", "steps")],
            [1, 2, "given", 6, 3, 10])
        # One word, one meaning.
        for name in "read_bytes", "lanes", "held_peak":
            self.assertAlmostEqual(plan[name], stats[name],
                                   delta=plan[name] * 0.05)
        # What the page cache has is taken from there in smaller ones.
        self.assertLessEqual(plan["reads"], stats["reads"])
        self.assertLessEqual(stats["median_read"], plan["median_read"] * 1.03)
        self.assertLessEqual(plan["median_read"], plan["read_bytes"])
        self.assertGreater(plan["first_batch_bytes"], 0)
        self.assertGreater(plan["mates"], 0)
        self.assertEqual(hpdsl.Loader(ds).plan()["ranks_from"], "alone")

    def test_one_buffer(self):
        """Of shared memory, where the library's structs are not in the way, or
        a copy."""
        ds = hpdsl.Dataset(self.packed)
        for shared in True, False:
            with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), shared=shared,
                              epochs=1) as loader:
                for batch in loader:
                    self.assertTrue(batch.buffer.readonly)
                    self.assertEqual(list(batch.sizes), list(map(len,
                                                                 batch.data)))
                    for view, at, size in zip(batch.data, batch.offsets,
                                              batch.sizes):
                        self.assertEqual(batch.buffer[at:at + size], view)
                    self.assertEqual(len(batch.offsets), len(batch))


class States(Packed):
    def steps(self, ds, state, choice=None, ranks=1, workers=1):
        """{step: sorted samples} of the rest of the epoch."""
        steps = {}
        for rank in range(ranks):
            for worker in range(workers):
                with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), choice=choice,
                                  rank=rank, ranks=ranks, worker=worker,
                                  workers=workers) as loader:
                    loader.load_state_dict(state)
                    for batch in loader:
                        at = batch.epoch, batch.step
                        steps.setdefault(at, []).extend(
                            zip(batch.numbers, batch.mask))
        return {at: sorted(got) for at, got in steps.items()}

    def test_resumed_in_mid_epoch_on_other_ranks_and_workers(self):
        ds = hpdsl.Dataset(self.packed)
        choice = hpdsl.Choice(ds, split=(0, 0.9))
        draw = random.Random(4)
        order = hpdsl.Order(seed=8, epoch=2, **SMALL)
        with hpdsl.Loader(ds, order=order, choice=choice) as loader:
            start = loader.state_dict()
            undisturbed = self.steps(ds, start, choice)
            states = [start]
            for batch in loader:
                states.append(json.loads(json.dumps(loader.state_dict())))
                self.assertEqual(loader.state_dict(batch), states[-1])
        self.assertEqual((start["epoch"], start["step"], start["batch"],
                          start["end"], start["choice"], start["pack"]),
                         (2, 0, 18, "mask", choice.digest, ds.pack))
        self.assertEqual((states[-1]["epoch"], states[-1]["step"]), (3, 0))
        for stopped in range(0, len(states) - 1, 2):
            rest = self.steps(ds, states[stopped], choice,
                              draw.choice((1, 2, 3, 6)),
                              draw.choice((1, 2, 3)))
            self.assertEqual(rest, {at: got for at, got in undisturbed.items()
                                    if at[1] >= stopped})

    def test_state_of_a_batch_that_is_not_the_last(self):
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL)) as loader:
            first = loader.next_batch()
            loader.next_batch()
            self.assertEqual(loader.state_dict(first)["step"], 1)
            self.assertEqual(loader.state_dict()["step"], 2)

    def test_workers_that_each_keep_a_state(self):
        """As a StatefulDataLoader has them: of each the state that it had with
        the last batch that was taken from it."""
        ds = hpdsl.Dataset(self.packed)

        def made(worker, workers, state=None):
            loader = hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), epochs=2,
                                  worker=worker, workers=workers)
            self.addCleanup(loader.close)
            if state:
                loader.load_state_dict(state)
            return loader

        def taken(loaders, of):
            batch = loaders[of].next_batch()
            return batch and (batch.epoch, batch.step)

        wanted = [(e, s) for e in range(2) for s in range(12)]
        for workers, stop in (2, 3), (2, 6), (5, 9), (5, 13), (13, 4):
            loaders = [made(w, workers) for w in range(workers)]
            turns = itertools.cycle(range(workers))
            seen = [taken(loaders, next(turns)) for _ in range(stop)]
            again = [made(w, workers, loader.state_dict())
                     for w, loader in enumerate(loaders)]
            seen += [one for of in range(workers)
                     for one in iter(lambda: taken(again, of), None)]
            self.assertEqual(sorted(filter(None, seen)), wanted, (workers, stop))
        # When each has had its turn, that of one is that of all.
        loaders = [made(w, 3) for w in range(3)]
        seen = [taken(loaders, w) for _ in range(2) for w in range(3)]
        again = made(0, 1, loaders[0].state_dict())
        seen += iter(lambda: taken([again], 0), None)
        self.assertEqual(seen, wanted)

    def test_seek(self):
        """As a loader that went on from a state of there."""
        ds = hpdsl.Dataset(self.packed)
        for rank, ranks, worker, workers in ((0, 1, 0, 1), (1, 2, 2, 3)):
            with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), rank=rank,
                              ranks=ranks, worker=worker, workers=workers,
                              epochs=3) as loader:
                def rest():
                    got = []
                    while (batch := loader.next_batch()) is not None:
                        got.append((batch.epoch, batch.step,
                                    tuple(batch.numbers), bytes(batch.mask)))
                    return got

                kept = loader.next_batch()
                bytes_of = [bytes(sample or b"") for sample in kept.data]
                for epoch, step in ((0, 0), (1, 7), (0, 12), (2, 12), (0, 3),
                                    (3, 0), (2, 11), (3, 1), (9, 0)):
                    state = dict(loader.state_dict(), epoch=epoch, step=step)
                    loader.load_state_dict(state)
                    wanted, over = rest(), loader.state_dict()
                    loader.seek(epoch, step)
                    self.assertEqual(rest(), wanted)
                    loader.seek(1)
                    self.assertEqual(loader.epoch, 1)
                    loader.seek(epoch, step)
                    self.assertEqual(rest(), wanted)
                    if wanted:
                        self.assertEqual(loader.state_dict(), over)
                self.assertEqual(bytes_of,
                                 [bytes(sample or b"") for sample in kept.data])
                loader.load_state_dict(dict(loader.state_dict(), epoch=3, step=0))
                for _ in range(2):  # at the end, and not
                    with self.assertRaisesRegex(hpdsl.UsageError,
                                                "no step 13, epoch 1 has 12"):
                        loader.seek(1, 13)
                    loader.seek(1)
                with self.assertRaises(hpdsl.UsageError):
                    loader.seek(-1)
                self.assertEqual(loader.epoch, 1)
        with self.assertRaisesRegex(ValueError, "closed"):
            loader.seek(0)

    def test_seek_and_ctrl_c(self):
        """Whenever it comes, the loader is here or there, and knows where."""
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL)) as loader:
            running, seek = loader._running, loader._running.seek

            def before(*_):
                raise KeyboardInterrupt

            def behind(*there):
                seek(*there)
                raise KeyboardInterrupt

            for way, expected in (before, 1), (behind, 5):
                loader.seek(0, 0)
                loader.next_batch()
                running.seek = way
                with self.assertRaises(KeyboardInterrupt):
                    loader.seek(0, 5)
                del running.seek
                self.assertEqual(loader.state_dict()["step"], expected)
                self.assertEqual(loader.next_batch().step, expected)

    def test_no_seek_from_within(self):
        ds = hpdsl.Dataset(self.packed)
        said = []

        def tell(_):
            with self.assertRaisesRegex(RuntimeError, "while it tells"):
                loader.seek(0, 5)
            said.append(1)

        with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL),
                          on_warning=tell) as loader:
            loader._running.told.append("a warning")
            self.assertEqual(loader.next_batch().step, 0)
        self.assertEqual(said, [1])

    def test_text_and_what_is_missing(self):
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds) as loader:
            loader.load_state_dict('{"seed": 3, "epoch": 1, "batch": 10}')
            self.assertEqual(loader.epoch, 1)
            self.assertEqual(len(loader.next_batch()), 10)
            with self.assertRaisesRegex(hpdsl.CorruptError, "state"):
                loader.load_state_dict({"seed": "x"})
            for other, text in (({}, "nothing of"),
                                ({"state": object()},
                                 r"'state' is no field of .*seek\(epoch"),
                                ({"format": "hpdsl-state"},
                                 "'version' is missing"),
                                ({"epoch": 1}, "'format' is missing; .*seek")):
                with self.assertRaisesRegex(hpdsl.CorruptError, text):
                    loader.load_state_dict(other)
            for other in None, 3, b"{}", [1]:
                with self.assertRaisesRegex(TypeError, "wanted what state_dict"):
                    loader.load_state_dict(other)
            with self.assertRaisesRegex(hpdsl.DiffersError, "no step 21, "
                                        "epoch 0 has 20"):
                loader.load_state_dict('{"step": 21, "batch": 10}')
            self.assertEqual(loader.next_batch().step, 1)
        with self.assertRaisesRegex(ValueError, "closed"):
            loader.load_state_dict({"seed": 3})

    def test_a_state_that_cannot_be_shared_is_refused(self):
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), rank=3, ranks=6) as loader:
            loader.next_batch()
            with self.assertRaisesRegex(hpdsl.UsageError, "6 ranks"):
                loader.load_state_dict('{"batch": 16}')
            self.assertEqual(loader.next_batch().step, 1)

    def test_epochs_are_counted_from_the_first(self):
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), epochs=3) as loader:
            loader.load_state_dict(dict(loader.state_dict(), epoch=1, step=3))
            self.assertEqual([len(list(loader)) for _ in range(4)],
                             [9, 12, 0, 0])
            loader.load_state_dict(dict(loader.state_dict(), epoch=3, step=0))
            self.assertEqual(list(loader), [])

    def test_what_was_given_and_is_not_the_states_is_told(self):
        """Of what was said alone; a run that goes on as it was begun hears nothing."""
        ds, plain = hpdsl.Dataset(self.packed), {"shuffle": False, "seed": 4}
        tuned = {"order": hpdsl.Order(seed=9, **SMALL), "end": "drop"}
        for begun, given, has, said in (
                ({}, {}, "", ""), (plain, plain, "", ""), (tuned, tuned, "", ""),
                ({"seed": 7}, {}, "", ""), (tuned, {"lanes": 0}, "", ""),
                ({"shuffle": False}, {"shuffle": False, "lanes": 3}, "", ""),
                ({"seed": 7}, {"seed": 0}, "seed=7", "seed=0"),
                ({}, plain, "shuffle=True, seed=0", "shuffle=False, seed=4"),
                (tuned, {"windows": 3, "end": "mask"}, "windows=2, end='drop'",
                 "windows=3, end='mask'"),
                ({}, {"drop_last": True}, "end='mask'", "end='drop'")):
            for kind in hpdsl.Loader, Course:
                state = kind(ds, **begun).state_dict()
                loader = kind(ds, **given)
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    loader.load_state_dict(state)
                self.assertEqual([str(w.message).partition(";")[0] for w in told], [
                    f"state: it has {has}, which holds, where the loader was given "
                    + said] if has else [])
                self.assertEqual({w.filename for w in told} - {__file__}, set())
                self.assertEqual(loader.state_dict(), state)

    def test_the_batch_of_a_run_stays(self):
        """batch_size may be left out; what is said has to be the run's."""
        ds = hpdsl.Dataset(self.packed)
        with hpdsl.Loader(ds, 9, rank=1, ranks=2) as loader:
            self.assertEqual((loader.order.batch, len(loader.next_batch())),
                             (18, 9))
            state = loader.state_dict()
        for given, size in (({"rank": 0, "ranks": 3}, 6),
                            ({"batch_size": 6, "rank": 0, "ranks": 3}, 6),
                            ({"rank": 0, "ranks": 1}, 18),
                            ({"rank": 3, "ranks": 4, "uneven": True}, 5)):
            with hpdsl.Loader(ds, **given) as loader:
                loader.load_state_dict(state)
                batch = loader.next_batch()
                self.assertEqual((batch.step, len(batch)), (1, size))
        for given, text in (
                ({"batch_size": 9, "rank": 0, "ranks": 3},
                 "a batch of 18: on 3 ranks that is batch_size=6, not 9"),
                ({"rank": 0, "ranks": 4}, "4 ranks do not divide it; 3 or 6 "
                 r"do, or uneven=True \(4 or 5 samples\)")):
            with hpdsl.Loader(ds, **given) as loader:
                with self.assertRaisesRegex(hpdsl.UsageError, text):
                    loader.load_state_dict(state)
                self.assertEqual(loader.next_batch().step, 0)

    def test_of_another_pack_or_choice(self):
        pack(self.tree, self.at + "/p", "--seed=77", "--chunks=7")
        ds, other = hpdsl.Dataset(self.packed), hpdsl.Dataset(self.at + "/p")
        choice = hpdsl.Choice(ds, labels=[0])
        for call in hpdsl.Loader, hpdsl.Epoch:
            with self.assertRaisesRegex(hpdsl.DiffersError, "another pack"):
                call(other, choice=choice)
        with hpdsl.Loader(ds) as a, hpdsl.Loader(ds, choice=choice) as b, \
                hpdsl.Loader(other) as c:
            for one, two in ((a, b), (b, a), (a, c), (c, a)):
                with self.assertRaises(hpdsl.DiffersError):
                    one.load_state_dict(two.state_dict())


class Damage(Packed):
    samples = 200

    def damaged(self):
        shutil.copytree(self.packed, self.at + "/d")
        ds = hpdsl.Dataset(self.at + "/d")
        # Of a step that has others behind it, and comes in no other's place.
        number = next(p.sample for p in hpdsl.Epoch(
            ds, hpdsl.Order(**SMALL)).step(4) if ds.members(p.sample)[0].size)
        member = ds.members(number)[0]
        flip(f"{self.at}/d/chunk-{member.chunk:06}.tar", member.offset)
        return ds, number, member

    def test_a_bad_sample_is_an_error_and_the_next_call_goes_on(self):
        ds, number, member = self.damaged()
        with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), epochs=1) as loader:
            steps, rest = [], iter(loader)
            while True:
                try:
                    steps.append(next(rest).step)
                except StopIteration:
                    break
                except hpdsl.CorruptError as e:
                    self.assertIn(member.path, str(e))
                    failed = len(steps)
                    # Who ends here begins with it again.
                    self.assertEqual(loader.state_dict()["step"], failed)
            self.assertEqual(loader.state_dict()["step"], 0)
            self.assertEqual(loader.stats()["failed_steps"], 1)
        self.assertIn(number, [p.sample for p in hpdsl.Epoch(
            ds, hpdsl.Order(**SMALL)).step(failed)])
        self.assertEqual(steps, [s for s in range(12) if s != failed])

    def test_skipped_and_listed(self):
        ds, number, member = self.damaged()
        told = []
        with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), skip_bad=True, epochs=1,
                          on_bad=told.append) as loader:
            bad = [(n, bytes(v)) for b in loader for n, v, bad in
                   zip(b.numbers, b.data, b.bad) if bad]
            stats = loader.stats()
            self.assertEqual((stats["samples"], stats["bad_samples"]), (200, 1))
        self.assertEqual(bad, [(number, b"")])
        self.assertEqual([(d.sample, d.path) for d in told],
                         [(number, member.path)])
        self.assertRegex(told[0].file, "chunk-")
        self.assertRegex(told[0].reason, "checksum")

    def test_what_the_caller_raises_passes_and_loses_nothing(self):
        ds, number, _ = self.damaged()

        def refuse(damage):
            raise KeyError(damage.sample)

        with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), skip_bad=True, epochs=1,
                          on_bad=refuse) as loader:
            seen, rest, raised = [], iter(loader), 0
            while True:
                try:
                    seen.append(next(rest))
                except KeyError as e:
                    self.assertEqual(e.args, (number,))
                    raised += 1
                except StopIteration:
                    break
        self.assertEqual(raised, 1)
        self.assertEqual([b.step for b in seen], list(range(12)))

    def test_after_any_error_it_goes_on_where_the_library_does(self):
        """For want of memory a step may be behind it, or still to come."""
        real = hpdsl._running.Running.next

        def before(running):
            raise hpdsl.NoMemoryError("no memory", -errno.ENOMEM)

        def behind(running):
            real(running)
            before(running)

        ds = hpdsl.Dataset(self.packed)
        for workers, worker in (1, 0), (2, 1):
            with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), epochs=2,
                              workers=workers, worker=worker) as loader:
                seen, fails = [], {2: before, 5: behind}
                for call in range(24):
                    with mock.patch.object(hpdsl._running.Running, "next",
                                           fails.get(call, real)):
                        try:
                            batch = loader.next_batch()
                        except MemoryError:
                            self.assertEqual(loader.state_dict()["step"],
                                             seen[-1][1] + 1)
                            continue
                    if batch is None:
                        break
                    seen.append((batch.epoch, batch.step))
                    at = loader.state_dict()
                    self.assertEqual((at["epoch"], at["step"]),
                                     loader._normal(batch.epoch,
                                                    batch.step + 1))
            all_steps = [(e, s) for e in (0, 1)
                         for s in range(worker, 12, workers)]
            del all_steps[4]  # that of call 5, as call 2 gave none
            self.assertEqual(seen, all_steps[:len(seen)])
            self.assertGreater(len(seen), 10)

    def test_unchecked(self):
        ds, number, _ = self.damaged()
        with hpdsl.Loader(ds, order=hpdsl.Order(**SMALL), check=False) as loader:
            got = {n: bytes(v) for b in loader
                   for n, v in zip(b.numbers, b.data)}
            self.assertTrue(loader.stats()["unchecked"])
        want = content(self.keys[ds.key(number)], "bin")
        self.assertNotEqual(got[number], want)
        self.assertEqual(got[number][1:], want[1:])

    def test_a_chunk_that_is_gone(self):
        shutil.copytree(self.packed, self.at + "/g")
        os.unlink(self.at + "/g/chunk-000002.tar")
        ds = hpdsl.Dataset(self.at + "/g")
        order = hpdsl.Order(**SMALL)
        epoch, gone = hpdsl.Epoch(ds, order), {2}
        want = [s for s in range(epoch.steps()) if gone.isdisjoint(
            ds.members(p.sample)[0].chunk for p in epoch.step(s))]
        self.assertTrue(0 < len(want) < epoch.steps())
        with hpdsl.Loader(ds, order=order, epochs=1) as loader:
            came, rest, errors = [], iter(loader), 0
            while True:
                try:
                    came.append(next(rest).step)
                except StopIteration:
                    break
                except FileNotFoundError as e:
                    self.assertIn("chunk-000002.tar", str(e))
                    errors += 1
            self.assertEqual(came, want)
            self.assertEqual(errors, epoch.steps() - len(want))


if __name__ == "__main__":
    warnings.simplefilter("error")
    unittest.main()
