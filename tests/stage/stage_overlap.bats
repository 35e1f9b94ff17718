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

# going_on: the stager, when all readers have seen that it is at work.
going_on()
{
	local pid
	for pid in "${readers[@]}"; do
		until_true sees "$pid"
	done
	rm gate
	all_end
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
	at_gate op=pread,node=1,after=4,times=0,name=/ds/chunk- 2 -q \
		--pretend-nodes=2 --mode=replicate --report=report \
		"$from/ds" node%n
	going_on
	for r in a b c; do
		holds "$r" "staged and origin_bytes == 0 and absent_chunks == 0
and overtaken_chunks == 0 and failed_chunks == 0"
	done
	origin "$sum"
}

@test "compressed chunks, expanded or kept, while they come" {
	reader a node1 "$from/text"
	at_gate op=pread,node=1,times=0,name=/zst/chunk- 2 -q --pretend-nodes=2 \
		--mode=replicate --report=report "$from/zst" node%n
	going_on
	holds a 'staged and origin_bytes == 0 and overtaken_chunks == 0'
	reader a kept0 "$from/text"
	at_gate op=pread,node=1,times=0,name=/zst/chunk- 2 -q --pretend-nodes=2 \
		--mode=replicate --keep-compressed --report=report \
		"$from/zst" kept%n
	going_on
	holds a 'staged and origin_bytes == 0 and overtaken_chunks == 0'
}

@test "partition: a reader waits for its part, and reads the rest from the origin" {
	reader a node1 "$tree"
	at_gate op=pwrite,node=1,after=3,times=0,name=chunk- 3 -q --pretend-nodes=3 \
		--mode=partition --report=report "$from/ds" node%n
	going_on
	holds a 'absent_chunks == 16 and overtaken_chunks == 0 and
failed_chunks == 0 and local_bytes > 0'
	origin "$sum"
}

@test "out of patience: what was overtaken is counted, and nothing else is read" {
	reader a node0 "$tree" --patience=0.05
	at_gate op=pwrite,after=9,times=0,name=chunk- 1 -q --report=report "$from/ds" \
		node0
	wait "${readers[0]}" || { cat a.err; return 1; }
	rm gate
	readers=()
	all_end
	holds a 'overtaken_chunks > 0 and absent_chunks == 0 and
failed_chunks == 0 and origin_bytes > 0'
	origin "$sum"
}

@test "a stager that is killed: readers go on from the origin" {
	reader a node0 "$tree"
	# of several that are written at once none may be whole
	at_gate op=rename,node=0,after=2,times=0,name=chunk- 2 -q \
		--pretend-nodes=2 --mode=replicate "$from/ds" "$PWD/node%n"
	until_true chunks_at_least node0 2
	until_true sees "${readers[0]}"
	kill -KILL "$(cat gate)"
	wait "$stager" || :
	wait "${readers[0]}" || { cat ./*.err; return 1; }
	holds a 'overtaken_chunks > 0 and local_bytes > 0 and origin_bytes > 0'
}

@test "a stager that stops early lets its readers go to the origin at once" {
	local status=0
	reader a node1 "$tree"
	time_stands
	in_our_time "" 2 -q --pretend-nodes=2 --mode=replicate --rate=4K \
		"$from/ds" "$PWD/node%n"
	until_true chunks_at_least node1 1
	until_true sees "${readers[0]}"
	kill -USR1 "$(launcher_of "$stager")"
	time_runs
	wait "$stager" || status=$?
	[ "$status" = 75 ]
	wait "${readers[0]}" || { cat ./*.err; return 1; }
	# Those that the reader had not yet looked at were never coming.
	holds a 'overtaken_chunks + absent_chunks > 0 and origin_bytes > 0'
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
	at_gate op=rename,node=1,after=3,times=0,name=chunk- 2 -q \
		--pretend-nodes=2 --mode=replicate "$from/ds" "$PWD/node%n"
	until_true chunks_at_least node1 3
	hpdsl-verify node1 > said.verify
	cat said.verify
	[ "$(chunks_in node1)" -lt 24 ]
	diff <(hpdsl-ls node1) <(hpdsl-ls "$from/ds")
	name=$(hpdsl-ls node1 | tail -n 1)
	# what is not here comes from the origin once it is out of patience
	rm gate
	hpdsl-cat node1 "$name" | cmp - "$tree/$name"
	all_end
	hpdsl-verify -q node1
}
