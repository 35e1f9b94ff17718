#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A network learns as much in the orders of the defaults as from a full shuffle,
# up to five seeds, in small and large batches; also from a pack sorted by class.
# tests/python/train.bats has one seed.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/torch

# study BATCH EPOCHS SHARE: takes this share of the time that is left.
study()
{
	local left=inf
	[ -z "${LONG_SECONDS:-}" ] || left=$(((LONG_SECONDS - SECONDS) / $3))
	"$python" "$SRC/tests/long/accuracy.py" --seconds="$left" --batch="$1" \
		--epochs="$2" png packed sorted > table 2>&3 || {
		cat table
		false
	}
	[ "$(grep -c ' +- ' table)" = 6 ]
}

@test "the mean test accuracies of Fashion-MNIST agree" {
	need_torch
	[ -d /usr/share/datasets/fashion-mnist ] ||
		skip "no package dataset-fashion-mnist"
	"$SRC/examples/fashion_mnist_to_png.py" png
	hpdsl-pack -q --labels=dir --include='train-*' --chunks=240 png packed
	hpdsl-pack -q --labels=dir --include='train-*' --chunks=240 \
		--shuffle=none png sorted
	study 256 5 2
	study 32 2 1
}
