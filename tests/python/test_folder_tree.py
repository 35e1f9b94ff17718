# SPDX-License-Identifier: Apache-2.0
"""ImageFolder and DatasetFolder over a tree and its snapshot, against what
torchvision's classes do over the tree."""

import array
import gc
import os
import pickle
import random
import shutil
import socket
import subprocess
import sys

import test_folder
import torch.utils.data as data
from common import command, forked
from test_folder import content, of_path, torchvisions, whole

import hpdsl
import hpdsl.torch
from hpdsl.torch import DatasetFolder, ImageFolder


def anything(path):
    return True


class Snapshots(test_folder.Trees):
    chunks = 1

    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.at, "tree.snap")

    def link(self, name, target):
        os.symlink(target, os.path.join(os.fsencode(self.root),
                                        os.fsencode(name)))

    def freeze(self):
        command("hpdsl-snapshot", "create", "-q", self.root, "-o", self.file)

    def ours(self, kind=ImageFolder, root=None, **options):
        """Made while there is no tree."""
        root = self.root if root is None else root
        away = os.path.join(self.at, "away")
        os.rename(self.root, away)
        try:
            return kind(root, loader=content, snapshot=self.file, **options)
        finally:
            os.rename(away, self.root)

    def same(self, kind="ImageFolder", folder=None, **options):
        """Ours is as theirs."""
        theirs = torchvisions(kind, os.path.join(
            self.root, folder) if folder else self.root, of_path, **options)
        ours = self.ours(getattr(hpdsl.torch, kind), folder=folder, **options)
        self.assertEqual(ours.classes, theirs.classes)
        self.assertEqual(ours.class_to_idx, theirs.class_to_idx)
        self.assertEqual(list(ours.samples), theirs.samples)
        self.assertEqual([ours.samples[i] for i in range(len(ours))],
                         theirs.samples)
        self.assertEqual(list(ours.samples[::-3]), theirs.samples[::-3])
        self.assertEqual(list(ours.targets), theirs.targets)
        for i in range(len(ours)):
            self.assertEqual(ours[i], theirs[i])
        return ours


