#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stage on hosts of their own (network namespaces under a real mpirun),
# from a file system that counts what it is asked and does not always answer.
# need_disk: nodes have disks.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/job

setup_file()
{
	[ -z "$(hosts_unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 48 60000
	hpdsl-pack -q --chunks=18 tree ds
}

begin()
{
	local why
	why=$(hosts_unable | head -n 1)
	[ -z "$why" ] || skip "$why"
	nodes=$SRC/tests/bed/nodes
	ds=$from/ds
}

teardown()
{
	[ ! -e bed/init ] || "$SRC/tests/bed/nodes" down bed
	! mountpoint -q slow || fusermount3 -u -z slow
}

up()
{
	"$nodes" up bed "$1" --origin="$ds" --watch=$$ "${@:2}" 3>&- ||
		skip "no hosts can be made here"
}

# hosts_stage RANKS-A-HOST ARG..: from the hosts' origin to their SSDs.
# mpirun must not find out first that a host is lost: it gives no name.
hosts_stage()
{
	: "${HPDSL_FAULT=}" "${HPDSL_FAULT_CLOCK=}"
	export HPDSL_FAULT HPDSL_FAULT_CLOCK
	timeout -k 5 600 "$nodes" run bed \
		mpirun -q --mca oob_tcp_keepalive_time 0 --map-by "ppr:$1:node" \
		-x HPDSL_FAULT -x HPDSL_FAULT_CLOCK \
		"${STAGE:-hpdsl-stage}" "${@:2}" "$PWD/bed/origin" "$PWD/bed/ssd/in" \
		< /dev/null
}

# gather HOSTS: copies of their stage directories in node0 ..
gather()
{
	local n
	rm -rf node*
	for ((n = 1; n <= $1; n++)); do
		"$nodes" on bed "$n" hpdsl-verify -q "$PWD/bed/ssd/in"
		"$nodes" on bed "$n" cp -rp bed/ssd/in "node$((n - 1))" 2>&1 ||
			"$nodes" on bed "$n" cp -rp "$PWD/bed/ssd/in" \
				"$PWD/node$((n - 1))"
	done
}

# asked_once: each file of the dataset was read from the origin just once.
asked_once()
{
	"$nodes" stats bed > asked
	cat asked
	(cd "$ds" && find . -type f -printf 'file %s %f\n' | sort) > want
	awk '$1 == "file" { sub(".*/", "", $5); print "file", $2, $5 }' asked |
		sort | diff want -
}

@test "replicate on 4 hosts: each byte leaves the origin once" {
	up 4
	hosts_stage 1 -q --mode=replicate --report="$PWD/report"
	asked_once
	gather 4
	check_stage placed "$ds" replicate "- - - -" node0 node1 node2 node3
	check_stage report report "$ds" node0 node1 node2 node3
	grep -q '"host": "bed-n00[1-4]"' report
}

# bats test_tags=more
@test "partition and copies, 3 ranks a host" {
	up 3
	hosts_stage 3 -q --mode=partition --report="$PWD/report"
	asked_once
	gather 3
	check_stage placed "$ds" partition "- - -" node0 node1 node2
	hosts_stage 2 -q --mode=replicate
	# what was there went from host to host
	asked_once || {
		# index and manifest are looked at again
		grep '^file' asked | grep chunk- | awk '{ n += $2 } END { print n }'
		[ "$(grep '^file' asked | grep chunk- |
			awk '{ n += $2 } END { print n }')" = \
			"$(cat "$ds"/chunk-* | wc -c)" ]
	}
}

# bats test_tags=more
@test "hosts with little room: as many parts as that takes" {
	up 4 --ssd=900k
	hosts_stage 1 -q --report="$PWD/report"
	asked_once
	python3 -c 'import json
r = json.load(open("report"))
assert r["parts"] == 4, r["parts"]'
}

# books HOSTS: of each host, the first address that it has of each node.
books()
{
	local n
	for ((n = 1; n <= $1; n++)); do
		"$nodes" on bed "$n" python3 "$SRC/tests/kit/read_book.py" \
			"$PWD/bed/ssd/in"
	done | python3 -c 'import json, sys
for line in sys.stdin:
	print(*(n["addresses"][0][0] for n in json.loads(line)["nodes"]))'
}

# each_host COMMAND: N is its number.
each_host()
{
	local n
	for n in 1 2 3; do
		"$nodes" on bed "$n" sh -ec "${1//N/$n}"
	done
}

@test "hosts know each other's addresses, and try one connection" {
	up 3
	# two ends of a link that leads nowhere
	each_host 'ip link add fast0 type veth peer name other0
		ip address add 10.84.0.N/24 dev fast0
		ip link set other0 up
		ip link set fast0 up
		until ip link show fast0 | grep -q "state UP"; do
			sleep 0.02 # clock: a poll
		done'
	hosts_stage 2 -q --mode=partition 2> said
	cat said
	run -1 grep hpdsl said
	books 3 > all
	[ "$(sort -u all)" = "10.83.0.2 10.83.0.3 10.83.0.4" ]
	[ "$(wc -l < all)" = 3 ]
	# who says so gets it, and hears that nobody can be reached there
	hosts_stage 1 -q --mode=partition --interface=fast 2> said
	cat said
	[ "$(grep -c hpdsl said)" = 1 ]
	grep 'warning: node 0 (bed-n001): no connection to node 1 (bed-n002) ' said
	grep ' at fast0, 10.84.0.2, port [23]' said
	[ "$(books 3 | sort -u)" = "10.84.0.1 10.84.0.2 10.84.0.3" ]
}

# bats test_tags=more
@test "hosts in no common subnet: the address that leads to the next one" {
	up 3
	# an0 comes first by its name, and leads nowhere
	# shellcheck disable=SC2016
	each_host 'for i in an0=97 to0=96; do
			ip link add ${i%=*} type veth peer name x${i%=*}
			ip link set x${i%=*} up
			ip address add 10.${i#*=}.N.1/24 dev ${i%=*}
			ip link set ${i%=*} up
			until ip link show ${i%=*} | grep -q "state UP"; do
				sleep 0.02 # clock: a poll
			done
		done
		for to in 1 2 3; do
			[ $to = N ] || ip route add 10.96.$to.0/24 \
				via 10.83.0.$((to + 1)) src 10.96.N.1
		done'
	hosts_stage 1 -q --mode=partition --interface=10.96.0.0/15 2> said
	cat said
	run -1 grep hpdsl said
	[ "$(books 3 | sort -u)" = "10.96.1.1 10.96.2.1 10.96.3.1" ]
}

@test "a host that is cut off is named, and ends the job" {
	local status=0 pid
	up 3
	: > clock
	STAGE=$BUILD/tests/bed/hpdsl-stage HPDSL_FAULT_CLOCK=$PWD/clock \
		HPDSL_FAULT="op=pwrite,node=1,after=2,times=0,name=chunk-,wait=$PWD/gate" \
		hosts_stage 1 --mode=replicate --timeout=60 2> said 3>&- &
	pid=$!
	until_true test -e gate
	"$nodes" link bed 2 down
	time_runs
	until_true grep -Eq '^hpdsl-stage: node 1 \(bed-n002\).* for [0-9]+ s' \
		said
	# the launcher waits for its daemon there
	"$nodes" link bed 2 up
	wait "$pid" || status=$?
	cat said
	[ "$status" != 0 ]
}

# slow OPTIONS: the dataset through the same file system, on this host.
slow()
{
	mkdir -p slow
	"$BUILD/tests/bed/origin" "$ds" slow -o "watch=$$,$1" 3>&-
	until_true mountpoint -q slow
}

@test "a read that never returns: in time, and the rerun names who holds the lock" {
	local status=0 left
	: > control
	slow "control=$PWD/control"
	echo 'hang chunk-000009.tar' > control
	rm -f clock.runs
	in_our_time "" 2 --pretend-nodes=2 --mode=replicate --timeout=60 \
		"$PWD/slow" "$PWD/node%n"
	until_true grep -q 'chunk-000009\.tar$' slow/.origin-stats
	time_runs
	wait "$stager" || status=$?
	cat said
	[ "$status" = 3 ]
	grep -q 'node [01] (.*reading chunk-000009.tar' said
	check_stage named "$ds" node0 node1
	left=$(pgrep -f "hpdsl-stage.* $PWD/" || :)
	# those that are only just dying may be gone before it asks
	if [ -n "$left" ]; then
		rm clock.runs
		in_our_time "op=lock,after=1,wait=$PWD/gate" 2 -q \
			--pretend-nodes=2 --deadline=60 "$ds" "$PWD/node%n"
		until_true is_at_gate
		time_runs
		status=0
		until_true gone_on
		wait "$stager" || status=$?
		cat said
		[ "$status" = 75 ] && grep 'another stager' said ||
			[ -z "$(ps -o pid=,comm= -p "${left//$'\n'/,}")" ]
	fi
	: > control
	until_true nobody
	stage 2 -q --pretend-nodes=2 --mode=replicate "$ds" "$PWD/node%n"
	check_stage placed "$ds" replicate "- -" node0 node1
}

# gone_on: to its end, whichever of its ranks comes to the gate, and when.
gone_on()
{
	rm -f gate
	[ ! -e "/proc/$stager" ]
}

nobody()
{
	! pgrep -f "hpdsl-stage.* $PWD/" > /dev/null
}

@test "an origin that fails once, and one that lies once" {
	: > control
	slow "control=$PWD/control"
	printf '%s\n' 'eio chunk-000003.tar 5000 1' \
		'flip chunk-000012.tar 70000 1' > control
	stage 2 -q --pretend-nodes=2 --mode=replicate --report=report \
		"$PWD/slow" node%n
	check_stage placed "$ds" replicate "- -" node0 node1
	python3 -c 'import json
r = json.load(open("report"))
assert sum(n["retries"] for n in r["nodes"]) == 1, r["nodes"]
assert sum(n["refetch_chunks"] for n in r["nodes"]) >= 1, r["nodes"]'
}
