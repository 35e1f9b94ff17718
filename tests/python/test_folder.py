# SPDX-License-Identifier: Apache-2.0
"""ImageFolder and DatasetFolder, against what torchvision's classes do over the
tree: its class, where it is (HPDSL_TORCHVISION=1), and always a copy of its
rules."""

import collections
import gc
import io
import multiprocessing
import os
import pathlib
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import torch
import torch.utils.data as data
from PIL import Image

if not os.environ.get("HPDSL_TORCHVISION"):
    sys.modules["torchvision"] = None

import hpdsl
import hpdsl.torch
from common import command, forked
from foreign import add, tarfile
from hpdsl import _meant
from hpdsl._folder import IMG_EXTENSIONS
from hpdsl.torch import DatasetFolder, ImageFolder

# "more workers than cores" is no news here.
warnings.filterwarnings("ignore", "This DataLoader will create", UserWarning)


class Model:
    """What torchvision.datasets.DatasetFolder finds in a tree."""

    def __init__(self, root, loader, extensions=None, is_valid_file=None):
        self.loader = loader
        self.classes = sorted(e.name for e in os.scandir(root) if e.is_dir())
        if not self.classes:
            raise FileNotFoundError(
                f"Couldn't find any class folder in {root}.")
        self.class_to_idx = {c: i for i, c in enumerate(self.classes)}
        valid = is_valid_file or (
            lambda path: path.lower().endswith(tuple(extensions)))
        self.samples = [
            (os.path.join(top, name), i)
            for c, i in self.class_to_idx.items()
            for top, _, names in sorted(os.walk(os.path.join(root, c),
                                                followlinks=True))
            for name in sorted(names) if valid(os.path.join(top, name))]
        self.targets = [target for _, target in self.samples]
        empty = [c for c, i in self.class_to_idx.items()
                 if i not in set(self.targets)]
        if empty:
            said = ("Found no valid file for the classes "
                    f"{', '.join(empty)}. ")
            if extensions:
                said += f"Supported extensions are: {', '.join(extensions)}"
            raise FileNotFoundError(said)

    def __getitem__(self, i):
        path, target = self.samples[i]
        return self.loader(path), target


def content(file):
    return file.read()


def of_path(path):
    with open(path, "rb") as f:
        return f.read()


def torchvisions(kind, root, loader, **options):
    """By torchvision where it is, else by the model."""
    if os.environ.get("HPDSL_TORCHVISION"):
        import torchvision.datasets
        return getattr(torchvision.datasets, kind)(root, loader=loader,
                                                   **options)
    if kind == "ImageFolder" and "is_valid_file" not in options:
        options["extensions"] = IMG_EXTENSIONS
    return Model(root, loader, **options)


class Trees(unittest.TestCase):
    """put() makes files of a tree, packed_as() packs it."""

    chunks = 3

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.getcwd())
        self.addCleanup(folder.cleanup)
        self.at = folder.name
        self.root = os.path.join(self.at, "root")
        self.pack_at = os.path.join(self.at, "out")

    def put(self, *names, content=None):
        for name in names:
            path = os.path.join(os.fsencode(self.root), os.fsencode(name))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(os.fsencode(name) if content is None else content)

    def packed_as(self, *options):
        shutil.rmtree(self.pack_at, ignore_errors=True)
        command("hpdsl-pack", "-q", f"--chunks={self.chunks}", *options,
                self.root, self.pack_at)

    def same(self, kind="ImageFolder", inside="", there=None, **options):
        """Ours is as theirs, but for the root."""
        ours_at = os.path.join(there or self.pack_at, inside)
        root = os.path.join(self.root, inside)
        theirs = torchvisions(kind, root, of_path, **options)
        ours = getattr(hpdsl.torch, kind)(ours_at, loader=content, **options)

        def moved(path):
            self.assertTrue(path.startswith(root))
            return os.path.join(ours_at, os.path.relpath(path, root))

        self.assertEqual(ours.classes, theirs.classes)
        self.assertEqual(ours.class_to_idx, theirs.class_to_idx)
        self.assertEqual(list(ours.samples), [
            (moved(path), target) for path, target in theirs.samples])
        self.assertEqual(list(ours.targets), theirs.targets)
        self.assertEqual(len(ours), len(theirs.samples))
        for i in range(len(ours)):
            self.assertEqual(ours[i], theirs[i])
        return ours


