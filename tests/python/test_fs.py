# SPDX-License-Identifier: Apache-2.0
"""Datasets as a file system of fsspec, held against the tree itself."""

import errno
import gzip
import itertools
import os
import pickle
import random
import shutil
import sys
import tempfile
import threading
import unittest
from unittest import mock

import fsspec
import hpdsl
from fsspec.implementations.local import LocalFileSystem
from hpdsl import _fs_opened
from hpdsl import fs as hpdsl_fs
from hpdsl._abi import lib

from common import Packed, command, flip, forked, pack, run

KIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kit")


def nasty(path):
    """The parts whose paths are short enough for who takes paths, not
    descriptors, as the local one does."""
    command(sys.executable, os.path.join(KIT, "nasty.py"), path, "lengths",
            "odd", "noise", "contents")


TIMES = (0, 1, 999999999, -1500000000, -2 * 10**18, 2147483648 * 10**9 + 1,
         8589934591 * 10**9 + 999999999, 10413792000 * 10**9 + 7)


def small(path):
    rnd = random.Random(3)
    times, modes = itertools.cycle(TIMES), itertools.cycle(range(0o400, 0o1000,
                                                                 0o11))
    for name, size in (("a/2.csv", 20), ("a-b/3", 0), ("a.txt", 5),
                       ("a/b/c/d.bin", 3 << 19), ("a/b/1.0.0", 700),
                       ("a/b/1.0.1", 800), ("[x]/y[1].txt", 3), ("a/*", 4),
                       ("a/?q", 4), (".dot/.f", 9), ("ä/é\n.x", 9),
                       ("\udcff/\udcfe", 7), ("{b,c}/(+)^$|", 8),
                       ("a/b/large", (1 << 20) + 1), ("a/b/one", 1 << 20),
                       ("q/" * 20 + "r", 6)):
        name = os.path.join(path, name)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as f:
            f.write(rnd.randbytes(size))
        os.chmod(name, next(modes))
        os.utime(name, ns=(1, next(times)))


def same(info):
    """What both say of an entry; of folders a pack knows the name."""
    if info["type"] == "directory":
        return "directory"
    return (info["size"], info["type"], info["mode"] & 0o100777,
            info["mtime"], info["islink"])


