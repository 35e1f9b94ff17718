#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a type checker knows of the Python module, in programs of users: those of
# hpdsl-python(7), and one in which each line says what it should be told.
# bats file_tags=libraries

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/torch

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
}

# strict FILE..: in the module itself lint looks for mistakes.  PyTorch's backward()
# has no annotations.
strict()
{
	MYPYPATH=$SRC/lib/python "$python" -m mypy --strict --follow-imports=silent \
		--untyped-calls-exclude=torch --cache-dir="$BATS_FILE_TMPDIR/cache" \
		--no-error-summary "$@"
}

@test "types: the programs of hpdsl-python(7) are strict" {
	local names
	"$python" "$SRC/tests/kit/programs.py" "$SRC/man/hpdsl-python.7" . > names
	mapfile -t names < names
	[ "${#names[@]}" = 6 ]
	strict "${names[@]}"
}

@test "types: what comes is known, and what is no argument is told" {
	cat > known.py <<- 'END'
		import io
		from typing import Any, Dict, List, assert_type

		import numpy
		import torch

		import hpdsl
		from hpdsl.torch import Batch, Loader


		def as_dict(batch: Batch) -> Dict[str, torch.Tensor]:
		    return {"pixel_values": batch.data, "labels": batch.labels}


		ds = hpdsl.Dataset("packed")
		assert_type(ds[3], hpdsl.Sample)
		assert_type(ds["class/key"], hpdsl.Sample)
		assert_type(ds[numpy.int64(3)], hpdsl.Sample)
		assert_type(ds[2:5], List[hpdsl.Sample])
		assert_type(ds[[1, 2]], List[hpdsl.Sample])
		assert_type(ds[torch.tensor([1, 2])], List[hpdsl.Sample])
		assert_type(ds[numpy.arange(3)], List[hpdsl.Sample])
		assert_type(ds[3]["jpg"], bytes)
		assert_type(dict(ds[3]), Dict[str, bytes])
		assert_type(ds.open("notes.txt", "r").read(), str)
		for sample in ds:
		    assert_type(sample, hpdsl.Sample)
		for plain in hpdsl.Loader(ds, 8):
		    assert_type(plain.data, List[memoryview])
		    assert_type(plain.labels, List[int])
		for batch in Loader(ds, 8):
		    assert_type(batch, Batch)
		    assert_type(batch.mask, torch.Tensor)
		    assert_type(batch.mean(batch.data), torch.Tensor)
		for made in Loader(ds, 8, form=as_dict):
		    assert_type(made, Dict[str, torch.Tensor])
		with Loader(ds, 8, form=as_dict) as loader:
		    assert_type(loader, Loader[Dict[str, torch.Tensor]])
		for batch in hpdsl.torch.evaluate(ds, 8):
		    assert_type(batch, Batch)
		for made in hpdsl.torch.evaluate(ds, 8, form=as_dict):
		    assert_type(made, Dict[str, torch.Tensor])

		with hpdsl.torch.evaluate(ds, 8) as passes:
		    assert_type(passes, hpdsl.torch.Evaluation[Batch])

		hpdsl.torch.Loder(ds)  # wrong
		hpdsl.Loader(ds, batchsize=3)  # wrong
		hpdsl.Choice(ds, split=0.9)  # wrong
		Loader(ds, 8, collate="lists")  # wrong
		Loader(ds, 8, seeed=1)  # wrong
		Loader(ds, 8, seed="1")  # wrong
		Loader(ds, 8, seed=1, choice=hpdsl.Choice(ds), pin_memory=True, memory="2G")
		hpdsl.torch.evaluate(ds, 8, seed=1)  # wrong
		hpdsl.torch.evaluate(ds, 8, shuffle=True)  # wrong
		hpdsl.torch.evaluate(ds, 8, shuffle=False, skip_bad=True, timeout=60)
		sampler = hpdsl.torch.Sampler(ds, 8, memory="2G")  # wrong
		sampler = hpdsl.torch.Sampler(ds, 8, seed=1, epochs=3, rank=0, ranks=2)
		hpdsl.torch.MapLoader(hpdsl.torch.Samples(ds), sampler, seed=1)  # wrong
		hpdsl.torch.MapLoader(hpdsl.torch.Samples(ds), sampler, num_workers="4")  # wrong
		hpdsl.torch.MapLoader(hpdsl.torch.Samples(ds), sampler, num_workers=4)
		hpdsl.torch.Iterable(ds, share="rank", rank=0)  # wrong
		hpdsl.torch.Iterable(ds, share="caller", choice=ds)  # wrong
		hpdsl.torch.Iterable(ds, share="none", seed=1, suffixes=["jpg"], memory="2G")
		ds[3].jpg  # wrong
		text: str = ds[3]["jpg"]  # wrong
		hpdsl.torch.evaluate(ds, 8).epoch  # wrong
	END
	run -1 strict known.py
	diff <(grep -n '# wrong$' known.py | cut -d: -f1) \
		<(grep -o '^known.py:[0-9]*: error' <<< "$output" | cut -d: -f2 | uniq)
}
