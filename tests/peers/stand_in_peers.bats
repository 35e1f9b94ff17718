#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Files of members, fsspec and ImageFolder on two hosts that have half of a dataset
# each: the other half comes from the other host, and from the origin when that is
# gone.  What Python does there is in tests/kit/stand_in_read.py.
# need_disk: hosts have a /dev/shm of their own
# bats file_tags=more

load ../kit/lib
load ../kit/mpi
load ../kit/python
load ../kit/torch
load ../kit/job
load ../kit/serve

setup_file()
{
	[ -z "$(job_unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 3 20
	head -c 3000000 /dev/urandom > tree/class1/large.png
	hpdsl-pack -q --chunks=12 --zstd tree ds
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	ds=$BATS_FILE_TMPDIR/ds
}

teardown()
{
	job_down
}

# reads WHAT: on the first host, with that interpreter.
reads()
{
	# shellcheck disable=SC2016
	PYTHON=$PYTHON on 1 "$BASH" -c '. "$SRC/tests/kit/lib.bash"
		. "$SRC/tests/kit/python.bash"
		py -W ignore "$SRC/tests/kit/stand_in_read.py" "$@"' bash "$1" \
		"$PWD/bed/ssd/in" "$BATS_FILE_TMPDIR/tree" 3>&-
}

# from_others WHAT..: as the tree is, first without the origin, then without the
# other host, and then with it again.
from_others()
{
	local staged what
	job_up 2
	job_stage --mode=partition
	serve_all
	staged=$(from_origin)
	[ "$staged" = "$(cat "$ds"/chunk-* | wc -c)" ]
	for what; do
		unhurried reads "$what"
	done
	[ "$(from_origin)" = "$staged" ]
	server 2 KILL
	for what; do
		reads "$what"
	done
	[ "$(from_origin)" -gt "$staged" ]
}

@test "files of members and of fsspec come from the other host, and then the origin" {
	"$PYTHON" -c 'import fsspec' 2> /dev/null || skip "no fsspec for $PYTHON"
	from_others files fsspec
}

@test "items of an ImageFolder come from the other host, and then the origin" {
	need_torch
	PYTHON=$python
	from_others folder
}
