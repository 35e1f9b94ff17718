# SPDX-License-Identifier: Apache-2.0
"""Paths that lead into a dataset."""

import os
import pathlib

import hpdsl
from common import Packed
from hpdsl._place import dataset_in


class Place(Packed):
    samples = 20

    def test_the_longest_part_that_is_a_dataset(self):
        for path, inside in (("", ""), ("/", ""), ("/class0", "class0"),
                             ("/class0//", "class0"), ("/not/there", "not/there"),
                             ("/./class1/../class0/x.bin", "class0/x.bin"),
                             ("/index.hpdsl/a", "index.hpdsl/a"),
                             ("/" + "n" * 300, "n" * 300),
                             ("/a" * 3000, ("/a" * 3000)[1:])):
            self.assertEqual(dataset_in(self.packed + path),
                             (self.packed, inside))
        self.assertEqual(dataset_in(os.path.relpath(self.packed) + "/a"),
                         (self.packed, "a"))
        self.assertEqual(dataset_in(pathlib.Path(self.packed, "a")),
                         (self.packed, "a"))
        self.assertEqual(dataset_in(os.fsencode(self.packed) + b"/\xff"),
                         (self.packed, "\udcff"))

    def test_one_in_another(self):
        inner = os.path.join(self.at, "tree", "inner")
        os.makedirs(os.path.dirname(inner))
        os.rename(self.packed, inner)
        try:
            self.assertEqual(dataset_in(inner + "/x"), (inner, "x"))
            with open(os.path.join(self.at, "dataset.yaml"), "w") as f:
                f.write("format: hpdsl-dataset\n")
            self.assertEqual(dataset_in(inner + "/x"), (inner, "x"))
            self.assertEqual(dataset_in(os.path.dirname(inner)),
                             (self.at, "tree"))
        finally:
            os.rename(inner, self.packed)

    def test_stage_directories(self):
        stage = os.path.join(self.at, "stage")
        os.mkdir(stage)
        with open(os.path.join(stage, "stage.hpdsl"), "w"):
            pass
        self.assertEqual(dataset_in(stage + "/val"), (stage, "val"))

    def test_in_none(self):
        for path in (self.tree, os.path.join(self.tree, "class0"),
                     os.path.join(self.at, "not/there"), "/"):
            with self.assertRaisesRegex(hpdsl.NotFoundError, path):
                dataset_in(path)
        for path in ("", b""):
            with self.assertRaisesRegex(hpdsl.UsageError, "without a name"):
                dataset_in(path)
        with self.assertRaisesRegex(hpdsl.UsageError, "NUL"):
            dataset_in("a\0b")

    def test_what_cannot_be_looked_at(self):
        shut = os.path.join(self.at, "shut")
        os.symlink("shut", shut)
        with self.assertRaisesRegex(hpdsl.SystemFailure, "shut.*symbolic"):
            dataset_in(os.path.join(shut, "a"))
        os.symlink("../shut", os.path.join(self.packed, "shut"))
        self.assertEqual(dataset_in(os.path.join(self.packed, "shut")),
                         (self.packed, "shut"))
        os.remove(os.path.join(self.packed, "shut"))
