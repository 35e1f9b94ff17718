#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A snapshot of five million entries: what it says, how large it is, who holds
# it in memory.

load ../kit/lib
load ../kit/snapshot

@test "5,000,000 entries: found, verified, there and back, one copy" {
	local size names=$((5000 * (13 + 1000 * 19)))
	make_snapshot snap 5000 1000
	hpdsl-snapshot verify -q snap
	size=$(stat -c %s snap)
	echo "$size bytes"
	[ "$size" -le $((5005001 * 64 + names + 4096)) ]
	hpdsl-snapshot dump snap | hpdsl-snapshot load -q - -o again
	cmp snap again
	hpdsl-snapshot diff snap again
	[ "$(hpdsl-snapshot ls snap train-004999 | tail -n 1)" = \
		image-00000999.jpg ]
	python snapshot_readers.py shared snap 8
}

@test "made and replaced under a hundred readers" {
	local pids=() i
	make_snapshot one 100 1000
	make_snapshot two 1000 100
	cp one snap
	for i in {1..100}; do
		hpdsl-snapshot verify -q snap 3>&- &
		pids+=($!)
		if [ $((i % 10)) = 0 ]; then
			cp one next
			hpdsl-snapshot dump two | hpdsl-snapshot load -q - \
				-o snap
			mv next snap
		fi
	done
	for i in "${pids[@]}"; do
		wait "$i"
	done
}