class Files(Snapshots):
    """Which, in which order, and what is in them."""

    def test_order(self):
        self.put(*(f"{c}/{p}.png" for c in ("c", "c-d", "b", "c d", "cc")
                   for p in ("a/2", "a-b/3", "a/x/1", "a", "0", "a/x-/0",
                             "z", "a.b/1")), "top.png", "c/0.txt", "c/a/Z.PNG")
        self.put("c/empty.png", "b/a/empty.jpg", content=b"")
        os.makedirs(os.path.join(self.root, "c/no/thing"))
        self.freeze()
        self.assertEqual(len(self.same()), 43)
        self.same(is_valid_file=anything)
        self.same(is_valid_file=lambda path: "/a" in path)

    def test_suffixes_in_letters_of_any_size(self):
        self.put("a/1.JPG", "a/2.jpeg", "a/3.JpEg", "a/4.txt", "a/5", "a/.png",
                 "a/6.png.txt", "b/7.WebP", "b/7.jpg.d/8.gif", "b/9.TIFF",
                 "b/x.pgm", "a/.jpg/1", "b/jpg", "b/xjpg", "b/\u212a.\u212a",
                 "a/1.k", "b/\u03a3.\u0391\u03a3", "a/1.\u03b1\u03c2")
        self.freeze()
        self.same()
        for extensions in ((".txt", ".jpg.d/8.gif"), ("k",), ("",),
                           (".\u03b1\u03c2",)):
            self.same("DatasetFolder", extensions=extensions)

    def test_many_names(self):
        rnd = random.Random(3)
        names = {"c/" + "".join(rnd.choices("ab-.", k=rnd.randint(1, 40)))
                 .strip(".") + "_" for _ in range(600)}
        names |= {f"d/{n % 9}/{n}{'x' * (n % 99)}" for n in range(200)}
        self.put(*names)
        self.freeze()
        self.same(is_valid_file=anything)
        ours = self.same(is_valid_file=lambda path: len(path) % 7 == 0)
        every = list(ours.samples)
        for step in 1, 2, 70, -1, -50:
            self.assertEqual(list(ours.samples[::step]), every[::step])

    def test_names_that_are_no_utf8(self):
        odd = [b"\xff", "\u00e9".encode(), b"\x80", "\uffee".encode(), b"a",
               "\U0001f98a".encode(), b"\xed\xa0\x80", "\ud7ff".encode(),
               b"\xc3", b"~"]
        self.put(*(one + b"/" + other + b"/" + third + b"\xfe.png"
                   for one in odd[:6] for other in odd for third in odd[:3]),
                 *(b"plain/x/" + one + b".png" for one in odd),
                 b"plain/z/1.png", b"plain/\xe9t/1.png", b"\xee\x80\x80/1.png")
        self.link(b"plain/\xfd", b"../\xff/\xff")
        self.link(b"\xfd", b"plain/x")
        self.freeze()
        self.same()

    def test_links(self):
        self.put("a/1.png", "a/b/2.png", "a/b/c/3.png", "z/4.png", "a/b-/5.png",
                 "other/6.png")
        for name, target in (
                ("a/to_file.png", "1.png"), ("a/to_link.png", "to_file.png"),
                ("a/l", "b"), ("a/l2", "./l/../b/c"), ("a/b/up", "../../other"),
                ("class", "a/b"), ("z/twice", "../a/l"), ("z/7.png", "../a/b"),
                ("z/broken.png", "none"), ("z/by.png", "../a/l2/3.png"),
                ("nowhere", "none"), ("z/self", "self"), ("l-x", "class")):
            self.link(name, target)
        self.freeze()
        broken = os.path.join(self.root, "z/broken.png")
        ours = self.same(is_valid_file=lambda path: path.endswith(".png") and
                         "broken" not in path and "z/7" not in path)
        self.assertIn((self.root + "/z/twice/c/3.png", ours.class_to_idx["z"]),
                      ours.samples)
        again = pickle.loads(pickle.dumps(ours))
        self.assertEqual(list(again.samples), list(ours.samples))
        self.assertEqual(whole(again), whole(ours))
        theirs = torchvisions("ImageFolder", self.root, of_path)
        ours = self.ours()
        self.assertEqual(list(ours.samples), theirs.samples)
        again = pickle.loads(pickle.dumps(ours))
        self.assertEqual(list(again.samples), theirs.samples)
        for root in ours, theirs:
            self.assertIn(broken, [path for path, _ in root.samples])
            with self.assertRaises(FileNotFoundError):
                root[theirs.samples.index((broken, root.class_to_idx["z"]))]
        for folder in "a", "class", "a/l2/..":
            theirs = torchvisions("ImageFolder", os.path.join(
                self.root, folder), of_path)
            self.assertEqual(list(self.ours(folder=folder).samples),
                             theirs.samples)
        self.assertEqual(list(self.ours(folder="./a//").samples),
                         list(self.ours(folder="a").samples))

    def test_links_that_come_back(self):
        self.put("a/1.png", "b/2.png")
        self.link("a/loop", ".")
        self.link("b/both", "../a/loop")
        self.freeze()
        theirs = torchvisions("ImageFolder", self.root, of_path,
                              is_valid_file=anything)
        ours = self.ours(is_valid_file=anything)
        self.assertEqual(list(ours.samples), theirs.samples)
        self.assertGreater(len(ours), 40)

    def test_links_that_lead_out(self):
        self.put("a/1.png")
        out = os.path.join(self.at, "out")
        os.mkdir(out)
        with open(out + "/x.png", "wb") as f:
            f.write(b"outside")
        self.link("a/2.png", "../../out/x.png")
        self.link("a/3.png", out + "/x.png")
        self.link("a/4.png", out)
        self.link("b", out)
        self.freeze()
        ours = self.ours()
        self.assertEqual(ours.classes, ["a"])
        self.assertEqual([os.path.basename(path) for path, _ in ours.samples],
                         ["1.png", "2.png", "3.png", "4.png"])
        self.assertEqual([ours[n][0] for n in range(3)],
                         [b"a/1.png", b"outside", b"outside"])
        with self.assertRaisesRegex(hpdsl.SystemFailure,
                                    "a/4.png: no regular file$"):
            ours[3]
        shutil.rmtree(out)
        with self.assertRaisesRegex(hpdsl.NotFoundError,
                                    "a/2.png: leads nowhere$"):
            ours[1]

    def test_the_nasty_tree(self):
        subprocess.run([sys.executable, os.path.join(
            os.path.dirname(__file__), "../kit/nasty.py"), self.root,
            "odd", "far", "noise", "contents", "links"], check=True)
        # As short as can be: some paths are as long as can be.
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.at)
        self.freeze()
        with self.assertRaises(FileNotFoundError) as theirs:
            torchvisions("ImageFolder", "root", of_path,
                         is_valid_file=anything)
        with self.assertRaises(FileNotFoundError) as ours:
            self.ours(root="root", is_valid_file=anything)
        self.assertEqual(str(ours.exception), str(theirs.exception))
        self.assertIn("empty", str(ours.exception))
        os.rename("root/empty", "root/empty.is")
        self.put("empty.is/folder/1")
        self.freeze()
        theirs = torchvisions("ImageFolder", "root", of_path,
                              is_valid_file=anything)
        ours = self.ours(root="root", is_valid_file=anything)
        self.assertEqual(ours.classes, theirs.classes)
        self.assertEqual(list(ours.samples), theirs.samples)
        self.assertGreater(len(ours), 140)
        for i, (path, _) in enumerate(theirs.samples):
            if len(path) < 4000:
                self.assertEqual(ours[i], theirs[i])

    def test_folders_inside(self):
        self.put(*(f"{part}/{c}/{n}.png" for part in ("train", "train/deep",
                                                      "val", "trainx")
                   for c in "ab" for n in range(3)))
        self.freeze()
        for folder in None, "train", "train/deep", "val":
            ours = self.same(folder=folder)
        self.assertEqual(ours.root, self.root + "/val")
        with hpdsl.Snapshot(self.file) as snap:
            again = ImageFolder(self.root, snapshot=snap, folder="val/",
                                loader=content)
            self.assertIs(again.snapshot, snap)
            self.assertIsNone(again.dataset)
            self.assertEqual(again.samples, ours.samples)

    def test_of_the_pack_of_a_tree(self):
        self.put("a/1.png", "b/2.png")
        self.packed_as()
        ours = ImageFolder(self.root, snapshot=self.pack_at, loader=content)
        self.assertEqual(whole(ours), [(b"a/1.png", 0), (b"b/2.png", 1)])

    def test_classes_of_ones_own(self):
        self.put(*(f"{c}/{n}.png" for c in "abc" for n in range(3)))
        self.link("a/z", "../b")
        self.freeze()
        ours = self.ours(test_folder.Some)
        self.assertEqual([(path[len(self.root):], target)
                          for path, target in ours.samples], [
            ("/a/0.png", 9), ("/a/1.png", 9), ("/a/2.png", 9),
            ("/a/z/0.png", 9), ("/a/z/1.png", 9), ("/a/z/2.png", 9),
            ("/c/0.png", 5), ("/c/1.png", 5), ("/c/2.png", 5)])
        self.assertEqual(ours[3], (b"b/0.png", 9))


