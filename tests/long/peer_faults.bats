#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What can go wrong between the nodes of a job, on hosts of their own: each epoch
# is held against the dataset, sample for sample, and what the origin is asked
# for is bounded.  tests/peers has one good path, a kill, a stop and a cut link.
#
# Where each fault of the design is tested; "unit" is tests/unit:
#   F1  the k-th call fails         peers/each_call
#   F2  kill -9 of either           peers/nodes 1, serve/peer_reads 3
#   F3  SIGSTOP                     peers/nodes 2 (server); here F24
#   F4  links                       here; peers/nodes 2 (cut)
#   F5  all peers gone              here
#   F6  a holder's disk             unit/dataset/test_read_on, unit/serve/test_cold,
#                                   serve/peer_reads 4
#   F7  flips on the wire           serve/peer_reads 1
#   F8  late answers                unit/peers/test_client
#   F9  the origin hangs            unit/serve/test_serve_adopt
#   F10 no room                     unit/serve/test_serve_adopt
#   F11 memory cgroup               serve/http 5
#   F12 chunks taken away           serve/peer_reads 2, serve/http 9
#   F13 stale lists                 unit/peers/test_have
#   F14 while it is staged          serve/life 4; here F30
#   F15 two adopters                unit/serve/test_serve_adopt
#   F16 ports in use                serve/life "ports that follow each other",
#                                   unit/peers/test_ports
#   F17 no descriptors, 500 readers unit/peers/test_client_process; here
#   F18 a slow reader               serve/http 4
#   F19 clocks                      unit/peers/test_health
#   F20 fork, exec, spawn, torch    serve/peer_reads 5 to 7, test_client_process
#   F21 launchers end               serve/life 6, stage/slurm
#   F22 drain, F23 N-1 and N+1, F24 soak  here
#   F25 any order of events         unit/peers/test_want
#   F26 keep-alive, F27 http_proxy  unit/peers/test_client, test_client_process
#   F28 cut off                     here; unit/serve/test_rehome
#   F29 staged again, F30 early servers, F31 too much to send, F32 stagers that
#                                   are killed  here
#   S1, S2 proofs                   serve/http 1, unit/peers/test_client
#   S3 fuzz                         fuzz/fuzz_peers_wire, fuzz/fuzz_serve
#   S4 outside of the index         unit/serve/test_serve
#   S5 silent and dripping          serve/http 3, unit/cmd/test_crowd
#   S6 other users                  serve/life 7, 8 and 10
#   S7 the secret                   serve/life 14, info/stage_info 11
#   S8 two users' jobs on a node    serve/verify_peers 2
#   S9 the book                     unit/peers/test_book, serve/hosts 3
#   S10 a hostile node with proof   serve/http 4, unit/cmd/test_crowd
#
# need_disk: hosts have a /dev/shm of their own

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/python
load ../kit/job

setup_file()
{
	[ -z "$(job_unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 400 300000
	hpdsl-pack -q --chunks=40 tree ds
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	ds=$BATS_FILE_TMPDIR/ds
	case $BATS_TEST_DESCRIPTION in
	*"eight hosts"*) export readers="1 2 3 4 5 6 7 8" ;;
	*) export readers="1 2 3 4" ;;
	esac
	job_up "$(wc -w <<< "$readers")"
	all=$(cat "$ds"/chunk-* | wc -c)
}

teardown()
{
	job_down
}

# well NAME: nothing wrong, and nothing left out.
well()
{
	holds "$1" "all(not x['bad'] for x in r)"
}

# quiet NAME: and nothing from the origin.
quiet()
{
	epoch "$1" && well "$1" && holds "$1" "total('origin_bytes') == 0"
}

