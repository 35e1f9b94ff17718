#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-verify --peers: on one node, all that the nodes of a job have.
# uses: ports, meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/serve

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	standard noise
	export noise=$set
	make_tree text 2 40
	hpdsl-pack -q --zstd --chunks=4 text zst
}

begin()
{
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	servers=()
}

teardown()
{
	[ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2> /dev/null || :
	wait
}

# served DATASET [OPTION..]: staged on two nodes, a part each, with a server each.
served()
{
	local ds=$1 n
	shift
	stage 2 -q --pretend-nodes=2 --mode=partition "$@" "$ds" node%n
	for n in 0 1; do
		hpdsl-serve -q "$PWD/node$n" 3>&- &
		servers+=($!)
	done
	for n in 0 1; do
		until_true has_port "node$n"
	done
}

# verified STATUS DIR: its object, in $json, and what it says, in err.
verified()
{
	local status=0
	json=$(unhurried hpdsl-verify --peers --json "$2" 2> err) || status=$?
	[ "$status" = "$1" ] || { echo "exit $status: $json"; cat err; return 1; }
}

has()
{
	[ "$(field "$1" <<< "$json")" = "$2" ] || { echo "$1: $json"; return 1; }
}

@test "all chunks, from this node and from the other one" {
	served "$noise/ds"
	local n
	for n in 0 1; do
		verified 0 node$n
		[ ! -s err ]
		has chunks 6
		has peer_chunks 3
		has absent_chunks 0
		has unsent_chunks 0
		has members 40
	done
	unhurried hpdsl-verify --peers node0 2>&1 |
		grep -q 'of these from other nodes: 3 chunks$'
	# alone they are not here
	hpdsl-verify node0 2>&1 | grep -q 'not staged here: 3 chunks$'
}

his_port()
{
	"${other[@]}" hpdsl-serve --status --json "$1" 2> /dev/null |
		grep -q '"port": [1-9]'
}

@test "two users' jobs on the same hosts, with the same ports" {
	need_root
	need setpriv
	local n base
	base=$(free_ports 16)
	other=(setpriv --reuid=65532 --regid=65532 --clear-groups)
	chmod 755 . "$from" "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/*/
	"${other[@]}" hpdsl-serve --version ||
		skip "other users cannot get to what was built"
	served "$noise/ds" --peer-port="$base"
	mkdir his
	chown 65532 his
	stage 2 -q --pretend-nodes=2 --mode=partition --peer-port="$base" \
		"$noise/ds" his/node%n
	chown -R 65532 his
	for n in 0 1; do
		"${other[@]}" hpdsl-serve -q "$PWD/his/node$n" 3>&- &
		servers+=($!)
	done
	for n in 0 1; do
		until_true his_port "his/node$n"
	done
	for n in 0 1; do
		verified 0 node$n
		[ ! -s err ]
		has peer_chunks 3
		has unsent_chunks 0
		unhurried "${other[@]}" hpdsl-verify --peers "his/node$n" 2> his.err
		grep -q 'of these from other nodes: 3 chunks$' his.err
		# nobody has asked the other one's servers for a chunk in vain
		[ "$(hpdsl-serve --status --json node$n | field absent)" = 0 ]
	done
}

@test "compressed chunks, as they are stored and as plain tars" {
	served "$from/zst" --keep-compressed
	verified 0 node0
	has peer_chunks 2
	kill "${servers[@]}"
	wait
	rm -r node?
	servers=()
	served "$from/zst"
	verified 0 node0
	has peer_chunks 2
	has absent_chunks 0
}

@test "another node's damage is found, and whose it is" {
	served "$noise/ds"
	flip node1/chunk-000001.tar 5000
	verified 1 node0
	has damaged_chunks 1
	[[ $json = *chunk-000001.tar*"(node 1 ("*") sent it last)"* ]]
}

@test "what nobody sends was not verified: status 3, the rest is" {
	served "$noise/ds"
	# who was never heard of may just not be up yet
	verified 0 node0
	# a living one fetches for all what the other one had
	hpdsl-serve --stop -q node1
	verified 0 node0
	hpdsl-serve --stop -q node0
	verified 3 node0
	has chunks 3
	has unsent_chunks 3
	has damaged_files 0
	grep -q 'not verified, as no other node has sent it all: chunk-000001.tar, one of 3$' err
}

@test "nobody to ask, or nothing to ask for" {
	stage 2 -q --pretend-nodes=2 --mode=partition "$noise/ds" node%n
	fails 3 "node0: there are no other nodes to ask" hpdsl-verify --peers node0
	fails 2 "is no stage directory" hpdsl-verify --peers "$noise/ds"
	local option
	for option in --quick --thorough --source=x --compat=all; do
		fails 2 "--peers reads chunks: not with --compat, --quick" \
			hpdsl-verify --peers "$option" node0
	done
}
