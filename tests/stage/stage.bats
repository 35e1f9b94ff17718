#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stage: in every mode, on any number of nodes, chunks are where the plan
# says and nowhere else, and every node's directory is a dataset.
# need_disk: a stage directory on a disk, and O_DIRECT.
# uses: shm

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 52 40000
	hpdsl-pack -q --chunks=13 tree ds
	make_tree text 2 40
	hpdsl-pack -q --chunks=5 --zstd text zst
}

# staged RANKS NODES MODE [OPTION..]: onto that many pretend nodes, freshly;
# then all is looked at.
staged()
{
	local ranks=$1 n=$2 mode=$3 dir capacities
	shift 3
	rm -rf node* report
	stage "$ranks" -q --pretend-nodes="$n" --mode="$mode" --report=report \
		"$@" "$from/ds" node%n
	capacities=$(printf -- '- %.0s' $(seq "$n"))
	# shellcheck disable=SC2046
	all_there "$mode" "$capacities" $(nodes node "$n")
}

# all_there MODE CAPACITIES DIR..
all_there()
{
	local dir
	check_stage placed "$from/ds" "$@"
	check_stage report report "$from/ds" "${@:3}"
	for dir in "${@:3}"; do
		hpdsl-verify -q "$dir"
	done
}

# bats test_tags=wide
@test "replicate, partition, copies and auto on 1, 2, 3 and 8 nodes" {
	local n mode
	for n in 1 2 3 8; do
		for mode in replicate partition copies=2 auto; do
			case $n$mode in
			1copies=2 | [38]auto) continue ;;
			1* | [23]replicate | 2auto | 3partition | 3copies=2) ;;
			*) at_level more || continue ;;
			esac
			echo "$mode on $n nodes"
			staged "$n" "$n" "$mode"
		done
	done
}

# bats test_tags=wide
@test "parts with borders inside nodes" {
	staged 5 5 copies=2
	at_level more || return 0
	staged 7 7 copies=3
	staged 8 8 copies=3
}

# bats test_tags=wide
@test "three ranks a node" {
	staged 6 2 replicate
	staged 5 2 auto
	at_level more || return 0
	staged 3 1 replicate
	staged 12 4 partition
	staged 12 4 copies=2
	staged 15 5 copies=2
	staged 7 5 copies=2
}

# bats test_tags=long
@test "all of that in all combinations, in small and large pieces" {
	local n mode ranks memory
	for n in 1 2 3 4 5 8 16; do
		for mode in replicate partition copies=1 copies=2 copies=3 auto; do
			case $n$mode in
			1copies=[23] | 2copies=3) continue ;;
			esac
			for ranks in 1 3; do
				for memory in 4M 256M; do
					echo "$mode, $n nodes, $ranks, $memory"
					staged $((n * ranks)) "$n" "$mode" \
						--memory="$memory"
				done
			done
		done
	done
}

# unequal "CAPACITY.." [RANKS A NODE]: automatic, with what each node has room
# for.
unequal()
{
	local list=$1 each=${2:-1} n all='' i c
	n=$(wc -w <<< "$list")
	rm -rf node* report
	for c in $list; do
		for ((i = 0; i < each; i++)); do
			all+=" $c"
		done
	done
	stage_each "$all" -q --pretend-nodes="$n" --report=report "$from/ds" \
		node%n
	# shellcheck disable=SC2046
	all_there auto "$list" $(nodes node "$n")
}

# bats test_tags=wide
@test "automatic: as few parts as there is room for, nodes of unequal capacity" {
	local size half
	size=$(cat "$from"/ds/chunk-*.tar | wc -c)
	half=$((size * 6 / 10))
	unequal "$size $half"
	# the third one is at the border, and has to have room for both parts
	unequal "$half $half $size $half $half"
	at_level more || return 0
	unequal "$size"
	unequal "$size $size"
	unequal "$half $half $size"
	unequal "$half $half $half $half"
	unequal "$half $half $half $half $half"
	unequal "$((size / 3)) $((size / 2)) $((size / 2)) $size"
	unequal "$half $size" 3
}

# bats test_tags=wide
@test "larger than everything: what is used first is here, the rest is told" {
	local size
	size=$(cat "$from"/ds/chunk-*.tar | wc -c)
	unequal "$((size / 4)) $((size / 3))"
	if at_level more; then
		unequal "$((size / 3))"
		unequal "0 $size"
		unequal "$((size / 8)) $((size / 4)) $((size / 5))" 3
	fi
	stage 1 --capacity=$((size / 3)) "$from/ds" alone 2> said
	cat said
	grep -q 'left at the origin' said
	# the directory is a dataset all the same, and what is not here no damage
	hpdsl-verify alone
	hpdsl-ls alone > names
	diff names <(hpdsl-ls "$from/ds")
	hpdsl-cat alone "$(tail -n 1 names)" | cmp - "tree/$(tail -n 1 names)" ||
		hpdsl-cat alone "$(tail -n 1 names)" |
		cmp - "$from/tree/$(tail -n 1 names)"
}

