#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-serve: when it begins and ends, whose directory it takes, and what it
# says of itself.
# uses: ports, meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/serve

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 2 30
	hpdsl-pack -q --chunks=4 tree ds
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	# copies of what was staged are as good, and made in no time
	hpdsl-stage -q "$PWD/ds" one
	stage 2 -q --pretend-nodes=2 --mode=partition "$PWD/ds" node%n
}

begin()
{
	[ -x "$BUILD/hpdsl-serve" ] ||
		skip "hpdsl-serve was not built: no libmicrohttpd"
	server=
}

teardown()
{
	# by its number; what a test has ended is gone
	[ -z "${server:-}" ] || kill -9 "$server" 2> /dev/null || true
}

# staged DIR..: as it was on one node, or on those of a job (node0, node1).
staged()
{
	local dir
	for dir in "$@"; do
		if [ -e "$from/$dir" ]; then
			cp -aT "$from/$dir" "$dir"
		else
			cp -aT "$from/one" "$dir"
		fi
	done
}

# serve ARGUMENT..: in the background, and it serves; its messages are in log.
serve()
{
	hpdsl-serve "$@" 2> log 3>&- &
	server=$!
	until_true serves
}

serves()
{
	[ -e log ] && grep -q ': serving, socket ' log && return
	kill -0 "$server" || { cat log; return 1; }
	return 1
}

# ended STATUS: it ends by itself, and so.
ended()
{
	local status=0
	wait "$server" || status=$?
	server=
	[ "$status" = "$1" ] || { echo "status $status"; cat log; return 1; }
}

# get SOCKET NAME [OPTION..]
get()
{
	local socket=$1 name=$2
	shift 2
	need curl
	curl -s -f "$@" --unix-socket "$socket" "http://x/$name"
}

@test "it serves each chunk to curl, says so, and leaves when asked" {
	local c
	staged in
	serve --report=report --memory-cache=1M in
	[ "$(stat -c %a in/serve.sock in/.serve.lock | tr '\n' ' ')" = "600 600 " ]
	for c in "$from"/ds/chunk-*.tar; do
		get in/serve.sock "${c##*/}" | cmp - "$c"
	done
	get in/serve.sock chunk-000000.tar -r 512-1535 |
		cmp - <(tail -c +513 "$from/ds/chunk-000000.tar" | head -c 1024)
	run ! get in/serve.sock ../in/peers.hpdsl --path-as-is
	run ! get in/serve.sock peers.hpdsl
	hpdsl-serve --status in > text
	grep -q "^in: serving since .* UTC, pid $server on " text
	grep -q "socket $PWD/in/serve.sock$" text
	grep -q '^  4 of 4 chunks here, 0 coming$' text
	hpdsl-serve --status --json in > json
	[ "$(field pid < json)" = "$server" ]
	[ "$(field state < json)" = serving ]
	[ "$(field local_requests < json)" -ge 5 ]
	[ "$(field memory_bytes < json)" = 0 ]
	# as a person and as a program may read it
	python3 -c 'import json; json.load(open("json"))'
	hpdsl-serve --stop in 2> said
	grep -q "^hpdsl-serve: in: pid $server has ended$" said
	ended 0
	grep -q 'ended as asked; .* of this one$' log
	[ "$(field end < report)" = "ended as asked" ]
	[ "$(field state < report)" = ended ]
	[ "$(field local_bytes < report)" -ge \
		"$(cat "$from"/ds/chunk-*.tar | wc -c)" ]
	[ ! -e in/serve.sock ]
	hpdsl-verify -q in
}

@test "nothing serves: --status and --stop say so, whatever is there" {
	fails 1 'absent: nothing serves it' hpdsl-serve --status absent
	fails 1 'absent: nothing serves it' hpdsl-serve --stop absent
	fails 2 'status goes with --quiet' hpdsl-serve --status --memory-cache=1M x
	fails 2 'memory-cache' hpdsl-serve --memory-cache=much x
	staged in
	fails 1 'in: nothing serves it' hpdsl-serve --status in
	fails 1 'in: nothing serves it' hpdsl-serve --stop in
	serve in
	kill -9 "$server"
	ended 137
	[ -S in/serve.sock ]
	fails 1 'in: nothing serves it' hpdsl-serve --status --json in
	fails 1 'in: nothing serves it' hpdsl-serve --stop in
	# What the dead one has left is no hindrance.
	rm log
	serve in
	hpdsl-serve --status in > /dev/null
	# nor is it a name of somebody else's
	hpdsl-stage -q "$from/ds" in
	kill "$server"
	ended 143
	grep -q 'ended by SIGTERM; ' log
}

