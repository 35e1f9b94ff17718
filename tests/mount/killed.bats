#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount: what serves is killed while the kernel is given pages, and waits for
# some that are read.  Nothing may be left that no signal ends.
# shellcheck disable=SC2016,SC2154
# uses: meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/mount

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir tree
	for n in {10..29}; do
		head -c 100000 /dev/urandom > "tree/$n"
	done
	hpdsl-pack -q --shuffle=none tree ds
	make_tree text 1 20
	hpdsl-pack -q --zstd text zst
}

# killed KILLS [random]
killed()
{
	python3 "$SRC/tests/mount/killed.py" "$from/tree" "$from/ds" "$PWD/mnt" "$@" >&3
	until_true no_server
}

is_sleep()
{
	[ "$(cat "/proc/$1/comm")" = sleep ]
}

# givers OPTION DATASET: threads of the server that have one descriptor alone, which
# is the device's.
givers()
{
	local pid t n=0
	hpdsl-mount "$1" "$from/$2" "$PWD/mnt" -- sleep infinity > /dev/null 3>&- &
	until_true is_sleep $!
	for pid in $(pgrep -f "^hpdsl-mount .* $PWD/mnt"); do
		for t in "/proc/$pid"/task/*; do
			[ "$(readlink "$t"/fd/*)" != /dev/fuse ] || n=$((n + 1))
		done
	done
	kill $!
	echo $n
}

# filled N: so many files, at least, that nobody asked for.
filled()
{
	[ "$(hpdsl-mount --status --json mnt | field filled)" -ge "$1" ]
}
export -f field filled givers is_sleep until_true

@test "who gives has another file of the device, and nothing else" {
	[ "$(givers --fill=on ds)" = 1 ]
	[ "$(givers --fill=off ds)" = 0 ]
	# files that are decoded with others are given
	[ "$(givers --fill=off zst)" = 1 ]
}

@test "a user who gives has it, too" {
	as_user bash -c 'from=/mnt/from; cd tree; mkdir mnt; givers --fill=on ds' > told
	[ "$(cat told)" = 1 ]
}

@test "what is asked for is not given" {
	HPDSL_FAULT="op=give,after=1,wait=give;op=answer,after=1,times=0,wait=answer" \
		"$BUILD/tests/bed/hpdsl-mount" --fill=on "$from/ds" "$PWD/mnt" -- bash -ec '
		ls -l mnt > names
		cat mnt/10 > got.10
		until_true test -e give
		cat mnt/15 > got.15 &
		until_true test -e answer
		rm give
		# what is behind it, too
		until_true filled 10
		rm answer
		wait $!'
	cmp got.10 "$from/tree/10"
	cmp got.15 "$from/tree/15"
}

@test "where nobody gives the kernel asks for more than is waited for" {
	mkdir tree
	head -c 1000000 /dev/urandom > tree/large
	hpdsl-pack -q tree ds
	HPDSL_FAULT="op=answer,times=0,wait=answer" \
		"$BUILD/tests/bed/hpdsl-mount" --fill=off ds "$PWD/mnt" -- bash -ec '
		python3 -c "import os
os.posix_fadvise(os.open(\"mnt/large\", 0), 0, 1000000, os.POSIX_FADV_WILLNEED)"
		until_true test -e answer
		rm answer
		cmp mnt/large tree/large'
}

# bats test_tags=wide
@test "killed while it is seen to wait for a page: all end" {
	killed "$(rounds 20 100 500)"
}

# bats test_tags=long
@test "killed at any moment: all end" {
	killed "${KILLS:-500}" random
}
