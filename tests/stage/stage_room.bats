#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stage into directories that an earlier run has left: what the new plan
# has no use for stays, and is in the way of the rest.
# need_disk: room on a disk; on a tmpfs memory counts.

load ../kit/lib
load ../kit/mpi

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	make_random "$BATS_FILE_TMPDIR/in" 120 10000
	hpdsl-pack -q --chunks=12 "$BATS_FILE_TMPDIR/in" "$BATS_FILE_TMPDIR/ds"
}

# Bytes of the chunks in a directory.
held()
{
	cat "$1"/chunk-* | wc -c
}

# part D P: bytes of a part.
part()
{
	local c sum=0
	for ((c = $2; c < 12; c += $1)); do
		sum=$((sum + $(stat -c %s \
			"$from/ds/chunk-$(printf %06d "$c").tar")))
	done
	echo $sum
}

@test "chunks of an earlier plan take room from the next" {
	local half third both
	stage 2 -q --pretend-nodes=2 --mode=partition "$from/ds" node%n
	half=$(part 2 0)
	third=$(part 3 0)
	[ "$(held node0)" = "$half" ]
	# chunks 0, 6 are in both plans
	both=$(part 6 0)
	fails 3 "node 0 ($(hostname)) has room for" stage 3 -q --pretend-nodes=3 \
		--mode=partition --capacity=$((half + third - both - 1)) \
		"$from/ds" node%n
	[ "$(held node0)" = "$half" ]
	stage 3 -q --pretend-nodes=3 --mode=partition \
		--capacity=$((half + third - both)) "$from/ds" node%n
	[ "$(held node0)" = $((half + third - both)) ]
}

# bats test_tags=wide
@test "the automatic mode stays within the room, whatever was there" {
	local n capacity
	for capacity in $(rounds 350000 "200000 350000 500000 700000" \
		"200000 350000 500000 700000"); do
		for n in 1 2 4 3; do
			stage $n -q --pretend-nodes=$n --capacity="$capacity" \
				"$from/ds" node%n
			for node in $(nodes node $n); do
				hpdsl-verify -q "$node"
				[ "$(held "$node")" -le "$capacity" ]
			done
		done
	done
}
