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

unable()
{
	[ -x "$BUILD/hpdsl-stage" ] || echo "hpdsl-stage was not built"
	[ -x "$BUILD/hpdsl-serve" ] || echo "hpdsl-serve was not built"
	[ -x "$BUILD/tests/bed/origin" ] || echo "no fuse3"
	[ -c /dev/fuse ] || echo "no /dev/fuse"
	[ "$(id -u)" = 0 ] || echo "not root"
	[[ $("$MPIRUN" --version 2>&1) == *"Open MPI"* ]] || echo "not Open MPI"
	unshare --net --uts --mount --pid --fork true 2> /dev/null ||
		echo "no namespaces"
	command -v ip > /dev/null || echo "no ip"
	ldconfig -p | grep -q 'libcurl\.so\.4' || echo "no libcurl"
}

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 400 300000
	hpdsl-pack -q --chunks=40 tree ds
}

setup()
{
	local why
	cd "$BATS_TEST_TMPDIR" || return 1
	why=$(unable | head -n 1)
	[ -z "$why" ] || skip "$why"
	nodes=$SRC/tests/bed/nodes
	ds=$BATS_FILE_TMPDIR/ds
	"$nodes" up bed 4 --origin="$ds" --watch=$$ "$@" 3>&- ||
		skip "no hosts can be made here"
	timeout -k 5 240 "$nodes" run bed \
		mpirun -q --mca oob_tcp_keepalive_time 0 --map-by ppr:1:node \
		hpdsl-stage -q --mode=partition "$PWD/bed/origin" \
		"$PWD/bed/ssd/in" < /dev/null
	for n in 1 2 3 4; do
		serve "$n"
	done
}

teardown()
{
	[ ! -e bed/init ] || "$SRC/tests/bed/nodes" down bed
}

# on HOST COMMAND..
on()
{
	"$nodes" on bed "$@"
}

# serve HOST: until it answers.
serve()
{
	# a parent would be stopped with it, and not go on
	on "$1" hpdsl-serve -q --detach "$PWD/bed/ssd/in" 3>&- 2>> "served$1"
	until_true on "$1" hpdsl-serve --status --json "$PWD/bed/ssd/in" \
		> "status$1"
}

# server HOST SIGNAL: to its server.
server()
{
	on "$1" kill -s "$2" "$(python3 -c 'import json, sys
print(json.loads(sys.stdin.read().splitlines()[-1])["pid"])' < "status$1")"
}

# from_origin: bytes of chunks that it was asked for.
from_origin()
{
	"$nodes" stats bed |
		awk '$1 == "file" && $5 ~ /chunk-/ { n += $2 } END { print n + 0 }'
}

# settled: nobody asks it for more.
settled()
{
	local before
	before=$(from_origin)
	sleep 0.5
	[ "$(from_origin)" = "$before" ]
}

# epoch NAME [ARG..]: by a rank of each host, held against the dataset.
epoch()
{
	local n pids=
	for n in 1 2 3 4; do
		# shellcheck disable=SC2016
		on "$n" "$BASH" -c '. "$SRC/tests/kit/lib.bash"
			. "$SRC/tests/kit/python.bash"
			py "$SRC/tests/kit/stage_loader.py" "$@"' bash \
			"$PWD/bed/ssd/in" "$ds" parts=1 batch=16 ranks=4 memory=16 \
			rank=$((n - 1)) "${@:2}" > "$1.$n" 2> "$1.$n.err" 3>&- &
		pids+=" $!"
	done
	for n in $pids; do
		wait "$n" || { cat "$1".*.err; return 1; }
	done
}

# holds NAME CONDITION: over the four ranks r, and their sum.
holds()
{
	python3 - "$@" << 'end' || { cat "$1".[1-4]; return 1; }
import glob, json, sys
r = [json.load(open(n)) for n in sorted(glob.glob(sys.argv[1] + ".[1-4]"))]
assert len(r) == 4
def total(name):
	return sum(x[name] for x in r)
assert eval(sys.argv[2]), sys.argv[2]
end
}

@test "epochs over four hosts ask the origin for nothing; then one is killed" {
	local staged lost
	staged=$(from_origin)
	[ "$staged" = "$(cat "$ds"/chunk-* | wc -c)" ]
	epoch one
	holds one "total('origin_bytes') == 0 and total('bad' and 'peer_failed') == 0"
	holds one "all(x['peer_bytes'] > 2 * x['local_bytes'] for x in r)"
	[ "$(from_origin)" = "$staged" ]

	# in the middle of an epoch; every byte of a quarter once, and a little
	epoch two pause="$PWD/bed/tmp/paused" &
	until_true on 1 test -e "$PWD/bed/tmp/paused"
	server 3 KILL
	on_all rm -f "$PWD/bed/tmp/paused"
	wait $!
	cat two.[1-4]
	holds two "total('adopted') > 0 and all(not x['bad'] for x in r)"
	holds two "any('bed-n003' in w for x in r for w in x['warnings'])"
	# by the next one all that it had was needed again, once for all
	epoch three
	until_true settled
	lost=$(from_origin)
	echo "of $staged bytes $((lost - staged)) were asked for again"
	[ "$lost" -gt "$staged" ]
	[ $((lost - staged)) -le $((staged * 105 / 400)) ]
	epoch four
	[ "$(from_origin)" = "$lost" ]

	# it comes back, on the same host
	serve 3
	until_true back
	[ "$(from_origin)" = "$lost" ]
}

back()
{
	epoch back && holds back "total('origin_bytes') == 0"
}

on_all()
{
	local n
	for n in 1 2 3 4; do
		until_true on "$n" "${@:1:1}" "${@:2}"
	done
}

@test "a server that is stopped, and a link that is cut, cost a second once" {
	epoch five pause="$PWD/bed/tmp/paused" &
	until_true on 1 test -e "$PWD/bed/tmp/paused"
	server 2 STOP
	on_all rm -f "$PWD/bed/tmp/paused"
	wait $!
	cat five.[1-4]
	holds five "all(not x['bad'] for x in r) and total('adopted') > 0"
	server 2 CONT
	"$nodes" link bed 4 down
	epoch six
	cat six.[1-4]
	# the one that is cut off has the origin all the same
	holds six "all(not x['bad'] for x in r)"
	"$nodes" link bed 4 up
	until_true back
}

@test "servers end in order, and leave nothing" {
	local n
	for n in 1 2 3 4; do
		on "$n" hpdsl-serve --stop "$PWD/bed/ssd/in"
		on "$n" test ! -e "$PWD/bed/ssd/in/serve.sock"
	done
	epoch seven
	holds seven "total('peer_bytes') == 0 and all(not x['bad'] for x in r)"
	run -1 "$nodes" run bed pgrep -x hpdsl-serve
}
