#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What readers of a node saw of the others: added up in peers.health, and told
# by the node's server.
# uses: ports, meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/serve

setup_file()
{
	standard noise
	export noise=$set
}

setup()
{
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	[ -x "$BUILD/hpdsl-stage" ] || skip "hpdsl-stage was not built"
	ldconfig -p | grep -q 'libcurl\.so\.4' || skip "no libcurl"
	cd "$BATS_TEST_TMPDIR" || return 1
	stage 2 -q --pretend-nodes=2 --mode=partition --interface=lo "$noise/ds" node%n
	servers=()
	for n in 0 1; do
		hpdsl-serve -q --report="report$n" "node$n" 2> "said$n" 3>&- &
		servers+=($!)
		until_true has_port "node$n"
	done
}

teardown()
{
	[ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2> /dev/null || :
	wait
}

# seen FILE PYTHON: of the object in FILE, as s, with its nodes as p.
seen()
{
	python3 - "$1" "$2" << 'EOF'
import json, sys

s = json.load(open(sys.argv[1]))
p = s["peers"]
whys = ["no_holder", "denied", "busy", "late", "refused", "unproven", "bad",
        "cut_off", "no_engine", "no_room", "no_server"]
counts = ["to_origin"] + ["origin_" + w for w in whys]
assert list(s["no_peer"]) == counts, s["no_peer"]
assert [n["peer"] for n in p] == list(range(s["nodes"])), p
for n in p:
    assert list(n) == ["peer", "name", "health", "reads", "read_bytes",
                       "adopted_reads", "load_bytes", "suspected", "bad",
                       "hedged", "hedges_won"] + counts + ["latency_us"], n
    assert n["health"] in ("well", "suspect", "banned"), n
    assert sum(n["latency_us"]) == n["reads"], n
for n in p + [s["no_peer"]]:
    assert sum(n["origin_" + w] for w in whys) == n["to_origin"], n
assert eval(sys.argv[2]), p
EOF
}

# read_all: everything, by two processes at a time.
read_all()
{
	unhurried hpdsl-verify -q --peers node0 &
	unhurried hpdsl-verify -q --peers node0
	wait $!
}

@test "reads of all processes, by node, in --status and in the report" {
	hpdsl-serve --status --json node0 > before
	seen before 'all(n["reads"] == 0 and n["read_bytes"] == 0 for n in p)'
	read_all
	hpdsl-serve --status --json node0 > after
	seen after 'p[1]["read_bytes"] == 2 * sum(
		__import__("os").path.getsize("node1/" + f)
		for f in __import__("os").listdir("node1") if f.endswith(".tar"))'
	seen after 'p[1]["to_origin"] == 0 and p[1]["health"] == "well"'
	hpdsl-serve --status node0 | grep -qx '  saw 1 node well'
	kill "${servers[0]}"
	wait "${servers[0]}" || :
	seen report0 'p[1]["reads"] > 0'
}

@test "who does not answer is told, with the reason" {
	# it has been there: it is not one that may still come
	hpdsl-verify -q --peers node0
	kill -9 "${servers[1]}"
	hpdsl-verify -q --peers node0 2> err || :
	hpdsl-serve --status --json node0 > after
	seen after 'p[1]["suspected"] > 0'
	hpdsl-serve --status node0 > text
	grep '^  saw node 1 (.*, suspect [0-9]* time' text
}

@test "peers.health cut and removed: readers go on, the server makes it anew" {
	unhurried hpdsl-verify -q --peers node0
	: > node0/peers.health
	hpdsl-ls node0 > /dev/null
	until_true test -s node0/peers.health
	unhurried hpdsl-verify -q --peers node0
	rm node0/peers.health
	until_true test -s node0/peers.health
	unhurried hpdsl-verify -q --peers node0
	hpdsl-serve --status --json node0 > after
	seen after 'p[1]["reads"] > 0 and p[1]["to_origin"] == 0'
	grep -q 'peers.health: was removed, cut or spoilt, and is made anew$' said0
}