class Order(Trees):
    """Which files, in which order."""

    def test_folders_beside_longer_ones(self):
        self.put(*(f"{c}/{p}.png" for c in ("c", "c-d", "b", "c d", "cc")
                   for p in ("a/2", "a-b/3", "a/x/1", "a", "0", "a/x-/0",
                             "z", "a.b/1")))
        self.packed_as()
        ours = self.same()
        inside = [path[len(ours.root) + 2:] for path, t in ours.samples
                  if t == ours.class_to_idx["c"]]
        self.assertEqual(inside, ["0.png", "a.png", "z.png", "a/2.png",
                                  "a-b/3.png", "a.b/1.png", "a/x/1.png",
                                  "a/x-/0.png"])

    def test_long_names_and_many(self):
        rnd = random.Random(3)
        names = {"c/" + "".join(rnd.choices("ab-.", k=rnd.randint(1, 40)))
                 .strip(".") + "_" for _ in range(900)}
        names |= {f"d/{'same' * 30}{n}/{n % 7}{'x' * 99}" for n in range(99)}
        self.put(*names)
        self.packed_as("--group=key")
        self.same(is_valid_file=lambda path: True)

    def test_suffixes_in_letters_of_any_size(self):
        self.put("a/1.JPG", "a/2.jpeg", "a/3.JpEg", "a/4.txt", "a/5", "a/.png",
                 "a/6.png.txt", "b/7.WebP", "b/7.jpg.d/8.gif", "b/9.TIFF",
                 "b/x.pgm", "a/.jpg/1", "b/jpg", "b/xjpg", "\u212a/1.png")
        self.packed_as()
        self.same()
        for extensions in ((".txt",), (".TXT", ".gif", ""), (".jpg.d/8.gif",
                                                             "1", "5", "png"),
                           (".\u00e9", "", "k")):
            try:
                self.same("DatasetFolder", extensions=extensions)
            except FileNotFoundError as e:
                with self.assertRaises(FileNotFoundError) as theirs:
                    torchvisions("DatasetFolder", self.root, of_path,
                                 extensions=extensions)
                self.assertEqual(str(e), str(theirs.exception))
        kelvin = "b/\u212a.\u212a"
        self.put(kelvin, "a/1.k", "\u212a/k")
        self.packed_as()
        self.same("DatasetFolder", extensions=("k",))

    def test_is_valid_file_is_asked_with_paths(self):
        self.put(*(f"{n % 3}/{n % 2}/{n}.png" for n in range(40)))
        self.packed_as()
        asked = []

        def valid(path):
            asked.append(path)
            return path.endswith(("1.png", "2.png", "3.png", "0.png"))

        ours = ImageFolder(self.pack_at, is_valid_file=valid, loader=content)
        self.assertEqual(sorted(asked), sorted(
            os.path.join(self.pack_at, f"{n % 3}/{n % 2}/{n}.png")
            for n in range(40)))
        self.assertEqual(len(ours), 16)
        self.same(is_valid_file=valid)

    def test_names_that_are_no_utf8(self):
        odd = [b"\xff", "\u00e9".encode(), b"\x80", "\uffee".encode(), b"a",
               "\U0001f98a".encode(), b"\xed\xa0\x80", "\ud7ff".encode(),
               b"\xc3", b"~"]
        self.put(*(one + b"/" + other + b"/" + third + b"\xfe.png"
                   for one in odd for other in odd for third in odd[:3]),
                 *(b"plain/x/" + one + b".png" for one in odd),
                 b"plain/z/1.png", b"plain/\xe9t/1.png", b"\xee\x80\x80/1.png")
        self.packed_as()
        ours = self.same()
        one = ours.samples[7][0]
        self.assertEqual(ours.open(one).read(), os.fsencode(
            os.path.relpath(one, ours.root)))

    def test_the_nasty_tree(self):
        subprocess.run([sys.executable, os.path.join(
            os.path.dirname(__file__), "../kit/nasty.py"), self.root],
            check=True)
        shutil.rmtree(os.path.join(self.root, "empty"))
        os.remove(os.path.join(self.root, "link/to a folder"))
        self.packed_as()
        # As short as can be: some paths are as long as can be.
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.at)
        theirs = torchvisions("ImageFolder", "root", of_path,
                              is_valid_file=lambda path: True)
        ours = ImageFolder("out", is_valid_file=lambda path: True)
        self.assertEqual(ours.classes, theirs.classes)
        self.assertEqual([(path[3:], t) for path, t in ours.samples],
                         [(path[4:], t) for path, t in theirs.samples])
        self.assertGreater(len(ours), 900)

    def test_classes_with_folders_alone(self):
        self.put("a/b/c/1.png", "a/d/2.png", "top.png", "z/1.txt", "z/y/2.png")
        self.packed_as()
        self.same()

    def test_folders_inside(self):
        self.put(*(f"{part}/{c}/{n}.png" for part in ("train", "train/deep",
                                                      "val", "trainx")
                   for c in "ab" for n in range(3)))
        self.packed_as("--labels=dir:1")
        self.same(inside="train")
        self.same(inside="train/deep")
        self.same(inside="val/")
        ours = self.same()
        self.assertEqual(ours.classes, ["train", "trainx", "val"])
        opened = ImageFolder(hpdsl.Dataset(self.pack_at), folder="val",
                             loader=content)
        by_path = ImageFolder(os.path.join(self.pack_at, "val"),
                              loader=content)
        for root, inside in ((hpdsl.Dataset(self.pack_at), "./val//"),
                             (os.path.join(self.pack_at, "val").encode(),
                              None)):
            other = ImageFolder(root, folder=inside)
            self.assertEqual(other.samples, by_path.samples)
        self.assertEqual(opened.samples, by_path.samples)
        self.assertEqual(opened[4], by_path[4])
        with self.assertRaisesRegex(hpdsl.UsageError, "out/val"):
            ImageFolder(self.pack_at, folder="val")
        here = os.getcwd()
        os.chdir(self.at)
        try:
            short = ImageFolder("out/val")
            self.assertEqual(short.samples[0], ("out/val/a/0.png", 0))
            self.assertEqual(short.root, "out/val")
        finally:
            os.chdir(here)

    def test_labels_and_generated_members_do_not_matter(self):
        self.put(*(f"{c}/{n}.png" for c in "ba" for n in range(5)))
        for options in (("--labels=dir", "--cls"), ("--group=none",),
                        ("--zstd=1",), ("--seed=9",)):
            self.packed_as(*options)
            self.same()

    def test_adopted_tars(self):
        folder = os.path.join(self.at, "tars")
        os.makedirs(folder)
        for k in range(2):
            with tarfile.open(os.path.join(folder, f"{k}.tar"), "w") as tar:
                for n in range(6):
                    add(tar, f"c{n % 2}/{n}.png", b"%d of %d" % (n, k))
                add(tar, f"c0/only{k}.png", b"one")
        command("hpdsl-index", "-q", folder)
        ours = ImageFolder(folder, loader=content)
        self.put(*(f"c{n % 2}/{n}.png" for n in range(6)), "c0/only0.png",
                 "c0/only1.png")
        theirs = torchvisions("ImageFolder", self.root, of_path)
        self.assertEqual([os.path.relpath(p, folder) for p, _ in ours.samples],
                         [os.path.relpath(p, self.root)
                          for p, _ in theirs.samples])
        ds = hpdsl.Dataset(folder)
        for i, (path, _) in enumerate(ours.samples):
            self.assertEqual(ours[i][0], ds.read(os.path.relpath(path, folder)))

    def test_stage_directories(self):
        self.put(*(f"{c}/{n}.png" for c in "ab" for n in range(30)))
        self.packed_as()
        stage = os.path.join(self.at, "stage")
        subprocess.run([sys.executable, os.path.join(
            os.path.dirname(__file__), "../kit/stage_dir.py"), "make",
            self.pack_at, stage, "here=0,2"], check=True)
        self.same(there=stage)
        ours = ImageFolder(stage, loader=content, peers=False,
                           foreign_owner=True, copy=True)
        self.assertEqual(len(ours), 60)
        self.assertTrue(ours.dataset.sources().staged)


