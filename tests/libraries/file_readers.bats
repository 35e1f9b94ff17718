#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Libraries of others that open files, in datasets: fsspec and zarr 3, by the tests that
# they have of file systems and stores which are read, pandas, datasets, torchvision
# (whose packages bring no tests), and
# torch.distributed.checkpoint of a loader.
# bats file_tags=libraries

load ../kit/lib
load ../kit/torch

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	export HF_HOME=$PWD/hf
}

# program NAME..: without its library's advice.
program()
{
	"$python" -W ignore "$@" 2> err || { cat err; return 1; }
}

@test "fsspec: what it asks of a file system that files are got from" {
	cat > test_get.py <<- 'END'
		import subprocess

		import pytest
		from fsspec.implementations.local import LocalFileSystem
		from fsspec.tests import abstract

		from hpdsl.fs import HpdslFileSystem


		class Kept(HpdslFileSystem):
		    """Nothing has to be cleaned up in it."""

		    cachable = False

		    def rm(self, path, recursive=False, maxdepth=None):
		        pass


		def packed(name):
		    """What they write is packed in its place."""
		    written = getattr(abstract.BaseAbstractFixtures, name)

		    def made(self, fs, join, path):
		        if not isinstance(fs, Kept):
		            return written(self, fs, join, path)
		        tree = path + ".tree"
		        written(self, LocalFileSystem(auto_mkdir=True), join, tree)
		        subprocess.run(["hpdsl-pack", "-q", "--group=none", tree, path],
		                       check=True)
		        return join(path, "source")

		    return made


		class Fixtures(abstract.AbstractFixtures):
		    @pytest.fixture
		    def fs(self):
		        return Kept()

		    @pytest.fixture
		    def fs_path(self, tmp_path):
		        return str(tmp_path / "packed")

		    @pytest.fixture
		    def supports_empty_directories(self):
		        return False

		    for name in ("_glob_edge_cases_files", "_bulk_operations_scenario_0",
		                 "_dir_and_file_with_same_name_prefix",
		                 "_10_files_with_hashed_names"):
		        locals()[name] = packed(name)


		class TestGet(abstract.AbstractGetTests, Fixtures):
		    pass
	END
	# The one that is left out writes by itself, into the file system.
	program -m pytest -q -p no:cacheprovider test_get.py \
		--deselect test_get.py::TestGet::test_get_directory_recursive > out ||
		{ cat out; return 1; }
	grep -qE '^[4-9][0-9] passed, 1 deselected' out
}

@test "zarr 3: arrays of both formats, sharded and not, are those of the tree" {
	cat > arrays.py <<- 'END'
		import subprocess

		import numpy as np
		import zarr

		here = zarr.open_group("tree/all.zarr", mode="w")
		of = np.arange(60 * 40, dtype="i4").reshape(60, 40)
		for name, given in (("plain", {}), ("sharded", {"shards": (30, 40)})):
		    made = here.create_array(name, shape=of.shape, chunks=(10, 10),
		                             dtype=of.dtype, fill_value=7, **given)
		    made[:50] = of[:50]
		    made.attrs["of"] = name
		old = zarr.open_group("tree/old.zarr", mode="w", zarr_format=2)
		old.create_array("plain", shape=of.shape, chunks=(7, 40), dtype="i4")[:] = of
		subprocess.run("hpdsl-pack -q --group=none tree packed", shell=True,
		               check=True)

		for name in "all.zarr", "old.zarr":
		    tree = zarr.open_group(f"tree/{name}", mode="r")
		    ours = zarr.open_group(f"hpdsl://packed/{name}", mode="r")
		    assert sorted(tree.array_keys()) == sorted(ours.array_keys()) != []
		    for key in tree.array_keys():
		        for part in np.s_[:], np.s_[3:17, 5], np.s_[45:55, 39:], np.s_[::9]:
		            assert (tree[key][part] == ours[key][part]).all(), (key, part)
		        assert dict(tree[key].attrs) == dict(ours[key].attrs)
		try:
		    zarr.open_group("hpdsl://packed/all.zarr", mode="a")["plain"][0] = 1
		except OSError:
		    pass
		else:
		    raise AssertionError("was written")
	END
	program arrays.py
}

