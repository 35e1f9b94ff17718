#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-serve as others see it: another node, made from hpdsl-format(5) alone,
# and tools that know HTTP.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	make_random tree 60 20000
	hpdsl-pack -q --chunks=6 tree ds
	# texts, which are worth to be compressed
	mkdir text
	for i in $(seq 200); do
		seq "$i" "$((i + 900))" > "text/$i.txt"
	done
	hpdsl-pack -q --chunks=6 --zstd=3 text zst
}

# served DS [OPTION..]: its chunks on two pretended nodes of this machine, a
# server each.
served()
{
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	ds=$BATS_FILE_TMPDIR/$1
	stage 2 -q --pretend-nodes=2 --mode=partition --interface=lo \
		"${@:2}" "$ds" node%n 2> said || { cat said; return 1; }
	servers=()
	for n in 0 1; do
		hpdsl-serve -q "node$n" 3>&- &
		servers+=($!)
		until_true serves "node$n"
	done
	PORT=$(hpdsl-serve --status --json node0 | python3 -c 'import json, sys
print(json.load(sys.stdin)["port"])')
	export PORT
}

# serves DIR: also other nodes.
serves()
{
	hpdsl-serve --status --json "$1" | grep -q '"port": [1-9]'
}

teardown()
{
	[ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2> /dev/null || :
	wait
}

node()
{
	python3 "$SRC/tests/serve/node.py" node0/peers.hpdsl "$@"
}

# socket ARG..: what a tool of node 0 does.
get()
{
	curl -sS --unix-socket node0/serve.sock "$@"
}

@test "another node gets what is here, and nothing without proof" {
	served ds
	[ "$(node have)" = 30303000 ]
	node get 2 plain 0 0 | cmp - <(head -c 1 "$ds/chunk-000002.tar")
	node get 2 plain 1000 9999 |
		cmp - <(tail -c +1001 "$ds/chunk-000002.tar" | head -c 9000)
	run -1 node get 1 plain 0 9
	node faults 0
	hpdsl-serve --status --json node0 > status
	grep '"unproven": [1-9]' status
	grep '"owed_bytes": 0' status
}

@test "compressed chunks, as they are stored and expanded" {
	local c
	served zst --keep-compressed
	[ "$(node have)" = 20202000 ]
	node get 0 stored 10 99 |
		cmp - <(tail -c +11 "$ds/chunk-000000.tar.zst" | head -c 90)
	run -1 node get 0 plain 10 99
	for c in "$ds"/chunk-*; do
		get -f "http://x/${c##*/}" | cmp - "$c"
	done
	[ "$(get -o x -w '%{http_code}' http://x/chunk-000000.tar)" = 404 ]
	teardown
	rm -r node?
	served zst
	[ "$(node have)" = 30303000 ]
	zstd -q -d -c "$ds/chunk-000000.tar.zst" > plain
	node get 0 plain 10 99 | cmp - <(tail -c +11 plain | head -c 90)
	run -1 node get 0 stored 10 99
	get -f http://x/chunk-000000.tar | cmp - plain
	# the other node has it in the other form, and so it is the origin's
	get -f http://x/chunk-000001.tar.zst | cmp - "$ds/chunk-000001.tar.zst"
}

@test "connections that drip are closed, and others served meanwhile" {
	served ds
	timeout 100 python3 "$SRC/tests/serve/node.py" node0/peers.hpdsl drip
}

@test "a tool reads all chunks of a partitioned stage, as WebDataset does" {
	local c u
	served ds
	rm -f node0/.stage.lock
	for c in "$ds"/chunk-*; do
		u=http://x/${c##*/}
		get --connect-timeout 30 --retry 30 --retry-delay 2 -f -s -L \
			"$u" | cmp - "$c"
		get -r 512-1535 "$u" | cmp - <(tail -c +513 "$c" | head -c 1024)
		get -r -100 "$u" | cmp - <(tail -c 100 "$c")
		get -I "$u" | grep -i "^content-length: $(stat -c %s "$c")"
	done
	# half of it from the other node, and nothing from the origin
	mv "$ds" "$ds.away"
	c=$(get -f http://x/chunk-000001.tar | md5sum)
	mv "$ds.away" "$ds"
	[ "$c" = "$(md5sum < "$ds/chunk-000001.tar")" ]
	# tars by name, and nothing else of the directory
	for u in / /index.hpdsl /peers.hpdsl /stage.hpdsl /chunk-000006.tar \
		/%2e%2e/ds/chunk-000000.tar /./chunk-000000.tar /v1/have \
		//chunk-000000.tar /chunk-000000.tar/ /chunk-000000.tar%00 \
		/%2e%2e%2fnode1%2fchunk-000001.tar; do
		[ "$(get --path-as-is -o x -w '%{http_code}' "http://x$u")" = 404 ]
	done
	[ "$(get -X DELETE -o x -w '%{http_code}' http://x/chunk-000000.tar)" = 405 ]
	[ "$(get -r 99999999- -o x -w '%{http_code}' \
		http://x/chunk-000000.tar)" = 416 ]
	# a proxy of the site's is not asked
	http_proxy=http://127.0.0.1:9 get -f http://x/chunk-000000.tar |
		cmp - "$ds/chunk-000000.tar"
}

@test "a chunk that goes away is not there, and the server lives on" {
	served ds
	rm node0/chunk-000004.tar
	run -1 node get 4 plain 0 9
	node get 0 plain 0 9 | cmp - <(head -c 10 "$ds/chunk-000000.tar")
	get -f http://x/chunk-000004.tar | cmp - "$ds/chunk-000004.tar"
}