@test "one server a directory; the second one is told who is there" {
	staged in
	serve in
	fails 3 "in: is served already, by pid $server on " hpdsl-serve in
	[ "$(wc -l <<< "$message")" = 1 ]
	# looking does not disturb one that begins, nor ends one that serves
	hpdsl-serve --status in > /dev/null
	kill -TERM "$server"
	ended 143
	# a shell lets what is in the background ignore it
	env --default-signal=INT true 2> /dev/null || return 0
	rm log
	env --default-signal=INT hpdsl-serve in 2> log 3>&- &
	server=$!
	until_true serves
	kill -INT "$server"
	ended 130
	grep -q 'ended by SIGINT; ' log
}

@test "it waits for a directory, and writes nothing into it before" {
	fails 3 "is a packed dataset, and not what hpdsl-stage makes" \
		timeout 600 hpdsl-serve "$BATS_FILE_TMPDIR/ds"
	hpdsl-serve in 2> log 3>&- &
	server=$!
	until_true grep -q 'waiting for a stage directory at in' log
	mkdir -m 700 in
	looks_on "$server"
	[ -z "$(ls -A in)" ]
	staged in
	until_true serves
	[ "$(grep -c waiting log)" = 1 ]
	# gone: it ends, with what is left of it
	rm -r in
	ended 0
	grep -q 'ended, as the directory is gone' log
	[ ! -e in ]
}

@test "hpdsl-stage --clean ends it, and another one may follow" {
	staged in
	serve in
	hpdsl-stage -q --clean in
	ended 0
	[ ! -e in ]
	staged in
	rm log
	serve --deadline=1 in
	ended 0
	grep -q 'ended at its deadline' log
}

@test "it ends with who has started it" {
	staged in
	bash -c 'hpdsl-serve in 2> log & wait' 3>&- &
	parent=$!
	until_true grep -qs ': serving, socket ' log
	kill -9 "$parent"
	until_true grep -q 'ended with the process that started it' log
	until_true test ! -e in/serve.sock
	rm log
	serve in
	fails 3 'in: is served already' hpdsl-serve --detach in
	kill "$server"
	ended 143
}

@test "a directory that is not the caller's alone is refused, and links are" {
	staged in
	chmod 770 in
	fails 3 'in: others may write into it' hpdsl-serve in
	chmod 700 in
	ln -s in link
	fails 3 'link: is a symbolic link' hpdsl-serve link
	fails 3 'link: is a symbolic link' hpdsl-serve link/
	echo mine > other
	ln -s ../other in/.serve.lock
	fails 3 'in/.serve.lock: is a symbolic link' hpdsl-serve in
	rm in/.serve.lock
	ln other in/.serve.lock
	fails 3 'in/.serve.lock: belongs to another user, or has another name' \
		hpdsl-serve in
	rm in/.serve.lock
	mkfifo in/.serve.lock
	fails 3 'in/.serve.lock: is no regular file' hpdsl-serve in
	rm in/.serve.lock
	ln -s ../other in/serve.sock
	fails 3 'in/serve.sock: is there, and no socket' hpdsl-serve in
	[ -L in/serve.sock ] && [ "$(cat other)" = mine ]
	rm in/serve.sock
	fails 3 'none/report: No such file' hpdsl-serve --report=none/report in
}

@test "another user's directory and his socket are refused" {
	need_root
	need setpriv
	mkdir his
	chown 65532 his
	fails 3 'his: belongs to another user (number 65532)' hpdsl-serve his
	fails 3 'his: belongs to another user' hpdsl-serve --status his
	fails 3 'his: belongs to another user' hpdsl-serve --stop his
}

