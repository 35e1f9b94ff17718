#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stage a second time: after an early end, into what is partly there, by
# two jobs at once.  What any node holds is not read from the origin again.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 60 40000
	hpdsl-pack -q --chunks=60 tree ds
	hpdsl-pack -q --chunks=60 --seed=5 tree other
}

# again MISSING NODES ARG..: a run that reads just so many bytes.
again()
{
	local missing=$1 n=$2 read
	shift 2
	stage "$n" -q --pretend-nodes="$n" --report=report "$@" \
		"$from/ds" node%n
	read=$(origin_bytes report)
	echo "read $read, missing $missing"
	[ "$read" = "$missing" ]
}

origin_bytes()
{
	python3 -c 'import json, sys
print(sum(n["origin_bytes"] for n in json.load(open(sys.argv[1]))["nodes"]))' \
		"$1"
}

# whole N: node0 .. are complete replicas.
whole()
{
	local n
	# shellcheck disable=SC2046
	check_stage placed "$from/ds" replicate \
		"$(printf -- '- %.0s' $(seq "$1"))" $(nodes node "$1")
	for ((n = 0; n < $1; n++)); do
		hpdsl-verify -q "node$n"
	done
}

@test "with all in place nothing is read; what is gone is fetched from a peer" {
	stage 3 -q --pretend-nodes=3 "$from/ds" node%n
	again 0 3
	rm node1/chunk-000003.tar
	truncate -s 100 node2/chunk-000005.tar
	again 0 3 --recheck
	whole 3
	rm node[012]/chunk-000007.tar
	again "$(stat -c %s "$from/ds/chunk-000007.tar")" 3 --recheck
	whole 3
}

@test "--recheck finds what was changed in place, and says so" {
	stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	flip node1/chunk-000004.tar 20000
	stage 2 --pretend-nodes=2 --recheck --report=report "$from/ds" node%n \
		2> said
	cat said
	grep -q 'chunk-000004.tar' said
	[ "$(origin_bytes report)" = 0 ]
	whole 2
}

@test "after another boot everything is hashed again" {
	stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	flip node0/chunk-000002.tar 20000
	python3 - node0/stage.hpdsl "$SRC/tests/kit" <<- 'END'
		import struct, sys
		sys.path.insert(0, sys.argv[2])
		from read_dataset import xxh3_64
		with open(sys.argv[1], "r+b") as f:
		    d = bytearray(f.read(4616))
		    d[32] ^= 1
		    d[4608:] = struct.pack("<Q", xxh3_64(bytes(d[:4608])))
		    f.seek(0)
		    f.write(d)
	END
	again 0 2
	whole 2
}

@test "from few nodes to many, and to other parts" {
	stage 1 -q --pretend-nodes=1 "$from/ds" node%n
	again 0 4
	whole 4
	rm -r node*
	stage 4 -q --pretend-nodes=4 --mode=partition "$from/ds" node%n
	again 0 4 --mode=copies=2
	again 0 4 --mode=replicate
	whole 4
	# chunks that are not planned any more stay
	again 0 2 --mode=partition
	[ "$(chunks_in node0)" = 60 ]
}

# has_parts N: node0 .. are planned for six parts.
has_parts()
{
	# shellcheck disable=SC2046
	check_stage placed "$from/ds" parts=6 \
		"$(printf -- "$room %.0s" $(seq "$1"))" $(nodes node "$1")
}