class Like(unittest.TestCase):
    """self.fs over self.packed is to answer as self.local does over
    self.tree."""

    def start(self, tree, packed):
        self.tree, self.packed = tree, packed
        self.local = LocalFileSystem()
        self.fs = fsspec.filesystem("hpdsl", skip_instance_cache=True)

    def there(self, path):
        return self.packed + path[len(self.tree):]

    def assertNames(self, got, wanted):
        self.assertEqual(sorted(got), sorted(map(self.there, wanted)))

    def assertListings(self):
        fs, local, packed = self.fs, self.local, self.packed
        for top, folders, files in os.walk(self.tree):
            at = self.there(top)
            self.assertNames(fs.ls(at, detail=False),
                             local.ls(top, detail=False))
            self.assertEqual(
                {e["name"]: same(e) for e in fs.ls(at)},
                {self.there(e["name"]): same(e)
                 for e in local.ls(top, detail=True)})
            for name in files + folders:
                name = os.path.join(top, name)
                self.assertEqual(same(fs.info(self.there(name))),
                                 same(local.info(name)))
                self.assertEqual(fs.info(self.there(name))["name"],
                                 self.there(name))
                self.assertEqual(fs.isfile(self.there(name)),
                                 os.path.isfile(name))
                self.assertEqual(fs.isdir(self.there(name)),
                                 os.path.isdir(name))
                self.assertTrue(fs.exists(self.there(name)))
                self.assertFalse(fs.exists(self.there(name) + "/x"))
                self.assertFalse(fs.exists(self.there(name) + "x.."))
        for options in ({}, {"withdirs": True}, {"maxdepth": 1},
                        {"maxdepth": 2, "withdirs": True}):
            there = fs.find(packed, **options, detail=True)
            here = local.find(self.tree, **options, detail=True)
            self.assertEqual(
                {n: same(i) for n, i in there.items()},
                {self.there(n): same(i) for n, i in here.items()})
            self.assertEqual(list(there), sorted(there))
            self.assertEqual(fs.find(packed, **options), list(there))
        for options in ({}, {"topdown": False}, {"maxdepth": 2}):
            self.assertEqual(
                sorted((at, sorted(d), sorted(f))
                       for at, d, f in fs.walk(packed, **options)),
                sorted((self.there(at), sorted(d), sorted(f))
                       for at, d, f in local.walk(self.tree, **options)))
        self.assertEqual(fs.du(packed), local.du(self.tree))
        self.assertEqual(fs.du(packed, total=False, maxdepth=2),
                         {self.there(n): size for n, size in local.du(
                             self.tree, total=False, maxdepth=2).items()})

    def assertGlobs(self, patterns):
        for pattern in patterns:
            wanted = self.local.glob(os.path.join(self.tree, pattern))
            with self.subTest(pattern):
                self.assertNames(
                    self.fs.glob(os.path.join(self.packed, pattern)), wanted)

    def assertContents(self, times=1, rnd=random):
        """Whole, and in pieces, by all that reads."""
        fs = self.fs
        content = {}
        for name in self.local.find(self.tree):
            with open(name, "rb") as f:
                content[self.there(name)] = f.read()
        self.assertEqual(fs.cat(list(content)), content)
        self.assertEqual(fs.cat(self.packed, recursive=True), content)
        names = sorted(content)
        for _ in range(times):
            paths = rnd.choices(names, k=8)
            starts, ends = [], []
            for p in paths:
                size = len(content[p])
                for where in starts, ends:
                    where.append(rnd.choice((None, 0, size, rnd.randrange(
                        -2 * size - 2, 2 * size + 2))))
            wanted = [content[p][a:b] for p, a, b in zip(paths, starts, ends)]
            self.assertEqual(fs.cat_ranges(paths, starts, ends), wanted)
            self.assertEqual(
                [fs.cat_file(p, a, b) for p, a, b in zip(paths, starts, ends)],
                wanted)
            for p, c in zip(paths, map(content.get, paths)):
                self.assertEqual(fs.head(p, 5), c[:5])
                self.assertEqual(fs.tail(p, 5), c[-5:])
                self.assertEqual(fs.cat(p), c)
                with fs.open(p, block_size=rnd.choice((None, 10))) as f:
                    for _ in range(4):
                        at, n = (rnd.randrange(len(c) + 5) for _ in range(2))
                        f.seek(at)
                        self.assertEqual(f.read(n), c[at:at + n])
        return content


