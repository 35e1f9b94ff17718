#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stage: the book of the nodes that it leaves in each LOCALDIR.
# uses: ports

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 12 4000
	hpdsl-pack -q --chunks=6 tree ds
	hpdsl-pack -q --chunks=6 --seed=7 tree other
}

# has DIR EXPRESSION..: each is true of its book b.
has()
{
	python3 "$SRC/tests/kit/read_book.py" "$1" > .book
	python3 - "${@:2}" <<- 'END'
		import json, sys
		b = json.load(open(".book"))
		for e in sys.argv[1:]:
		    if not eval(e):
		        sys.exit(f"{e}: not so in {b}")
	END
}

# secret DIR..: of each, and the book's id.
secret()
{
	python3 "$SRC/tests/kit/read_book.py" "$@" |
		python3 -c 'import json, sys
for line in sys.stdin:
	b = json.loads(line)
	print(b["secret"], b["book"])'
}

@test "one on each node, the same secret in all, its owner's alone" {
	local n pack
	umask 0
	stage 4 -q --pretend-nodes=4 --mode=copies=2 --rate=4000M \
		"$from/ds" node%n
	pack=$(hpdsl-stage --status --json node0 | python3 -c 'import json, sys
print(json.load(sys.stdin)["pack"])')
	for n in 0 1 2 3; do
		has node$n "b['node'] == $n" "b['parts'] == 2" \
			"b['pack'] == '$pack'" "b['rate'] == 1048576000" \
			"b['port'] == b['drawn_port']" "b['job']" \
			"[x['host'] for x in b['nodes']] == ['$(hostname)'] * 4"
		check_stage sound "$from/ds" node$n
	done
	secret node0 node1 node2 node3 > all
	[ "$(sort -u all | wc -l)" = 1 ]
	run -1 grep -q '0000000000000000' all
	stage 1 -q "$from/ds" alone
	has alone "len(b['nodes']) == 1" "b['parts'] == 1" "b['rate'] == 0"
	[ "$(secret alone)" != "$(secret node0)" ]
}

# later_than FILE: in another second.
later_than()
{
	[ "$(date +%s)" -gt "$(stat -c %Y "$1")" ]
}

# bats test_tags=wide
@test "kept by the same nodes, drawn anew for others" {
	local was
	stage 3 -q --pretend-nodes=3 "$from/ds" node%n
	was=$(secret node0)
	cp node0/peers.hpdsl book
	until_true later_than book
	stage 3 -q --pretend-nodes=3 "$from/ds" node%n
	cmp book node0/peers.hpdsl
	# also where it is lost, or something else has its name
	rm node1/peers.hpdsl
	ln -sf "$PWD/precious" node2/peers.hpdsl
	stage 3 -q --pretend-nodes=3 --mode=partition "$from/ds" node%n
	[ "$(secret node0 node1 node2)" = "$(printf '%s\n' "$was" "$was" "$was")" ]
	[ ! -e precious ]
	has node2 "b['parts'] == 3"
	stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	[ "$(secret node0)" = "$(secret node1)" ]
	[ "$(secret node0)" != "$was" ]
	at_level more || return 0
	# what others could read is no secret any more
	was=$(secret node0)
	chmod 644 node0/peers.hpdsl
	stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	[ "$(secret node0)" = "$(secret node1)" ]
	[ "$(secret node0)" != "$was" ]
	# of another dataset
	was=$(secret node0)
	hpdsl-stage -q --clean node0
	stage 1 -q "$from/other" node0
	[ "$(secret node0)" != "$was" ]
}

@test "--clean takes it away, with what a server has left; verify is silent" {
	stage 1 -q "$from/ds" node0
	: > node0/peers.health
	: > node0/.serve.lock
	python3 -c 'import socket
socket.socket(socket.AF_UNIX).bind("node0/serve.sock")'
	hpdsl-verify node0 > said 2>&1
	run -1 grep -i 'warning\|not a file' said
	stage 1 -q "$from/ds" node0 2> said
	[ ! -s said ]
	hpdsl-stage --clean node0 2> said
	[ ! -e node0 ]
	grep ': 13 files removed, ' said
}

@test "ports and interfaces as they are asked for, and told" {
	[ -e /sys/class/net/lo ] || skip "no loopback interface"
	stage 2 --pretend-nodes=2 --peer-port=23000 --interface=127.0.0.0/8 \
		--report=report "$from/ds" node%n 2> said
	grep -x 'hpdsl-stage: peers: lo, 127.0.0.1, ports 23000 to 23015' said
	has node1 "b['port'] == 23000" \
		"[x['addresses'] for x in b['nodes']] == [[['127.0.0.1', 0]]] * 2"
	python3 -c 'import json
r = json.load(open("report"))
assert r["peer_port"] == 23000, r
for n in r["nodes"]:
	way = n["interface"], n["address"], n["address_mbits"]
	assert way == ("lo", "127.0.0.1", 0), way'
	# another port or interface is no other node
	stage 2 -q --pretend-nodes=2 --interface=lo "$from/ds" again%n
	has again0 "['127.0.0.1', 0] in b['nodes'][1]['addresses']" \
		"b['port'] == b['drawn_port']"
	# without being asked, there is no word of it
	stage 1 "$from/ds" alone 2> said
	run -1 grep -i 'peer\|interface\|port' said
	has alone "'127.0.0.1' not in [a for a, _ in b['nodes'][0]['addresses']]"
}

# bats test_tags=wide
@test "what is no interface is a warning, and options that make no sense are not taken" {
	local bad
	stage 3 -q --pretend-nodes=3 --interface=nosuch "$from/ds" node%n 2> said
	[ "$(wc -l < said)" = 1 ]
	grep "warning: node 0 ($(hostname)): no address .* 'nosuch'" said
	has node1 "[x['addresses'] for x in b['nodes']] == [[]] * 3"
	check_stage placed "$from/ds" replicate "- - -" node0 node1 node2
	for bad in '' 10.0.0.0/33 far-too-long-a-name \
		$(rounds "" "/ 10.0.0/8 fd00::/129 ib0/8" \
		"/ 10.0.0/8 fd00::/129 ib0/8"); do
		fails 2 "'$bad' is neither the beginning" \
			hpdsl-stage --interface="$bad" "$from/ds" node0
	done
	for bad in 65521 $(rounds "" "0 -1 x" "0 -1 x"); do
		fails 2 --peer-port \
			hpdsl-stage --peer-port="$bad" "$from/ds" node0
	done
	fails 2 "--peer-port 7, and rank 0 has --peer-port 6" \
		launch -n 1 hpdsl-stage --peer-port=6 "$from/ds" x%r : \
		-n 1 hpdsl-stage --peer-port=7 "$from/ds" x%r
}

@test "a book that cannot be written is a warning, and none is left" {
	stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	rm node1/peers.hpdsl
	mkdir node1/peers.hpdsl
	stage 2 -q --pretend-nodes=2 "$from/ds" node%n 2> said
	[ "$(wc -l < said)" = 1 ]
	grep "warning: node 1 ($(hostname)): node1/peers.hpdsl: " said
	rmdir node1/peers.hpdsl
	check_stage placed "$from/ds" replicate "- -" node0 node1
	has node0 "len(b['nodes']) == 2"
	[ ! -e node1/peers.hpdsl ]
}

@test "the job's name, and switches" {
	env PBS_JOBID=4711.head SLURM_TOPOLOGY_ADDR=s0.leaf3.here \
		hpdsl-stage -q "$from/ds" node0
	has node0 "b['job'] == 'PBS job 4711.head'" "b['nodes'][0]['rack'] > 0"
	env -u PBS_JOBID -u SLURM_TOPOLOGY_ADDR -u SLURM_JOB_ID LOGNAME=me \
		hpdsl-stage -q "$from/ds" node1
	has node1 "b['job'].startswith('me@$(hostname), 20')" \
		"b['nodes'][0]['rack'] == 0"
}

@test "no program tells the secret" {
	local secret
	{
		stage 2 --pretend-nodes=2 --report=report --json "$from/ds" node%n
		hpdsl-stage --status --json node0
		hpdsl-info --json node0
		hpdsl-verify node0
	} > said 2>&1
	secret=$(secret node0)
	secret=${secret%% *}
	[ ${#secret} = 64 ]
	run -1 grep "${secret:0:16}" said report
}
