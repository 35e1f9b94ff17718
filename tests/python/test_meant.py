# SPDX-License-Identifier: Apache-2.0
"""Shards of others, as their names and members say what they are."""

import os
import tarfile
import tempfile
import unittest
import warnings

import hpdsl
from common import command
from foreign import add
from hpdsl import _meant


class Shards(unittest.TestCase):
    """train-0.tar has 0, 1 and 2, val-0.tar 3, each of .cls and .jpg."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(dir=os.getcwd())
        cls.addClassCleanup(folder.cleanup)
        cls.at = folder.name + "/it's"
        os.mkdir(cls.at)
        for name, keys in (("train-0", (0, 1, 2)), ("val-0", (3,))):
            with tarfile.open(f"{cls.at}/{name}.tar", "w") as tar:
                for n in keys:
                    add(tar, f"{n}.cls", b"%d\n" % n)
                    add(tar, f"{n}.jpg", b"picture %d" % n)
        command("hpdsl-index", "-q", cls.at)
        command("hpdsl-pack", "-q", cls.at, folder.name + "/packed")
        cls.packed = folder.name + "/packed"

    def told(self, path, take=iter, times=1, **options):
        """What a loop is told that takes this of each batch; the line is its."""
        _meant._told.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(times):
                for batch in hpdsl.Loader(path, batch_size=4, epochs=1, **options):
                    list(take(batch))
        self.assertEqual({w.filename for w in caught} - {__file__}, set())
        return [str(w.message) for w in caught]

    def test_told_once(self):
        labels = (": no sample has a label, so that all labels are -1; `hpdsl-"
                  "{}` takes them from the members .cls")
        first = (": data is the first member of a sample, and its .cls comes "
                 "first; with suffixes=['jpg'] it is the .jpg")
        quoted = "'" + self.at.replace("'", "'\"'\"'") + "'"
        self.assertEqual(self.told(self.at, times=2), [
            self.at + first,
            self.at + labels.format(f"index --labels=cls {quoted}")])
        self.assertEqual(self.told(self.packed, suffixes=[".jpg"]), [
            self.packed + labels.format(
                f"pack --labels=cls {self.packed} OUTPUT")])

    def test_told_nothing(self):
        """Of what is not used, or is asked for by its name."""
        self.assertEqual(self.told(self.at, lambda batch: batch.members("jpg")),
                         [])
        self.assertEqual(self.told(self.at, suffixes=["jpg", "cls"]), [])
        command("hpdsl-index", "-q", "--labels=cls", "-o", self.packed + "2",
                self.at)
        self.assertEqual(self.told(self.packed + "2", suffixes=["jpg"]), [])

    def test_some_without_class(self):
        """With their number; not who has said which labels there are, and not who
        looks at none."""
        path = os.path.dirname(self.at) + "/some"
        os.makedirs("some/a")
        for n in range(9):
            with open(f"some/{'a/' if n < 5 else ''}{n}.jpg", "w") as f:
                f.write(f"picture {n}")
        command("hpdsl-pack", "-q", "--labels=dir", "some", path)
        ds = hpdsl.Dataset(path)
        text = (path + ": {} samples have no class and come with label -1: choice="
                "hpdsl.Choice(ds, labels=range(1){}) leaves them out")
        few = hpdsl.Choice(ds, include=["[4-6].jpg"])
        full = hpdsl.Choice(ds, labels=[0])
        self.assertEqual(self.told(ds, times=2, end="short"), [text.format("4 of 9", "")])
        self.assertEqual(self.told(few, end="short"), [text.format("2 of 3", ", ..")])
        for of in full, hpdsl.Choice(ds, labels=[None]), hpdsl.Choice(ds, folder="a"):
            self.assertEqual(self.told(of, end="short"), [])
        self.assertEqual(self.told(ds, lambda batch: batch.data), [])

    def test_tars(self):
        ds = hpdsl.Dataset(self.at)
        for tars, keys in (("train-*.tar", "012"), ("val-0.tar", "3"),
                           (["*l-0.tar", b"train-0.tar"], "0123")):
            choice = hpdsl.Choice(ds, tars=tars)
            self.assertEqual("".join(ds.key(n) for n in range(4) if n in choice),
                             keys)
        with self.assertRaisesRegex(hpdsl.UsageError,
                                    "no tar is called 'test-.*', there are "
                                    "'train-0.tar', 'val-0.tar'"):
            hpdsl.Choice(ds, tars="test-*.tar")
        with self.assertRaisesRegex(TypeError, r"hpdsl.Choice\(ds, tars=..\)"):
            hpdsl.Loader(ds, tars="val-0.tar")


if __name__ == "__main__":
    unittest.main()