class Tree(Like):
    @classmethod
    def setUpClass(cls):
        top = tempfile.TemporaryDirectory(dir=os.getcwd())
        cls.addClassCleanup(top.cleanup)
        cls.top = top.name
        for name, make in (("small", small), ("nasty", nasty)):
            make(os.path.join(top.name, name))
            command("hpdsl-pack", "-q", "--group=key",
                    os.path.join(top.name, name),
                    os.path.join(top.name, name + ".packed"))
        cls.trees = {name: (os.path.join(top.name, name),
                            os.path.join(top.name, name + ".packed"))
                     for name in ("small", "nasty")}

    def setUp(self):
        self.start(*self.trees["small"])

    def test_names_as_in_the_tree(self):
        self.assertListings()
        self.assertGlobs(["*", "**", "a/*", "a/**", "*/*", "**/*.txt", "?",
                          "a?b/*", "[ab].txt", "a/b/1.0.*", "a", "none",
                          "none*", ".*", "{b,c}/*", "**/.f"])

    def test_names_as_in_the_nasty_tree(self):
        self.start(*self.trees["nasty"])
        self.assertListings()
        self.assertGlobs(["*", "len/*[0-9]x*", "split/*/*", "**"])

    def test_contents_as_in_the_tree(self):
        self.assertContents(60, random.Random(7))

    def test_contents_as_in_the_nasty_tree(self):
        self.start(*self.trees["nasty"])
        self.assertContents(20, random.Random(8))

    def test_copies(self):
        to = os.path.join(self.top, "copy")
        self.fs.get(self.packed + "/", to + "/", recursive=True)
        command("diff", "-r", self.tree, to)
        self.fs.get_file(self.packed + "/a.txt", to + "/one")
        self.fs.get_file(self.packed + "/[x]/y[1].txt", to + "/two")
        for one, two in ("a.txt", "one"), ("[x]/y[1].txt", "two"):
            command("cmp", os.path.join(self.tree, one), to + "/" + two)
        shutil.rmtree(to)

    def test_other_words(self):
        fs, at = self.fs, self.packed
        ds = hpdsl.Dataset(at)
        m = ds.find("a/2.csv")
        self.assertEqual(fs.checksum(at + "/a/2.csv"), m.checksum)
        self.assertEqual(fs.ukey(at + "/a/2.csv"), f"{m.checksum:016x}")
        self.assertEqual(fs.modified(at + "/a/2.csv").timestamp(),
                         m.mtime_ns // 1000 / 10**6)
        self.assertEqual(fs.modified(at + "/a/2.csv").tzname(), "UTC")
        self.assertEqual(fs.sizes([at + "/a/2.csv", at + "/a-b/3"]), [20, 0])
        self.assertEqual(fs.read_block(at + "/a/2.csv", 3, 4),
                         ds.read("a/2.csv")[3:7])
        self.assertEqual(fs.ls(at + "/a.txt"), [fs.info(at + "/a.txt")])
        self.assertEqual(fs.find(at + "/a.txt"), [at + "/a.txt"])
        # a name that is a pattern, too
        self.assertEqual(fs.cat([at + "/a/*"]), {at + "/a/*": ds.read("a/*")})
        self.assertEqual(set(fs.cat(at + "/a/b/1.0.?")),
                         {at + "/a/b/1.0.0", at + "/a/b/1.0.1"})
        self.assertEqual(fs.cat([]), {})
        self.assertEqual(fs.cat(at + "/a.txt", start=1, end=3),
                         ds.read("a.txt")[1:3])
        self.assertEqual(set(fs.get_mapper(at)),
                         {p[len(at) + 1:] for p in fs.find(at)})

    def test_paths(self):
        strip = hpdsl_fs.HpdslFileSystem._strip_protocol
        for given, path in (("hpdsl:///p/a", "/p/a"), ("/p/a", "/p/a"),
                            ("hpdsl:////p//a/./b/../", "/p/a"),
                            ("hpdsl:///", "/"), ("hpdsl://", os.getcwd()),
                            ("hpdsl://p/a", os.getcwd() + "/p/a"),
                            ("p", os.getcwd() + "/p"),
                            (os.fsencode("/p/\udcff"), "/p/\udcff")):
            self.assertEqual(strip(given), path)
            self.assertEqual(strip(path), path)
        self.assertEqual(strip(["/a/", "/b"]), ["/a", "/b"])
        self.assertEqual(self.fs._parent("hpdsl:///p/a"), "/p")
        self.assertEqual(self.fs._parent("/p"), "/")
        # as datasets has it; what the working directory has comes first
        self.assertEqual(strip("hpdsl:/" + self.packed + "/a"), self.packed + "/a")
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.packed)
        self.assertEqual(strip("hpdsl://index.hpdsl/a"),
                         os.getcwd() + "/index.hpdsl/a")
        self.assertEqual(self.fs.unstrip_protocol("/p/a"), "hpdsl:///p/a")
        there = os.path.relpath(self.packed)
        with fsspec.open(f"hpdsl://{there}/a.txt") as f:
            self.assertEqual(f.read(), self.fs.cat(self.packed + "/a.txt"))
        with self.assertRaisesRegex(hpdsl.UsageError, "::"):
            fsspec.open_files(f"hpdsl::file://{self.packed}/a.txt")
        with fsspec.open(f"simplecache::hpdsl://{self.packed}/a.txt", "rb",
                         simplecache={"cache_storage": self.top + "/cache"}
                         ) as f:
            self.assertEqual(f.read(), self.fs.cat(self.packed + "/a.txt"))

    def test_text_and_compression(self):
        tree, packed = self.top + "/words", self.top + "/words.packed"
        os.mkdir(tree)
        with gzip.open(tree + "/a.gz", "wt") as f:
            f.write("ä\n" * 3)
        with open(tree + "/b", "w", encoding="latin-1") as f:
            f.write("ä\n" * 3)
        command("hpdsl-pack", "-q", "--group=key", tree, packed)
        with fsspec.open("hpdsl://" + packed + "/a.gz", "r",
                         compression="infer", encoding="utf-8") as f:
            self.assertEqual(list(f), ["ä\n"] * 3)
        self.assertEqual(self.fs.read_text(packed + "/b", "latin-1"),
                         "ä\n" * 3)

    def test_what_is_not_there(self):
        fs, at = self.fs, self.packed
        for path in (at + "/none", at + "/a.txt/none", at + "/a\0", at + "/a/b",
                     self.tree + "/a.txt", "/"):
            for ask in fs.open, fs.cat, fs.cat_file, fs.checksum:
                with self.subTest(path, ask=ask.__name__), self.assertRaises(
                        IsADirectoryError if path.endswith("/b") else
                        FileNotFoundError):
                    ask(path)
            if not path.endswith("/b"):
                for ask in fs.info, fs.ls:
                    with self.assertRaises(FileNotFoundError):
                        ask(path)
                self.assertFalse(fs.exists(path) or fs.isdir(path))
            self.assertFalse(fs.isfile(path))
        there, none = at + "/a.txt", at + "/none"
        with self.assertRaisesRegex(FileNotFoundError, none):
            fs.cat([there, none])
        content = fs.cat(there)
        self.assertEqual(fs.cat([there, none], on_error="omit"),
                         {there: content})
        got = fs.cat([there, none, at + "/[none]*"], on_error="return")
        self.assertEqual(got.pop(there), content)
        self.assertEqual([type(e) for e in got.values()],
                         [hpdsl.NotFoundError] * 2)
        got = fs.cat_ranges([none, there], 0, 2)
        self.assertIsInstance(got[0], FileNotFoundError)
        self.assertEqual(got[1], content[:2])
        with self.assertRaisesRegex(FileNotFoundError, "no such file or folder "
                                    "in a dataset: no member '.*'; there are "):
            fs.cat_ranges([none, there], 0, 2, on_error="raise")
        with self.assertRaises(ValueError):
            fs.cat_ranges([none], [0, 1], 2)
        with self.assertRaises(IsADirectoryError):
            fs.modified(at + "/a/b")

    def test_folders_are_no_files(self):
        fs, local, at = self.fs, self.local, self.packed
        for path in at + "/a/b", at:
            for ask in (fs.cat, fs.cat_file, lambda p: fs.cat_file(p, 0, 1),
                        lambda p: fs.cat([at + "/a.txt", p]),
                        lambda p: fs.cat_ranges([p], 0, 1, on_error="raise")):
                with self.assertRaises(IsADirectoryError) as raised:
                    ask(path)
                self.assertEqual(raised.exception.filename, path)
        # Where it is none of those that are asked for, nobody looks for it.
        for got in (fs.cat_ranges([at + "/a/b"], 0, 1)[0],
                    fs.cat([at + "/a/b"], on_error="return")[at + "/a/b"]):
            self.assertRegex(str(got), "no such file in a dataset$")
        self.assertEqual(fs.cat([at + "/a/b"], on_error="omit"), {})
        with self.assertRaises(IsADirectoryError):
            local.cat(self.tree + "/a/b")

    def test_patterns_that_match_nothing(self):
        for some in (["a.txt", "none*"], ["none*", "a.txt", "a/b/1.0.?"]):
            self.assertNames(
                self.fs.expand_path([f"{self.packed}/{p}" for p in some]),
                self.local.expand_path([f"{self.tree}/{p}" for p in some]))
        for none in ["none*"], ["none*", "[none]"]:
            with self.assertRaises(FileNotFoundError):
                self.fs.expand_path([f"{self.packed}/{p}" for p in none])

    def test_nothing_is_written(self):
        fs, at = self.fs, self.packed
        here = os.path.join(self.tree, "a.txt")
        for ask in (lambda: fs.mkdir(at + "/n"), lambda: fs.makedirs(at + "/n"),
                    lambda: fs.rmdir(at + "/a"), lambda: fs.touch(at + "/n"),
                    lambda: fs.rm(at + "/a.txt"), lambda: fs.rm_file(at),
                    lambda: fs.rm(at, recursive=True),
                    lambda: fs.cp(at + "/a.txt", at + "/n"),
                    lambda: fs.mv(at + "/a.txt", at + "/n"),
                    lambda: fs.pipe(at + "/n", b""),
                    lambda: fs.pipe({at + "/n": b""}),
                    lambda: fs.put(here, at + "/n"),
                    lambda: fs.put_file(here, at + "/n"),
                    lambda: fs.write_text(at + "/n", ""),
                    lambda: fs.write_bytes(at + "/n", b""),
                    lambda: fs.open(at + "/a.txt", "wb"),
                    lambda: fs.open(at + "/a.txt", "a"),
                    lambda: fs.open(at + "/a.txt", "r+b"),
                    lambda: fs.get_mapper(at).__setitem__("n", b"")):
            with self.assertRaises(OSError) as raised:
                ask()
            self.assertEqual(raised.exception.errno, errno.EROFS)
        fs.makedirs(at + "/a", exist_ok=True)
        command("hpdsl-verify", "-q", at)


