#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# examples/stand_ins.py: README's table of what to write, on a small dataset.

load ../kit/lib
load ../kit/torch

setup_file()
{
	torch_once
}

@test "examples/stand_ins.py: each line of the table does what the tree would" {
	need_torch
	cd "$BATS_TEST_TMPDIR" || return 1
	"$python" - <<- 'END'
		import os
		from PIL import Image
		for part, n in ("train", 24), ("val", 10):
		    for i in range(n):
		        folder = f"data/{part}/{'cat' if i % 2 else 'dog'}"
		        os.makedirs(folder, exist_ok=True)
		        Image.new("RGB", (8, 4), (i, 0, 0)).save(f"{folder}/{i:03}.png")
		open("data/a.csv", "w").write("name,n\nx,1\n")
	END
	hpdsl-pack -q --labels=dir:2 data packed
	torch_python "$SRC/examples/stand_ins.py" packed > out 2> err
	cat out err
	diff - <(grep -v '^the largest\|bytes$' out | grep -v a.csv) <<- 'END'
		train: 2 folders, 0 files
		train/cat: 0 folders, 12 files
		train/dog: 0 folders, 12 files
		by extension: {'.png': 34, '.csv': 1}
		train: 24 samples
		val: 10 samples
		24 images of cat, dog
		packed/train/cat/001.png: 96 bytes, cat
		24 by a DataLoader
		24 by hpdsl.torch.Loader
	END
	grep -q '^the largest file: train/[cd].*/0[0-9]*.png, ' out
	grep -q '^[a-z].*: [0-9]* bytes$' out
	[ -s err ] || grep -qx '/.*/packed/a.csv: name,n' out
	[ ! -s err ] || grep -qx "left out: table: No module named 'fsspec'" err
	# elsewhere a name is enough to be told
	run torch_python "$SRC/examples/stand_ins.py" nowhere
	[ "$status" -ne 0 ]
	[[ $output == *nowhere* ]]
}