@test "a mode that was asked for and has no room: nothing is left" {
	local mode first
	for mode in replicate partition copies=2; do
		fails 3 "node 1 ($(hostname)) has room for 9.7 KiB of " \
			stage_each "64M 9900" -q --pretend-nodes=2 \
			--mode="$mode" "$from/ds" node%n
		compgen -G "node*" && false
	done
	# nor where the automatic one has room for nothing
	fails 3 "no node has room for the first chunk that it is to hold: node 1 ($(hostname)) has most, 9.7 KiB, and that chunk takes " \
		stage_each "10 9900" -q --pretend-nodes=2 "$from/ds" node%n
	compgen -G "node*" && false
	# a folder that was there stays, and so does what is in one
	mkdir node
	fails 3 "no node has room for the first chunk that it is to hold: node 0 ($(hostname)) has most, 9.7 KiB, " \
		hpdsl-stage -q --capacity=9900 "$from/ds" node
	[ -d node ] && [ -z "$(ls -A node)" ]
	first=$(stat -c %s "$from"/ds/chunk-*.tar | sort -n | tail -n 1)
	hpdsl-stage --capacity="$first" "$from/ds" node 2> said
	first=$(stat -c %s node/chunk-*.tar)
	hpdsl-stage -q --clean node
	fails 3 "no node has room" hpdsl-stage -q --capacity=$((first - 1)) \
		"$from/ds" node
	[ ! -e node ]
	hpdsl-stage --capacity="$first" "$from/ds" node 2> said
	grep -q ': what there is room for, ' said
	cp -r node was
	fails 3 "has room for" hpdsl-stage -q --capacity=1 --mode=replicate \
		"$from/ds" node
	hpdsl-stage -q --capacity=1 "$from/ds" node
	diff -r -x stage.hpdsl -x .stage.lock was node
	[ "$(chunks_in node)" = 1 ]
}

@test "capacity in percent, and of a directory in memory" {
	[ -d /dev/shm ] && [ -w /dev/shm ] || skip "no /dev/shm"
	local shm
	shm=$(mktemp -d /dev/shm/hpdsl-test-XXXXXX)
	stage 2 -q --pretend-nodes=2 --capacity=50% "$from/ds" "$shm/node%n" &&
		check_stage placed "$from/ds" auto "- -" "$shm/node0" \
			"$shm/node1" || { rm -rf "$shm"; return 1; }
	rm -rf "$shm"
	fails 2 capacity stage 1 --capacity=101% "$from/ds" node
	fails 2 capacity stage 1 --capacity=x "$from/ds" node
}

@test "compressed chunks are expanded on the nodes, or kept" {
	local dir
	stage 2 -q --pretend-nodes=2 --report=report "$from/zst" node%n
	check_stage placed "$from/zst" auto "- -" node0 node1
	check_stage report report "$from/zst" node0 node1
	compgen -G 'node0/*.tar' > /dev/null
	stage 2 -q --pretend-nodes=2 --keep-compressed "$from/zst" kept%n
	check_stage --keep-compressed placed "$from/zst" auto "- -" kept0 kept1
	stage 3 -q --pretend-nodes=3 --mode=partition "$from/zst" part%n
	check_stage placed "$from/zst" partition "- - -" part0 part1 part2
	for dir in node0 kept1 part2; do
		hpdsl-verify -q "$dir"
		hpdsl-ls "$dir" | sed -n '1~20p' | while read -r name; do
			hpdsl-cat "$dir" "$name" | cmp - "$from/text/$name"
		done
	done
}

@test "adopted tars get names of their own" {
	mkdir tars
	tar -cf 'tars/an a.tar' -C "$from/text" class0
	tar -cf tars/b.tar -C "$from/text" class1
	hpdsl-index -q tars
	stage 3 -q --pretend-nodes=3 "$PWD/tars" node%n
	ls node0 > names
	diff names - <<- END
		chunk-000000.tar
		chunk-000001.tar
		dataset.yaml
		index.hpdsl
		peers.hpdsl
		stage.hpdsl
	END
	hpdsl-verify -q node2
	hpdsl-ls tars > names
	diff names <(hpdsl-ls node1)
	hpdsl-cat node1 class0/00003.json | cmp - "$from/text/class0/00003.json"
}

