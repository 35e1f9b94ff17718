#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How many input files are really open at a time, as the kernel sees it.
# need_disk: files are read as from a disk.

load ../kit/lib

# Files of mixed sizes, some of more than one read.
make_files()
{
	python3 - <<- 'END'
		import os
		os.makedirs("tree/a")
		for i in range(300):
		    size = 2000000 if i % 100 == 0 else i * 37 % 9000
		    with open(f"tree/a/{i:04}.bin", "wb") as f:
		        f.write(bytes([i % 256]) * size)
	END
}

# most_open COMMAND..: runs it under strace; prints the most files below tree/
# that were open at a time.  Reads take 3 ms, as they do on a file system far
# away; without that one thread would be done before the next one begins.
most_open()
{
	traced -f -qq -y -o trace -e trace=openat,close,read,pread64 \
		-e inject=read,pread64:delay_exit=3000 "$@" || return
	python3 - <<- 'END'
		import re
		now, most, opened = set(), 0, 0
		for line in open("trace", errors="surrogateescape"):
		    made = re.search(r"openat.* = (\d+)<[^>]*/tree/[^>]*\.bin>$", line)
		    gone = re.search(r"close\((\d+)<[^>]*/tree/[^>]*\.bin>", line)
		    if made:
		        now.add(made[1])
		        opened += 1
		        most = max(most, len(now))
		    elif gone:
		        now.discard(gone[1])
		assert opened >= 300, opened
		print(most)
	END
}

setup()
{
	need strace
	strace -qq -o /dev/null true || skip "strace may not trace"
	cd "$BATS_TEST_TMPDIR" || return 1
	make_files
}

@test "16 readers have 8 or more files open at a time, -j 0 has one" {
	n=$(most_open hpdsl-pack -q --chunks=3 tree many)
	echo "16 readers: $n"
	[ "$n" -ge 8 ] && [ "$n" -le 18 ]
	n=$(most_open hpdsl-pack -q --chunks=3 -j 0 tree serial)
	echo "-j 0: $n"
	[ "$n" = 1 ]
	diff -r many serial
}

@test "--readers bounds the files open at a time" {
	for readers in 1 4; do
		n=$(most_open hpdsl-pack -q --chunks=3 --readers=$readers tree \
			"packed$readers")
		echo "--readers=$readers: $n"
		[ "$n" -le "$readers" ] && [ "$n" -ge $(((readers + 1) / 2)) ]
	done
	diff -r packed1 packed4
	n=$(most_open hpdsl-pack -q --chunks=3 --readers=64 tree packed64)
	echo "--readers=64: $n"
	[ "$n" -ge 19 ] # above what it is without the option
	diff -r packed1 packed64
}

@test "-j 0 runs in one thread" {
	traced -f -qq -o trace -e trace=clone,clone3,fork,vfork \
		hpdsl-pack -q --chunks=3 -j 0 tree serial
	[ ! -s trace ]
	hpdsl-pack -q --chunks=3 tree many
	diff -r many serial
	traced -f -qq -o trace -e trace=clone,clone3,fork,vfork \
		hpdsl-verify -q -j 0 --source tree serial
	[ ! -s trace ]
	traced -f -qq -o trace -e trace=clone,clone3,fork,vfork \
		hpdsl-unpack -q -j 0 serial restored
	[ ! -s trace ]
	same_trees tree restored
}