@test "zarr 3: what it asks of a store, but for writing" {
	cat > conftest.py <<- 'END'
		import asyncio
		import inspect

		import pytest


		@pytest.hookimpl(tryfirst=True)
		def pytest_pyfunc_call(pyfuncitem):
		    """Without a plugin for them: what is async is waited for."""
		    if inspect.iscoroutinefunction(pyfuncitem.obj):
		        given = {name: pyfuncitem.funcargs[name]
		                 for name in pyfuncitem._fixtureinfo.argnames}
		        asyncio.run(pyfuncitem.obj(**given))
		        return True
	END
	cat > test_store.py <<- 'END'
		import asyncio
		import os
		import subprocess

		import pytest
		from zarr.core.buffer import cpu
		from zarr.storage import FsspecStore
		from zarr.storage._fsspec import _make_async
		from zarr.testing.store import StoreTests

		from hpdsl.fs import HpdslFileSystem

		written = []


		class Packed(FsspecStore):
		    """What they write goes into a tree, and what they read is its pack, of
		    which each has a name of its own."""

		    supports_deletes = False

		    @property
		    def path(self):
		        packed = f"{self._path}.{len(written)}"
		        if os.path.exists(self.tree) and not os.path.exists(packed):
		            subprocess.run(["hpdsl-pack", "-q", "--group=none", self.tree,
		                            packed], check=True)
		        return packed

		    @path.setter
		    def path(self, path):
		        self._path = path

		    @property
		    def tree(self):
		        return self._path + ".tree"

		    async def set(self, key, value, byte_range=None):
		        self._check_writable()
		        name = f"{self.tree}/{key}"
		        os.makedirs(os.path.dirname(name), exist_ok=True)
		        with open(name, "wb") as f:
		            f.write(value.to_bytes())
		        written.append(name)


		class TestRead(StoreTests[Packed, cpu.Buffer]):
		    store_cls, buffer_cls = Packed, cpu.Buffer

		    @pytest.fixture
		    def store_kwargs(self, tmp_path):
		        return {"fs": _make_async(HpdslFileSystem()), "path": str(tmp_path / "p")}

		    @pytest.fixture
		    def store(self, open_kwargs):
		        return asyncio.run(Packed.open(**open_kwargs))

		    @pytest.fixture
		    def store_not_open(self, store_kwargs):
		        return Packed(**store_kwargs)

		    async def set(self, store, key, value):
		        await Packed.set(store, key, value)

		    async def get(self, store, key):
		        with open(f"{store.tree}/{key}", "rb") as f:
		            return self.buffer_cls.from_bytes(f.read())

		    def test_store_repr(self, store):
		        assert repr(store).startswith("<FsspecStore(")

		    def test_store_supports_writes(self, store):
		        pass

		    def test_store_supports_listing(self, store):
		        assert store.supports_listing
	END
	# Left out, as they write or delete: set*, clear, delete*, with_read_only; and those
	# of stores that have synchronous methods, which zarr's over fsspec has not.
	program -m pytest -q -p no:cacheprovider -rs test_store.py \
		-k 'not test_set and not test_clear and not test_with_read_only' > out ||
		{ cat out; return 1; }
	grep -qE '^[5-9][0-9] passed, 7 skipped' out || { cat out; return 1; }
}

@test "pandas: csv and parquet" {
	cat > tables.py <<- 'END'
		import os
		import subprocess

		import pandas as pd

		table = pd.DataFrame({"a": range(1000), "b": [str(k % 7) for k in range(1000)]})
		os.makedirs("tree/hive")
		table.to_csv("tree/t.csv", index=False)
		table.to_parquet("tree/t.parquet")
		table.to_parquet("tree/hive", partition_cols=["b"])
		subprocess.run("hpdsl-pack -q --group=none tree packed", shell=True,
		               check=True)
		for read, name, given in (
		        (pd.read_csv, "t.csv", {}), (pd.read_parquet, "t.parquet", {}),
		        (pd.read_parquet, "t.parquet", {"columns": ["a"]}),
		        (pd.read_parquet, "t.parquet", {"filters": [("a", ">", 990)]}),
		        (pd.read_parquet, "hive", {"filters": [("b", "==", 3)]})):
		    ours = read(f"hpdsl://packed/{name}", **given)
		    pd.testing.assert_frame_equal(ours, read(f"tree/{name}", **given))
		    assert len(ours)
	END
	program tables.py
}