class Wrong(Trees):
    chunks = 1

    def test_nothing_there(self):
        self.put("a.png", "x/1.txt", "x/y/2.txt", "b/1.png")
        self.packed_as()
        for inside in "none", "b", "a.png", "x/y":
            root = os.path.join(self.pack_at, inside)
            with self.assertRaises(FileNotFoundError) as ours:
                ImageFolder(root)
            said = f"Couldn't find any class folder in {root}."
            if inside in ("none", "a.png"):
                said += (f" {self.pack_at}: no folder '{inside}', "
                         "there are 'b', 'x'")
            self.assertEqual(str(ours.exception), said)
        with self.assertRaises(FileNotFoundError) as theirs:
            torchvisions("ImageFolder", self.root, of_path)
        with self.assertRaises(FileNotFoundError) as ours:
            ImageFolder(self.pack_at)
        self.assertEqual(str(ours.exception), str(theirs.exception))
        self.assertRegex(str(ours.exception), "no valid file.* x[.]")
        with self.assertRaises(FileNotFoundError) as theirs:
            torchvisions("ImageFolder", self.root, of_path,
                         is_valid_file=lambda path: False)
        with self.assertRaises(FileNotFoundError) as ours:
            ImageFolder(self.pack_at, is_valid_file=lambda path: False)
        self.assertEqual(str(ours.exception), str(theirs.exception))
        self.assertEqual(len(ImageFolder(self.pack_at, allow_empty=True)), 1)
        with self.assertRaisesRegex(hpdsl.NotFoundError, "not in a packed"):
            ImageFolder(self.root)

    def test_parts_in_the_place_of_classes_are_told(self):
        """With the first of them as it is asked for; not where there are others."""
        def told(*given, **options):
            _meant._told.discard("parts")
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for _ in range(2):
                    ImageFolder(*given, **options)
            self.assertEqual({w.filename for w in caught} - {__file__}, set())
            return [str(w.message) for w in caught]

        self.put("train/a/1.png", "Val/a/2.png")
        self.packed_as()
        text = (": its classes are 'Val', 'train', which are parts of a dataset most "
                "often: the first of them is ")
        self.assertEqual(told(self.pack_at), [
            f"{self.pack_at}{text}{self.pack_at + '/Val'!r}"])
        self.assertEqual(told(hpdsl.Dataset(self.pack_at)), [
            f"{self.pack_at}{text}folder='Val'"])
        self.assertEqual(told(self.pack_at + "/Val"), [])
        self.put("cat/1.png")
        self.packed_as()
        self.assertEqual(told(self.pack_at), [])

    def test_arguments(self):
        self.put("a/1.png")
        self.packed_as()
        for options in {}, dict(extensions=(".png",),
                                is_valid_file=lambda path: True):
            with self.assertRaisesRegex(ValueError, "cannot be None"):
                DatasetFolder(self.pack_at, content, **options)
        for options, said in (
                ({"wrong": True}, "'wrong'; there are root, transform, .* copy$"),
                ({"tranform": str}, "'tranform': is it transform"),
                ({"split": "train"}, "'split': hpdsl.Loader and hpdsl.torch.Loader have"),
                ({"num_workers": 2}, "'num_workers': hpdsl.torch.Loader has")):
            for of in self.pack_at, hpdsl.Dataset(self.pack_at):
                with self.assertRaisesRegex(TypeError, "^ImageFolder has no argument "
                                            + said):
                    ImageFolder(of, **options)
        with self.assertRaisesRegex(hpdsl.UsageError, "the dataset is open"):
            ImageFolder(hpdsl.Dataset(self.pack_at), copy=True)
        ours = ImageFolder(self.pack_at, loader=content)
        for index in 1, -2:
            with self.assertRaises(IndexError):
                ours[index]
        ours.samples = [("/elsewhere/a/1.png", 0),
                        (self.pack_at + "/a/2.png", 0)]
        for i, said in enumerate(("not below", "no member")):
            with self.assertRaisesRegex(hpdsl.NotFoundError, said):
                ours[i]

    def test_damage_is_found(self):
        self.put(*(f"a/{n}.png" for n in range(9)))
        self.packed_as()
        ours = ImageFolder(self.pack_at, loader=content)
        for name in os.listdir(self.pack_at):
            if name.startswith("chunk-"):
                with open(os.path.join(self.pack_at, name), "r+b") as f:
                    whole = f.read().replace(b"a/5.png" + b"\0" * 505,
                                             b"a/6.png" + b"\0" * 505)
                    f.seek(0)
                    f.write(whole)
        good = [n for n in range(9) if n != 5]
        self.assertEqual([ours[n][0] for n in good],
                         [b"a/%d.png" % n for n in good])
        with self.assertRaisesRegex(hpdsl.CorruptError, "a/5.png"):
            ours[5]