@test "detached it stays; a path too long for a socket: one in /tmp, ours alone" {
	local long socket pid dead
	long=$(printf 'x%.0s' {1..120})
	mkdir "$long"
	staged "$long/in"
	# what was killed and left alone goes with the next start
	[ -d "/tmp/hpdsl-$(id -u)" ] || mkdir -m 700 "/tmp/hpdsl-$(id -u)"
	dead=/tmp/hpdsl-$(id -u)/$$.sock
	python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$dead"
	touch -d "2 minutes ago" "$dead"
	socket=$(bash -c 'exec hpdsl-serve --detach "$1/in" 2> log 3>&-' - "$long")
	pid=$(hpdsl-serve --status --json "$long/in" | field pid)
	server=$pid
	# a session of its own
	[ "$(ps -o sid= -p "$pid" | tr -d ' ')" = "$pid" ]
	[ "$socket" = \
		"$(hpdsl-serve --status --json "$long/in" | field socket)" ]
	[[ $socket = /tmp/hpdsl-$(id -u)/*.sock ]]
	[ ! -e "$dead" ]
	[ ! -e "$long/in/serve.sock" ]
	[ "$(stat -c %a "${socket%/*}")" = 700 ]
	get "$socket" chunk-000002.tar | cmp - "$from/ds/chunk-000002.tar"
	hpdsl-serve -q --stop "$long/in"
	server=
	grep -q 'ended as asked' log
	[ ! -e "$socket" ]
}

@test "a folder in /tmp that is another user's: tools have no socket" {
	local long
	need_root
	long=$(printf 'x%.0s' {1..120})
	mkdir "$long" his
	staged "$long/in"
	chown 65532 his
	[ -d "/tmp/hpdsl-$(id -u)" ] || mkdir -m 700 "/tmp/hpdsl-$(id -u)"
	# it is his in this name space alone
	in_his() {
		timeout 600 unshare --mount bash -c "
			mount --bind his /tmp/hpdsl-$(id -u) || exit
			exec hpdsl-serve $* $long/in"
	}
	run -0 in_his --deadline=1
	[[ $output == *"others have rights to it; tools of this node are not"* ]]
	[[ $output == *"serving, socket none"* ]]
	run -3 in_his --no-tcp
	[[ $output == *"is another user's"* ]]
	# it would have nothing to print
	run -3 in_his --detach
	[[ $output == *"others have rights to it"* ]]
}

@test "an index that is another file: it is opened anew" {
	staged in
	serve in
	before=$(stat -c '%i %z' in/serve.sock)
	cp in/index.hpdsl in/.index.part
	mv in/.index.part in/index.hpdsl
	until_true is_another
	until_true get in/serve.sock chunk-000000.tar -o /dev/null
	get in/serve.sock chunk-000003.tar | cmp - "$from/ds/chunk-000003.tar"
	kill "$server"
	ended 143
}

# is_another: the socket, which was $before.
is_another()
{
	local now
	now=$(stat -c '%i %z' in/serve.sock) && [ "$now" != "$before" ]
}

@test "one that is detached ends for want of requests, as --idle says" {
	staged in
	hpdsl-serve --detach --idle=1 in > socket 2> said 3>&-
	until_true grep -q ': ended for want of requests; 0 requests' said
	fails 1 'in: nothing serves it' hpdsl-serve --status in
}

@test "nodes of a job: ports that follow each other, none with --no-tcp" {
	local first second
	staged node0 node1
	serve node0
	grep -q '^hpdsl-serve: node 0 ([^ ]*): node0: serving, ' log
	first=$(hpdsl-serve --status --json node0 | field port)
	socket=$(hpdsl-serve --detach node1 2> log1 3>&-)
	[ "$socket" = "$PWD/node1/serve.sock" ]
	second=$(hpdsl-serve --status --json node1 | field port)
	[ "$first" -ge 20000 ] && [ "$second" -gt "$first" ] &&
		[ "$second" -le $((first + 15)) ]
	hpdsl-serve --status node1 | grep -q "node 1 of 2, book .*, port $second,"
	# a chunk that only the other one has
	get "$socket" chunk-000000.tar | cmp - "$from/ds/chunk-000000.tar"
	kill "$(hpdsl-serve --status --json node1 | field pid)" "$server"
	ended 143
	until_true test ! -e node1/serve.sock
	rm log
	serve --no-tcp node0
	[ "$(hpdsl-serve --status --json node0 | field port)" = null ]
	kill "$server"
	ended 143
}

@test "it cannot be traced, dumps no core, and shows no secret" {
	local secret
	staged node0
	serve node0
	grep -q '^Max core file size *0 *0 ' "/proc/$server/limits"
	# root has both; in a name space without root it is nobody's
	[ "$(id -u)" = 0 ] ||
		[ "$(stat -c %u "/proc/$server/mem")" != "$(id -u)" ]
	secret=$(PYTHONPATH=$SRC/tests/kit python3 -c '
import re
d = open("node0/peers.hpdsl", "rb").read()
print(d.hex())')
	hpdsl-serve --status --json node0 > json
	# no eight bytes in a row of what is behind pack and book
	python3 - "$secret" <<- 'END'
		import re, sys
		book = sys.argv[1]
		said = open("json").read() + open("log").read()
		for word in re.findall("[0-9a-f]{33,}", said):
		    assert word not in book, word
	END
	kill "$server"
	ended 143
}
