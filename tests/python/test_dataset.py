# SPDX-License-Identifier: Apache-2.0
"""Datasets, map style."""

import collections.abc
import gc
import multiprocessing
import os
import pathlib
import pickle
import random
import shutil
import tarfile
import tempfile
import threading
import traceback
import unittest
from array import array

import hpdsl
from common import Packed, command, content, flip, forked, pack
from foreign import add
from hpdsl import _errors


class Reading(Packed):
    def test_samples_by_number(self):
        with hpdsl.Dataset(self.packed) as ds:
            self.assertEqual(len(ds), self.samples)
            keys = set()
            for number in range(len(ds)):
                self.assertSample(ds, number, ds[number])
                keys.add(ds.key(number))
            self.assertEqual(keys, set(self.keys))
            self.assertEqual(ds[-1].key, ds[len(ds) - 1].key)
            self.assertEqual([s.number for s in ds[190:]],
                             list(range(190, 200)))
            self.assertEqual([s.number for s in ds], list(range(200)))

    def test_many_in_any_order(self):
        ds = hpdsl.Dataset(self.packed)
        numbers = list(range(len(ds))) + [3, 3, 199, -1]
        random.Random(1).shuffle(numbers)
        for threads in 0, 1, 3:
            got = ds.read_many(numbers, threads)
            self.assertEqual(len(got), len(numbers))
            for number, sample in zip(numbers, got):
                self.assertSample(ds, number % len(ds), sample)
        self.assertEqual(ds.read_many([]), [])

    def test_members_by_path(self):
        ds = hpdsl.Dataset(self.packed)
        for key, n in self.keys.items():
            self.assertEqual(ds.read(f"{key}.json"), content(n, "json"))
            member = ds.find(os.fsencode(f"{key}.bin"))
            path = os.path.join(self.tree, member.path)
            self.assertEqual(member.path, f"{key}.bin")
            self.assertEqual(member.size, len(content(n, "bin")))
            self.assertEqual(member.mtime_ns, os.stat(path).st_mtime_ns)
            self.assertEqual(member.mode, os.stat(path).st_mode & 0o777)
            self.assertIn(member, ds.members(member.sample))
            self.assertEqual(ds.key(member.sample), key)

    def test_by_key(self):
        ds = hpdsl.Dataset(self.packed)
        number = next(n for n in range(200) if ds.labels[n] == 0)
        key = ds.key(number)
        for name in key, os.fsencode(key), pathlib.Path(key):
            self.assertSample(ds, number, ds[name])
            self.assertIn(name, ds)
        self.assertEqual(ds.members(key), ds.members(number))
        self.assertEqual([s.number for s in ds[[key, 3, ds.key(5)]]],
                         [number, 3, 5])
        for name in key + ".bin", key[:-1], "":
            self.assertNotIn(name, ds)
        with self.assertRaisesRegex(
                TypeError, f"'{key}.bin': that is a member, of sample {number} "
                rf"'{key}': .* is ds\.read\('{key}\.bin'\)"):
            ds[key + ".bin"]
        with self.assertRaisesRegex(
                hpdsl.NotFoundError, f"{self.packed}: no sample has the key "
                f"'{key}x': no member '{key}x'; there are '{key}"):
            ds[key + "x"]

    def test_lists(self):
        ds = hpdsl.Dataset(self.packed)
        for many in [4, -1], range(4, 6), array("i", [4, 5]), []:
            self.assertEqual([s.number for s in ds[many]],
                             [n % 200 for n in many])
        for mask in [True, False], [1, False]:
            with self.assertRaisesRegex(TypeError, "not a mask"):
                ds[mask]

    def test_a_sample_is_a_mapping(self):
        sample = hpdsl.Dataset(self.packed)[0]
        self.assertTrue("bin" in sample and ".json" in sample)
        for none in "jpg", "", 0, None:
            self.assertNotIn(none, sample)
        self.assertEqual(dict(sample), sample.members)
        self.assertEqual(dict(**sample), sample.members)
        self.assertEqual(dict(sample.items()), sample.members)
        self.assertEqual(list(sample.values()),
                         [sample[suffix] for suffix in sample.keys()])
        self.assertEqual((len(sample), sample.get("jpg", 5), sample.get("jpg")),
                         (len(sample.keys()), 5, None))
        self.assertEqual(sample.get(".bin"), sample["bin"])
        with self.assertRaisesRegex(TypeError, r"sample\['bin'\], sample\.label"):
            _, _ = sample
        # What stacks dicts would leave its label out.
        self.assertNotIsInstance(sample, collections.abc.Mapping)
        self.assertEqual(len({sample, sample}), 1)

    def test_what_it_has(self):
        ds = hpdsl.Dataset(self.packed)
        files = [os.path.join(d, f) for d, _, names in os.walk(self.tree)
                 for f in names]
        self.assertEqual(ds.counts.samples, 200)
        self.assertEqual(ds.counts.members, len(files))
        self.assertEqual(ds.counts.chunks, 7)
        self.assertEqual(ds.counts.bytes, sum(map(os.path.getsize, files)))
        self.assertEqual(sorted(ds.class_names),
                         ["class0", "class1", "class2"])
        self.assertEqual(ds.labels.typecode, "i")
        self.assertEqual(list(ds.labels), [s.label for s in ds])
        self.assertFalse(ds.sources().staged)

    def test_what_others_have(self):
        ds = hpdsl.Dataset(self.packed)
        for name, here in (("classes", "class_names"), ("targets", "labels"),
                           ("shuffle", "seed= of a loader"),
                           ("map", "decode= of hpdsl.torch.Loader"),
                           ("filter", r"hpdsl.Choice\(ds, ..\)")):
            with self.assertRaisesRegex(
                    AttributeError, f"^'Dataset' object has no attribute "
                    f"'{name}': here it is {here}"):
                getattr(ds, name)
        with self.assertRaisesRegex(AttributeError, "'shuffel'$"):
            ds.shuffel
        self.assertFalse(hasattr(ds, "__getitems__"))
        for here, given in (("called path", {"root": 1}),
                            ("Loader has decode", {"transform": 1}),
                            ("Loader have choice", {"split": "train"}),
                            ("Loader have shuffle", {"shuffle": True})):
            with self.assertRaisesRegex(
                    TypeError, f"^Dataset has no argument '.*': .*{here}"):
                hpdsl.Dataset(**given)
        with self.assertRaisesRegex(hpdsl.NotFoundError, "hpdsl-index was"):
            hpdsl.Dataset("shards/{000..009}.tar")

    def test_shuffled(self):
        self.assertIs(hpdsl.Dataset(self.packed).shuffled, True)
        with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
            path = os.path.join(folder, "sorted")
            pack(self.tree, path, "--shuffle=none")
            self.assertIs(hpdsl.Dataset(path).shuffled, False)

    def test_threads(self):
        ds, wrong = hpdsl.Dataset(self.packed), []

        def read(seed):
            numbers = list(range(len(ds)))
            random.Random(seed).shuffle(numbers)
            for number in numbers:
                n = self.keys[ds[number].key]
                if ds[number].data != content(n, "bin"):
                    wrong.append(number)

        threads = [threading.Thread(target=read, args=(i,)) for i in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


class Others(Packed):
    """Kinds of packs and names."""

    samples = 40

    def test_compressed(self):
        pack(self.tree, self.at + "/z", "--zstd", "--chunks=3")
        ds = hpdsl.Dataset(self.at + "/z")
        for number in range(len(ds)):
            self.assertSample(ds, number, ds[number])

    def test_without_classes(self):
        command("hpdsl-pack", "-q", self.tree, self.at + "/n")
        ds = hpdsl.Dataset(self.at + "/n")
        self.assertEqual(ds.class_names, [])
        self.assertEqual(set(ds.labels), {hpdsl.NO_LABEL})
        self.assertEqual((ds[0].label, ds[0].class_name), (-1, None))

    def test_what_the_packer_made_is_no_content(self):
        pack(self.tree, self.at + "/c", "--cls")
        ds = hpdsl.Dataset(self.at + "/c")
        for number in range(len(ds)):
            self.assertSample(ds, number, ds[number])
            self.assertIn(True, [m.generated for m in ds.members(number)])

    def test_names_of_any_bytes(self):
        top = os.fsencode(self.at) + b"/t"
        os.makedirs(top + b"/\xff")
        with open(top + b"/\xff/\xe9.a", "wb") as f:
            f.write(b"one")
        command("hpdsl-pack", "-q", top, self.at + "/p")
        ds = hpdsl.Dataset(os.fsencode(self.at) + b"/p")
        self.assertEqual(ds[0].key, "\udcff/\udce9")
        for path in b"\xff/\xe9.a", "\udcff/\udce9.a":
            self.assertEqual(ds.read(path), b"one")

    def test_one_member_without_suffix(self):
        os.mkdir(self.at + "/t")
        for name in "plain", ".hidden", "b.tar.gz":
            with open(f"{self.at}/t/{name}", "w", encoding="ascii") as f:
                f.write(name)
        command("hpdsl-pack", "-q", self.at + "/t", self.at + "/p")
        got = {s.key: s.members for s in hpdsl.Dataset(self.at + "/p")}
        self.assertEqual(got, {"plain": {"": b"plain"},
                               ".hidden": {"": b".hidden"},
                               "b": {"tar.gz": b"b.tar.gz"}})


class Twice(unittest.TestCase):
    """Of two members of one suffix the first one wins, everywhere; of a path
    that an adopted tar has twice there is the last one alone."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(dir=os.getcwd())
        cls.addClassCleanup(folder.cleanup)
        cls.adopted, cls.packed = folder.name + "/tar", folder.name + "/packed"
        os.mkdir(cls.adopted)
        with tarfile.open(cls.adopted + "/x.tar", "w") as tar:
            for name in "a.txt", "a.jpg", "a.txt", "a.jpg", "b.txt":
                add(tar, name, f"{len(tar.getnames())} {name}".encode())
        command("hpdsl-index", "-q", cls.adopted)
        os.mkdir(folder.name + "/tree")
        for name in "c.", "c", "c.txt":
            with open(f"{folder.name}/tree/{name}", "w",
                      encoding="ascii") as f:
                f.write(name)
        command("hpdsl-pack", "-q", folder.name + "/tree", cls.packed)

    def test_by_number(self):
        ds = hpdsl.Dataset(self.adopted)
        for sample in ds[0], ds.read_many([0])[0], pickle.loads(
                pickle.dumps(ds[0])):
            self.assertEqual(sample.members,
                             {"txt": b"2 a.txt", "jpg": b"3 a.jpg"})
            self.assertEqual(list(sample.members), ["txt", "jpg"])
            self.assertEqual(sample.all, [("txt", b"2 a.txt"),
                                          ("jpg", b"3 a.jpg")])
            self.assertEqual(sample["jpg"], b"3 a.jpg")
            self.assertEqual(sample.data, b"2 a.txt")
        self.assertEqual(sample[".jpg"], sample["jpg"])
        self.assertEqual(sample.open(".jpg").name, "a.jpg")
        with self.assertRaisesRegex(KeyError, r"sample 0 'a' has no 'png': "
                                    "there are 'txt', 'jpg'\"$"):
            sample["png"]
        for name, here in ("label", "label"), ("__key__", "key"), ("image", "data"):
            with self.assertRaisesRegex(KeyError, "'txt', 'jpg'; wanted is "
                                        f"sample.{here}.$"):
                sample[name]
        self.assertEqual(ds.read("a.jpg"), b"3 a.jpg")
        self.assertEqual(ds[1].all, [("txt", b"4 b.txt")])

    def test_by_key(self):
        """a is the key of two samples, and c.tar of none."""
        with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
            with tarfile.open(folder + "/x.tar", "w") as tar:
                for name in "a.txt", "b.txt", "a.jpg", "c.tar.gz", "d":
                    add(tar, name, name.encode())
            command("hpdsl-index", "-q", folder)
            ds = hpdsl.Dataset(folder)
            with self.assertRaisesRegex(
                    hpdsl.UsageError, r"samples 0 and 2 have the key 'a': "
                    r"wanted ds\[0\] or ds\[2\]"):
                ds["a"]
            self.assertEqual([ds["b"].number, ds["c"].number, ds["d"].number],
                             [1, 3, 4])
            self.assertNotIn("c.tar", ds)
        packed = hpdsl.Dataset(self.packed)
        self.assertEqual(packed["c"].number, 0)

    def test_key_of_equal_paths(self):
        """Shards that count from 0 each: of one path there are several."""
        with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
            for shard, names in enumerate((
                    ("0.jpg", "0.jpg", "1.jpg"), ("0.jpg", "2.jpg", "2.jpg"),
                    ("0.jpg",))):
                with tarfile.open(f"{folder}/{shard}.tar", "w") as tar:
                    for name in names:
                        add(tar, name, b"%d" % shard)
            command("hpdsl-index", "-q", folder)
            for copy in False, True:
                ds = hpdsl.Dataset(folder, copy=copy)
                self.assertEqual([ds.key(n) for n in range(len(ds))],
                                 ["0", "1", "0", "2", "0"])
                with self.assertRaisesRegex(
                        hpdsl.UsageError, r"samples 0 and 2 have the key '0': "
                        r"wanted ds\[0\] or ds\[2\]"):
                    ds["0"]
                self.assertIn("0", ds)
                # Twice in one sample is no other one.
                self.assertEqual([ds["1"].number, ds["2"].number], [1, 3])

    def test_without_suffix(self):
        sample = hpdsl.Dataset(self.packed)[0]
        self.assertEqual(sample.members, {"": b"c", "txt": b"c.txt"})
        self.assertEqual(sample.all,
                         [("", b"c"), ("", b"c."), ("txt", b"c.txt")])
        self.assertEqual(sample.data, b"c")

    def test_loader(self):
        for path, suffix, want in ((self.adopted, "jpg", b"3 a.jpg"),
                                   (self.adopted, "txt", b"2 a.txt"),
                                   (self.packed, "", b"c")):
            for suffixes in None, (suffix,), ("txt", "." + suffix):
                with hpdsl.Loader(hpdsl.Dataset(path), suffixes=suffixes,
                                  on_warning=str) as loader:
                    batch = loader.next_batch()
                    at = batch.numbers.index(0)
                    self.assertEqual(bytes(batch.members(suffix)[at]), want)


class Errors(Packed):
    samples, options = 30, ("--chunks=2",)

    def test_each_has_its_class_code_and_text(self):
        ds = hpdsl.Dataset(self.packed)
        for call, kinds, code, text in (
                (lambda: hpdsl.Dataset(self.at + "/no"),
                 (hpdsl.NotFoundError, FileNotFoundError, hpdsl.Error), -2,
                 f"{self.at}/no: No such file or directory"),
                (lambda: hpdsl.Dataset(self.at),
                 (hpdsl.NotOursError, hpdsl.Error), -10002,
                 f"{self.at}: not a dataset (no dataset.yaml): it is empty "
                 "(hpdsl-info says what is there, and what comes next)"),
                (lambda: ds.find("nothing"),
                 (hpdsl.NotFoundError, KeyError, OSError), -2,
                 "no member 'nothing'; there are '")):
            with self.assertRaises(kinds[0]) as raised:
                call()
            e = raised.exception
            for kind in kinds[1:]:
                if kind is not KeyError:
                    self.assertIsInstance(e, kind)
            self.assertEqual((e.code, str(e)[:len(text)]), (code, text))
            if isinstance(e, OSError):
                self.assertEqual(e.errno, -code)
            again = pickle.loads(pickle.dumps(e))
            self.assertEqual((type(again), again.code, str(again)),
                             (type(e), e.code, str(e)))

    def test_notes(self):
        """Of an exception that stays what it is, in any Python."""
        class Old(ValueError):
            add_note = None

        for kind in ValueError, Old:
            try:
                try:
                    {}["first"]
                except KeyError:
                    raise kind("then")
            except kind as e:
                error = e
            _errors.annotate(error, "of a")
            self.assertEqual((str(error), error.__notes__), ("then", ["of a"]))
            self.assertRegex("".join(traceback.format_exception(
                kind, error, error.__traceback__)), "(?s)first.*then")
        first = error.__context__
        self.assertEqual(str(first.__cause__), "of a")
        first.__cause__ = error  # a ring ends, too
        _errors.annotate(error, "of b")
        self.assertEqual(error.__notes__, ["of a", "of b"])
        try:
            try:
                {}["first"]
            except KeyError:
                raise Old("then") from None
        except Old as e:
            error = e
        _errors.annotate(error, "of a")
        self.assertRegex("".join(traceback.format_exception(
            Old, error, error.__traceback__)), "(?s)of a.*then")

    def test_numbers(self):
        ds = hpdsl.Dataset(self.packed)
        for number in 30, -31, 1 << 70:
            with self.assertRaisesRegex(hpdsl.RangeError,
                                        f"no sample {number}, there are 30"):
                ds[number]
            with self.assertRaises(IndexError):
                ds.read_many([0, number])
            with self.assertRaises(IndexError):
                ds.members(number)
        for number in 1.0, None, (1, 2):
            with self.assertRaisesRegex(TypeError, "wanted the number of a sa"):
                ds[number]

    def test_what_makes_no_sense(self):
        ds = hpdsl.Dataset(self.packed)
        for call in (lambda: ds.patience(-1), lambda: ds.patience(float("nan")),
                     lambda: ds.read_many([0], threads=-1),
                     lambda: ds.read_many([0], threads=1 << 20),
                     lambda: hpdsl.Dataset("")):
            with self.assertRaises(hpdsl.UsageError):
                call()

    def test_damage_is_named(self):
        shutil.copytree(self.packed, self.at + "/d")
        ds = hpdsl.Dataset(self.at + "/d")
        member = ds.members(3)[1]
        flip(f"{self.at}/d/chunk-{member.chunk:06}.tar", member.offset)
        for call in (lambda: ds[3], lambda: ds.read(member.path),
                     lambda: ds.read_many(range(30))):
            with self.assertRaisesRegex(
                    hpdsl.CorruptError, f"chunk-.*{member.path}.*checksum"):
                call()
        self.assertEqual(ds[4].number, 4)

    def test_a_damaged_index(self):
        shutil.copytree(self.packed, self.at + "/i")
        flip(self.at + "/i/index.hpdsl", 3)
        with self.assertRaises(hpdsl.NotOursError):
            hpdsl.Dataset(self.at + "/i")

    def test_closed(self):
        ds = hpdsl.Dataset(self.packed)
        with ds:
            pass
        for call in (lambda: ds[0], lambda: ds.labels, ds.sources,
                     lambda: ds.read_many([0]), lambda: ds.key(0),
                     lambda: ds.find("x")):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        ds.close()

    def test_nothing_stays_open(self):
        def open_files():
            return sorted(os.readlink(f"/proc/self/fd/{n}") for n in
                          os.listdir("/proc/self/fd")
                          if os.path.exists(f"/proc/self/fd/{n}"))

        gc.collect()  # what other tests have left
        before = open_files()
        for _ in range(20):
            ds = hpdsl.Dataset(self.packed)
            ds.read_many(range(len(ds)))
            with self.assertRaises(hpdsl.Error):
                hpdsl.Dataset(self.at)
        del ds
        gc.collect()
        self.assertEqual(open_files(), before)


def _read(ds, number):
    return ds[number].data


def _first(ds):
    try:
        return ds[0].key
    except hpdsl.Error as e:
        return type(e).__name__, str(e)


class Processes(Packed):
    def test_pickled(self):
        ds = hpdsl.Dataset(self.packed)
        ds.patience(3.5)
        again = pickle.loads(pickle.dumps(ds))
        self.assertEqual(again.pack, ds.pack)
        self.assertEqual(again[7].members, ds[7].members)
        again = pickle.loads(pickle.dumps(again))
        self.assertEqual(again._patience, 3.5)

    def test_another_pack_is_refused(self):
        path = self.at + "/p"
        pack(self.tree, path, "--seed=1")
        ds = hpdsl.Dataset(path)
        self.assertRegex(ds.pack, "^[0-9a-f]{32}$")
        kept = pickle.dumps(ds)
        pack(self.tree, path, "--seed=2", "--force")
        self.assertEqual(hpdsl.Dataset(path).counts, ds.counts)
        with self.assertRaisesRegex(hpdsl.DiffersError, "another pack"):
            pickle.loads(kept)
        # and to a child; the parent goes on with what it has
        self.assertEqual(forked(lambda: _first(ds)),
                         ("DiffersError",
                          f"{path}: another pack than before the fork"))
        self.assertRegex(ds.key(0), "class")

    def test_relative_path_and_chdir(self):
        here = os.getcwd()
        os.chdir(os.path.dirname(self.packed))
        try:
            ds = hpdsl.Dataset("packed")
            os.chdir("/")
            self.assertEqual(pickle.loads(pickle.dumps(ds)).pack, ds.pack)
        finally:
            os.chdir(here)

    def test_spawned(self):
        ds = hpdsl.Dataset(self.packed)
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            got = pool.starmap(_read, [(ds, n) for n in range(0, 200, 9)])
        self.assertEqual(got, [ds[n].data for n in range(0, 200, 9)])


class ForksUnderThreads(Packed):
    def test_forked_while_threads_read(self):
        """Locks that are held at the fork are nobody's in the child."""
        ds, stop = hpdsl.Dataset(self.packed), threading.Event()

        def read():
            while not stop.is_set():
                ds.read_many(range(0, 200, 7), 2)

        threads = [threading.Thread(target=read) for _ in range(3)]
        for t in threads:
            t.start()
        try:
            for _ in range(25):
                keys = forked(lambda: [s.key for s in ds[3:150:40]])
                self.assertEqual(keys, [ds.key(n) for n in range(3, 150, 40)])
        finally:
            stop.set()
            for t in threads:
                t.join()


if __name__ == "__main__":
    unittest.main()
