#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Four hosts, each with a quarter of a dataset, whose servers give it to the
# others: what is read is the same, whatever becomes of them, and the origin is
# asked only for what nobody has.  Hosts are network namespaces, the origin
# counts what it is asked.
# need_disk: hosts have a /dev/shm of their own

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/python
load ../kit/job
load ../kit/serve

setup_file()
{
	[ -z "$(job_unable)" ] || return 0
	standard large
	export ds=$set/ds
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	job_up 4
	job_stage --mode=partition
	serve_all
}

teardown()
{
	job_down
}

# adopted CHUNKS: those that live have so many, whole.
adopted()
{
	local n sum=0
	for n in 1 2 4; do
		sum=$((sum + $(of_server "$n" adopted)))
	done
	[ "$sum" -ge "$1" ]
}

@test "epochs over four hosts ask the origin for nothing; then one is killed" {
	local staged lost
	staged=$(from_origin)
	[ "$staged" = "$(cat "$ds"/chunk-* | wc -c)" ]
	unhurried epoch one
	holds one "len(r) == 4 and total('origin_bytes') == 0"
	holds one "total('peer_failed') == 0 and all(not x['bad'] for x in r)"
	holds one "all(x['peer_bytes'] > 2 * x['local_bytes'] for x in r)"
	[ "$(from_origin)" = "$staged" ]

	# in the middle of an epoch; every byte of a quarter once, and a little
	reading two
	server 3 KILL
	go
	cat two.[1-4]
	holds two "len(r) == 4 and total('adopted') > 0 and all(not x['bad'] for x in r)"
	holds two "any('bed-n003' in w for x in r for w in x['warnings'])"
	# by the next one all that it had was needed again, once for all
	unhurried epoch three
	until_true adopted 10
	lost=$(from_origin)
	echo "of $staged bytes $((lost - staged)) were asked for again"
	[ "$lost" -gt "$staged" ]
	[ $((lost - staged)) -le $((staged * 105 / 400)) ]
	unhurried epoch four
	[ "$(from_origin)" = "$lost" ]

	# it comes back, on the same host
	serve 3
	until_true back
	[ "$(from_origin)" = "$lost" ]
}

back()
{
	epoch back && holds back "len(r) == 4 and total('origin_bytes') == 0"
}

# probed "WHAT NODE, ..": what the first host says of the others.
probed()
{
	run -1 on 1 hpdsl-serve --probe --json "$PWD/bed/ssd/in"
	[ "$(python3 -c 'import json, sys
print(*("%s %d" % (o["is"], o["node"]) for o in
    json.loads(sys.stdin.read())["others"]), sep=", ")' <<< "$output")" = "$1" ] ||
		{ echo "$output"; return 1; }
}

@test "a server that is stopped, a link that is cut, an end in order" {
	local n pids=
	reading five
	server 2 STOP
	go
	cat five.[1-4]
	holds five "len(r) == 4 and all(not x['bad'] for x in r) and total('adopted') > 0"
	"$nodes" link bed 4 down
	# the first host sees why each of them does not answer
	until_true probed "mute 1, well 2, silent 3"
	server 2 CONT
	epoch six
	cat six.[1-4]
	# the one that is cut off has the origin all the same
	holds six "len(r) == 4 and all(not x['bad'] for x in r)"
	"$nodes" link bed 4 up
	until_true back

	# servers end in order, and leave nothing
	for n in 1 2 3 4; do
		on "$n" hpdsl-serve --stop "$PWD/bed/ssd/in" 3>&- &
		pids+=" $!"
	done
	for n in $pids; do
		wait "$n"
	done
	for n in 1 2 3 4; do
		on "$n" test ! -e "$PWD/bed/ssd/in/serve.sock"
	done
	epoch seven
	holds seven "len(r) == 4 and all(not x['bad'] for x in r)"
	holds seven "total('peer_bytes') == 0"
	run -1 "$nodes" run bed pgrep -x hpdsl-serve
}