class Refused(Snapshots):
    """What is wrong, and what changed."""

    def setUp(self):
        super().setUp()
        self.put(*(f"{c}/{n}.png" for c in "ab" for n in range(4)))

    def test_empty_classes(self):
        os.makedirs(self.root + "/none/at/all")
        self.put("some/1.txt")
        self.freeze()
        for options in {}, dict(is_valid_file=lambda path: "1.png" in path):
            with self.assertRaises(FileNotFoundError) as theirs:
                torchvisions("ImageFolder", self.root, of_path, **options)
            with self.assertRaises(hpdsl.NotFoundError) as ours:
                self.ours(**options)
            self.assertEqual(str(ours.exception), str(theirs.exception))
        self.assertRegex(str(ours.exception), "classes none, some[.]")
        ours = self.ours(allow_empty=True)
        self.assertEqual(ours.classes, ["a", "b", "none", "some"])
        self.assertEqual(list(ours.targets), [0] * 4 + [1] * 4)

    def test_nothing_there(self):
        self.put("deep/er/1.png")
        self.freeze()
        for folder in "no", "a", "a/1.png", "a/1.png/x", "deep/er":
            with self.assertRaises(hpdsl.NotFoundError) as ours:
                self.ours(folder=folder)
            self.assertIn("Couldn't find any class folder in "
                          f"{self.root}/{folder}.", str(ours.exception))
        with self.assertRaisesRegex(hpdsl.NotFoundError, "none.snap"):
            ImageFolder(self.root, snapshot=self.at + "/none.snap")

    def test_arguments(self):
        self.freeze()
        self.packed_as()
        for root, options, said in (
                (hpdsl.Dataset(self.pack_at), {}, "root is a dataset"),
                (self.root, dict(peers=False), "peers: no argument for a t"),
                (self.root, dict(copy=True), "copy: no argument for a tree")):
            with self.assertRaisesRegex(hpdsl.UsageError, said):
                ImageFolder(root, snapshot=self.file, **options)
        for options in {}, dict(extensions=(".png",), is_valid_file=anything):
            with self.assertRaisesRegex(ValueError, "cannot be None"):
                DatasetFolder(self.root, content, snapshot=self.file,
                              **options)
        ours = self.ours()
        for index in 8, -9:
            with self.assertRaises(IndexError):
                ours[index]
        ours.samples = [("/elsewhere/a/1.png", 0), (self.root + "/a/9.png", 0)]
        for i, said in enumerate(("not below", "'a/9.png': no such entry")):
            with self.assertRaisesRegex(hpdsl.NotFoundError, said):
                ours[i]
        with self.assertRaisesRegex(hpdsl.UsageError, "^[^\n]*root: a tree "
                                    "has no chunks to read[^\n]*$"):
            hpdsl.torch.Loader(self.ours(), batch_size=2)

    def test_what_changed(self):
        self.freeze()
        ours = self.ours()

        def refused(n, said):
            path, _ = ours.samples[n]
            with self.assertRaises(hpdsl.ChangedError) as e:
                ours[n]
            self.assertEqual(str(e.exception), f"{path}: {said}; it changed "
                             f"since {self.file} was made")

        self.put("a/0.png", content=b"longer than it was")
        self.put("a/1.png", content=b"")
        os.remove(self.root + "/a/2.png")
        os.remove(self.root + "/a/3.png")
        os.mkdir(self.root + "/a/3.png")
        refused(0, "has 18 bytes, not 7")
        refused(1, "has 0 bytes, not 7")
        refused(2, "is not there")
        refused(3, "is no regular file")
        os.rmdir(self.root + "/a/3.png")
        os.mkfifo(self.root + "/a/3.png")
        refused(3, "is no regular file")
        self.assertEqual([ours[n] for n in range(4, 8)],
                         [(b"b/%d.png" % n, 1) for n in range(4)])
        shutil.rmtree(self.root + "/b")
        refused(4, "is not there")
        with open(self.root + "/b", "wb"):
            refused(5, "is not there")

    def test_what_is_no_file_and_was_none(self):
        os.mkfifo(self.root + "/a/fifo.png")
        here = socket.socket(socket.AF_UNIX)
        self.addCleanup(here.close)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.root)
        here.bind("b/s.png")
        os.chdir(self.at)
        self.freeze()
        ours = self.ours()
        with self.assertRaisesRegex(hpdsl.SystemFailure,
                                    "fifo.png: no regular file$"):
            ours[4]
        with self.assertRaisesRegex(OSError, "s.png"):
            ours[9]


