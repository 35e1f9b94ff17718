#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount --fill=on: who gives pages to the kernel takes their locks, which
# those have who wait for an answer.  Nobody may wait for ever.
# shellcheck disable=SC2016,SC2154

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/mount

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	standard large
	# a disk's pages would be of its group, too
	cp -r "$set"/{tree,ds} .
}

# A server that hangs, too, ends.
teardown()
{
	pkill -KILL -f "^hpdsl-mount .*$BATS_TEST_TMPDIR" || :
	group_down
}

# round N: a new mount, of which nothing is known.
round()
{
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:quarantine_size_mb=1 \
		grouped bash -ec 'apart "$@"' - \
		hpdsl-mount --fill=on "$from/ds" "$PWD/mnt" -- bash -ec '
		python3 "$SRC/tests/mount/squeeze.py" "$from/tree" mnt 400 "$1"
		hpdsl-mount --status --json mnt > status
	' - "$@" > said 2>&1 3>&- || { cat said; return 1; }
	cat said >> all
}

# bats test_tags=wide
@test "eight readers, --fill=on, and no memory: all come forward, with what is right" {
	local n=0 many
	many=$(rounds 1 5 5)
	# a sanitizer has some for itself; what it keeps of freed memory is bounded
	# in round()
	group $((${SAN:+448+}64 << 20))
	while [ $((n += 1)) -le "$many" ] || longer; do
		round "$((n + ${SEED:-0}))"
		# pages were given, and not for want of readers' asking
		grep '"filled": [1-9]' status
		grep '"failed": 0' status
		until_true no_server
	done
	cat all >&3
}