class Index(Packed):
    """What is asked of the index, and what of the library, and how often."""

    samples, options = 60, (*Packed.options, "--cls")

    def setUp(self):
        super().setUp()
        # What other tests have opened.
        _fs_opened.everywhere.clear()
        self.fs = fsspec.filesystem("hpdsl", skip_instance_cache=True)

    def counting(self, of, name):
        counted = mock.patch.object(of, name, wraps=getattr(of, name))
        self.addCleanup(counted.stop)
        return counted.start()

    def test_folders_only_when_they_are_asked_for(self):
        made = self.counting(_fs_opened, "Snapshot")
        fs, path = self.fs, self.packed + "/class0/00000.bin"
        self.assertTrue(fs.exists(path) and fs.isfile(path))
        self.assertFalse(fs.isfile(path + "x") or fs.isdir(path))
        fs.info(path), fs.cat(path), fs.cat([path, path + "x"],
                                            on_error="omit")
        fs.cat_ranges([path], 0, 3), fs.checksum(path)
        fs.open(path).close()
        self.assertTrue(fs.isdir(self.packed))
        self.assertEqual(made.call_count, 0)
        other = fsspec.filesystem("hpdsl", skip_instance_cache=True)
        some = [threading.Thread(target=f.ls, args=(self.packed,))
                for f in (fs, other) for _ in range(4)]
        for t in some:
            t.start()
        for t in some:
            t.join()
        self.assertEqual(made.call_count, 1)

    def test_what_the_packer_made_is_not_there(self):
        path = self.packed + "/class0/00000.cls"
        self.assertEqual(hpdsl.Dataset(self.packed).read("class0/00000.cls"),
                         b"0")
        self.assertFalse(self.fs.exists(path) or self.fs.isfile(path))
        self.assertNotIn(path, self.fs.find(self.packed))
        for ask in self.fs.cat, self.fs.open, self.fs.info, self.fs.ls:
            with self.assertRaises(FileNotFoundError):
                ask(path)

    def test_one_reading_for_many(self):
        names = self.fs.find(self.packed)
        read = self.counting(lib, "read_many")
        got = self.fs.cat(names + names[:3])
        self.assertEqual(read.call_count, 1)
        self.assertEqual(len(got), len(names))
        self.fs.cat_ranges(names * 2, 1, 3)
        self.assertEqual(read.call_count, 2)
        self.fs.get_mapper(self.packed).getitems(
            [n[len(self.packed) + 1:] for n in names] + ["none"],
            on_error="omit")
        self.assertEqual(read.call_count, 3)

    def test_shared_by_file_systems(self):
        opened = self.counting(_fs_opened, "Dataset")
        path = self.packed + "/class0/00000.bin"
        kept = [self.fs] + [fsspec.filesystem(
            "hpdsl", skip_instance_cache=True) for _ in range(3)]
        for f in kept:
            f.cat(path)
        self.assertEqual(opened.call_count, 1)
        alone = fsspec.filesystem("hpdsl", copy=True, peers=False)
        alone.cat(path)
        self.assertEqual(opened.call_args[1],
                         {"copy": True, "foreign_owner": False,
                          "peers": False})
        self.assertEqual(opened.call_count, 2)
        alone.clear_instance_cache()