# pictures: 30 of them in train, 10 in val.
pictures()
{
	"$python" - <<- 'END'
		import os
		from PIL import Image
		for part, n in ("train", 30), ("val", 10):
		    for i in range(n):
		        folder = f"tree/{part}/{'cat' if i % 3 else 'dog'}"
		        os.makedirs(folder, exist_ok=True)
		        Image.new("RGB", (8, 6), (i, 0, 0)).save(f"{folder}/{i:03}.png")
	END
	hpdsl-pack -q --labels=dir:2 tree packed
}

@test "datasets: imagefolder, streaming or not, by hpdsl:///" {
	pictures
	cat > folder.py <<- 'END'
		import os

		import datasets

		for streaming in False, True:
		    made = datasets.load_dataset("imagefolder", data_files={
		        part: f"hpdsl://{os.getcwd()}/packed/{part}/**"
		        for part in ("train", "val")}, streaming=streaming)
		    for part, n in ("train", 30), ("val", 10):
		        got = sorted((row["image"].getpixel((0, 0))[0], row["label"])
		                     for row in made[part])
		        assert got == [(i, 0 if i % 3 else 1) for i in range(n)], got
	END
	program folder.py
}

@test "torchvision: ImageFolder is what it is over the tree" {
	pictures
	cat > folders.py <<- 'END'
		import os

		import torchvision
		from torchvision.transforms import v2

		import hpdsl

		transform = v2.Compose([v2.ToImage(), v2.RandomHorizontalFlip(1.0)])
		for given in ({}, {"transform": transform, "target_transform": str},
		              {"is_valid_file": lambda path: path.endswith("3.png")},
		              {"allow_empty": True}):
		    ours = hpdsl.torch.ImageFolder("packed/train", **given)
		    tree = torchvision.datasets.ImageFolder("tree/train", **given)
		    assert isinstance(ours, torchvision.datasets.VisionDataset)
		    assert (ours.classes, ours.class_to_idx, list(ours.targets)) == (
		        tree.classes, tree.class_to_idx, tree.targets)
		    assert [(p.split("/train/")[1], t) for p, t in ours.samples] == [
		        (p.split("/train/")[1], t) for p, t in tree.samples]
		    for one, other in zip(ours, tree, strict=True):
		        assert one[1] == other[1]
		        assert one[0] == other[0] if "transform" not in given else (
		            one[0].equal(other[0]))
		for root, kind in ("packed/nothing", FileNotFoundError), (
		        "packed", FileNotFoundError):
		    for of in hpdsl.torch.ImageFolder, torchvision.datasets.ImageFolder:
		        try:
		            of(root, is_valid_file=lambda path: False)
		        except kind:
		            pass
		        else:
		            raise AssertionError((root, of))
	END
	program folders.py
}

@test "torch.distributed.checkpoint: a loader, saved by two ranks and loaded by one" {
	pictures
	cat > saved.py <<- 'END'
		import os
		import sys

		import torch.distributed as dist
		import torch.distributed.checkpoint as dcp

		import hpdsl

		dist.init_process_group("gloo")
		ranks = dist.get_world_size()
		loader = hpdsl.torch.Loader("packed", 8 // ranks, seed=1, epochs=2)
		if ranks == 2:
		    for batch in loader:
		        if batch.step == 2:
		            break
		    dcp.save({"loader": loader}, checkpoint_id="kept")
		else:
		    dcp.load({"loader": loader}, checkpoint_id="kept")
		    assert (loader.epoch, loader.step) == (0, 3), loader
		seen = [n for batch in loader for n in batch.numbers[batch.mask].tolist()]
		if ranks == 1:
		    of = hpdsl.Epoch(loader.dataset, loader.order)
		    assert seen == [of[p] for p in range(24, 40)], seen
		dist.destroy_process_group()
	END
	for n in 2 1; do
		program -m torch.distributed.run --nproc-per-node=$n --standalone saved.py
	done
}
