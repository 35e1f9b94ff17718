#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What hpdsl-pack promises about memory: --memory, plus 100 bytes and the path
# for each file, whatever the sizes of members and chunks.
# need_disk: some GB, and what a command has in memory.

load ../kit/lib

MiB=1024 # KiB

setup()
{
	[ -z "${SAN:-}" ] || skip "sanitizers need memory of their own"
	cd "$BATS_TEST_TMPDIR" || return 1
}

# peak COMMAND..: the most KiB that it had in memory; in pages of the usual size,
# as a system that takes large ones gives it more than it asked for.
peak()
{
	python3 - "$@" <<- 'END'
		import ctypes, resource, subprocess, sys
		PR_SET_THP_DISABLE = 41
		ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
		done = subprocess.run(sys.argv[1:])
		print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
		sys.exit(done.returncode)
	END
}

# The same of several runs into packed: what threads happen to touch differs by
# some hundred KiB.
least()
{
	for _ in 1 2 3 4 5; do
		rm -rf packed
		peak "$@"
	done | sort -n | head -n 1
}

# at_most KIB LIMIT
at_most()
{
	echo "peak: $1 KiB, limit $2 KiB"
	[ "$1" -le "$2" ]
}

# Files, as links of some hundreds of small ones: quickly made.
make_links()
{
	python3 - "$1" "$2" <<- 'END'
		import os, sys
		root, count = sys.argv[1], int(sys.argv[2])
		for i in range(count):
		    folder = f"{root}/folder{i // 1000:06}"
		    name = f"{folder}/{i % 1000:030}.bin"
		    if i % 1000 == 0:
		        os.makedirs(folder)
		        first = name
		        with open(name, "w") as f:
		            f.write("x" * 100)
		    else:
		        os.link(first, name)
	END
}

# bats test_tags=wide
@test "a sparse member of some GiB packs with --memory=64M" {
	local gib
	gib=$(rounds 1 5 5)
	[ "$(df --output=avail -k . | tail -n 1)" -gt $((6 << 20)) ] ||
		skip "no 6 GiB free in $PWD"
	mkdir tree
	truncate -s "${gib}G" tree/large.bin
	printf 'the end' | dd of=tree/large.bin bs=1 seek=$(((gib << 30) - 7)) \
		conv=notrunc status=none
	echo '{"a": 1}' > tree/small.json
	at_most "$(peak hpdsl-pack -q --memory=64M --chunks=1 tree packed)" \
		$((80 * MiB))
	[ "$(stat -c %s packed/chunk-000000.tar)" = $((((gib << 30) / 10240 + 1) * 10240)) ]
	# The content is where it should be, or at least its end is.
	offset=$(hpdsl-ls --json packed large.bin |
		grep -o '"offset": [0-9]*' | cut -d' ' -f 2)
	[ "$(tail -c +$((offset + (gib << 30) - 6)) packed/chunk-000000.tar |
		head -c 7)" = "the end" ]
	[ "$(hpdsl-cat packed small.json)" = '{"a": 1}' ]
	hpdsl-verify -q --quick packed
	if at_level long; then
		at_most "$(peak hpdsl-verify -q packed)" $((80 * MiB))
		at_most "$(peak hpdsl-unpack -q packed restored)" \
			$((80 * MiB))
		cmp tree/large.bin restored/large.bin
	fi
}

# bats test_tags=wide
@test "a file takes 100 bytes and its path" {
	# Few are enough to fill all buffers, which are no file's.
	local few=10000 many path=49 # with its NUL
	many=$(rounds 40000 100000 1000000)
	make_links few $few
	make_links many "$many"
	local more=$(((many - few) * (100 + path) / 1024))
	# in one thread, which touches the same on every run
	base=$(peak hpdsl-pack -q -j 0 --memory=8M --chunks=2 few packed0)
	at_most "$(peak hpdsl-pack -q -j 0 --memory=8M --chunks=2 many packed1)" \
		$((base + more))
	[ "$(hpdsl-ls packed1 | wc -l)" = "$many" ]
	# Reading takes the index, which is mapped, and little else.
	at_most "$(peak hpdsl-verify -q -j 0 packed1)" $((base + 2 * MiB +
		$(stat -c %s packed1/index.hpdsl) / 1024 + many * 16 / 1024))
	at_level more || return 0
	# what threads touch of their buffers and stacks is a matter of chance
	base=$(least hpdsl-pack -q --memory=8M --chunks=2 few packed)
	at_most "$base" $((24 * MiB))
	at_most "$(least hpdsl-pack -q --memory=8M --chunks=2 many packed)" \
		$((base + more + 2 * MiB))
}

@test "--memory bounds what many readers of large files take" {
	mkdir tree
	for i in 1 2 3 4; do
		head -c 40000000 /dev/zero > tree/$i.bin
	done
	for memory in 8 32; do
		at_most "$(peak hpdsl-pack -q --memory=${memory}M --readers=64 \
			tree packed$memory)" $(((memory + 16) * MiB))
	done
	diff -r packed8 packed32
}