class Sequences(Trees):
    """samples, imgs and targets."""

    def setUp(self):
        super().setUp()
        self.put(*(f"{c}/{n % 3}/{n}.png" for c in ("a", "b", "c")
                   for n in range(20 if c == "b" else 9)), "d/1.png")
        self.packed_as()
        self.ours = ImageFolder(self.pack_at, loader=content)
        self.samples = [(path, target) for path, target in self.ours.samples]

    def test_they_are_as_lists(self):
        ours, samples = self.ours, self.samples
        targets = [target for _, target in samples]
        self.assertIs(ours.imgs, ours.samples)
        n = len(samples)
        for given, wanted in (ours.samples, samples), (ours.targets, targets):
            self.assertEqual(len(given), n)
            self.assertEqual([given[i] for i in range(-n, n)],
                             [wanted[i] for i in range(-n, n)])
            for index in n, -n - 1:
                with self.assertRaises(IndexError):
                    given[index]
            with self.assertRaises(TypeError):
                given["1"]
            with self.assertRaises(TypeError):
                given[0] = wanted[0]
            self.assertTrue(given == wanted and wanted == given)
            self.assertFalse(given != wanted or given == wanted[:-1])
            self.assertFalse(given == wanted[:-1] + [None])
            self.assertFalse(given == 5)
            self.assertTrue(given == given[:])
            self.assertTrue(wanted[3] in given and None not in given)
            self.assertEqual(given.index(wanted[20]), wanted.index(wanted[20]))
            self.assertEqual(given.count(wanted[20]), wanted.count(wanted[20]))
            self.assertEqual(list(reversed(given)), wanted[::-1])
            self.assertEqual(given + wanted, wanted + wanted)
            self.assertEqual(wanted + given, wanted + wanted)
            self.assertRegex(repr(given), f"^<{n} [a-z]* of '.*out'>$")
            rnd = random.Random(1)
            for _ in range(300):
                at = slice(*(rnd.choice([None, *range(-n - 3, n + 3)])
                             for _ in range(2)),
                           rnd.choice([None, 1, 1, 2, 7, -1, -3]))
                self.assertEqual(list(given[at]), wanted[at])
                self.assertEqual([*given[at][1:-1]], wanted[at][1:-1])

    def test_in_numpy_and_torch(self):
        import numpy
        ours = self.ours
        targets = [target for _, target in self.samples]
        for given, wanted in ((ours.targets, targets),
                              (ours.targets[5:30], targets[5:30]),
                              (ours.targets[::-2], targets[::-2]),
                              (ours.targets[9:3], [])):
            made = numpy.asarray(given)
            self.assertEqual((made.dtype, made.tolist()),
                             (numpy.dtype("int64"), wanted))
            self.assertEqual(torch.tensor(given).tolist(), wanted)
        self.assertEqual(numpy.asarray(ours.targets, dtype="f4").dtype,
                         numpy.dtype("f4"))
        self.assertEqual(numpy.bincount(ours.targets).tolist(), [9, 20, 9, 1])
        self.assertEqual(collections.Counter(ours.targets)[1], 20)

    def test_others_in_their_place(self):
        ours = self.ours
        ours.samples = ours.samples[10:20]
        self.assertEqual(len(ours), 10)
        self.assertEqual(ours[0], (b"b/0/12.png", 1))
        ours.samples = [(path, 7) for path, _ in self.samples[:3]]
        ours.targets = [7, 7, 7]
        self.assertEqual([ours[i][1] for i in range(len(ours))], [7] * 3)
        self.assertEqual(pickle.loads(pickle.dumps(ours)).samples,
                         ours.samples)

    def test_what_pytorch_makes_of_them(self):
        ours = self.ours
        part = data.Subset(ours, range(5, 9))
        self.assertEqual(part[2], ours[7])
        one, other = data.random_split(ours, [30, len(ours) - 30])
        self.assertEqual(sorted([*one, *other]),
                         sorted(ours[i] for i in range(len(ours))))
        weights = 1 / torch.bincount(torch.tensor(ours.targets)).float()
        sampler = data.WeightedRandomSampler(
            weights[torch.tensor(ours.targets)], 50)
        loader = data.DataLoader(ours, sampler=sampler, batch_size=7)
        self.assertEqual(sum(len(labels) for _, labels in loader), 50)
        both = data.ConcatDataset([ours, ours])
        self.assertEqual(both[len(ours) + 3], ours[3])

    def test_it_prints_as_torchvisions(self):
        ours = ImageFolder(self.pack_at, transform=len,
                           target_transform=abs, loader=content)
        self.assertEqual(repr(ours).splitlines(), [
            "Dataset ImageFolder", f"    Number of datapoints: {len(ours)}",
            f"    Root location: {self.pack_at}", "    StandardTransform",
            "Transform: <built-in function len>",
            "Target transform: <built-in function abs>"]
            if os.environ.get("HPDSL_TORCHVISION") else [
            "Dataset ImageFolder", f"    Number of datapoints: {len(ours)}",
            f"    Root location: {self.pack_at}", "    StandardTransform",
            "    Transform: <built-in function len>",
            "    Target transform: <built-in function abs>"])
        self.assertEqual(ours.transforms(b"abc", -1), (3, 1))
        self.assertEqual(ours[0], (9, 0))


