#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stall is killed: nothing of the job lives on, and none of its files has a step
# that was after it.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/python
load ../kit/stall

served=

# killed KIND..: one after the other.
killed()
{
	py "$SRC/tests/stall/alone.py" "$ds" "$BATS_FILE_TMPDIR/tree" "$@"
}

teardown()
{
	[ -z "$served" ] || kill -CONT "$served" || :
	[ ! -d meet ] || fusermount3 -uqz meet || :
}

has_mpirun()
{
	command -v mpirun > /dev/null
}

@test "SIGKILL of hpdsl-stall: all of the job is gone, and keeps nothing" {
	local kinds="python gate c agent"
	! has_mpirun || kinds="$kinds ranks"
	# shellcheck disable=SC2086
	killed $kinds
	# what it leaves goes with the next run
	cd 0
	touch -d '2 minutes ago' hpdsl-stall.*/beat
	fails 1 "made no loader of HPDSL" stall -- true
	nothing_left
}

# As on another node: the kernel knows nothing of hpdsl-stall there.
@test "where its socket does not reach, a job goes by its beat" {
	unshare --net true || skip "no network name space"
	killed peer
}

# bats test_tags=more
@test "SIGKILL at fifty random moments" {
	local kinds="python gate c agent" i
	! has_mpirun || kinds="$kinds ranks ranks"
	! unshare --net true || kinds="$kinds elsewhere peer"
	[ -n "$(lacks torch)" ] || kinds="$kinds torch workers workers"
	for i in $(seq 5); do
		mkdir "$i"
		# shellcheck disable=SC2086
		(cd "$i" && killed $kinds)
	done
}

# For hpdsl-stall and the job alike, one on its node and one on another.
# bats test_tags=more
@test "a file system that hangs for half a minute ends nobody" {
	need bindfs
	[ -c /dev/fuse ] || skip "no /dev/fuse"
	unshare --net true || skip "no network name space"
	local job status=0
	mkdir back meet
	bindfs -f back meet 3>&- &
	served=$!
	until_true mountpoint -q meet
	# shellcheck disable=SC2046
	for job in "$(bench) --epochs=100000 --compute=0.01 $ds; : > kept" \
		"unshare --net $(bench) --epochs=100000 --compute=0.01 $ds & wait"; do
		rm -f err report
		hpdsl-stall run --rounds=1 --steps=50 --dir=meet -o report -- \
			sh -c "$job" 2> err 3>&- &
		until_true grep -qs 'alike by now' err
		kill -STOP "$served"
		sleep 30
		kill -CONT "$served"
		wait $! || status=$?
		cat err
		[ "$status" = 0 ]
		[ -s report ]
	done
	fusermount3 -u meet
	wait "$served" || :
	[ -z "$(ls back)" ]
}