class Elsewhere(Packed):
    """In threads, after a fork, pickled."""

    samples = 60

    def setUp(self):
        super().setUp()
        self.fs = fsspec.filesystem("hpdsl")
        self.names = self.fs.find(self.packed)
        self.content = self.fs.cat(self.names)

    def test_pickled(self):
        for again in (pickle.loads(pickle.dumps(self.fs)),
                      type(self.fs).from_json(self.fs.to_json())):
            self.assertEqual(again.cat(self.names), self.content)

    def test_another_interpreter_knows_it_without_an_import(self):
        path = self.packed + "/class0/00000.json"
        out = run("""if True:
            import fsspec, pickle, sys
            assert "hpdsl" in fsspec.available_protocols()
            assert "hpdsl" not in sys.modules
            with fsspec.open("hpdsl://" + sys.argv[1]) as f:
                content = f.read()
            mapper, f = pickle.loads(bytes.fromhex(sys.argv[2]))
            with f as opened:
                print(len(content), len(mapper), content == opened.read() ==
                      mapper["class0/00000.json"])
            """, path, pickle.dumps((
                self.fs.get_mapper(self.packed),
                fsspec.open("hpdsl://" + path, peers=False))).hex())
        self.assertEqual(out.stdout, f"{len(self.content[path])} "
                         f"{len(self.names)} True\n")

    def test_forked(self):
        f = self.fs.open(self.names[0])
        for ask in (lambda: self.fs.cat(self.names), lambda: dict(
                self.fs.get_mapper(self.packed)) and self.content,
                lambda: fsspec.filesystem("hpdsl").cat(self.names)):
            self.assertEqual(forked(ask), self.content)
        self.assertEqual(forked(f.read), self.content[self.names[0]])
        # Another thread has its lock just then.
        with self.fs._at(self.packed)[0]._making[1]:
            self.assertEqual(forked(lambda: self.fs.find(self.packed)),
                             self.names)

    def test_threads(self):
        wrong = []

        def work(seed):
            rnd = random.Random(seed)
            fs = rnd.choice((self.fs, fsspec.filesystem("hpdsl")))
            for _ in range(20):
                some = rnd.sample(self.names, 20)
                if fs.cat(some) != {n: self.content[n] for n in some}:
                    wrong.append(some)
                if rnd.random() < .2:
                    fs.invalidate_cache()
                if len(fs.ls(self.packed)) != 3:
                    wrong.append(seed)

        some = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for t in some:
            t.start()
        for t in some:
            t.join()
        self.assertEqual(wrong, [])