# bats test_tags=wide
@test "an order of six parts goes on with other numbers of nodes" {
	local n all room
	all=$(cat "$from"/ds/chunk-* | wc -c)
	room=$((all - 1))
	echo '{"parts": 6}' > state
	for n in $(rounds "4" "6 4 3 5 2" "6 4 3 5 2"); do
		rm -rf node*
		again "$all" "$n" --capacity=$room --order-from=state
		has_parts "$n"
	done
	rm -rf node*
	if at_level more; then
		# more nodes than parts: part 1 is on nodes 2 and 3
		again "$all" 12 --capacity=$room --order-from=state
		has_parts 12
		hpdsl-stage --status --json node3 | grep '"part": *1\b'
		rm -rf node*
	fi
	# from six nodes to four: two parts are there no more
	stage 6 -q --pretend-nodes=6 --capacity=$room --order-from=state \
		"$from/ds" node%n
	rm -r node4 node5
	stage 4 --pretend-nodes=4 --capacity=$room --order-from=state \
		--report=report "$from/ds" node%n 2> said
	tail -n 1 said | grep -F ': partition, 6 parts, '
	[ "$(origin_bytes report)" = "$(part_bytes 4 5)" ]
	hpdsl-stage --status node2 > status
	cat status
	grep -qF 'parts 3-4 of 6' status
	hpdsl-stage --status --json node2 | python3 -c '
import json, sys
s = json.load(sys.stdin)
assert (s["part"], s["last_part"], s["parts"]) == (3, 4, 6), s'
	python3 - <<- 'END'
		import os
		for n in range(4):
		    here = {int(f[6:12]) for f in os.listdir(f"node{n}")
		            if f.startswith("chunk-")}
		    held = range(n * 6 // 4, -(-(n + 1) * 6 // 4))
		    want = {c for c in range(60) if c % 6 in held or c % 6 == n}
		    assert here == want, (n, here ^ want)
	END
	for n in 0 1 2 3; do
		hpdsl-verify -q node$n
	done
	# what one node has lost another one has, of its group or of the old plan
	rm node2/chunk-0000{03,09,10}.tar node1/chunk-0000{01,02}.tar
	again 0 4 --recheck --capacity=$room --order-from=state
	rm node[23]/chunk-000016.tar
	again "$(stat -c %s "$from/ds/chunk-000016.tar")" 4 --recheck \
		--capacity=$room --order-from=state
}

# part_bytes P..: of parts of six.
part_bytes()
{
	local c p
	for p in "$@"; do
		for ((c = p; c < 60; c += 6)); do
			stat -c %s "$from/ds/$(printf 'chunk-%06d.tar' "$c")"
		done
	done | awk '{ n += $1 } END { print n }'
}

peer_bytes()
{
	python3 -c 'import json, sys
print(sum(n["peer_bytes"] for n in json.load(open(sys.argv[1]))["nodes"]))' \
		"$1"
}

# bats test_tags=wide
@test "seven nodes that lack different chunks get them from each other" {
	local n c file gone missing mode
	for mode in $(rounds "" replicate replicate) copies=3; do
		rm -rf node*
		stage 7 -q --pretend-nodes=7 --mode="$mode" "$from/ds" node%n
		gone=0
		for ((n = 0; n < 7; n++)); do
			for ((c = 0; c < 60; c++)); do
				file=$(printf 'node%d/chunk-%06d.tar' $n $c)
				((c == 11 || (5 * c + 3 * n + c / 7) % 7 < 4)) &&
					[ -e "$file" ] || continue
				gone=$((gone + $(stat -c %s "$file")))
				rm "$file"
			done
		done
		missing=0
		for file in "$from"/ds/chunk-*; do
			compgen -G "node*/${file##*/}" > /dev/null ||
				missing=$((missing + $(stat -c %s "$file")))
		done
		[ "$missing" -gt 0 ]
		again "$missing" 7 --recheck --mode="$mode"
		[ "$(peer_bytes report)" = $((gone - missing)) ]
		# shellcheck disable=SC2046
		check_stage placed "$from/ds" "$mode" \
			"$(printf -- '- %.0s' {1..7})" $(nodes node 7)
	done
}

# Node 3 of 7 is at the border of two parts: nodes 0 to 3 have the even chunks,
# 3 to 6 the odd ones.
@test "a node of two groups: in each, who has a chunk sends it once" {
	local n
	stage 7 -q --pretend-nodes=7 --mode=copies=3 "$from/ds" node%n
	for n in 0 2 3; do
		rm node$n/chunk-0000{02,20,34}.tar
	done
	for n in 3 5 6; do
		rm node$n/chunk-0000{03,21,35,37}.tar
	done
	again 0 7 --recheck --mode=copies=3
	python3 - report "$from/ds" <<- 'END'
		import json, os, sys
		def size(*numbers):
		    return sum(os.path.getsize(f"{sys.argv[2]}/chunk-{n:06}.tar")
		               for n in numbers)
		even, odd = size(2, 20, 34), size(3, 21, 35, 37)
		sent = [n["sent_bytes"] for n in json.load(open(sys.argv[1]))["nodes"]]
		# 1, which has them, to 2 to 3 to 0; 4 to 5 to 6 to 3
		assert sent == [0, even, even, even, odd, odd, odd], (sent, even, odd)
	END
}

@test "another pack is refused, and nothing happens to what is there" {
	stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	fails 1 node1 stage 2 -q --pretend-nodes=2 "$from/other" node%n ||
		fails 1 node0 stage 2 -q --pretend-nodes=2 "$from/other" node%n
	whole 2
	rm -r node0
	fails 1 node1 stage 2 -q --pretend-nodes=2 "$from/other" node%n
	[ "$(chunks_in node0)" = 0 ]
	stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	whole 2
}

@test "two jobs share a directory: the second waits, and reads nothing" {
	local status=0
	local first
	at_gate op=pwrite,node=1,after=3,name=chunk- 2 -q --pretend-nodes=2 \
		--report=first "$from/ds" node%n
	first=$stager
	# the second asks for the lock once more
	STAGE=$STAGE_FAULTS HPDSL_FAULT="op=lock,node=0,after=1,wait=$PWD/gate2" \
		stage 3 --pretend-nodes=3 --report=second "$from/ds" node%n \
		2> said 3>&- &
	stager=$!
	until_true test -e gate2
	rm gate
	wait "$first"
	rm gate2
	wait "$stager" || status=$?
	cat said
	[ "$status" = 0 ]
	[ "$(origin_bytes first)" = "$(cat "$from"/ds/chunk-* | wc -c)" ]
	[ "$(origin_bytes second)" = 0 ]
	whole 3
}

@test "a job that waits names who holds the directory, and ends at its deadline" {
	local status=0 waiting
	at_gate op=pwrite,after=3,name=chunk- 1 -q "$from/ds" node0
	: > second
	HPDSL_FAULT="op=lock,node=0,after=1,wait=$PWD/gate2" STAGE=$STAGE_FAULTS \
		HPDSL_FAULT_CLOCK=$PWD/second stage 2 -q --pretend-nodes=2 \
		--deadline=60 "$from/ds" node%n 2> text 3>&- &
	waiting=$!
	until_true test -e gate2
	: > second.runs
	rm gate2
	wait "$waiting" || status=$?
	cat text
	[ "$status" = 75 ]
	grep 'node0.*in use by' text
	[ ! -e node1 ] || [ "$(chunks_in node1)" = 0 ]
	rm gate
	wait "$stager"
}

# stopped STATUS NODES: what an early end must leave.
stopped()
{
	local missing
	[ "$1" = 75 ]
	missing=$(check_stage missing "$from/ds" node*)
	echo "missing: $missing bytes"
	[ "$missing" -gt 0 ]
	check_stage sound "$from/ds" node*
	hpdsl-verify -q node0
	again "$missing" "$2" --mode=replicate
	whole "$2"
}

@test "--deadline: exit 75, and a rerun completes" {
	local status=0
	time_stands
	in_our_time "" 3 --pretend-nodes=3 --rate=2K --deadline=60 \
		--mode=replicate --report=report "$from/ds" node%n
	until_true begun node0
	time_runs
	wait "$stager" || status=$?
	cat said
	[ "$(grep -c . said)" -ge 1 ]
	python3 -c 'import json; r = json.load(open("report")); print(r["status"])
assert r["status"] not in ("complete", "failed")'
	stopped "$status" 3
}

# slowly RANKS: a stager on two nodes that does not get far.
slowly()
{
	time_stands
	in_our_time "" "$1" -q --pretend-nodes=2 --rate=4K --mode=replicate \
		"$from/ds" node%n
	until_true chunks_at_least node0 2
}

@test "SIGUSR1: exit 75, and a rerun completes; three ranks a node" {
	local status=0
	slowly 6
	# to the launcher, which passes it on
	kill -USR1 "$(launcher_of "$stager")"
	time_runs
	wait "$stager" || status=$?
	stopped "$status" 2
}

# bats test_tags=wide
@test "SIGUSR1 to any one rank stops all" {
	local status rank
	for rank in $(rounds 3 "0 1 3" "0 1 3"); do
		status=0
		rm -rf node*
		slowly 4
		kill -USR1 "$(ranks_of "$stager" | sed -n "s/^$rank //p")"
		time_runs
		wait "$stager" || status=$?
		stopped "$status" 2
	done
}

@test "SIGTERM to one process alone: 128 + 15, and what is there is sound" {
	local status=0 pid
	[ -x "$STAGE_FAULTS" ] || skip "no $STAGE_FAULTS"
	HPDSL_FAULT=op=rename,after=4,times=0,name=chunk-,wait=$PWD/gate \
		"$STAGE_FAULTS" -q "$from/ds" node0 3>&- &
	pid=$!
	until_true test -e gate
	kill -TERM "$pid"
	wait "$pid" || status=$?
	[ "$status" = 143 ]
	check_stage named "$from/ds" node0
	again "$(check_stage missing "$from/ds" node0)" 1
	whole 1
}

# locked DIR: somebody holds it.
locked()
{
	! flock -n "$1/.stage.lock" true
}

# bats test_tags=time
@test "who still verifies what is there is waited for, however long" {
	local holder
	[ -x "$STAGE_FAULTS" ] || skip "no $STAGE_FAULTS"
	hpdsl-stage -q "$from/ds" node0
	# three reads a chunk: 0.2 s of silence, several times the timeout in all
	HPDSL_FAULT='op=pread,name=chunk,slow=60,times=0' \
		"$STAGE_FAULTS" -q -j0 --recheck "$from/ds" node0 &
	holder=$!
	until_true locked node0
	hpdsl-stage -q --timeout=5 "$from/ds" node0
	wait "$holder"
}
