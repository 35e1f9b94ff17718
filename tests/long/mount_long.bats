#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount of a dataset of ten million files.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/mount

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	"$BUILD/tests/bench/gen_sparse" "$PWD/ds" 10000000 10-20 64
}

@test "ten million files are listed: the server has 32 MiB of its own at most" {
	need_root
	is_disk /tmp || skip "/tmp is no disk"
	export TMPDIR=/tmp
	hpdsl-mount --fill=off "$from/ds" mnt
	[ "$(find mnt -type f | wc -l)" = 10000000 ]
	echo "# $(of_worker RssAnon) KiB" >&3
	[ "$(of_worker RssAnon)" -le 32768 ]
	hpdsl-mount -u mnt
}