@test "F4: a link that goes down and up every two seconds, then is slow" {
	local n before
	job_stage --mode=partition
	serve_all
	reading flaps
	(while [ -e flaps ]; do
		"$nodes" link bed 2 down
		sleep 2
		"$nodes" link bed 2 up
		sleep 2
	done) 3>&- &
	touch flaps
	for n in 1 2 3; do
		go || return 1
		well flaps
		[ "$n" = 3 ] || reading flaps
	done
	rm flaps
	wait
	"$nodes" link bed 2 up
	until_true quiet up
	# a hundredth of the speed of the others
	"$nodes" link bed 2 10mbit
	before=$(from_origin)
	epoch slow
	well slow
	echo "# slow: $(($(from_origin) - before)) of $all bytes asked for again" >&3
	# its share, a quarter, once for all; and what was asked for twice before
	# it was known for slow
	[ $(($(from_origin) - before)) -le $((all * 2 / 5)) ]
}

@test "F5: two servers are gone, then all, then they are back" {
	local before
	job_stage --mode=partition
	serve_all
	quiet begin
	before=$(from_origin)
	reading two
	server 2 KILL
	server 3 KILL
	go
	well two
	epoch after
	well after
	[ $(($(from_origin) - before)) -le $((all * 110 / 200)) ]
	server 1 KILL
	server 4 KILL
	epoch none
	well none
	holds none "total('peer_bytes') == 0"
	serve_all
	until_true quiet back
}

@test "F17: five hundred readers of one server" {
	local n pids=
	job_stage --mode=partition
	serve_all
	cat > one.py <<- 'END'
		import random, sys
		import hpdsl
		with hpdsl.Dataset(sys.argv[1]) as ds, \
		     hpdsl.Dataset(sys.argv[2]) as origin:
		    for i in random.Random(int(sys.argv[3])).sample(range(len(ds)), 8):
		        assert ds[i].data == origin[i].data, i
	END
	# shellcheck disable=SC2016
	for n in 1 2 3 4; do
		on "$n" "$BASH" -c '. "$SRC/tests/kit/lib.bash"
			. "$SRC/tests/kit/python.bash"
			pids=
			for ((i = 0; i < 125; i++)); do
				py "$@" $((i * 7 + $0)) & pids+=" $!"
			done
			for p in $pids; do wait "$p" || exit; done' "$n" \
			"$PWD/one.py" "$PWD/bed/ssd/in" "$ds" 3>&- &
		pids+=" $!"
	done
	for n in $pids; do
		wait "$n"
	done
	for n in 1 2 3 4; do
		[ "$(of_server "$n" requests)" -gt 0 ]
		[ "$(of_server "$n" owed_bytes)" = 0 ]
	done
	quiet after
}

@test "F22: one of two holders leaves, and a single one: no origin" {
	local before
	job_stage --mode=copies=2
	serve_all
	quiet begin
	before=$(from_origin)
	reading leaves
	on 2 hpdsl-serve --stop "$PWD/bed/ssd/in" 3>&- &
	go
	wait
	well leaves
	echo "# $(($(from_origin) - before)) bytes of the origin" >&3
	[ "$(from_origin)" = "$before" ]
}

@test "F23: an epoch goes on with three nodes, and with four again" {
	job_stage --mode=partition
	serve_all
	# what rank 4 would have read the other three share out
	hosts=3 readers="1 2 3" quiet three
	hosts=4 readers="1 2 3 4" quiet four
}

@test "F28: one who is cut off from all others adopts nothing" {
	job_stage --mode=partition
	serve_all
	quiet begin
	"$nodes" link bed 1 down
	readers=1 epoch alone
	readers=1 well alone
	holds alone "total('adopted') == 0"
	[ "$(of_server 1 adopted)" = 0 ]
	sleep 40
	# nor does its server, of itself
	[ "$(of_server 1 adopted)" = 0 ]
	[ "$(of_server 1 rehomed)" = 0 ]
	"$nodes" link bed 1 up
	until_true quiet back
}

@test "F29: staged again under living servers and readers" {
	local n
	job_stage --mode=partition
	serve_all
	reading again
	job_stage --mode=partition
	go
	well again
	quiet after
	# with copies: another plan, and the same job
	reading other
	job_stage --mode=copies=2
	go
	well other
	until_true quiet copies
	for n in 1 2 3 4; do
		[ "$(of_server "$n" here)" -ge 20 ]
	done
}

