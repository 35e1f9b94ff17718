#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A network learns as much from chunk-wise orders as from a full shuffle: up to
# five seeds in three windows, whole and in parts.  tests/python/train.bats has
# one seed.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/torch

@test "the mean test accuracies of Fashion-MNIST agree" {
	local left=inf
	need_torch
	[ -d /usr/share/datasets/fashion-mnist ] ||
		skip "no package dataset-fashion-mnist"
	"$SRC/examples/fashion_mnist_to_png.py" png
	hpdsl-pack -q --labels=dir --include='train-*' --chunks=240 png packed
	[ -z "${LONG_SECONDS:-}" ] || left=$((LONG_SECONDS - SECONDS))
	"$python" "$SRC/tests/long/accuracy.py" --seconds="$left" png packed \
		> table 2>&3 || {
		cat table
		false
	}
	[ "$(grep -c ' +- ' table)" = 8 ]
}