class Broken(Packed):
    samples = 60

    def setUp(self):
        super().setUp()
        self.ds = os.path.join(self.at, "packed")
        shutil.copytree(self.packed, self.ds)
        self.fs = fsspec.filesystem("hpdsl", skip_instance_cache=True)
        self.names = self.fs.find(self.ds)

    def test_damage_is_never_left_out(self):
        m = hpdsl.Dataset(self.ds).find(self.names[5][len(self.ds) + 1:])
        flip(f"{self.ds}/chunk-{m.chunk:06}.tar", m.offset)
        for on_error in "raise", "omit", "return":
            with self.assertRaises(hpdsl.CorruptError):
                self.fs.cat(self.names, on_error=on_error)
        with self.assertRaises(hpdsl.CorruptError):
            self.fs.cat(self.names[5])
        got = self.fs.cat_ranges(self.names, 0, None)
        self.assertIsInstance(got.pop(5), hpdsl.CorruptError)
        self.assertTrue(all(isinstance(c, bytes) for c in got))
        with self.assertRaises(hpdsl.CorruptError):
            self.fs.cat_ranges(self.names, 0, None, on_error="raise")
        with self.assertRaises(hpdsl.CorruptError):
            self.fs.get_mapper(self.ds).getitems(
                [n[len(self.ds) + 1:] for n in self.names], on_error="omit")

    def test_what_cannot_be_read_is_no_missing_file(self):
        """Who takes an OSError for nothing there gives zeros."""
        m = hpdsl.Dataset(self.ds).find(self.names[5][len(self.ds) + 1:])
        os.remove(f"{self.ds}/chunk-{m.chunk:06}.tar")
        for ask in (lambda: self.fs.cat(self.names, on_error="return"),
                    lambda: self.fs.cat(self.names[5]),
                    lambda: self.fs.cat_file(self.names[5], 1, 2),
                    lambda: self.fs.cat_ranges(self.names, 0, None,
                                               on_error="raise")):
            with self.assertRaises(hpdsl.Error) as raised:
                ask()
            self.assertNotIsInstance(raised.exception, OSError)
            self.assertIn("chunk-", str(raised.exception))
        shutil.rmtree(self.ds)
        with self.assertRaises(hpdsl.Error) as raised:
            forked(lambda: self.fs.cat(self.names, on_error="return"))
        self.assertNotIsInstance(raised.exception, OSError)

    def test_a_dataset_that_is_gone_is_no_missing_file(self):
        fs, one, away = self.fs, self.names[0], self.ds + ".away"
        content, mapper = fs.cat(one), fs.get_mapper(self.ds)
        inside = one[len(self.ds) + 1:]
        os.rename(self.ds, away)
        asks = [lambda ask=ask, path=path: ask(path)
                for ask in (fs.cat, fs.cat_file, fs.exists, fs.isfile, fs.isdir,
                            fs.info, fs.ls, fs.find, fs.open)
                for path in (one, one + "x", self.ds)]
        asks += [lambda: fs.cat([one], on_error="omit"),
                 lambda: fs.cat([one], on_error="return"),
                 lambda: fs.cat_ranges([one], 0, 1, on_error="raise"),
                 lambda: mapper[inside], lambda: mapper.get(inside, b""),
                 lambda: mapper.getitems([inside], on_error="omit")]

        def assertGone(ask):
            with self.assertRaises(hpdsl.Error) as raised:
                ask()
            self.assertNotIsInstance(raised.exception, OSError)
            self.assertIn(self.ds, str(raised.exception))

        for ask in asks[:4] + asks[-2:]:
            assertGone(lambda: forked(ask))
        for path in self.ds, None:
            fs.invalidate_cache(path)
            for ask in asks:
                assertGone(ask)
        self.assertNotIsInstance(fs.cat_ranges([one], 0, 1)[0], OSError)
        # where it is no path of a folder, and where another dataset begins
        with open(self.ds, "wb"):
            assertGone(lambda: fs.cat([one], on_error="omit"))
        os.remove(self.ds)
        pack(self.tree, self.at + "/outer")
        for name in os.listdir(self.at + "/outer"):
            os.rename(f"{self.at}/outer/{name}", f"{self.at}/{name}")
        for ask in asks:
            assertGone(ask)
        other = fsspec.filesystem("hpdsl", skip_instance_cache=True)
        self.assertFalse(other.exists(one))
        os.rename(away, self.ds)
        self.assertEqual(fs.cat(one), content)
        self.assertFalse(fs.exists(one + "x"))

    def test_names_that_cannot_be_kept(self):
        self.fs.invalidate_cache()
        failed = hpdsl.NotFoundError("no TMPDIR", -errno.ENOENT)
        with mock.patch.object(_fs_opened, "Snapshot", side_effect=failed):
            with self.assertRaisesRegex(hpdsl.Error, "no TMPDIR"):
                self.fs.exists(self.names[0] + "x")

    def test_packed_anew(self):
        one = self.names[0]
        before = self.fs.cat(one)
        with open(os.path.join(self.tree, one[len(self.ds) + 1:]), "rb") as f:
            self.assertEqual(f.read(), before)
        tree = os.path.join(self.at, "tree")
        os.makedirs(os.path.join(tree, "class0"))
        with open(os.path.join(tree, one[len(self.ds) + 1:]), "wb") as f:
            f.write(b"other")
        pack(tree, self.ds, "--force")
        with self.assertRaises(hpdsl.Error) as raised:
            self.fs.cat(self.names, on_error="omit")
        self.assertNotIsInstance(raised.exception, OSError)
        with self.assertRaises(hpdsl.DiffersError):
            forked(lambda: self.fs.cat(one))
        self.assertEqual(self.fs.find(self.ds), self.names)
        for path in one, self.ds, os.path.dirname(self.ds), None:
            other = fsspec.filesystem("hpdsl", skip_instance_cache=True)
            for fs in self.fs, other:
                fs.invalidate_cache("/elsewhere")
                self.assertEqual(len(fs.find(self.ds)), len(self.names))
            self.fs.invalidate_cache(path)
            self.assertEqual(len(other.find(self.ds)), len(self.names))
            self.assertEqual(self.fs.find(self.ds), [one])
            self.assertEqual(self.fs.cat([one]), {one: b"other"})
            # as it was, for the next one
            self.fs = fsspec.filesystem("hpdsl", skip_instance_cache=True)
            shutil.rmtree(self.ds)
            shutil.copytree(self.packed, self.ds)
            self.fs.find(self.ds)
            pack(tree, self.ds, "--force")

    def test_somebody_elses_stage_directory(self):
        stage = os.path.join(self.at, "stage")
        staged(self.packed, stage)
        path = f"{stage}/class0/00000.bin"
        self.assertTrue(self.fs.exists(path))
        refused = hpdsl.SystemFailure("not yours", -errno.EPERM)
        self.fs.invalidate_cache()
        with mock.patch.object(_fs_opened, "Dataset", side_effect=refused):
            for ask in self.fs.info, self.fs.exists, self.fs.isfile:
                with self.assertRaises(hpdsl.SystemFailure):
                    ask(path)
            with self.assertRaises(hpdsl.Error) as raised:
                self.fs.cat([path], on_error="omit")
            self.assertNotIsInstance(raised.exception, OSError)


