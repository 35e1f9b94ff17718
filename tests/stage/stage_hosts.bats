#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stage on hosts of their own, under a real mpirun over TCP: what the
# shared file system itself counts, and what lies on each host afterwards.
# need_disk: hosts have disks.

bats_require_minimum_version 1.5.0
load ../kit/lib

nodes=$SRC/tests/bed/nodes

setup_file()
{
	export without="" bed=$BATS_FILE_TMPDIR/bed all=$BATS_FILE_TMPDIR

	[ "$(id -u)" = 0 ] || without="not root"
	command -v mpirun > /dev/null || without="no mpirun"
	[ -x "$BUILD/hpdsl-stage" ] || without="no hpdsl-stage"
	[ -x "$BUILD/tests/bed/origin" ] || without="no fuse3"
	[ -n "$without" ] || unshare --net --pid --fork --mount true ||
		without="no namespaces"
	[ -z "$without" ] || return 0
	cd "$all" || return 1
	make_tree tree 4 300
	hpdsl-pack -q --chunks=30 tree packed
	hpdsl-pack -q --chunks=30 --zstd tree compressed
	hpdsl-pack -q --chunks=30 --names=portable --emit=dali,wids tree sides
	"$SRC/tests/kit/side_forge.py" sides shards.json=3000000
	"$nodes" up "$bed" 4 "--watch=$$" --ssd=100M --origin=. > up.log 2>&1 ||
		without="no hosts: $(tail -n 1 up.log)"
}

teardown_file()
{
	[ -n "$without" ] || "$nodes" down "$bed"
}

setup()
{
	[ -z "$without" ] || skip "$without"
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown()
{
	[ -n "$without" ] || on_each find "$bed/ssd" -mindepth 1 -delete
}

on_each()
{
	local n

	for n in 1 2 3 4; do
		"$nodes" on "$bed" "$n" "$@"
	done
}

# mpi RANKS-A-NODE NODES COMMAND..
mpi()
{
	timeout 600 "$nodes" run "$bed" mpirun -q -n $(($1 * $2)) \
		--map-by "ppr:$1:node" "${@:3}"
}

# stage RANKS-A-NODE NODES OPTION..: of the dataset $which.
stage()
{
	mpi "$1" "$2" hpdsl-stage -q "${@:3}" "$bed/origin/$which" \
		"$bed/ssd/stage"
}

# The origin's own count for each file of the dataset.
counts()
{
	"$nodes" stats "$bed" | awk -v d="$which/" '
		$1 == "file" && index($5, d) == 1 {
			print substr($5, length(d) + 1), $2
		}' | LC_ALL=C sort
}

# once COMMAND..: runs it; each byte of the dataset is read once, no more.
once()
{
	counts > before
	"$@"
	counts > after
	join -a 2 -e 0 -o 0,1.2,2.2 before after |
		awk '{ print $1, $3 - $2 }' > asked
	(cd "$all/$which" && stat -c '%n %s' -- *) | LC_ALL=C sort | diff - asked
}

# How many chunks each host holds, and that they are right.
holds()
{
	local n

	n=$(on_each find "$bed/ssd/stage" -name 'chunk-*' -printf '%f\n' |
		LC_ALL=C sort > names; wc -l < names)
	echo "$n chunks on all hosts"
	[ "$n" = "$1" ]
	on_each hpdsl-verify -q "$bed/ssd/stage"
}

# bats test_tags=more
@test "replicate on 4 hosts: each byte once, everything everywhere" {
	which=packed
	once stage 1 4 --mode=replicate
	holds 120
}

# bats test_tags=more
@test "side files on 4 hosts: each byte once, all of them everywhere" {
	which=sides
	once stage 1 4 --mode=replicate
	on_each cmp "$all/sides/shards.json" "$bed/ssd/stage/shards.json"
	on_each hpdsl-verify -q "$bed/ssd/stage"
}

# bats test_tags=more
@test "partition on 4 hosts of 2 ranks: each byte once, each chunk once" {
	which=packed
	once stage 2 4 --mode=partition
	holds 30
	[ "$(sort -u names | wc -l)" = 30 ]
}

@test "copies=2 on 4 hosts, then replicate: what is there is passed on" {
	which=packed
	once stage 1 4 --mode=copies=2
	holds 60
	counts > before
	stage 1 4 --mode=replicate
	counts | grep chunk > after
	diff <(grep chunk before) after
	holds 120
}

# bats test_tags=more
@test "replicate on 3 hosts of compressed chunks: each byte once" {
	which=compressed
	once stage 1 3 --mode=replicate
	for n in 1 2 3; do
		"$nodes" on "$bed" "$n" find "$bed/ssd/stage" -name '*.tar'
		"$nodes" on "$bed" "$n" hpdsl-verify -q "$bed/ssd/stage"
	done > names
	[ "$(wc -l < names)" = 90 ]
}

# on_host N COMMAND..: without what it says.
on_host()
{
	"$nodes" on "$bed" "$@" > /dev/null 2>&1
}

# Ranks only where the network is lost, in a namespace of this name.
others_ended()
{
	"$nodes" on "$bed" 1 ps -C hpdsl-stage -o netns= > living || true
	! grep -qv "^ *$1\$" living
}

# Rank 0 gets to look late, again and again, as on a machine that is too busy.
hiccups()
{
	local there pid
	there=$("$nodes" on "$bed" 1 readlink /proc/self/ns/net | tr -dc 0-9)
	pid=$(ps -C hpdsl-stage -o netns=,pid= |
		awk -v ns="$there" '$1 == ns { print $2; exit }')
	while kill -STOP "$pid"; do
		sleep 0.5 # clock: in check-more
		kill -CONT "$pid"
		sleep 2 # clock: in check-more
	done 2> /dev/null
}

# bats test_tags=more
@test "a host that loses its network is named, and the others end" {
	local lost ended=0
	which=packed
	# seconds of silence that a busy machine does not make by itself; mpirun
	# must not find out first, and end the job without a name
	"$nodes" run "$bed" mpirun -q --mca oob_tcp_keepalive_time 0 \
		-n 4 --map-by ppr:1:node \
		hpdsl-stage -q --timeout=8 --rate=50K "$bed/origin/$which" \
		"$bed/ssd/stage" 2> err 3>&- &
	until_true on_host 2 sh -c "ls $bed/ssd/stage/chunk-*"
	lost=$("$nodes" on "$bed" 2 readlink /proc/self/ns/net | tr -dc 0-9)
	"$nodes" link "$bed" 2 down
	hiccups 3>&- &
	until_true grep -q '^hpdsl-stage: node 1 (bed-n002)' err &&
		until_true others_ended "$lost" || ended=$?
	# mpirun itself waits for its daemon there for minutes
	"$nodes" kill "$bed" 0
	"$nodes" kill "$bed" 2
	"$nodes" link "$bed" 2 up
	wait || true
	cat err living || true
	[ "$ended" = 0 ]
	grep -qE '^hpdsl-stage: node 1 \(bed-n002\) has been silent for [0-9]+ s' err
}