@test "the summary, on standard error; --json, on standard output; -q" {
	stage 2 --pretend-nodes=2 --mode=replicate "$from/ds" node%n 2> said > out
	[ ! -s out ]
	cat said
	tail -n 1 said | grep -Eqx 'hpdsl-stage: staged 13 chunks, [0-9.]+ [KMG]iB, to 2 nodes in [0-9.]+ m?s( \([0-9.]+ [KMGT]?i?B/s\))?: replicate, [0-9.]+ MiB from the origin, [0-9.]+ MiB between nodes'
	# what --parts of a reader has to be
	stage 4 --pretend-nodes=4 --mode=copies=2 "$from/ds" part%n 2> said
	tail -n 1 said | grep -F ': copies=2, 2 parts, '
	stage 4 --pretend-nodes=4 --mode=copies=2 "$from/ds" part%n 2> said
	grep -Ex 'hpdsl-stage: nothing to do: .*: copies=2, 2 parts' said
	stage 2 -q --pretend-nodes=2 --mode=replicate "$from/ds" quiet%n 2> said > out
	[ ! -s out ] && [ ! -s said ]
	stage 2 -q --json --pretend-nodes=2 --mode=replicate "$from/ds" json%n \
		2> said > out
	[ ! -s said ]
	python3 -c 'import json; json.load(open("out"))'
}

@test "%n %h %r and %% in LOCALDIR" {
	stage 2 -q --pretend-nodes=2 "$from/ds" "$PWD/%n-%r-%h-%%"
	hpdsl-verify -q "0-0-$(hostname)-%"
	hpdsl-verify -q "1-1-$(hostname)-%"
	fails 2 '%x' stage 1 "$from/ds" 'a%x'
}

@test "two nodes of this machine with one path are refused" {
	fails 2 'same' stage 2 -q --pretend-nodes=2 "$from/ds" one
	[ "$(chunks_in one)" = 0 ]
}

@test "one rank alone, without a launcher" {
	hpdsl-stage -q "$from/ds" node0
	check_stage placed "$from/ds" replicate - node0
	hpdsl-verify -q node0
}

@test "a launcher that starts ranks 0 of 1 is found out" {
	local message
	export SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_NTASKS=2 \
		SLURM_STEP_NUM_TASKS=2
	SLURM_PROCID=0 SLURM_LOCALID=0 \
		fails 3 'rank' hpdsl-stage "$from/ds" node0
	# one line, not one for each task
	SLURM_PROCID=1 SLURM_LOCALID=1 \
		fails 3 '' hpdsl-stage "$from/ds" node0
	[ -z "$message" ]
	[ ! -e node0 ]
}

# bats test_tags=wide
@test "--plan writes nothing, and says what then happens" {
	local n
	# two parts; of five nodes the third has both
	for n in $(rounds 5 "4 5" "4 5"); do
		rm -rf node*
		stage "$n" --plan --pretend-nodes="$n" --mode=copies=2 "$from/ds" \
			node%n > plan
		cat plan
		[ -z "$(compgen -G 'node*')" ]
		stage "$n" -q --pretend-nodes="$n" --mode=copies=2 --report=report \
			"$from/ds" node%n
		hpdsl-stage --plan --nodes="$n" --mode=copies=2 --json "$from/ds" > a
		stage "$n" --plan --pretend-nodes="$n" --mode=copies=2 --json \
			"$from/ds" new%n > b
		python3 - a b report <<- 'END'
			import json, sys
			a, b, done = (json.load(open(f)) for f in sys.argv[1:])
			for plan in a, b:
			    assert plan["parts"] == 2, plan
			    for p, d in zip(plan["nodes"], done["nodes"], strict=True):
			        assert p["part"] == d["part"], (p, d)
			        assert p["last_part"] == d["last_part"], (p, d)
			        assert p["chunks"] == d["chunks"], (p, d)
			        assert p["origin_bytes"] == d["origin_bytes"], (p, d)
			        assert p["received_bytes"] == d["peer_bytes"], (p, d)
			        assert p["sent_bytes"] == d["sent_bytes"], (p, d)
		END
	done
	hpdsl-stage --plan --nodes=4 --rates=origin=1G,link=100M,write=1G \
		--mode=replicate "$from/ds" | grep -i network
}

