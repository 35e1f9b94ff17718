# SPDX-License-Identifier: Apache-2.0
"""zarr, xarray and pandas on packed datasets."""

import importlib.util
import os
import pickle
import random
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import fsspec
import hpdsl
from hpdsl import fs as hpdsl_fs
from hpdsl._abi import lib

from common import command, flip, forked, run
from test_fs import staged

with warnings.catch_warnings():
    # Those of the readers are theirs.
    warnings.simplefilter("ignore")
    import numpy
    import pandas
    import xarray
    import zarr


class Readers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        top = tempfile.TemporaryDirectory(dir=os.getcwd())
        cls.addClassCleanup(top.cleanup)
        cls.top = top.name
        tree = cls.top + "/tree"
        rnd = numpy.random.default_rng(5)
        cls.array = rnd.integers(0, 9, (40, 30, 7), "i4")
        group = zarr.open_group(tree + "/x.zarr", "w")
        group.create_dataset("a/b", data=cls.array, chunks=(7, 8, 7))
        group.create_dataset("plain", data=cls.array[:, 0, 0], chunks=9,
                             compressor=None)
        # Of this one some chunks were never written.
        sparse = group.create_dataset("sparse", shape=(40, 40), chunks=(10, 10),
                                      dtype="f8", fill_value=7)
        sparse[10:20, 5:25] = 1
        group.attrs["name"] = "ä"
        nested = zarr.open(
            zarr.DirectoryStore(tree + "/nested.zarr",
                                dimension_separator="/"), "w",
            shape=cls.array.shape, chunks=(7, 8, 7), dtype="i4")
        nested[:] = cls.array
        cls.table = pandas.DataFrame({"x": rnd.random(50), "y": range(50)})
        os.mkdir(tree + "/tables")
        cls.table.to_csv(tree + "/tables/a.csv", index=False)
        cls.table.to_csv(tree + "/tables/b.csv.gz", index=False)
        cls.data = xarray.Dataset(
            {"t": (("time", "x"), cls.array[:, :, 0])},
            {"time": pandas.date_range("2020-01-01", periods=40)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls.data.to_zarr(tree + "/w.zarr", consolidated=True)
            cls.data.to_zarr(tree + "/v.zarr", consolidated=False)
        cls.packed = cls.top + "/packed"
        command("hpdsl-pack", "-q", "--group=none", "--chunks=5", tree,
                cls.packed)
        cls.forms = [cls.packed]
        for name, *options in (("zstd", "--group=none", "--zstd"),
                               # by their paths, all are found here, too
                               ("keys", "--group=key")):
            cls.forms.append(f"{cls.top}/{name}")
            command("hpdsl-pack", "-q", *options,
                    tree, cls.forms[-1])
        cls.forms.append(cls.top + "/stage")
        staged(cls.packed, cls.forms[-1], "here=0,2")
        os.mkdir(cls.top + "/tars")
        command("tar", "-cf", cls.top + "/tars/one.tar", "-C", tree,
                *sorted(os.listdir(tree)))
        command("hpdsl-index", "-q", cls.top + "/tars")
        cls.forms.append(cls.top + "/tars")

    def url(self, name, packed=None):
        return f"hpdsl://{packed or self.packed}/{name}"

    def test_zarr(self):
        for packed in self.forms:
            with self.subTest(packed):
                group = zarr.open(self.url("x.zarr", packed), mode="r")
                self.assertEqual(sorted(group.array_keys()),
                                 ["plain", "sparse"])
                self.assertEqual(list(group.group_keys()), ["a"])
                self.assertEqual(group.attrs["name"], "ä")
                for a in (group["a/b"],
                          zarr.open(self.url("x.zarr/a/b", packed), mode="r"),
                          zarr.open(fsspec.get_mapper(self.url(
                              "x.zarr/a/b", packed)), mode="r"),
                          zarr.open(zarr.storage.FSStore(self.url(
                              "nested.zarr", packed), mode="r",
                              dimension_separator="/"), mode="r")):
                    self.assertTrue((a[:] == self.array).all())
                    self.assertTrue((a[3:22, 7:9] == self.array[3:22, 7:9])
                                    .all())
                self.assertTrue((group["plain"][3:] == self.array[3:, 0, 0])
                                .all())
                wanted = numpy.full((40, 40), 7.)
                wanted[10:20, 5:25] = 1
                self.assertTrue((group["sparse"][:] == wanted).all())

    def test_a_slice_is_one_reading(self):
        a = zarr.open(self.url("x.zarr"), mode="r")["a/b"]
        for some in (slice(None), (slice(3, 22), 9)):
            with mock.patch.object(lib, "read_many", wraps=lib.read_many
                                   ) as read:
                a[some]
            self.assertEqual(read.call_count, 1)
            self.assertGreater(read.call_args[0][2], 3)

    def test_nothing_is_written(self):
        group = zarr.open(self.url("x.zarr"), mode="r")
        with self.assertRaises(Exception):
            group["a/b"][0] = 1
        with self.assertRaises(Exception):
            zarr.open(self.url("x.zarr"), mode="a")["a/b"][:1] = 1
        command("hpdsl-verify", "-q", self.packed)

    def test_damage_is_no_fill_value(self):
        packed = self.top + "/damaged"
        command("cp", "-r", self.packed, packed)
        ds = hpdsl.Dataset(packed)
        a = zarr.open(self.url("x.zarr/a/b", packed), mode="r")
        read = ds.find("x.zarr/a/b/.zarray").chunk
        # The file of another chunk is not open yet.
        k = next(k for k in range(1, 4)
                 if ds.find(f"x.zarr/a/b/{k}.1.0").chunk != read)
        member = ds.find(f"x.zarr/a/b/{k}.1.0")
        file = f"{packed}/chunk-{member.chunk:06}.tar"
        slices = slice(None), (slice(7 * k, 7 * k + 1), slice(8, 9))
        os.rename(file, file + ".away")
        for some in slices:
            with self.assertRaises(hpdsl.Error) as raised:
                a[some]
            self.assertNotIsInstance(raised.exception, OSError)
        os.rename(file + ".away", file)
        flip(file, member.offset + 9)
        for some in slices:
            with self.assertRaises(hpdsl.CorruptError):
                a[some]

    def test_a_dataset_that_is_gone_is_no_fill_value(self):
        packed = self.top + "/gone"
        command("cp", "-r", self.packed, packed)
        arrays = [zarr.open(self.url("x.zarr/" + name, packed), mode="r")
                  for name in ("sparse", "a/b", "plain")]
        os.rename(packed, packed + ".away")
        for a in arrays:
            a.store.fs.invalidate_cache()
            for some in slice(None), slice(12, 13):
                with self.assertRaises(hpdsl.Error) as raised:
                    a[some]
                self.assertNotIsInstance(raised.exception, OSError)
                with self.assertRaises(hpdsl.Error):
                    forked(lambda: a[some])
        os.rename(packed + ".away", packed)
        self.assertEqual(arrays[0][12, 12], 1)

    def test_xarray(self):
        for packed in self.forms:
            for name, consolidated in ("w.zarr", True), ("w.zarr", False), (
                    "v.zarr", False):
                with self.subTest((packed, name, consolidated)), \
                        warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ds = xarray.open_zarr(self.url(name, packed), chunks=None,
                                          consolidated=consolidated)
                    self.assertTrue(ds.identical(self.data))
                    self.assertTrue(ds.sel(time="2020-01-07").t.identical(
                        self.data.sel(time="2020-01-07").t))

    def test_pandas(self):
        for packed in self.forms:
            for name in "a.csv", "b.csv.gz":
                self.assertTrue(pandas.read_csv(
                    self.url("tables/" + name, packed),
                    storage_options={"peers": False}).equals(
                        pandas.read_csv(f"{self.top}/tree/tables/{name}")))
        names = fsspec.filesystem("hpdsl").glob(self.packed + "/tables/*.csv*")
        self.assertEqual(len(names), 2)

    def test_parquet(self):
        if not importlib.util.find_spec("pyarrow"):
            # cases() wants no skipped test: the page says what was tried
            print("no pyarrow: read_parquet is not tried", file=sys.stderr)
            return
        tree, packed = self.top + "/parquet", self.top + "/parquet.packed"
        os.mkdir(tree)
        self.table.to_parquet(tree + "/a.parquet")
        command("hpdsl-pack", "-q", tree, packed)
        self.assertTrue(pandas.read_parquet(self.url("a.parquet", packed))
                        .equals(self.table))

    def test_elsewhere(self):
        a = zarr.open(self.url("x.zarr/a/b"), mode="r")
        self.assertTrue(forked(lambda: a[:] == self.array).all())
        out = run("""if True:
            import warnings
            warnings.simplefilter("ignore")
            import pickle, sys
            print(pickle.loads(bytes.fromhex(sys.argv[1]))[:].sum())
            """, pickle.dumps(a).hex())
        self.assertEqual(out.stdout, f"{self.array.sum()}\n")

    def test_random_slices(self):
        a = zarr.open(self.url("x.zarr/a/b"), mode="r")
        rnd = random.Random(2)
        for _ in range(30):
            some = tuple(slice(*sorted(rnd.sample(range(n + 1), 2)))
                         for n in self.array.shape)
            self.assertTrue((a[some] == self.array[some]).all())
        self.assertIsInstance(a.store.fs, hpdsl_fs.HpdslFileSystem)
