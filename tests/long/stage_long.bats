#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stage at full speed, with chunks of a usual size: killed at any moment,
# on many nodes, and with readers.  tests/stage/stage_kill.bats and
# tests/stage/stage.bats have longer versions of their own with HPDSL_LEVEL=long.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/snapshot
load ../kit/mpi

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 300 2500000
	hpdsl-pack -q --chunk-size=16M tree ds
	hpdsl-pack -q --chunk-size=16M --zstd tree zst
}

begin()
{
	export STAGE_LIMIT=600
}

teardown()
{
	rm -rf node*
}

# all_there DATASET MODE NODES
all_there()
{
	# shellcheck disable=SC2046
	check_stage placed "$1" "$2" "$(printf -- '- %.0s' $(seq "$3"))" \
		$(nodes node "$3")
}

# on_16_nodes MODE: with little memory, some, and much.
on_16_nodes()
{
	local memory
	for memory in 4M 64M 1G; do
		echo "$1, $memory"
		rm -rf node*
		stage 16 -q --pretend-nodes=16 --mode="$1" --memory="$memory" \
			"$from/ds" node%n
		all_there "$from/ds" "$1" 16
	done
}

@test "16 nodes, each with a part, in all sizes of memory" {
	on_16_nodes partition
}

@test "16 nodes, copies on three of them, in all sizes of memory" {
	on_16_nodes copies=3
}

@test "16 nodes, each with all, in all sizes of memory" {
	on_16_nodes replicate
}

@test "compressed chunks on 4 nodes" {
	stage 4 -q --pretend-nodes=4 --mode=replicate "$from/zst" node%n
	all_there "$from/zst" replicate 4
	rm -rf node*
	stage 4 -q --pretend-nodes=4 --mode=replicate --keep-compressed \
		"$from/zst" node%n
	check_stage --keep-compressed placed "$from/zst" replicate "- - - -" \
		node0 node1 node2 node3
}

@test "killed at full speed, again and again, hardly ever begun anew" {
	local n pid rank landed=0 most=100
	[ -z "${LONG_SECONDS:-}" ] || most=2
	for ((n = 0; n < most; n++)); do
		! longer || most=$((n + 2))
		[ $((n % 10)) != 0 ] || rm -rf node*
		stage 3 -q --pretend-nodes=3 --mode=replicate "$from/ds" \
			"$PWD/node%n" 2> /dev/null 3>&- &
		pid=$!
		sleep "0.$((RANDOM % 9))"
		sleep "0.$((RANDOM % 9))"
		rank=$(ranks_of "$pid" | shuf -n 1 | cut -d' ' -f 2)
		[ -z "$rank" ] || ! kill -KILL "$rank" 2> /dev/null ||
			landed=$((landed + 1))
		wait "$pid" || :
		check_stage named "$from/ds" node0 node1 node2
	done
	echo "# $landed kills in $n runs" >&3
	stage 3 -q --pretend-nodes=3 --mode=replicate "$from/ds" "$PWD/node%n"
	all_there "$from/ds" replicate 3
}

@test "eight readers of four nodes, while it comes" {
	local n pid pids=()
	stage 4 -q --pretend-nodes=4 --mode=replicate --rate=60M "$from/ds" \
		"$PWD/node%n" 3>&- &
	pids=($!)
	for n in 0 1 2 3 0 1 2 3; do
		python stage_reader.py "node$n" "$from/tree" \
			> "said.${#pids[@]}" 3>&- &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
	cat said.*
	[ "$(grep -l '"origin_bytes": 0,' said.* | wc -l)" = 8 ]
}