class Elsewhere(Snapshots):
    """In other processes, and for how long."""

    def setUp(self):
        super().setUp()
        self.put(*(f"{'abc'[n % 3]}/{n}.png" for n in range(50)))
        self.link("a/linked", "../b")
        self.freeze()

    def test_a_loader_gets_a_file(self):
        seen = []

        def loader(file):
            seen.append((file.name, file.mode, file.read(2), file.tell(),
                         file.seek(0), file.readable()))
            return file.read()

        ours = ImageFolder(self.root, loader=loader, snapshot=self.file)
        path, _ = ours.samples[3]
        self.assertEqual(ours[3][0], of_path(path))
        self.assertEqual(seen, [(path, "rb", b"a/", 2, 0, True)])
        fds = len(os.listdir("/proc/self/fd"))
        whole(ours)
        self.assertEqual(len(os.listdir("/proc/self/fd")), fds)

    def test_forked_and_workers(self):
        ours = self.ours()
        wanted = whole(ours), list(ours.samples)
        self.assertEqual(forked(lambda: (whole(ours), list(ours.samples))),
                         wanted)
        loader = data.DataLoader(ours, batch_size=7, num_workers=1)
        self.assertEqual([(item, int(label)) for items, labels in loader
                          for item, label in zip(items, labels)], wanted[0])

    def test_pickled(self):
        ours = self.ours()
        sent = pickle.dumps(ours)
        self.assertLess(len(sent), 1500)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir("/")
        again = pickle.loads(sent)
        self.assertEqual((whole(again), again.samples, again.targets),
                         (whole(ours), ours.samples, ours.targets))
        by = self.ours(is_valid_file=lambda path: not path.endswith("7.png"))
        again = pickle.loads(pickle.dumps(by))
        self.assertEqual(whole(again), whole(by))
        self.put("a/other.png")
        self.freeze()
        with self.assertRaises(hpdsl.DiffersError):
            pickle.loads(sent)

    def test_closed_under_use(self):
        snap = hpdsl.Snapshot(self.file)
        ours = ImageFolder(self.root, snapshot=snap, loader=content)
        every, kept = list(ours.samples), ours.targets
        rows = iter(ours.samples)
        first = next(rows)
        snap.close()
        self.assertEqual([first, *rows], every)
        with self.assertRaisesRegex(ValueError, "closed"):
            ours[0]
        samples = ours.samples
        del ours, snap
        gc.collect()
        self.assertEqual(list(kept), [target for _, target in every])
        with self.assertRaisesRegex(ValueError, "closed"):
            samples[0]

    def test_memory_is_of_numbers_alone(self):
        listing = self.ours()._all
        self.assertEqual(listing.numbers.nbytes, 8 * 67)
        self.assertIsInstance(listing.numbers.obj, array.array)
