#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Epochs of all kinds, read by jobs of all sizes, stopped and gone on with.

load ../kit/lib
load ../kit/python
load ../kit/mpi

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 5 60
	# larger than a block, and than what the smallest memory has for a step
	make_random tree/large 5 6000000
	hpdsl-pack -q --chunks=11 --labels=dir tree plain
	hpdsl-pack -q --chunks=6 --labels=dir --zstd tree zst
	hpdsl-pack -q --chunks=1 --labels=dir tree one
}

setup()
{
	cd "$BATS_FILE_TMPDIR" || return 1
}

@test "games: every sample as often as it was chosen" {
	local games=1000
	[ -z "${LONG_SECONDS:-}" ] || games=1000000
	py "$SRC/tests/long/reading.py" "$games" "${SEED:-1}" plain zst one \
		> said
	cat said >&3
}
