#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# examples/measure_fashion_mnist.sh: raw files, packed, staged, from a slow file
# system.
# bats file_tags=time

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/python

teardown()
{
	[ ! -d "$BATS_TEST_TMPDIR/slow" ] ||
		fusermount3 -uq "$BATS_TEST_TMPDIR/slow" || :
}

# Steps of 32 images take some ms; to open them, by two workers, takes 30 ms and
# more, and to read them packed a few.
@test "Fashion-MNIST: raw, packed and staged are measured" {
	forks_are_safe
	[ -d /usr/share/datasets/fashion-mnist ] ||
		skip "no package dataset-fashion-mnist"
	"$PYTHON" -c 'import torch, PIL' 2> no || skip "no torch: $(tail -n 1 no)"
	[ -x "$BUILD/tests/bed/origin" ] || skip "no fuse3"
	[ -x "$BUILD/hpdsl-stage" ] || skip "no MPI"
	cd "$BATS_TEST_TMPDIR"
	mkdir real slow
	"$SRC/examples/fashion_mnist_to_png.py" real/png \
		/usr/share/datasets/fashion-mnist 6000
	hpdsl-pack -q --labels=dir --chunks=8 real/png real/ds
	"$BUILD/tests/bed/origin" real slow -o \
		"rate=8M,ops=1000,keep=30,mapped=*,watch=$$"
	export PYTHON STALL_OPTIONS="--rounds=1 --steps=8 --no-load"
	export TRAIN_OPTIONS=--batch=32
	export PYTHONPATH=$SRC/lib/python PYTHONDONTWRITEBYTECODE=1
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	with_library "$SRC/examples/measure_fashion_mnist.sh" \
		slow/png slow/ds copy > said
	cat said raw.txt packed.txt staged.txt
	[ "$(wc -l < said)" = 3 ]
	while read -r what ms _; do
		figure "fashion.$what.ms" "$ms"
	done < said
	grep -q '^raw .* a step: [0-9]* % of a step waits for storage' said
	# the others differ by less than what else this machine may be doing
	awk 'NR == 1 { raw = $2 } NR > 1 && $2 > raw / 2 { exit 1 }' said
	grep -q '^a batch opens 3[0-9]' raw.txt
	! grep -q '^a batch opens' packed.txt || return 1
	fails 2 'usage: measure_fashion_mnist.sh' \
		"$SRC/examples/measure_fashion_mnist.sh"
}
