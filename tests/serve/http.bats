#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-serve as others see it: another node, made from hpdsl-format(5) alone,
# and tools that know HTTP.
# uses: ports, meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/serve

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	standard noise
	export tree=$set/tree
	cp -r "$set/ds" .
	# texts, which are worth to be compressed
	mkdir text
	awk 'BEGIN {
		for (i = 1; i <= 200; i++) {
			for (n = i; n <= i + 900; n++)
				print n > "text/" i ".txt"
			close("text/" i ".txt")
		}
	}'
	hpdsl-pack -q --chunks=6 --zstd=3 text zst
}

# served DS [OPTION]: its chunks on two pretended nodes of this machine, a
# server each.
served()
{
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	ds=$BATS_FILE_TMPDIR/$1
	staged=$BATS_FILE_TMPDIR/$1${2:-}.
	[ -e "${staged}1" ] || stage 2 -q --pretend-nodes=2 --mode=partition \
		--interface=lo "${@:2}" "$ds" "$staged%n" 2> said ||
		{ cat said; return 1; }
	servers=()
	for n in 0 1; do
		cp -aT "$staged$n" "node$n"
		unhurried exec hpdsl-serve -q "node$n" 3>&- &
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
	! mountpoint -q cg || { rmdir cg/hptest.*; umount cg; } || :
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
	[ "$(< x)" = "no chunk of this name" ]
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
	timeout 600 python3 "$SRC/tests/serve/node.py" node0/peers.hpdsl drip
}

@test "two hundred that read nothing hold up nobody, nor fill the memory" {
	local chunk before
	mkdir parts
	head -c 20000000 /dev/urandom | split -b 5000000 - parts/
	hpdsl-pack -q --chunks=4 parts "$BATS_FILE_TMPDIR/large"
	served large
	chunk=$(find node0 -name 'chunk-*.tar' | head -n 1)
	before=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' \
		"/proc/${servers[0]}/status")
	timeout 600 python3 "$SRC/tests/serve/node.py" node0/peers.hpdsl slow \
		"$((10#${chunk//[^0-9]/}))" \
		$((4 << 20)) "${servers[0]}" \
		> body 2> after || { cat after; return 1; }
	head -c $((4 << 20)) "$chunk" | cmp body -
	[ $(($(cat after) - before)) -lt 200000 ]
	kill -0 "${servers[0]}"
}

# limited BYTES PID: so much memory more than it has now, with what it sends.
limited()
{
	local group=cg/hptest.$BASHPID now most
	mkdir cg
	mount -t cgroup -o memory none cg 2> /dev/null ||
		mount -t cgroup2 none cg 2> /dev/null || skip "no control groups"
	mkdir "$group" || skip "no control groups of ours"
	echo "$2" > "$group/cgroup.procs" || skip "no control groups of ours"
	now=$group/memory.usage_in_bytes most=$group/memory.limit_in_bytes
	[ -e "$most" ] || now=$group/memory.current most=$group/memory.max
	[ -e "$most" ] || skip "no control groups for memory"
	echo $(($(cat "$now") + $1)) > "$most"
}

@test "F11: over the limit of its memory it is killed, and what it had is not lost" {
	need_root
	local status=0 pid
	served ds
	pid=${servers[0]}
	# who has been heard of is not waited for
	hpdsl-unpack -q node1 first
	limited 500000 "$pid"
	timeout 600 python3 "$SRC/tests/serve/node.py" node0/peers.hpdsl slow 0 \
		1000 "$pid" > body 2> said || :
	# one that was not would be ended by this
	kill "$pid" 2> /dev/null || :
	wait "$pid" || status=$?
	[ "$status" = 137 ]
	rmdir cg/hptest.*
	# all of it, at a node that has the other half
	hpdsl-unpack -q node1 back
	diff -r "$tree" back
}

@test "a tool reads all chunks of a partitioned stage, as WebDataset does" {
	local c u
	served ds
	rm -f node0/.stage.lock
	for c in "$ds"/chunk-*; do
		u=http://x/${c##*/}
		get --connect-timeout 600 --retry 30 --retry-delay 2 -f -s -L \
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

# counts NAME NUMBER: of the server of node 0.
counts()
{
	hpdsl-serve --status --json node0 | grep -q "\"$1\": $2\b"
}

@test "what is fetched for all comes from who holds it, else from the origin" {
	served ds
	mv "$ds" "$ds.away"
	node adopt 1 plain 1000 9999 |
		cmp - <(tail -c +1001 "$ds.away/chunk-000001.tar" | head -c 9000)
	mv "$ds.away" "$ds"
	until_true counts adopted 1
	counts adopted_peer_bytes "$(stat -c %s "$ds/chunk-000001.tar")"
	counts adopted_bytes 0
	kill -9 "${servers[1]}"
	wait "${servers[1]}" || :
	unset 'servers[1]'
	node adopt 3 plain 0 99 | cmp - <(head -c 100 "$ds/chunk-000003.tar")
	until_true counts adopted 2
	counts adopted_bytes "$(stat -c %s "$ds/chunk-000003.tar")"
}

@test "what the page cache has not got is read for who asks" {
	local c=node0/chunk-000000.tar size
	served ds
	size=$(stat -c %s "$c")
	sync "$c"
	dd if="$c" iflag=nocache count=0 status=none
	node get 0 plain 5 $((size - 1)) | cmp - <(tail -c +6 "$c")
	case $(stat -f -c %T "$c") in
	tmpfs | ramfs) counts cold 0 ;;
	*) counts cold 1 ;;
	esac
	# cut short when it was open, so is its answer; and the server lives on
	truncate -s 1000 "$c"
	run -1 node get 0 plain 500 $((size - 1))
	node get 2 plain 0 9 | cmp - <(head -c 10 "$ds/chunk-000002.tar")
	counts owed_bytes 0
}

@test "a chunk that goes away is not there, and the server lives on" {
	served ds
	rm node0/chunk-000004.tar
	run -1 node get 4 plain 0 9
	node get 0 plain 0 9 | cmp - <(head -c 10 "$ds/chunk-000000.tar")
	get -f http://x/chunk-000004.tar | cmp - "$ds/chunk-000004.tar"
}
