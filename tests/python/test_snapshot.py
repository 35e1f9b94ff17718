# SPDX-License-Identifier: Apache-2.0
"""Snapshots against os and os.path over the tree that they were made of."""

import collections
import gc
import multiprocessing
import os
import pickle
import random
import sys
import tarfile
import tempfile
import threading
import unittest

import hpdsl
from hpdsl import _names
from common import Packed, command, flip, forked, pack, until_true


def by_bytes(names):
    return sorted(names, key=os.fsencode)


def create(tree, file):
    command("hpdsl-snapshot", "create", "-q", tree, "-o", file)


def walked(top, **how):
    """os.walk in the order that a snapshot has."""
    for root, dirs, files in os.walk(top, **how):
        dirs.sort(key=os.fsencode)
        yield root, dirs, by_bytes(files)


def told(function, *arguments, **more):
    """What it returns, or its errno."""
    try:
        return function(*arguments, **more)
    except OSError as e:
        return e.errno


def fields(st):
    if isinstance(st, int):
        return st
    return st.st_mode, st.st_size, st.st_mtime, st.st_mtime_ns


class Live(unittest.TestCase):
    """self.snap is of self.tree, which is the working folder."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(dir=os.getcwd())
        cls.addClassCleanup(folder.cleanup)
        cls.at = folder.name
        cls.tree, cls.file = cls.at + "/tree", cls.at + "/snap"
        cls.make(cls.tree)
        create(cls.tree, cls.file)
        cls.snap = hpdsl.Snapshot(cls.file)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(cls.tree)


class Nasty(Live):
    """All that a name space can hold."""

    @classmethod
    def make(cls, tree):
        kit = os.path.join(os.environ["SRC"], "tests/kit")
        command(sys.executable, kit + "/snapshot_trees.py", "nasty", tree)
        # one leads out of the tree, one to a name that no file system has
        os.unlink(tree + "/link/abs")
        os.unlink(tree + "/link/longest")
        create(tree, cls.at + "/deep")
        # too deep for os.walk and os.stat
        command("rm", "-rf", *(f"{tree}/{name}" for name in
                               ("s", "four", "d" * 255)))

    def test_deep(self):
        with hpdsl.Snapshot(self.at + "/deep") as snap:
            got = list(snap.walk("s"))
            self.assertEqual([root for root, _, _ in got],
                             ["s" + "/s" * n for n in range(len(got))])
            self.assertGreater(len(got), 1900)
            last = got[-1][0] + "/" + got[-1][2][0]
            self.assertEqual(snap.getsize(last), 3)
            self.assertIn(last, list(snap.files()))
            self.assertEqual(list(snap.walk("s", topdown=False)), got[::-1])

    def test_walk(self):
        snap = self.snap
        for top in ".", "odd", "./order2/", "link/up", "order2/a/f", "absent":
            for more in {}, {"followlinks": False}:
                self.assertEqual(list(snap.walk(top, **more)),
                                 list(walked(top, **more)), (top, more))
        both = list(snap.walk("")), list(snap.walk("."))
        self.assertEqual([(("./" + root).rstrip("/") if root else ".", *more)
                          for root, *more in both[0]], both[1])
        self.assertGreater(len(both[0]), 30)

    def test_walk_bottom_up(self):
        got = list(self.snap.walk(".", topdown=False))
        self.assertEqual(sorted(got), sorted(
            (r, by_bytes(d), f) for r, d, f in walked(".", topdown=False)))
        # each behind all that is below it, neighbours in order
        done = set()
        for root, dirs, _ in got:
            for name in dirs:
                path = os.path.join(root, name)
                self.assertTrue(path in done or os.path.islink(path))
            done.add(root)
        self.assertEqual(got, list(self._bottom_up(".")))

    def _bottom_up(self, top):
        names = by_bytes(os.listdir(top))
        dirs = [n for n in names if os.path.isdir(os.path.join(top, n))]
        for name in dirs:
            path = os.path.join(top, name)
            if not os.path.islink(path):
                yield from self._bottom_up(path)
        yield top, dirs, [n for n in names if n not in set(dirs)]

    def test_walk_where_dirs_say(self):
        def pruned(walk):
            for root, dirs, files in walk:
                yield root, dirs[:], files
                if root == ".":
                    dirs[:] = ["order2", "odd", "order", "absent", "link",
                               "hard", "order/a"]
                elif root.endswith("order2"):
                    del dirs[1::2]
                    dirs.reverse()
                elif root.endswith("link"):
                    dirs += ["folder", "../mode"]

        got = list(pruned(self.snap.walk(".")))
        self.assertEqual(got, list(pruned(walked("."))))
        self.assertIn("./link/../mode", [root for root, _, _ in got])

    def test_walk_errors(self):
        for top in "absent", "odd/a", "odd/a/x", "link/self":
            live, ours = [], []
            list(os.walk(top, onerror=live.append))
            list(self.snap.walk(top, onerror=ours.append))
            self.assertEqual([e.errno for e in ours], [e.errno for e in live])
            self.assertEqual(len(ours), 1)

    def test_every_entry(self):
        snap, n = self.snap, 0
        for root, _, _ in list(os.walk(".")):
            self.assertEqual(snap.listdir(root), by_bytes(os.listdir(root)))
            with os.scandir(root) as live, snap.scandir(root) as ours:
                live = sorted(live, key=lambda e: os.fsencode(e.name))
                ours = list(ours)
            self.assertEqual([e.path for e in ours], [e.path for e in live])
            for a, b in zip(ours, live):
                n += 1
                self.assertEqual(a.name, b.name)
                self.assertEqual(os.fspath(a), a.path)
                self.assertEqual(a.is_symlink(), b.is_symlink())
                for follow in True, False:
                    for ask in "is_dir", "is_file":
                        self.assertEqual(
                            told(getattr(a, ask), follow_symlinks=follow),
                            told(getattr(b, ask), follow_symlinks=follow),
                            (b, ask, follow))
                    self.assertEqual(
                        fields(told(a.stat, follow_symlinks=follow)),
                        fields(told(b.stat, follow_symlinks=follow)), b)
                self.assertEqual(a.inode(),
                                 a.stat(follow_symlinks=False).st_ino)
                self.assertEqual(snap.lstat(a.path),
                                 a.stat(follow_symlinks=False))
                if a.is_symlink():
                    self.assertEqual(snap.readlink(a.path),
                                     os.readlink(b.path))
        self.assertEqual(n, len(snap))

    def test_totals_and_paths(self):
        files, others, size = [], 0, 0
        for root, dirs, names in walked("."):
            for name in dirs + names:
                st = os.lstat(os.path.join(root, name))
                others += not (os.path.stat.S_ISDIR(st.st_mode) or
                               os.path.stat.S_ISREG(st.st_mode) or
                               os.path.stat.S_ISLNK(st.st_mode))
                size += st.st_size if os.path.stat.S_ISREG(st.st_mode) else 0
            files += [os.path.join(root, name)[2:] for name in names]
        self.assertEqual(list(self.snap.files()), files)
        self.assertEqual((self.snap.totals.bytes, self.snap.totals.others),
                         (size, others))
        self.assertGreaterEqual(others, 2)
        paths = list(self.snap)
        self.assertEqual(len(paths), len(self.snap))
        self.assertEqual(len(set(paths)), len(paths))
        self.assertTrue(all(path in self.snap for path in paths))
        self.assertTrue(set(files) < set(paths))
        self.assertEqual(list(self.snap.files("./odd//", (".b", ".x"))), [
            path for path in files if path.startswith("odd/") and
            path.endswith((".b", ".x"))])
        self.assertEqual(list(self.snap.files("link/up", ".b")), [
            path for path in files if path.endswith(".b")])
        want = collections.Counter(
            os.path.splitext(path)[1] for path in files
            if os.path.isfile(path) and not os.path.islink(path))
        self.assertEqual(self.snap.count_suffixes("."), want)

    def test_lookup_many(self):
        paths = [path for root, dirs, files in walked(".")
                 for path in (os.path.join(root, name)[2:]
                              for name in dirs + files)]
        paths += ["", ".", "/", "odd/", "odd//a", "odd/./a", "odd/a/",
                  "odd/a/x", "odd/../odd/a", "absent", "link/up/odd/a",
                  "link/self", b"odd/a", b"odd/\xed\xa0\x80"]
        rnd = random.Random(1)
        for _ in range(2):
            want = [self._size(os.fsdecode(path)) for path in paths]
            self.assertEqual(self.snap.lookup_many(paths).tolist(), want)
            self.assertEqual(self.snap.lookup_many(iter(paths)).tolist(), want)
            rnd.shuffle(paths)
        self.assertEqual(len(self.snap.lookup_many([])), 0)
        with self.assertRaisesRegex(hpdsl.UsageError, "NUL: 'a.x00b'"):
            self.snap.lookup_many(["odd", "a\0b"])

    @staticmethod
    def _size(path):
        if not path.strip("/"):
            path = "."  # the top
        return os.path.getsize(path) if os.path.exists(path) else -1


class Random(Live):
    """Paths of all kinds through links of all kinds."""

    @classmethod
    def make(cls, tree):
        rnd = random.Random(20)
        folders = [tree]
        os.mkdir(tree)
        for _ in range(12):
            path = f"{rnd.choice(folders)}/{rnd.choice('abc')}"
            if not os.path.lexists(path):
                os.mkdir(path)
                folders.append(path)
        cls.targets = ["a", "..", ".", "../a", "b/../c", "./l", "l", "m/l",
                       "../../b", "f", "f/", "a/", "g/..", "a/b/c/l", "no"]
        for folder in folders:
            for name in "fglmn":
                path = f"{folder}/{name}"
                if rnd.random() < 0.3:
                    continue
                if name in "fg":
                    with open(path, "wb") as f:
                        f.write(bytes(rnd.randrange(99)))
                else:
                    os.symlink(rnd.choice(cls.targets), path)

    def test_against_the_tree(self):
        rnd, paths = random.Random(21), []
        words = ["a", "b", "c", "f", "g", "l", "m", "n", "..", ".", "", "no"]
        top, kinds = os.path.realpath("."), collections.Counter()
        for _ in range(6000):
            path = "/".join(rnd.choices(words, [9, 6, 6, 5, 3, 6, 6, 6, 3, 1,
                                                1, 1], k=rnd.randrange(1, 7)))
            path = path.lstrip("/")
            if not path or self._leaves(path, top):
                continue
            paths.append(path)
            live = [fields(told(os.stat, path)), fields(told(os.lstat, path)),
                    os.path.exists(path), os.path.isfile(path),
                    os.path.isdir(path), os.path.islink(path),
                    told(os.readlink, path), told(os.path.getsize, path),
                    told(lambda p: by_bytes(os.listdir(p)), path)]
            s = self.snap
            ours = [fields(told(s.stat, path)), fields(told(s.lstat, path)),
                    s.exists(path), s.isfile(path), s.isdir(path),
                    s.islink(path), told(s.readlink, path),
                    told(s.getsize, path), told(s.listdir, path)]
            self.assertEqual(ours, live, path)
            self.assertEqual(path in s, os.path.lexists(path))
            kinds[ours[0] if isinstance(ours[0], int) else 0] += 1
        sizes = [told(os.path.getsize, path) if os.path.exists(path) else -1
                 for path in paths]
        self.assertEqual(self.snap.lookup_many(paths).tolist(), sizes)
        # all kinds were met: there, ENOENT, ENOTDIR, ELOOP
        self.assertEqual(sorted(kinds), [0, 2, 20, 40])
        self.assertGreater(min(kinds.values()), 20)

    @staticmethod
    def _leaves(path, top):
        """Is it, on its way, above the top?"""
        at, links = [], 0
        todo = path.split("/")[::-1]
        while todo:
            name = todo.pop()
            if name == "..":
                if not at:
                    return True
                at.pop()
            elif name not in ("", "."):
                here = os.path.join(top, *at, name)
                if os.path.islink(here):
                    links += 1
                    if links > 60:
                        return False
                    todo += os.readlink(here).split("/")[::-1]
                else:
                    at.append(name)
        return False

    def test_walk_follows(self):
        def some(walk):
            """Links in circles: no more than three levels."""
            for root, dirs, files in walk:
                yield root, dirs[:], files
                if root.count("/") >= 3:
                    del dirs[:]

        inside = [path for path in ("a", "b", "c") if os.path.isdir(path)]
        got = list(some(self.snap.walk(inside[0], followlinks=True)))
        want = [step for step in some(walked(inside[0], followlinks=True))]
        leaving = [root for root, _, _ in want if self._leaves(
            root, os.path.realpath("."))]
        self.assertEqual([s for s in got if s[0] not in leaving],
                         [s for s in want if s[0] not in leaving])
        self.assertTrue(any(os.path.islink(root) for root, _, _ in got))

    def test_above_the_top(self):
        for path in "..", "a/../../tree", "../tree/a":
            with self.assertRaisesRegex(hpdsl.NotFoundError,
                                        "no such entry"):
                self.snap.stat(path)
            self.assertNotIn(path, self.snap)


class Plain(Packed):
    def setUp(self):
        super().setUp()
        self.file = self.at + "/snap"
        create(self.tree, self.file)

    def test_what_it_says(self):
        with hpdsl.Snapshot(self.file) as snap:
            self.assertEqual(snap.totals.folders, 4)
            self.assertEqual(len(snap), snap.totals.files + 3)
            self.assertTrue(snap)
            self.assertFalse(snap.from_dataset)
            self.assertRegex(snap.digest, "^[0-9a-f]{32}$")
            self.assertIn(self.file, repr(snap))
            st = snap.stat("class1/00001.bin")
            self.assertEqual(st, snap.lstat(b"/class1/00001.bin/.."
                                            b"/00001.bin"[:17]))
            self.assertRegex(repr(st), "st_mode=0o100644, ")
            self.assertEqual(len({st, snap.stat("class1/00001.bin")}), 1)
            with snap.scandir("class1") as entries:
                self.assertEqual(repr(next(entries)),
                                 "<hpdsl.Entry '00001.bin'>")
            self.assertEqual(list(entries), [])

    def test_errors(self):
        snap = hpdsl.Snapshot(self.file)
        where = f"{self.file}: "
        for ask, path, kind, text in (
                (snap.stat, "x", hpdsl.NotFoundError, "'x': no such entry"),
                (snap.lstat, "x\udcff", FileNotFoundError, "no such entry"),
                (snap.getsize, "/class1/./00001.bni", hpdsl.NotFoundError,
                 "no such entry; in 'class1' there is '00001.bin'"),
                (snap.listdir, "clas1", hpdsl.NotFoundError,
                 "no such entry; there is 'class0', 'class1'"),
                (snap.listdir, "class1/00001.bin", hpdsl.NotFolderError,
                 "'class1/00001.bin': a part of it is no folder"),
                (snap.scandir, "class1/00001.bin", NotADirectoryError,
                 "no folder"),
                (snap.stat, "class1/00001.bin/", NotADirectoryError,
                 "no folder"),
                (snap.files, "x", hpdsl.NotFoundError, "no such entry"),
                (snap.count_suffixes, "class1/00001.bin",
                 hpdsl.NotFolderError, "no folder"),
                (snap.readlink, "class1", OSError, "is no symbolic link")):
            with self.assertRaises(kind) as caught:
                ask(path)
            self.assertTrue(str(caught.exception).startswith(where))
            self.assertIn(text, str(caught.exception))
        self.assertFalse(snap.exists("a\0b"))
        self.assertNotIn("a\0b", snap)
        for path, kind in ((self.at + "/absent", hpdsl.NotFoundError),
                           (self.packed + "/chunk-000000.tar",
                            hpdsl.NotOursError), (self.tree, hpdsl.Error),
                           ("", hpdsl.UsageError)):
            with self.assertRaises(kind):
                hpdsl.Snapshot(path)

    def test_closed(self):
        snap = hpdsl.Snapshot(self.file)
        walk, entry = snap.walk(), next(snap.scandir())
        next(walk)
        snap.close()
        for ask in (lambda: snap.stat(""), lambda: snap.listdir(),
                    lambda: next(walk), entry.stat, lambda: "" in snap,
                    lambda: snap.exists("x"), lambda: list(snap.walk()),
                    lambda: snap.lookup_many(["x"]), snap.count_suffixes,
                    lambda: pickle.dumps(snap), lambda: list(snap)):
            with self.assertRaisesRegex(ValueError, "snap: the snapshot is "
                                        "closed"):
                ask()
        snap.close()
        gc.collect()
        with open("/proc/self/maps", encoding="utf-8") as f:
            self.assertNotIn(self.file, f.read())

    def test_many_names(self):
        """More than a reader has room for, at first and at most."""
        tree = self.at + "/wide"
        os.makedirs(tree + "/empty")
        for i in range(5000):
            with open(f"{tree}/{i:0200}.x", "wb"):
                pass
        create(tree, self.at + "/wide.snap")
        snap = hpdsl.Snapshot(self.at + "/wide.snap")
        for most in 1 << 16, 700:  # names at a time
            names = _names.Names()
            names._make_room(5000, most)
            got = names.of(snap.handle(), 0)[0]
            self.assertEqual(got, by_bytes(os.listdir(tree)))
        self.assertEqual(snap.listdir(), by_bytes(os.listdir(tree)))
        self.assertEqual(snap.listdir("empty"), [])
        self.assertEqual(list(snap.walk("empty")), [("empty", [], [])])
        self.assertEqual(snap.lookup_many(list(snap.files())).tolist(),
                         [0] * 5000)

    def test_damaged(self):
        """No byte that is wrong is believed."""
        def all_of(path):
            snap = hpdsl.Snapshot(path, copy=True)
            paths = list(snap)
            return (list(snap.walk()), paths, snap.count_suffixes(),
                    snap.lookup_many(paths), [snap.lstat(p) for p in paths])

        want, wrong = all_of(self.file), 0
        size, rnd = os.path.getsize(self.file), random.Random(3)
        for at in rnd.sample(range(size), 100):
            flip(self.file, at, 64)
            try:
                self.assertEqual(all_of(self.file), want, at)
            except (hpdsl.CorruptError, hpdsl.NotOursError,
                    hpdsl.TooNewError):
                wrong += 1
            flip(self.file, at, 64)
        self.assertEqual(all_of(self.file), want)
        self.assertGreater(wrong, 50)
        for size in 0, 7, 200, size - 1:
            os.truncate(self.file, size)
            with self.assertRaises((hpdsl.CorruptError, hpdsl.NotOursError)):
                hpdsl.Snapshot(self.file)

    # ---- Elsewhere

    def test_pickled(self):
        snap = hpdsl.Snapshot(self.file)
        kept = pickle.dumps(snap)
        self.assertLess(len(kept), 500)
        again = pickle.loads(kept)
        self.assertEqual(list(again.walk()), list(snap.walk()))
        with open(self.tree + "/class0/more", "wb"):
            pass
        self.addCleanup(os.unlink, self.tree + "/class0/more")
        create(self.tree, self.file)
        with self.assertRaisesRegex(hpdsl.DiffersError, "another snapshot"):
            pickle.loads(kept)
        self.assertNotIn("class0/more", snap)
        copied = pickle.loads(pickle.dumps(hpdsl.Snapshot(self.file,
                                                          copy=True)))
        os.truncate(self.file, 0)
        self.assertIn("class0/more", copied)

    def test_forked(self):
        """The child has what the parent has mapped, whatever became of the
        file."""
        snap = hpdsl.Snapshot(self.file)
        want = list(snap.walk())
        os.unlink(self.file)
        stop = threading.Event()

        def busy():
            while not stop.is_set():
                list(snap.walk())

        threads = [threading.Thread(target=busy) for _ in range(2)]
        for t in threads:
            t.start()
        try:
            for _ in range(5):
                self.assertEqual(forked(lambda: _all_and_close(snap)), want)
        finally:
            stop.set()
            for t in threads:
                t.join()
        self.assertEqual(list(snap.walk()), want)

    def test_spawned(self):
        for source in self.file, self.packed:
            snap = hpdsl.Snapshot(source)
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                self.assertEqual(pool.map(_count, [snap]),
                                 [(len(snap), snap.count_suffixes())])

    def test_threads_and_close(self):
        """Closed in the midst of it: a ValueError, and nothing worse."""
        for _ in range(4):
            snap, failed, seen = hpdsl.Snapshot(self.file), [], []
            paths = list(snap.files())
            entry = next(snap.scandir("class1"))
            asks = (lambda: len(list(snap.walk())), lambda: entry.stat(),
                    lambda: snap.lookup_many(paths), snap.count_suffixes,
                    lambda: [snap.stat(p) for p in paths])

            def work(ask):
                try:
                    first = ask()
                    while True:
                        seen.append(1)
                        if ask() != first:
                            failed.append(ask)
                            return
                except ValueError:
                    pass
                except BaseException as e:
                    failed.append(e)

            threads = [threading.Thread(target=work, args=(ask,))
                       for ask in asks]
            for t in threads:
                t.start()
            until_true(lambda: len(seen) >= 20)
            snap.close()
            for t in threads:
                t.join()
            self.assertEqual(failed, [])


def _all_and_close(snap):
    with snap:
        return list(snap.walk())


def _count(snap):
    return len(list(snap)), snap.count_suffixes()


class OfDatasets(Packed):
    """Plain, compressed, staged, adopted: the tree's files, as packed."""

    def check(self, source, **more):
        snap = hpdsl.Snapshot(source, **more)
        self.assertTrue(snap.from_dataset)
        self.assertEqual([(r, d, f) for r, d, f in snap.walk(".")],
                         [(r.replace(self.tree, "."), d, f)
                          for r, d, f in walked(self.tree)])
        files = list(snap.files())
        for path in files[::7]:
            st, live = snap.stat(path), os.stat(f"{self.tree}/{path}")
            self.assertEqual((st.st_size, st.st_mode),
                             (live.st_size, live.st_mode))
            # Python's tars have their times from floats
            self.assertLess(abs(st.st_mtime_ns - live.st_mtime_ns), 1000)
        self.assertEqual(snap.lookup_many(files).tolist(),
                         [os.path.getsize(f"{self.tree}/{path}")
                          for path in files])
        top = snap.stat("class1")
        self.assertEqual((top.st_mode, top.st_size, top.st_mtime_ns),
                         (0o40755, 0, 0))
        return snap

    def test_packed(self):
        snap = self.check(self.packed)
        with hpdsl.Dataset(self.packed) as ds:
            other = self.check(ds)
            self.assertEqual(ds.pack, hpdsl.Dataset(self.packed).pack)
        self.assertEqual(other.digest, snap.digest)
        self.assertEqual(other.digest, self.check(self.packed,
                                                  copy=True).digest)
        # the dataset is closed, the snapshot is not; it can still be sent
        again = pickle.loads(pickle.dumps(other))
        self.assertIsNone(again._handle)
        self.assertEqual((again.digest, again.totals, len(again)),
                         (other.digest, other.totals, len(other)))
        self.assertEqual(list(again.walk()), list(other.walk()))
        self.assertIsNotNone(again._handle)
        again.close()
        with self.assertRaises(ValueError):
            again.listdir()

    def test_compressed(self):
        path = self.at + "/packed"
        pack(self.tree, path, "--zstd")
        self.check(path)

    def test_staged(self):
        kit = os.path.join(os.environ["SRC"], "tests/kit")
        command(sys.executable, kit + "/stage_dir.py", "make", self.packed,
                self.at + "/stage", "here=0,2")
        self.check(self.at + "/stage")

    def test_adopted(self):
        os.mkdir(self.at + "/tars")
        with tarfile.open(self.at + "/tars/x.tar", "w",
                          format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(os.listdir(self.tree)):
                tar.add(f"{self.tree}/{path}", path)
        command("hpdsl-index", "-q", self.at + "/tars")
        self.check(self.at + "/tars")

    def test_another_pack_is_refused(self):
        path = self.at + "/p"
        pack(self.tree, path, "--seed=1")
        snap = hpdsl.Snapshot(path)
        kept = pickle.dumps(snap)
        pack(self.tree, path, "--seed=2", "--force")
        with self.assertRaises(hpdsl.DiffersError):
            pickle.loads(kept)
        self.assertEqual(len(list(snap)), len(snap))
        # nor other files under what a pickle has of the same pack
        again = pickle.loads(pickle.dumps(hpdsl.Snapshot(path)))
        again.digest = "0" * 32
        with self.assertRaisesRegex(hpdsl.DiffersError, "other files"):
            again.listdir()


if __name__ == "__main__":
    unittest.main()
