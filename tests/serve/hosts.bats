#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-serve --hosts: a job's nodes without the book that staging makes.
# uses: ports, meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/serve

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	[ -x "$BUILD/hpdsl-serve" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	standard noise
	export tree=$set/tree
	cp -r "$set/ds" .
	stage 2 -q --pretend-nodes=2 --mode=partition "$PWD/ds" node%n
	rm node?/peers.hpdsl
	mv ds away
	(umask 077 && seq 64 | sha256sum | cut -d' ' -f1 > secret)
	printf '# both\r\nalpha 127.0.0.1\nbeta 127.0.0.2 # twice\nalpha\n' > hosts
}

setup()
{
	[ -x "$BUILD/hpdsl-stage" ] || skip "hpdsl-stage was not built"
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	cd "$BATS_FILE_TMPDIR" || return 1
	servers=()
}

teardown()
{
	[ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2> /dev/null || :
	wait
}

# begin NODE [OPTION..]
begin()
{
	hpdsl-serve -q --hosts=hosts --secret=secret --node="$1" "${@:2}" \
		"node$1" 3>&- &
	servers+=($!)
	until_true has_port "node$1"
}

@test "nodes that were listed serve each other, without MPI" {
	ldconfig -p | grep -q 'libcurl\.so\.4' || skip "no libcurl"
	begin 0 --interface=127.0.0.0/8
	begin 1 --interface=127.0.0.0/8
	unhurried hpdsl-verify -q --peers node0
	unhurried hpdsl-unpack -q node0 "$BATS_TEST_TMPDIR/all"
	diff -r "$tree" "$BATS_TEST_TMPDIR/all"
	# each at the same port, of its own address
	for n in 0 1; do
		hpdsl-serve --status --json "node$n" > "$BATS_TEST_TMPDIR/$n"
	done
	python3 - "$BATS_TEST_TMPDIR" <<- 'END'
		import json, sys
		a, b = (json.load(open(f"{sys.argv[1]}/{n}")) for n in (0, 1))
		assert a["book"] == b["book"] and a["port"] == b["port"]
		assert (a["node"], b["node"], a["nodes"]) == (0, 1, 2)
		assert b["requests"] > 0 and b["bytes"] > 0
	END
	[ "$(stat -c %a node0/peers.hpdsl)" = 600 ]
}

# What --probe says of a node: others[N][FIELD] of json.
is()
{
	python3 -c 'import json, sys
print({o["node"]: o for o in json.load(open("json"))["others"]}[
    int(sys.argv[1])][sys.argv[2]])' "$1" "$2"
}

@test "each other node is asked whether it answers, and why not" {
	ldconfig -p | grep -q 'libcurl\.so\.4' || skip "no libcurl"
	local port base last net=127.$((1 + $$ / 256 % 254)).$(($$ % 256))
	cd "$BATS_TEST_TMPDIR"
	base=$(free_ports 16)
	last=$((base + 15))
	hpdsl-stage -q --interface=lo "$BATS_FILE_TMPDIR/away" node0
	for n in 0 1 2 3; do
		[ "$n" = 0 ] || cp -Rp node0 "node$n"
		echo "h$n $net.$((n + 1))"
	done > hosts
	# the first one comes from here
	sed -i '1s/$/ 127.0.0.1/' hosts
	cp -p "$BATS_FILE_TMPDIR/secret" secret
	(umask 077 && rev secret > wrong)
	begin 0 --interface=127.0.0.0/8 --peer-port="$base"
	begin 1 --interface=127.0.0.0/8 --peer-port="$base"
	port=$(hpdsl-serve --status --json node1 | field port)
	hpdsl-serve -q --hosts=hosts --secret=wrong --node=2 --peer-port="$base" \
		--interface=127.0.0.0/8 node2 3>&- &
	servers+=($!)
	until_true has_port node2
	run -1 unhurried hpdsl-serve --probe node0
	[[ ${lines[0]} = "node 1 (h1), $net.2 port $port: answers, "*" ms, 6 chunks, "*" at "*/s ]]
	[ "${lines[1]}" = "node 2 (h2), $net.3 ports $base to $last: a server with another book, or of another job" ]
	[ "${lines[2]}" = "node 3 (h3), $net.4 ports $base to $last: refused: there is no server, or a firewall" ]
	[[ ${lines[3]} = "1 of 3 other nodes answer; the slowest, node 1, at "* ]]
	[ "${lines[4]}" = "between all nodes TCP ports $base to $last are to be open" ]
	run -1 unhurried hpdsl-serve -q --probe node0
	[ "${#lines[@]}" = 4 ]
	# the same for programs
	unhurried hpdsl-serve --probe --json node0 > json || [ $? = 1 ]
	[ "$(is 1 is) $(is 2 is) $(is 3 is)" = "well denied refused" ]
	[ "$(is 1 port) $(is 1 chunks) $(is 3 rate)" = "$port 6 None" ]
	# whoever has its server, and who asks without one
	kill "${servers[2]}" && wait "${servers[2]}" || :
	begin 2 --interface=127.0.0.0/8 --peer-port="$base"
	begin 3 --interface=127.0.0.0/8 --peer-port="$base"
	kill "${servers[0]}" && wait "${servers[0]}" || :
	unhurried hpdsl-serve -q --probe node0 > all
	[ "$(wc -l < all)" = 1 ]
	grep -q '^3 of 3 other nodes answer; ' all
	run -1 unhurried hpdsl-serve -q --probe node1
	[[ ${lines[0]} = "node 0 (h0), 127.0.0.1 ports "*": refused: "* ]]
	rm node3/peers.hpdsl
	run -1 hpdsl-serve --probe node3
	[ "$output" = "hpdsl-serve: node3: there is no book of the job's nodes" ]
}

@test "another book in that place is put right" {
	hpdsl-serve -q --no-tcp --hosts=hosts --secret=secret --node=0 \
		node0 3>&- &
	servers+=($!)
	until_true hpdsl-serve --status node0
	stage 1 -q --interface=lo "$PWD/away" "$BATS_TEST_TMPDIR/alone"
	cp -p "$BATS_TEST_TMPDIR/alone/peers.hpdsl" node0/peers.tmp
	mv node0/peers.tmp node0/peers.hpdsl
	until_true book_is_back
}

book_is_back()
{
	grep -q beta node0/peers.hpdsl
}

# refused STATUS TEXT ARG..: with a line that has TEXT.
refused()
{
	run -"$1" timeout 600 hpdsl-serve "${@:3}" node0
	[[ $output == *"$2"* ]] || { echo "$output"; return 1; }
}

@test "what is wrong with a list, a secret or a place in it is said" {
	local t=$BATS_TEST_TMPDIR
	refused 2 "go together" --hosts=hosts
	refused 2 "go with --hosts" --node=1
	refused 3 "No such file" --hosts=hosts --secret=nothing
	cp secret "$t/open"
	chmod 640 "$t/open"
	refused 3 "is to be 0600" --hosts=hosts --secret="$t/open"
	(umask 077 && echo short > "$t/short" && mkfifo "$t/fifo")
	refused 3 "64 hexadecimal" --hosts=hosts --secret="$t/short"
	refused 3 "no regular file" --hosts=hosts --secret="$t/fifo"
	printf 'alpha\n-x\n' > "$t/list"
	refused 2 "line 2: no host's name" --hosts="$t/list" --secret=secret
	printf 'alpha beta\n' > "$t/list"
	refused 2 "addresses, in digits" --hosts="$t/list" --secret=secret
	refused 2 "see --node" --hosts=hosts --secret=secret
	refused 2 "names 2 hosts" --hosts=hosts --secret=secret --node=2
	refused 3 "no address in" --hosts=hosts --secret=secret --node=0 \
		--interface=10.0.0.0/8
	printf 'alpha 127.0.0.1\n' > "$t/list"
	refused 2 "staged in parts, as node 0 of 2" --hosts="$t/list" \
		--secret=secret --node=0
	refused 2 "is node 1 of 2" --hosts=hosts --secret=secret --node=1
}
