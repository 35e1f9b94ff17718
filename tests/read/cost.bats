#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What hpdsl-order --cost prints is what the loader does: one small cell of each
# shape.  The sizes that people have are in tests/long/cost_long.bats.
# need_disk: chunks are holes, read past the page cache

load ../kit/lib

# cell SAMPLES SIZES CHUNKS SORTED BATCH_SIZE RANKS MEMORY..
cell()
{
	local memory
	# shellcheck disable=SC2086
	"$BUILD/tests/bench/gen_sparse" ds "$1" "$2" "$3" $4
	# through the page cache large reads are in slices
	dd if=ds/chunk-000000.tar of=/dev/null bs=4096 count=1 iflag=direct \
		status=none || skip "no O_DIRECT here"
	for memory in "${@:7}"; do
		"$SRC/tests/kit/cost_check.py" ds "$5" "$6" "$memory" 200M
	done
}

@test "a table of no steps, and what cannot be" {
	hpdsl-pack -q --chunks=2 "$SRC/lib/load" ds
	local n
	n=$(hpdsl-ls --samples ds | wc -l)
	# none is whole, or the epoch is over
	set -- "--batch=$((n + 1)) --lanes=1 --end=drop" "--batch=$n --step=1"
	for n in "$@"; do
		# shellcheck disable=SC2086
		hpdsl-order --cost --json $n ds > cost
		grep -q '"counted_steps": 0, ' cost
		grep -q '"reads": 0, "read_bytes": 0, ' cost
		grep -q '"mates": null' cost
		# shellcheck disable=SC2086
		hpdsl-order --cost $n ds > cost
		grep -qx 'reads:       0' cost
		[ "$(grep -c ^mixing cost)" = 0 ]
	done
	fails 2 "no step 2, the epoch has 1" hpdsl-order --cost --batch=9999 \
		--step=2 ds
	fails 2 "steps are too large" hpdsl-order --cost --batch=4294967295 ds
	fails 2 "--memory: '1M' is no size from 16M" hpdsl-order --cost \
		--memory=1M ds
	fails 2 "--memory goes with --cost" hpdsl-order --memory=64M ds
	fails 2 "5 ranks do not divide it; 4 or 6 do" hpdsl-order --cost \
		--batch=12 --ranks=5 ds
}

@test "images of 110 KB: one rank, and the last one of 64" {
	cell 20000 55000-165000 64 "" 64 1 64M 256M
	cell 20000 55000-165000 64 "" 16 64 16M
}

@test "images of 110 KB that were not shuffled" {
	cell 20000 55000-165000 64 sorted 64 4 64M
}

@test "large chunks, as those of 10 TB" {
	cell 40000 50000-150000 16 "" 32 4 64M 256M
}

@test "records of 500 bytes" {
	cell 500000 300-700 16 "" 1024 1 64M
	cell 500000 300-700 16 "" 256 7 16M
}

@test "few samples of many megabytes: one at a time, whatever the memory" {
	cell 60 20000000-40000000 60 "" 1 2 64M 256M
}

@test "samples from nothing to 12 MB, in little memory" {
	cell 3000 1-12000000 100 "" 8 1 64M
}

# compressed SAMPLES LEAST MOST: of two members, half of it noise.
compressed()
{
	rm -rf in
	python3 - "$@" <<- 'END'
		import os
		import random
		import sys
		samples, least, most = map(int, sys.argv[1:])
		rng = random.Random(3)
		os.mkdir("in")
		for i in range(samples):
		    n = rng.randint(least, most)
		    with open(f"in/{i}.bin", "wb") as f:
		        f.write(b"%d line\n" % i * (n // 20) + rng.randbytes(n // 2))
		    with open(f"in/{i}.json", "w") as f:
		        f.write('{"a": %d}' % i)
	END
	hpdsl-pack -q --chunks=7 --zstd --force in ds
}

# Reads are so small here that they are whole, also from the page cache.
@test "compressed chunks: samples that share a frame, and large ones" {
	local cell
	compressed 4000 100 60000
	for cell in "32 1 64M" "8 4 16M"; do
		# shellcheck disable=SC2086
		"$SRC/tests/kit/cost_check.py" ds $cell
	done
	compressed 200 100000 400000
	"$SRC/tests/kit/cost_check.py" ds 32 1 16M
}