@test "F30: servers that were there before anything was staged" {
	local n
	for n in 1 2 3 4; do
		# which waits for it
		on "$n" hpdsl-serve -q --detach "$PWD/bed/ssd/in" 3>&- \
			2>> "served$n" &
	done
	sleep 1
	for n in 1 2 3 4; do
		on "$n" test ! -e "$PWD/bed/ssd/in"
	done
	job_stage --mode=partition
	wait
	until_true quiet first
}

@test "F31: too much to send is put off, and nobody is suspect" {
	local n
	job_stage --mode=partition
	for n in 1 2 3 4; do
		serve "$n" --rate=20M
	done
	epoch slow
	well slow
	holds slow "total('adopted') == 0"
	for n in 1 2 3 4; do
		[ "$(of_server "$n" adopted)" = 0 ]
		on "$n" hpdsl-serve --status --json "$PWD/bed/ssd/in" > "now$n"
	done
	grep -q '"rate_waits": [1-9]' now?
}

@test "F32: stagers that are killed at any moment while all read" {
	local k n who stager reader
	RANDOM=5
	for ((k = 0; k < 12; k++)); do
		job_stage --mode=partition --rate=40M 3>&- 2>> staged &
		stager=$!
		serve_all
		epoch "killed$k" &
		reader=$!
		who=$((RANDOM % 4 + 1))
		sleep "0.$((RANDOM % 9))"
		on "$who" pkill -KILL -x hpdsl-stage || :
		wait "$reader"
		well "killed$k"
		wait "$stager" || :
		for n in 1 2 3 4; do
			on "$n" hpdsl-serve --stop "$PWD/bed/ssd/in" 3>&-
			# half of the times it is completed
			[ $((k % 2)) = 0 ] || on "$n" rm -rf "$PWD/bed/ssd/in"
		done
		echo "# 1 faults" >&3
	done
	job_stage --mode=partition
	for n in 1 2 3 4; do
		on "$n" hpdsl-verify -q "$PWD/bed/ssd/in"
	done
}

@test "F24: a soak on eight hosts: kills, stops and cuts at random" {
	local end=$((SECONDS + ${LONG_SECONDS:-120})) i=0 n what fds rss pid leaves
	job_stage --mode=copies=2
	serve_all
	quiet begin
	RANDOM=7
	while [ $SECONDS -lt "$end" ]; do
		n=$((RANDOM % 8 + 1)) what=$((RANDOM % 4))
		reading "soak$i"
		case $what in
		0) server "$n" KILL ;;
		1) server "$n" STOP ;;
		2) "$nodes" link bed "$n" down ;;
		3) on "$n" timeout 90 hpdsl-serve --stop "$PWD/bed/ssd/in" \
			3>&- & ;;
		esac
		leaves=$!
		go
		# one that leaves may take half a minute, and is not begun before
		[ "$what" != 3 ] || wait "$leaves"
		well "soak$i"
		case $what in
		0 | 3) serve "$n" ;;
		1) server "$n" CONT ;;
		2) "$nodes" link bed "$n" up ;;
		esac
		i=$((i + 1))
		echo "# 1 faults" >&3
	done
	until_true quiet end
	for n in $(seq 8); do
		on "$n" hpdsl-serve --status --json "$PWD/bed/ssd/in" > "status$n"
		pid=$(field pid < "status$n")
		fds=$(on "$n" find "/proc/$pid/fd" -type l | wc -l)
		rss=$(on "$n" cat "/proc/$pid/status" |
			sed -n 's/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p')
		echo "# host $n: $fds descriptors, $rss KiB" >&3
		[ "$fds" -lt 400 ] && [ "$rss" -lt 131072 ]
		on "$n" hpdsl-serve --stop "$PWD/bed/ssd/in"
	done
	run -1 "$nodes" run bed pgrep -x hpdsl-serve
}