@test "--status tells what is there; --clean removes it, and nothing else" {
	stage 2 -q --pretend-nodes=2 --mode=partition "$from/ds" node%n
	hpdsl-stage --status node1 > status
	cat status
	grep -q '6 of 13' status
	grep -qF "$(realpath "$from/ds")" status
	hpdsl-stage --status --json node1 | python3 -c '
import json, sys
s = json.load(sys.stdin)
assert (s["part"], s["last_part"], s["parts"]) == (1, 1, 2), s'
	touch node1/mine
	hpdsl-stage --clean node1
	[ "$(ls -A node1)" = mine ]
	hpdsl-stage --clean node0
	[ ! -e node0 ]
	stage 2 -q --pretend-nodes=2 "$from/ds" node%n || {
		# what is not ours is in the way, and stays
		[ -e node1/mine ]
		rm -r node1
		stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	}
	stage 2 --clean --pretend-nodes=2 node%n
	[ ! -e node0 ] && [ ! -e node1 ]
	mkdir other
	touch other/thing
	fails 3 other hpdsl-stage --clean other
	fails 3 other hpdsl-stage --status other
	fails 3 other hpdsl-stage "$from/ds" other
	[ "$(ls -A other)" = thing ]
}

# bats test_tags=wide
@test "usage errors" {
	fails 2 'Try `hpdsl-stage --help' hpdsl-stage
	fails 2 'Try `hpdsl-stage --help' hpdsl-stage "$from/ds"
	fails 2 'Try `hpdsl-stage --help' hpdsl-stage "$from/ds" a b
	fails 2 mode hpdsl-stage --mode=some "$from/ds" a
	fails 2 copies hpdsl-stage --mode=copies=0 "$from/ds" a
	fails 2 copies hpdsl-stage --mode=copies=x "$from/ds" a
	fails 2 memory hpdsl-stage --memory=1 "$from/ds" a
	fails 2 timeout hpdsl-stage --timeout=x "$from/ds" a
	fails 2 deadline hpdsl-stage --deadline=yesterday "$from/ds" a
	fails 2 rate hpdsl-stage --rate=fast "$from/ds" a
	fails 2 nodes hpdsl-stage --nodes=2 "$from/ds" a
	fails 2 memory stage 3 --memory=1 "$from/ds" a
	[ "$(grep -c 'memory' <<< "$message")" = 1 ]
	fails 2 speed stage 3 --speed "$from/ds" a
	[ "$(grep -c 'speed' <<< "$message")" = 1 ]
	# though rank 0 comes later than the others have seen it
	! at_level more || comes_late
	[ "$(stage 3 --help | grep -c '^Usage:')" = 1 ]
	# that of another rank alone; MPICH waits for a rank that has ended
	case $("$MPIRUN" --version 2>&1) in
	*"Open MPI"* | *OpenRTE*)
		fails 2 'capacity: ' stage_each "64M x" "$from/ds" a%n
		;;
	esac
	fails 2 pretend stage 2 --pretend-nodes=3 "$from/ds" a%n
	fails 3 nothing hpdsl-stage "$PWD/nothing" a
	[ -z "$(find . -mindepth 1 -maxdepth 1 ! -name tmp ! -name late)" ]
}

comes_late()
{
	cat > late <<- 'END'
		#!/bin/sh
		[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 0 ] || sleep 1 # clock: late, not waited for
		exec hpdsl-stage "$@"
	END
	chmod +x late
	STAGE=./late fails 2 speed stage 3 --speed "$from/ds" a
}

# bats test_tags=wide
@test "other options: --direct, --fsync, -j, --memory" {
	staged 2 2 replicate --fsync -j 1
	staged 4 4 copies=2 --direct --memory=4M
	at_level more || return 0
	staged 2 2 replicate --direct
	staged 3 3 replicate --memory=4M -j 4
}

@test "the order of use decides what comes first" {
	cat > state.yaml <<- END
		{seed: 7, epoch: 3, batch: 1, lanes: 1, piece: 1000, windows: 1}
	END
	at_gate op=rename,after=6,name=chunk- 1 -q -j 0 --mode=replicate \
		--order-from=state.yaml "$from/ds" node0
	python3 - node0 "$SRC/tests/kit" "$from/ds" <<- 'END'
		import os, sys
		sys.path.insert(0, sys.argv[2])
		from order_model import Order, first_use, lists_of
		from stage_check import load
		samples = [c.samples for c in load(sys.argv[3])]
		use = first_use(Order(7, 3, 1, 1, 1000, 1, 1),
		                lists_of(samples), 13, 0)
		want = [f"chunk-{c:06}.tar" for c in use[:6]]
		got = [n for n in os.listdir(sys.argv[1]) if n.startswith("chunk-")]
		assert sorted(got) == sorted(want), (want, got)
	END
	rm gate
	wait "$stager"
	echo '{seed: 7, W: 0}' > bad.yaml
	fails 3 bad.yaml hpdsl-stage --order-from=bad.yaml "$from/ds" a
	echo '{batch: 1, step: 1000000}' > bad.yaml
	fails 3 "bad.yaml: no step 1000000, epoch 0 has " \
		hpdsl-stage --order-from=bad.yaml "$from/ds" a
}
