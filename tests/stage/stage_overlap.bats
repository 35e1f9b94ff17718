#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Training while it stages: a reader that begins with a slow stager gets every
# sample, and leaves the origin to the stager.

load ../kit/lib
load ../kit/mpi
load ../kit/python

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 60 40000
	hpdsl-pack -q --chunks=24 tree ds
	make_tree text 2 60
	hpdsl-pack -q --chunks=8 --zstd text zst
}

begin()
{
	tree=$from/tree
	sum=$(cat "$from"/ds/chunk-* | wc -c)
}

# slowly RANKS ARG..: a stager in the background, pid $stager.
slowly()
{
	stage "$@" 2> said 3>&- &
	stager=$!
}

# reader NAME DIR TREE ARG..: in the background; says what it found in NAME.  It
# waits for DIR when this returns: however slow the machine, it then sees the
# stager's first steps.
reader()
{
	local name=$1
	shift
	py "$SRC/tests/kit/stage_reader.py" "$@" "--ready=$name.ready" > "$name" \
		2> "$name.err" 3>&- &
	readers+=($!)
	until_true test -e "$name.ready"
	rm "$name.ready"
}

# all_end: of the readers and the stager.
all_end()
{
	local pid
	for pid in "${readers[@]}" "$stager"; do
		wait "$pid" || { cat said ./*.err; return 1; }
	done
	readers=()
}

# holds FILE CONDITION: in Python, of what a reader or a report says.
holds()
{
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(sys.argv[1], str(r)[:300])
assert eval("(" + sys.argv[2] + ")", {"sum": sum}, r), sys.argv[2]' "$@"
}

# origin BYTES: what the stager read.
origin()
{
	holds report "sum(n['origin_bytes'] for n in nodes) == $1"
}

@test "replicate: readers on both nodes never go to the origin" {
	reader a node0 "$tree"
	reader b node1 "$tree"
	reader c node1 "$tree" --order=number
	slowly 2 -q --pretend-nodes=2 --mode=replicate --rate=1M \
		--report=report "$from/ds" node%n
	all_end
	for r in a b c; do
		holds "$r" "staged and origin_bytes == 0 and absent_chunks == 0
and overtaken_chunks == 0 and failed_chunks == 0 and wait_seconds > 0.1"
	done
	origin "$sum"
}

@test "compressed chunks, expanded or kept, while they come" {
	reader a node1 "$from/text"
	slowly 2 -q --pretend-nodes=2 --mode=replicate --rate=20K \
		--report=report "$from/zst" node%n
	all_end
	holds a 'staged and origin_bytes == 0 and overtaken_chunks == 0'
	reader a kept0 "$from/text"
	slowly 2 -q --pretend-nodes=2 --mode=replicate --rate=20K \
		--keep-compressed --report=report "$from/zst" kept%n
	all_end
	holds a 'staged and origin_bytes == 0 and overtaken_chunks == 0'
}

@test "partition: a reader waits for its part, and reads the rest from the origin" {
	reader a node1 "$tree"
	slowly 3 -q --pretend-nodes=3 --mode=partition --rate=1M \
		--report=report "$from/ds" node%n
	all_end
	holds a 'absent_chunks == 16 and overtaken_chunks == 0 and
failed_chunks == 0 and local_bytes > 0'
	origin "$sum"
}

@test "out of patience: what was overtaken is counted, and nothing else is read" {
	reader a node0 "$tree" --patience=0.05
	slowly 1 -q --rate=500K --report=report "$from/ds" node0
	all_end
	holds a 'overtaken_chunks > 0 and absent_chunks == 0 and
failed_chunks == 0 and origin_bytes > 0'
	origin "$sum"
}

@test "a stager that is killed: readers go on from the origin" {
	reader a node0 "$tree"
	slowly 2 -q --pretend-nodes=2 --mode=replicate --rate=200K \
		"$from/ds" "$PWD/node%n"
	until_true chunks_at_least node0 2
	kill -KILL "$(ranks_of "$stager" | sed -n 's/^0 //p')"
	wait "$stager" || :
	wait "${readers[0]}" || { cat ./*.err; return 1; }
	holds a 'overtaken_chunks > 0 and local_bytes > 0 and origin_bytes > 0'
}

@test "a stager that stops early lets its readers go to the origin at once" {
	local status=0
	reader a node1 "$tree"
	slowly 2 -q --pretend-nodes=2 --mode=replicate --rate=200K \
		"$from/ds" "$PWD/node%n"
	until_true chunks_at_least node1 2
	kill -USR1 "$(launcher_of "$stager")"
	wait "$stager" || status=$?
	[ "$status" = 75 ]
	wait "${readers[0]}" || { cat ./*.err; return 1; }
	# Those that the reader had not yet looked at were never coming.
	holds a 'overtaken_chunks + absent_chunks > 0 and wait_seconds < 30'
}

@test "--clean under a reader's feet: it goes to the origin" {
	stage 1 -q "$from/ds" node0
	reader a node0 "$tree" --pause=here
	until_true test -e here
	hpdsl-stage --clean node0
	rm here
	wait "${readers[0]}" || { cat a.err; return 1; }
	holds a 'local_bytes > 0 and origin_bytes > 0 and failed_chunks +
overtaken_chunks + absent_chunks >= 22'
}

@test "verify, ls and cat while it comes" {
	local name
	slowly 2 -q --pretend-nodes=2 --mode=replicate --rate=250K \
		"$from/ds" "$PWD/node%n"
	until_true chunks_at_least node1 3
	hpdsl-verify node1 > said.verify
	cat said.verify
	[ "$(chunks_in node1)" -lt 24 ] || skip "it was too quick"
	diff <(hpdsl-ls node1) <(hpdsl-ls "$from/ds")
	name=$(hpdsl-ls node1 | tail -n 1)
	hpdsl-cat node1 "$name" | cmp - "$tree/$name"
	all_end
	hpdsl-verify -q node1
}