def staged(packed, stage, *words):
    command(sys.executable, os.path.join(KIT, "stage_dir.py"), "make", packed,
            stage, *words)


class Forms(Like):
    """Other forms of datasets."""

    def setUp(self):
        top = tempfile.TemporaryDirectory(dir=os.getcwd())
        self.addCleanup(top.cleanup)
        self.top = top.name
        small(self.top + "/tree")

    def all_of(self, packed):
        self.start(self.top + "/tree", packed)
        self.assertListings()
        self.assertContents(10, random.Random(9))

    def test_compressed(self):
        # Names that compress well, so that some chunks are.
        with open(self.top + "/tree/a/zeros", "wb") as f:
            f.write(bytes(1 << 20))
        command("hpdsl-pack", "-q", "--group=key", "--zstd", "--chunks=3",
                self.top + "/tree",
                self.top + "/packed")
        self.assertTrue([n for n in os.listdir(self.top + "/packed")
                         if n.endswith(".zst")])
        self.all_of(self.top + "/packed")

    def test_staged_in_part(self):
        command("hpdsl-pack", "-q", "--group=key", "--chunks=4",
                self.top + "/tree",
                self.top + "/packed")
        staged(self.top + "/packed", self.top + "/stage", "here=0,2")
        self.all_of(self.top + "/stage")

    def test_adopted(self):
        os.mkdir(self.top + "/tars")
        command("tar", "-cf", self.top + "/tars/one.tar", "-C",
                self.top + "/tree", "--format=posix", *sorted(
                    os.listdir(self.top + "/tree")))
        command("hpdsl-index", "-q", self.top + "/tars")
        self.all_of(self.top + "/tars")

    def test_adopted_with_a_path_twice(self):
        tars = self.top + "/tars"
        os.mkdir(tars)
        for name in "one", "two":
            command("tar", "-cf", f"{tars}/{name}.tar", "-C",
                    self.top + "/tree", "a")
        command("hpdsl-index", "-q", tars)
        fs = fsspec.filesystem("hpdsl", skip_instance_cache=True)
        path, none = tars + "/a/2.csv", tars + "/a/none"
        with open(self.top + "/tree/a/2.csv", "rb") as f:
            content = f.read()
        with mock.patch.object(_fs_opened, "Snapshot",
                               wraps=hpdsl.Snapshot) as made:
            self.assertEqual(fs.cat([path, none], on_error="omit"),
                             {path: content})
            with fs.open(path) as f:
                self.assertEqual(f.read(), content)
            self.assertTrue(fs.exists(path))
            self.assertFalse(fs.isfile(none))
            self.assertEqual(made.call_count, 0)
            for ask in fs.cat, fs.open, fs.checksum:
                with self.assertRaisesRegex(hpdsl.NotFoundError,
                                            "no such file in a dataset"):
                    ask(none)
            for ask in fs.exists, fs.ls, fs.find, fs.glob:
                with self.assertRaisesRegex(hpdsl.UsageError, "twice"):
                    ask(none + "*")
            self.assertEqual(made.call_count, 1)

    def test_one_dataset_in_another(self):
        command("hpdsl-pack", "-q", "--group=key", self.top + "/tree",
                self.top + "/packed")
        inner = self.top + "/packed/inner"
        command("hpdsl-pack", "-q", "--group=key", self.top + "/tree/a", inner)
        self.start(self.top + "/tree/a", inner)
        self.assertListings()