class Some(ImageFolder):
    """As torchvision's page says to take some classes, here in another order."""

    def find_classes(self, directory):
        classes, _ = super().find_classes(directory)
        return ["c", "a"], {"c": 5, "a": 9}


class Firsts(ImageFolder):
    """As people take some files of each class."""

    @staticmethod
    def make_dataset(directory, class_to_idx, *of, **named):
        found = ImageFolder.make_dataset(directory, class_to_idx, *of, **named)
        return [one for k, one in enumerate(found) if k % 4 == 0]


class Items(Trees):
    """What comes out."""

    def setUp(self):
        super().setUp()
        rnd = random.Random(4)
        for n in range(12):
            kind = ("png", "jpeg", "bmp")[n % 3]
            made = io.BytesIO()
            mode = ("RGB", "L", "P", "RGBA")[n % 4 if kind == "png" else 0]
            Image.frombytes(mode, (5, 4), rnd.randbytes(
                20 * len(Image.new(mode, (1, 1)).getbands()))).save(made, kind)
            self.put(f"{'abc'[n % 3]}/{n:02}.{kind}",
                     content=made.getvalue())
        self.packed_as()

    def test_images(self):
        theirs = [(path, t) for path, t in Model(
            self.root, None, IMG_EXTENSIONS).samples]
        ours = ImageFolder(self.pack_at)
        self.assertEqual(len(ours), 12)
        for (image, target), (path, wanted) in zip(ours, theirs):
            with Image.open(path) as other:
                other = other.convert("RGB")
            self.assertEqual((image.mode, image.size, image.tobytes(), target),
                             ("RGB", (5, 4), other.tobytes(), wanted))

    def test_a_loader_gets_a_file(self):
        seen = []

        def loader(file):
            seen.append((file.name, file.mode, file.read(2), file.tell(),
                         file.seek(0), file.readable()))
            return file.read()

        ours = ImageFolder(self.pack_at, loader=loader)
        path, _ = ours.samples[3]
        got, _ = ours[3]
        self.assertEqual(got, ours.dataset.read(
            os.path.relpath(path, self.pack_at)))
        self.assertEqual(seen, [(path, "rb", got[:2], 2, 0, True)])

    def test_what_torchvisions_own_tests_ask(self):
        """What its DatasetFolderTestCase and ImageFolderTestCase have, of
        test/test_datasets.py: by extensions and by is_valid_file, with its own
        loader, classes, numbers, kinds, transforms and what is printed."""
        loader = hpdsl._folder.default_loader
        if os.environ.get("HPDSL_TORCHVISION"):
            from torchvision.datasets.folder import pil_loader as loader
        for extensions in ("png", "jpeg"), ("png",), ("jpeg",), ("jpeg", "bmp"):
            def valid(path):
                return pathlib.Path(path).suffix[1:] in extensions

            for options in dict(extensions=extensions), dict(
                    extensions=None, is_valid_file=valid):
                with self.assertRaisesRegex(FileNotFoundError,
                                            "Found no valid file"):
                    DatasetFolder(self.pack_at, loader, **options)
                ours = DatasetFolder(
                    self.pack_at, loader, allow_empty=True,
                    transform=lambda image: (type(image), image.size),
                    target_transform=lambda target: (type(target), target),
                    **options)
                self.assertEqual(ours.classes, ["a", "b", "c"])
                self.assertEqual(len(ours), 4 * len(extensions))
                self.assertEqual(
                    set(whole(ours)),
                    {((Image.Image, (5, 4)), (int, "png jpeg bmp".split()
                                              .index(e))) for e in extensions})
                self.assertIn(f"Number of datapoints: {len(ours)}", str(ours))

    def test_classes_of_ones_own(self):
        ours = Some(self.pack_at, loader=content)
        self.assertEqual(ours.classes, ["c", "a"])
        self.assertEqual(list(ours.targets), [9] * 4 + [5] * 4)
        self.assertEqual([os.path.relpath(p, self.pack_at)[0]
                          for p, _ in ours.samples], ["a"] * 4 + ["c"] * 4)
        self.assertEqual(pickle.loads(pickle.dumps(ours)).samples,
                         ours.samples)

    def test_samples_of_ones_own(self):
        plain = ImageFolder(self.pack_at, loader=content)
        ours = Firsts(self.pack_at, loader=content)
        self.assertEqual(ours.samples, list(plain.samples)[::4])
        self.assertEqual(ours.targets, list(plain.targets)[::4])
        self.assertEqual(whole(ours), whole(plain)[::4])
        self.assertEqual(plain.make_dataset(
            plain.root, {"a": 7}, extensions=ours.extensions),
            [(path, 7) for path, _ in plain.samples if "/a/" in path])
        with self.assertRaisesRegex(FileNotFoundError, "^Found no valid file"):
            plain.make_dataset(self.pack_at, {"q": 0}, ".png")

    def test_with_torchvision_or_without(self):
        there = bool(os.environ.get("HPDSL_TORCHVISION"))
        # What has not imported anything of ours yet.
        got = subprocess.run([
            sys.executable, "-IS", os.path.join(os.path.dirname(
                __file__), "../kit/one_python.py"), "run",
            os.environ["ONE_PYTHON"], "-"], check=True, text=True,
            stdout=subprocess.PIPE, input=f"""
import sys
if not {there}:
    sys.modules["torchvision"] = None
import hpdsl.torch as t
assert not sys.modules.get("torchvision")
print(t.ImageFolder.__mro__[2].__module__)
print(t.ImageFolder is t.ImageFolder)
try:
    t.Other
except AttributeError as e:
    print(e)
""")
        self.assertEqual(got.stdout.split("\n")[:3], [
            "torchvision.datasets.vision" if there else "hpdsl._vision",
            "True", "module 'hpdsl.torch' has no attribute 'Other'"])
        self.assertTrue(issubclass(ImageFolder, data.Dataset))


