#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stage killed at any moment: what has its name verifies, and the rerun reads
# only what no node has.
# need_disk: kills come while a disk is waited for.

load ../kit/lib
load ../kit/mpi

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 60 40000
	hpdsl-pack -q --chunks=30 tree ds
	hpdsl-pack -q --chunks=30 --zstd tree zst
}

# rerun DATASET RANKS: reads only what no node has, ends complete.
rerun()
{
	local missing read
	check_stage named "$1" node*
	missing=$(check_stage missing "$1" node*)
	stage "$2" -q --pretend-nodes=2 --mode=replicate --report=report "$1" \
		node%n
	read=$(python3 -c 'import json
print(sum(n["origin_bytes"] for n in json.load(open("report"))["nodes"]))')
	echo "missing $missing, read $read"
	[ "$read" = "$missing" ]
	check_stage placed "$1" replicate "- -" node0 node1
}

# so_far PID CHUNKS: a node has so many of them, or it has all ended.  Looks
# without beginning a process: it must not take long.
so_far()
{
	local n there
	[ -e "/proc/$1" ] || return 0
	for n in node0 node1; do
		there=("$n"/*.tar*)
		[ ! -e "${there[0]}" ] || [ "${#there[@]}" -lt "$2" ] || return 0
	done
	[ "$2" = 0 ]
}

# victims WHAT PID: a rank, the launcher, a pretend node.
victims()
{
	case $1 in
	rank) ranks_of "$2" | shuf -n 1 | cut -d' ' -f 2 ;;
	mpirun) launcher_of "$2" ;;
	node) ranks_of "$2" | awk -v n=$((RANDOM % 2)) '$1 % 2 == n { print $2 }' ;;
	esac
}

# ready WHAT PID: all that may be killed is there, or it has all ended.
ready()
{
	[ "$1" = mpirun ] || [ ! -e "/proc/$2" ] ||
		[ "$(ranks_of "$2" | wc -l)" = 4 ]
}

nobody()
{
	! pgrep -f "hpdsl-stage.* $BATS_TEST_TMPDIR/" > /dev/null
}

@test "SIGKILL of a rank, of mpirun, of a whole node, each at its call" {
	local what ds op
	while read -r what ds op; do
		rm -rf node*
		ds=$from/$ds
		at_gate "op=$op" 4 -q --pretend-nodes=2 --mode=replicate \
			"$ds" "$PWD/node%n"
		# shellcheck disable=SC2046
		kill -KILL $(victims "$what" "$stager")
		wait "$stager" && false
		until_true nobody
		rerun "$ds" 4
	done <<- 'END'
		rank ds pwrite,node=1,after=9,times=0,name=chunk-
		mpirun zst rename,node=0,after=5,times=0,name=chunk-
		node ds pread,node=1,after=6,times=0,name=/ds/chunk-
	END
}

# bats test_tags=more
@test "SIGKILL of a rank, of mpirun, of a whole node, at random" {
	local kills landed=0 tries=0 what ds pid status them
	kills=$(rounds 10 10 200)
	[ -z "${LONG_SECONDS:-}" ] || kills=1
	while [ "$landed" -lt "$kills" ] || longer; do
		tries=$((tries + 1))
		[ "$tries" -le $(((kills + landed) * 4)) ]
		case $((landed % 3)) in
		0) what=rank ;;
		1) what=mpirun ;;
		2) what=node ;;
		esac
		ds=$from/ds
		[ $((landed % 2)) = 0 ] || ds=$from/zst
		rm -rf node*
		stage 4 -q --pretend-nodes=2 --mode=replicate --rate=700K "$ds" \
			"$PWD/node%n" 2> /dev/null 3>&- &
		pid=$!
		until_true ready "$what" "$pid"
		them=$(victims "$what" "$pid")
		until_true so_far "$pid" $((RANDOM % 28))
		status=0
		# shellcheck disable=SC2086
		kill -KILL $them 2> /dev/null || :
		wait "$pid" || status=$?
		[ "$status" != 0 ] || continue
		until_true nobody
		landed=$((landed + 1))
		echo "kill $landed: $what, exit $status, there: $(chunks_in \
			node0) and $(chunks_in node1)"
		rerun "$ds" 4
	done
	echo "# $landed kills in $tries runs" >&3
}

@test "killed again and again, it gets there" {
	for _ in 1 2 3; do
		at_gate op=rename,node=1,after=5,times=0,name=chunk- 2 -q \
			--pretend-nodes=2 --mode=replicate "$from/ds" \
			"$PWD/node%n"
		# shellcheck disable=SC2046
		kill -KILL $(victims rank "$stager")
		wait "$stager" && false
		until_true nobody
		check_stage named "$from/ds" node0 node1
	done
	rerun "$from/ds" 2
}

@test "mpirun's status tells of a rank that was killed" {
	local status=0
	at_gate op=pwrite,node=1,after=2,name=chunk- 3 -q --pretend-nodes=3 \
		"$from/ds" "$PWD/node%n"
	kill -KILL "$(cat gate)"
	wait "$stager" || status=$?
	cat said
	[ "$status" != 0 ]
	case $("$MPIRUN" --version) in
	*"Open MPI"*) [ "$status" = 137 ] ;;
	esac
}