def whole(folder):
    return [folder[i] for i in range(len(folder))]


def told(folders, queue):
    for folder in folders:
        queue.put((whole(folder), list(folder.samples),
                   folder._all._shared is not None))


class Processes(Trees):
    def setUp(self):
        super().setUp()
        self.put(*(f"{'abc'[n % 3]}/{n}.png" for n in range(50)))
        self.packed_as()
        self.ours = ImageFolder(self.pack_at, loader=content)

    def test_forked(self):
        wanted = whole(self.ours), list(self.ours.samples)
        self.assertEqual(forked(lambda: (whole(self.ours),
                                         list(self.ours.samples))), wanted)

    def test_started(self):
        wanted = whole(self.ours), list(self.ours.samples), True
        start = multiprocessing.get_context("spawn")
        queue = start.SimpleQueue()
        fds = len(os.listdir("/proc/self/fd"))
        folders = [self.ours, ImageFolder(self.pack_at, loader=content,
                                          is_valid_file=os.path.basename)]
        os.symlink("../b", self.root + "/a/b")
        snap = os.path.join(self.at, "snap")
        command("hpdsl-snapshot", "create", "-q", self.root, "-o", snap)
        tree = ImageFolder(self.root, loader=content, snapshot=snap)
        process = start.Process(target=told, args=([*folders, tree], queue))
        process.start()
        self.assertEqual([queue.get() for _ in folders], [wanted] * 2)
        self.assertEqual(len(tree), 67)
        self.assertEqual(queue.get(), (whole(tree), list(tree.samples), True))
        process.join()
        self.assertEqual(process.exitcode, 0)
        del folders, tree, self.ours, process
        gc.collect()
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), fds)

    def test_pickled(self):
        wanted, n = whole(self.ours), len(self.ours)
        again = pickle.loads(pickle.dumps(self.ours))
        self.assertEqual((whole(again), again.samples, again.targets),
                         (wanted, self.ours.samples, self.ours.targets))
        self.assertIs(type(again), ImageFolder)
        self.assertLess(len(pickle.dumps(self.ours)), 1500)
        by = ImageFolder(self.pack_at, loader=content,
                         is_valid_file=lambda path: not path.endswith("7.png"))
        again = pickle.loads(pickle.dumps(by))
        self.assertEqual((whole(again), len(again)), (whole(by), n - 5))
        kept = pickle.dumps(self.ours)
        self.put("a/other.png")
        self.packed_as()
        with self.assertRaises(hpdsl.DiffersError):
            pickle.loads(kept)

    def test_workers(self):
        wanted = collections.Counter(whole(self.ours))
        loader = data.DataLoader(self.ours, batch_size=7, shuffle=True,
                                 num_workers=2)
        self.assertEqual(collections.Counter(
            (item, int(label)) for items, labels in loader
            for item, label in zip(items, labels)), wanted)

    def test_threads(self):
        wanted, failed = whole(self.ours), []

        def read(seed):
            rnd = random.Random(seed)
            for _ in range(200):
                i = rnd.randrange(len(wanted))
                if self.ours[i] != wanted[i] or (
                        self.ours.samples[i][1] != wanted[i][1]):
                    failed.append(i)

        threads = [threading.Thread(target=read, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_closed_under_use(self):
        ds = hpdsl.Dataset(self.pack_at)
        ours = ImageFolder(ds, loader=content)
        rows = iter(ours.samples)
        first = next(rows)
        kept, file = ours.targets, ours.open(first[0])
        ds.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            ours[0]
        self.assertEqual([first, *rows], list(self.ours.samples))
        samples = ours.samples
        del ours, ds
        gc.collect()
        self.assertEqual(list(kept), list(self.ours.targets))
        self.assertEqual(file.read(), self.ours[0][0])
        with self.assertRaisesRegex(ValueError, "closed"):
            samples[0]

    def test_memory_is_of_numbers_alone(self):
        listing = self.ours._all
        self.assertEqual(listing.numbers.nbytes, 8 * 50)
        self.assertNotIn(list, map(type, (self.ours.samples,
                                          self.ours.targets)))


def item_of(file):
    return len(file.read()), file.name


def as_pair(target):
    return {"twice": 2 * target}


class Loaders(Trees):
    """hpdsl.torch.Loader of a folder."""

    chunks = 1

    def epoch(self, folder, batch_size=4, **options):
        loader = hpdsl.torch.Loader(folder, batch_size=batch_size, seed=3,
                                    collate=list, **options)
        found = collections.Counter()
        for batch in loader:
            labels = batch.labels
            if isinstance(labels, dict):
                labels = labels["twice"]
            for item, label, real in zip(batch.data, labels.tolist(),
                                         batch.mask.tolist()):
                if real:
                    found[item, label] += 1
        loader.close()
        return found

    def same_as(self, folder, **options):
        wanted = collections.Counter(whole(folder))
        self.assertEqual(self.epoch(folder, **options), wanted)

    def test_the_same_items(self):
        self.put(*(f"{'abc'[n % 3]}/{n % 2}/{n}.{'png' if n % 5 else 'JPG'}"
                   for n in range(50)), "a/x.txt", "c/y.txt")
        for options in ((), ("--labels=dir", "--zstd=1"),
                        ("--group=none",)):
            self.packed_as(*options)
            ours = ImageFolder(self.pack_at, loader=item_of)
            self.same_as(ours)
            ours.samples = ours.samples[7:31:2]
            self.same_as(ours)
            ours.samples = [(path, 100 + t) for path, t in ours.samples]
            self.same_as(ours)
            of = hpdsl.torch.evaluate(ours, 5, collate=list)
            for _ in range(2):
                self.assertEqual(
                    collections.Counter((item, int(label))
                                        for items, labels in of
                                        for item, label in zip(items, labels)),
                    collections.Counter(whole(ours)))

    def test_a_part_of_it(self):
        """By a Choice: the folder's items, and of what is not all of the dataset
        what both have."""
        self.put(*(f"{'abc'[n % 3]}/{n}.png" for n in range(50)), "a/x.txt", "x.txt")
        self.packed_as("--labels=dir")
        ours = ImageFolder(self.pack_at, loader=item_of)
        ds = hpdsl.Dataset(self.pack_at)
        # Targets are its own, whatever samples of the dataset lack a class.
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__)
        warnings.filterwarnings("error", ".*have no class")
        _meant._told.discard("unlabelled")
        parts = [hpdsl.Choice(ds, split=of) for of in ((0, 0.7), (0.7, 1))]
        few = hpdsl.Choice(ds, samples=[0, 1, 2, 3], class_weight={})
        for samples in ours.samples, ours.samples[7:31]:
            ours.samples = samples
            sums = [self.epoch(ours, choice=part) for part in parts]
            self.assertEqual(sum(sums, collections.Counter()),
                             collections.Counter(whole(ours)))
            loader = hpdsl.torch.evaluate(ours, 5, choice=parts[0], collate=list)
            self.assertEqual(len(loader.dataset), sum(map(len, loader)))
            self.assertEqual(sum(sums[0].values()), len(loader.dataset))
        ours.samples = ImageFolder(self.pack_at, loader=item_of).samples
        self.assertEqual({path for (_, path), _ in self.epoch(ours, choice=few)},
                         {path for path, _ in ours.samples
                          if ds.find(path[len(self.pack_at) + 1:]).sample in few})
        with self.assertRaisesRegex(TypeError, "it is folder.dataset here"):
            hpdsl.Choice(ours, split=(0, 0.9))
        with self.assertRaisesRegex(TypeError, "choice: wanted hpdsl.Choice"):
            self.epoch(ours, choice=range(3))

    def test_workers(self):
        self.put(*(f"{'abc'[n % 3]}/{n}.png" for n in range(50)))
        self.packed_as()
        ours = ImageFolder(self.pack_at, loader=item_of)
        self.same_as(ours, num_workers=2)
        # As it goes to workers that are started.
        loader = hpdsl.torch.Loader(ours, batch_size=4, seed=3)
        decoder = pickle.loads(pickle.dumps(loader._decoder))
        for number in 0, 7:
            sample = ours.dataset[number]
            item, = decoder.items([[memoryview(sample.data)]], [False],
                                  [number])
            target, = decoder.labels([None], [number])
            self.assertEqual(item, (len(sample.data), os.path.join(
                self.pack_at, sample.key + ".png")))
            self.assertEqual(ours.classes[target], sample.key[0])

    def test_members_of_samples_with_others(self):
        for n in range(30):
            kind = ("png", "b.jpg", "JPEG")[n % 3]
            self.put(f"{'ab'[n % 2]}/{n}.{kind}", f"{'ab'[n % 2]}/{n}.A.txt",
                     f"{'ab'[n % 2]}/{n}.zip")
        for options in (), ("--group=none",):
            self.packed_as(*options)
            ours = ImageFolder(self.pack_at, loader=item_of)
            self.same_as(ours)
            self.same_as(ours, num_workers=1)

    def test_an_item_that_fails_is_named(self):
        for n in range(4):
            self.put(f"a/{n}.bin", f"a/{n}.png")
        self.packed_as()

        def fails(file):
            raise ValueError("of what?")

        ours = ImageFolder(self.pack_at, loader=fails)
        with self.assertRaisesRegex(ValueError, "^of what[?]$") as raised:
            list(hpdsl.torch.Loader(ours, batch_size=4))
        note, = raised.exception.__notes__
        self.assertRegex(note, rf"^sample \d, '{self.pack_at}/a/\d\.png'$")

    def test_targets(self):
        self.put(*(f"{'abc'[n % 3]}/{n}.png" for n in range(20)))
        self.packed_as("--labels=dir")
        ours = ImageFolder(self.pack_at, loader=item_of, transform=str,
                           target_transform=as_pair)
        for workers in 0, 1:
            found = self.epoch(ours, num_workers=workers)
            self.assertEqual(found, collections.Counter(
                (item, target["twice"]) for item, target in whole(ours)))

    def test_state(self):
        self.put(*(f"{'abc'[n % 3]}/{n}.png" for n in range(30)))
        self.packed_as()
        ours = ImageFolder(self.pack_at, loader=item_of)

        def loader():
            return hpdsl.torch.Loader(ours, batch_size=4, seed=3, collate=list)

        one, found = loader(), []
        for batch in one:
            found.append(batch.data)
            if len(found) == 3:
                break
        other = loader()
        other.load_state_dict(one.state_dict())
        found += [batch.data for batch in other]
        self.assertEqual(found, [batch.data for batch in loader()])

    def test_what_cannot_be(self):
        self.put("a/1.png", "a/1.jpg", "b/2.png")
        self.packed_as()
        ours = ImageFolder(self.pack_at, loader=item_of)
        with self.assertRaisesRegex(
                hpdsl.UsageError, "a/1.jpg and .*a/1.png are .*--group=none"):
            hpdsl.torch.Loader(ours, batch_size=2)
        ours.samples = ours.samples[1:]
        self.same_as(ours, batch_size=2)
        with self.assertRaisesRegex(TypeError, "one sample at a time"):
            ours[0:2]
        for samples, said in (
                ([ours.samples[0]] * 2, "a/1.png: is there twice"),
                ([], "there are no samples"),
                ([(ours.samples[0][0], "x")], "a/1.png: target 'x'")):
            ours.samples = samples
            with self.assertRaisesRegex(hpdsl.UsageError, said):
                hpdsl.torch.Loader(ours, batch_size=2)
        for name in "decode", "suffixes":
            with self.assertRaisesRegex(hpdsl.UsageError, name):
                hpdsl.torch.Loader(ours, batch_size=2, **{name: ["jpg"]})

    def test_two_members_of_one_suffix(self):
        self.put("a/1", "a/1.", "a/2.")
        self.packed_as()
        for name in "1", "1.":
            ours = hpdsl.torch.DatasetFolder(
                self.pack_at, item_of,
                is_valid_file=lambda p, n=name: p.endswith((n, "2.")))
            if name == "1":
                self.same_as(ours)
                continue
            # By its suffix the other one would be read.
            with self.assertRaisesRegex(hpdsl.UsageError, r"a/1\.: .*=none"):
                hpdsl.torch.Loader(ours, batch_size=2)

    def test_one_sample_of_many(self):
        self.put(*(f"a/1.{n}.png" for n in range(3000)))
        self.packed_as("--group=key")
        with self.assertRaisesRegex(hpdsl.UsageError, "of one sample"):
            hpdsl.torch.Loader(ImageFolder(self.pack_at), batch_size=2)


if __name__ == "__main__":
    unittest.main()
