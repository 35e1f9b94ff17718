#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stage finds LOCALDIR: the word auto, variables of the nodes; on this
# machine, and on hosts of their own, which have folders that others do not see.
# need_disk: what is memory is told from what is not.
# uses: shm

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi

hosts=$SRC/tests/bed/nodes

setup_file()
{
	local n

	export without="" bed=$BATS_FILE_TMPDIR/bed

	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 24 80000
	hpdsl-pack -q --chunks=12 tree ds
	hpdsl-pack -q --chunks=12 --zstd tree other
	[ "$(id -u)" = 0 ] || without="not root"
	[[ $("$MPIRUN" --version 2>&1) == *"Open MPI"* ]] ||
		without="not Open MPI"
	[ -x "$BUILD/tests/bed/origin" ] || without="no fuse3"
	[ -n "$without" ] || unshare --net --pid --fork --mount true ||
		without="no namespaces"
	[ -z "$without" ] || return 0
	mkdir -p bed/disk shared
	"$hosts" up "$bed" 3 "--watch=$$" --ssd=1M --origin=. > up.log 2>&1 ||
		without="no hosts: $(tail -n 1 up.log)"
	[ -z "$without" ] || return 0
	# a disk of its own for each host
	for n in 1 2 3; do
		mkdir "disk$n"
		"$hosts" on "$bed" "$n" mount --bind "$PWD/disk$n" "$bed/disk"
	done
}

teardown_file()
{
	[ ! -e "$bed/init" ] || "$hosts" down "$bed"
}

begin()
{
	unset SLURM_TMPDIR LOCAL_SCRATCH JOBFS
}

teardown()
{
	[ -z "${shm:-}" ] || rm -rf "$shm"
	[ ! -e "$bed/init" ] || on_each find "$bed/disk" "$bed/ssd" "$bed/tmp" \
		-mindepth 1 -delete
}

# Where tests have memory only, it is all the same.
need_disk()
{
	local f
	for f in "$TMPDIR" /tmp; do
		[ "$(stat -f -c %T "$f")" != tmpfs ] || skip "$f is memory"
	done
}

# id_of DATASET
id_of()
{
	sed -n 's/^dataset_id: *"\{0,1\}\([0-9a-f]*\).*/\1/p' "$1/dataset.yaml"
}

need_hosts()
{
	[ -z "$without" ] || skip "$without"
	need_disk
	ds=$bed/origin/ds
	disk=$bed/disk
}

on_each()
{
	local n
	for n in 1 2 3; do
		"$hosts" on "$bed" "$n" "$@"
	done
}

# mpi RANKS-A-HOST COMMAND..: on all hosts.
mpi()
{
	timeout -k 5 600 "$hosts" run "$bed" mpirun -q --map-by "ppr:$1:node" \
		"${@:2}" < /dev/null
}

# auto "NAME=VALUE.." ARG..: hpdsl-stage with these variables on all hosts.
auto()
{
	local variables
	read -ra variables <<< "$1"
	mpi 1 env -u TMPDIR "${variables[@]}" hpdsl-stage "${@:2}"
}

# none_but PATH..: on no host there is another trace of staging.
none_but()
{
	local n
	for n in 1 2 3; do
		"$hosts" on "$bed" "$n" find "$bed/disk" "$bed/ssd" "$bed/tmp" \
			"$BATS_FILE_TMPDIR/shared" -maxdepth 1 -name '*hpdsl-*'
	done | LC_ALL=C sort -u > traces
	diff traces <(for n in "$@"; do echo "$n"; done)
}

# ---- On this machine ------------------------------------------------------

@test "auto: one line on standard output, a private folder, and it is found again" {
	need_disk
	local at
	at=$TMPDIR/hpdsl-$(id -u)-$(id_of "$from/ds")
	[ "$(stage 1 -q "$from/ds" auto)" = "$at" ]
	[ "$(stat -c %a "$at")" = 700 ]
	hpdsl-verify -q "$at"
	[ -z "$(find "$TMPDIR" -maxdepth 1 -name '.hpdsl-auto*')" ]
	# without a launcher, and it tells the summary beside the path
	[ "$(hpdsl-stage "$from/ds" auto 2> said)" = "$at" ]
	grep -q '^hpdsl-stage: nothing to do' said
	hpdsl-stage --json "$from/ds" auto:again > json
	python3 - "$TMPDIR/hpdsl-$(id -u)-again" <<- 'END'
		import json, sys
		r = json.load(open("json"))
		assert r["directory"] == sys.argv[1], r
		assert r["directories"] is None, r
	END
	# what a job before has left wins, wherever it is in the order
	mkdir new
	[ "$(SLURM_TMPDIR=$PWD/new hpdsl-stage -q "$from/ds" auto)" = "$at" ]
	[ "$(SLURM_TMPDIR=$PWD/new hpdsl-stage -q "$from/ds" auto:x)" = \
		"$PWD/new/hpdsl-$(id -u)-x" ]
	SLURM_TMPDIR=$PWD/new hpdsl-stage --plan "$from/ds" auto > plan
	grep -qx "place: $at: \$TMPDIR has it already, on 1 of 1 node" plan
}

@test "auto: --status and --clean, without MPI" {
	need_disk
	local me
	me=hpdsl-$(id -u)
	fails 3 "auto:in: no $me-in here, in $TMPDIR, /tmp" \
		hpdsl-stage --status auto:in
	hpdsl-stage -q "$from/ds" auto:in > /dev/null
	hpdsl-stage -q "$from/ds" auto > /dev/null
	hpdsl-stage --status auto:in | grep -q "^$TMPDIR/$me-in: 12 of 12"
	hpdsl-stage --status "$from/ds" auto |
		grep -q "^$TMPDIR/$me-$(id_of "$from/ds"): 12 of 12"
	hpdsl-stage -q --clean auto:in
	[ ! -e "$TMPDIR/$me-in" ]
	hpdsl-stage -q --clean "$from/ds" auto
	[ -z "$(find "$TMPDIR" -name 'hpdsl*')" ]
	fails 3 "no $me-in here" hpdsl-stage --clean auto:in
	fails 3 "absent: No such file" hpdsl-stage --clean absent auto
	fails 2 "DATASET is missing in front of auto" hpdsl-stage --status auto
	fails 2 "DATASET is missing in front of auto" hpdsl-stage --clean auto
	fails 2 "one LOCALDIR, not also 'auto:in'" hpdsl-stage --status \
		"$from/ds" auto:in
	fails 2 "one LOCALDIR, not also 'out'" hpdsl-stage --status \
		"$from/ds" out
}

# shellcheck disable=SC2016
@test "auto: what is refused, and what is a path" {
	local name
	for name in auto: auto:a%n 'auto:$X' 'auto:a b' \
		"auto:$(printf '%065d' 0)"; do
		fails 2 "LOCALDIR '$name': NAME is at most 64 letters" \
			hpdsl-stage "$from/ds" "$name"
	done
	fails 2 "--pretend-nodes needs a path: LOCALDIR auto is" stage 2 \
		--pretend-nodes=2 "$from/ds" auto
	fails 2 "rank 1 ($(hostname)) has a path for LOCALDIR, and rank 0 has auto" \
		launch -n 1 hpdsl-stage "$from/ds" auto : \
		-n 1 hpdsl-stage "$from/ds" ./auto
	fails 2 "rank 1 ($(hostname)) has auto:b for LOCALDIR, and rank 0 has auto:a" \
		launch -n 1 hpdsl-stage "$from/ds" auto:a : \
		-n 1 hpdsl-stage "$from/ds" auto:b
	# folders of that name
	hpdsl-stage -q "$from/ds" ./auto
	hpdsl-verify -q auto
	mkdir auto:
	hpdsl-stage -q "$from/ds" auto:/in
	hpdsl-verify -q auto:/in
}

@test "auto: another one's directory, and another dataset's, are refused" {
	need_disk
	local at
	at=$TMPDIR/hpdsl-$(id -u)-in
	hpdsl-stage -q "$from/ds" auto:in > /dev/null
	fails 1 "$at: another pack is here" hpdsl-stage "$from/other" auto:in
	hpdsl-stage -q --clean auto:in
	ln -s "$PWD" "$at"
	fails 3 "$at: is a symbolic link" hpdsl-stage "$from/ds" auto:in
	for how in --status --clean; do
		fails 3 "auto:in: $at is a symbolic link, and those are not followed to a stage directory" \
			hpdsl-stage $how auto:in
	done
	rm "$at"
	need_root
	mkdir "$at"
	chown 12345 "$at"
	fails 3 "$at: belongs to another user (number 12345)" \
		hpdsl-stage "$from/ds" auto:in
	fails 3 "no hpdsl-0-in here" hpdsl-stage --clean auto:in
	[ -d "$at" ]
}

@test "auto: --plan tells where and why, and what is wrong with the others" {
	need_disk
	export SLURM_TMPDIR=$PWD/absent LOCAL_SCRATCH=rel JOBFS=/dev/shm
	hpdsl-stage --plan --nodes=3 "$from/ds" auto:in > plan
	grep -qx "place: $TMPDIR/hpdsl-$(id -u)-in: \$TMPDIR has room for all of it on every node" plan
	grep -qx "not before: \$SLURM_TMPDIR ($PWD/absent) cannot be used (No such file or directory) on node 0; \$LOCAL_SCRATCH (rel) is no absolute path on node 0" plan
	hpdsl-stage --plan --json "$from/ds" auto:in > json
	python3 - "$TMPDIR/hpdsl-$(id -u)-in" <<- 'END'
		import json, sys
		r = json.load(open("json"))
		assert r["directory"] == sys.argv[1], r
		assert r["reason"] == "$TMPDIR has room for all of it", r
	END
	hpdsl-stage --plan --json "$from/ds" > json
	grep -q '"directory": null, "reason": null' json
	[ -z "$(find "$TMPDIR" -name '*hpdsl*')" ]
	# --capacity is a bound
	fails 3 "(--mode=auto stages what fits)" hpdsl-stage --plan \
		--mode=replicate --capacity=100K "$from/ds" auto
	[[ $message = *"LOCALDIR auto: there is no place: "* ]]
	hpdsl-stage --plan --nodes=30 --capacity=300K "$from/ds" auto > plan
	grep -q '^place: .*: .TMPDIR has room for it in [1-9][0-9]* parts$' plan
}

@test "auto: memory last, and with a warning" {
	need_disk
	[ "$(stat -f -c %T /dev/shm)" = tmpfs ] || skip "/dev/shm is no tmpfs"
	shm=$(mktemp -d /dev/shm/hpdsl-XXXXXX)
	SLURM_TMPDIR=$shm hpdsl-stage -q "$from/ds" auto:in 2> said > out
	run ! grep 'is memory' said
	[ "$(cat out)" = "$TMPDIR/hpdsl-$(id -u)-in" ]
	# as it has it already
	at=$shm/hpdsl-$(id -u)-b
	hpdsl-stage -q "$from/ds" "$at"
	SLURM_TMPDIR=$shm hpdsl-stage -q "$from/ds" auto:b 2> said > out
	grep -qx "hpdsl-stage: warning: $at is memory of the job, of which staging takes half of what is left at most" said
	[ "$(cat out)" = "$at" ]
}

# shellcheck disable=SC2016
@test "variables: expanded once, behind %, and rank 0's path is told" {
	export IN=$PWD/in IN0=$PWD/zero IN1='$IN%n$$'
	mkdir in zero '$IN%n$$'
	[ "$(stage 2 -q --pretend-nodes=2 "$from/ds" '$IN%n/x')" = "$IN0/x" ]
	hpdsl-verify -q zero/x
	hpdsl-verify -q '$IN%n$$/x'
	stage 2 --json --pretend-nodes=2 "$from/ds" '${IN}/x%n' > json
	python3 - "$IN" <<- 'END'
		import json, sys
		r = json.load(open("json"))
		assert r["directory"] == sys.argv[1] + "/x0", r
		assert r["directories"] == [sys.argv[1] + "/x%d" % n
		                            for n in (0, 1)], r
	END
	# a dollar is one, and then there is nothing to tell
	[ -z "$(hpdsl-stage -q "$from/ds" 'a$$b')" ]
	hpdsl-stage --status 'a$$b' | grep -q '^a$b: 12 of 12'
	hpdsl-stage -q --clean '$IN/x0'
	[ ! -e in/x0 ]
	hpdsl-stage --plan "$from/ds" '$IN/x0' > plan
	run ! grep -q '^place' plan
	[ ! -e in/x0 ]
}

# shellcheck disable=SC2016
@test "variables: what is refused" {
	export EMPTY=
	unset NONE
	fails 2 "LOCALDIR '\$NONE/in': \$NONE is not set" \
		hpdsl-stage "$from/ds" '$NONE/in'
	fails 2 "LOCALDIR '\$EMPTY/in': \$EMPTY is empty" \
		hpdsl-stage "$from/ds" '$EMPTY/in'
	fails 2 "\$NONE is not set" hpdsl-stage --clean '${NONE}'
	fails 2 "behind \$ there has to be NAME, {NAME} or another \$" \
		hpdsl-stage "$from/ds" 'a/$'
	fails 2 "only %n, %h, %r and %% have a meaning, and no other %" \
		hpdsl-stage "$from/ds" '$HOME/%x'
	NONE=/$(printf '%04095d' 0) fails 3 "File name too long" \
		hpdsl-stage "$from/ds" '$NONE'
}

# ---- On hosts -------------------------------------------------------------

@test "hosts: a folder that all have and none sees of another" {
	need_hosts
	local at n
	at=$disk/hpdsl-0-$(id_of "$from/ds")
	# what all see is not taken, nor what looks like it
	auto "SLURM_TMPDIR=$from/shared JOBFS=$bed/origin TMPDIR=$disk/" \
		"$ds" auto > out 2> said
	[ "$(cat out)" = "$at" ]
	run ! grep 'is memory' said
	grep -q '^hpdsl-stage: staged 12 chunks.* to 3 nodes' said
	for n in 1 2 3; do
		"$hosts" on "$bed" $n hpdsl-verify -q "$at"
		[ "$("$hosts" on "$bed" $n stat -c %a "$at")" = 700 ]
	done
	none_but "$at"
	# on a host that lacks it, it is completed, wherever the others would go
	"$hosts" on "$bed" 2 rm -r "$at"
	auto "SLURM_TMPDIR=$bed/tmp TMPDIR=$disk" "$ds" auto --report=report > out
	[ "$(cat out)" = "$at" ]
	python3 -c 'import json
r = json.load(open("report"))
assert [n["chunks"] for n in r["nodes"]] == [0, 12, 0], r["nodes"]'
	none_but "$at"
	[ "$(mpi 2 env -u TMPDIR "TMPDIR=$disk" hpdsl-stage -q "$ds" auto)" = \
		"$at" ]
	auto "TMPDIR=$disk" --status "$ds" auto > out
	[ "$(grep -c "^$at: 12 of 12" out)" = 3 ]
	auto "TMPDIR=$disk" -q --clean "$ds" auto
	none_but
}

# bats test_tags=more
@test "hosts: --plan under a launcher looks, and writes nothing" {
	need_hosts
	auto "JOBFS=$bed/origin TMPDIR=$disk" --plan "$ds" auto:in > out
	grep -qx "place: $disk/hpdsl-0-in: \$TMPDIR has room for all of it on every node" out
	grep -qx "not before: \$JOBFS ($bed/origin) is shared by machines (fuse) on node 0 (bed-n001)" out
	[ "$(grep -c '^   [012] bed-n00' out)" = 3 ]
	none_but
	fails 2 "--nodes is for one rank, and there are 3" \
		auto "TMPDIR=$disk" --plan --nodes=9 "$ds" auto
}

# bats test_tags=more
@test "hosts: no place, and why none of them is one" {
	need_hosts
	fails 3 "hpdsl-stage: LOCALDIR auto: there is no place: \$SLURM_TMPDIR ($from/shared) has another node's file on node 0 (bed-n001); " \
		auto "SLURM_TMPDIR=$from/shared LOCAL_SCRATCH=$bed/origin" "$ds" auto
	[[ $message = *"; \$LOCAL_SCRATCH ($bed/origin) is shared by machines (fuse) on node 0 (bed-n001); /tmp has another node's file on node 0 (bed-n001)"* ]]
	[ "$(grep -c 'there is no place' <<< "$message")" = 1 ]
	none_but
	# a disk has no room for a part: it is the only one, and it is refused
	fails 3 "; \$TMPDIR ($disk): node 0 (bed-n001) has room for" \
		auto "SLURM_TMPDIR=$from/shared TMPDIR=$disk" \
		--mode=partition --capacity=10K "$ds" auto
	none_but
}

# bats test_tags=wide
@test "hosts: one path for all, or it is refused with the two" {
	need_hosts
	cat > each <<- 'END'
		#!/bin/sh
		case $(hostname) in
		bed-n002) export TMPDIR=$OTHER ;;
		*) export TMPDIR=$DISK ;;
		esac
		[ -n "$TMPDIR" ] || unset TMPDIR
		exec hpdsl-stage "$@"
	END
	chmod +x each
	export DISK=$disk/a OTHER=$disk/b
	on_each mkdir "$DISK" "$OTHER"
	fails 2 "hpdsl-stage: LOCALDIR auto: \$TMPDIR is $DISK on node 0 (bed-n001), and $OTHER on node 1 (bed-n002)" \
		mpi 1 "$PWD/each" "$ds" auto
	none_but
	OTHER='' fails 2 "LOCALDIR auto: \$TMPDIR is $DISK on node 0 (bed-n001), and not set on node 1 (bed-n002)" \
		mpi 1 "$PWD/each" "$ds" auto
	at_level more || return 0
	DISK='' fails 2 "LOCALDIR auto: \$TMPDIR is not set on node 0 (bed-n001), and $OTHER on node 1 (bed-n002)" \
		mpi 1 "$PWD/each" "$ds" auto
	# what is before it decides; as a variable it may differ
	JOBFS=$disk mpi 1 "$PWD/each" -q "$ds" auto > out
	[ "$(cat out)" = "$disk/hpdsl-0-$(id_of "$from/ds")" ]
	# shellcheck disable=SC2016
	mpi 1 "$PWD/each" --json "$ds" '$TMPDIR/in' > out
	python3 - "$DISK/in" "$OTHER/in" <<- 'END'
		import json, sys
		r = json.load(open("out"))
		a, b = sys.argv[1:]
		assert (r["directory"], r["directories"]) == (a, [a, b, a]), r
	END
	# shellcheck disable=SC2016
	OTHER='' fails 2 "node 1 (bed-n002): LOCALDIR '\$TMPDIR/in': \$TMPDIR is not set" \
		mpi 1 "$PWD/each" "$ds" '$TMPDIR/in'
}

# bats test_tags=more
@test "hosts: memory is taken last, the first of it that has room" {
	need_hosts
	# the ssd of a host has 1 MiB, and is memory, as is its tmp
	auto "SLURM_TMPDIR=$bed/ssd TMPDIR=$disk" -q "$ds" auto:a > out
	[ "$(cat out)" = "$disk/hpdsl-0-a" ]
	auto "SLURM_TMPDIR=$bed/ssd TMPDIR=$bed/tmp" -q --mode=replicate \
		"$ds" auto:b > out 2> said
	[ "$(cat out)" = "$bed/tmp/hpdsl-0-b" ]
	grep -qx "hpdsl-stage: warning: $bed/tmp/hpdsl-0-b is memory of the job, of which staging takes half of what is left at most" said
	auto "SLURM_TMPDIR=$bed/ssd TMPDIR=$bed/tmp" -q --mode=partition \
		"$ds" auto:c > out
	[ "$(cat out)" = "$bed/ssd/hpdsl-0-c" ]
	auto "SLURM_TMPDIR=$bed/ssd TMPDIR=$bed/tmp" -q "$ds" auto:d > out
	[ "$(cat out)" = "$bed/tmp/hpdsl-0-d" ]
	none_but "$disk/hpdsl-0-a" "$bed/ssd/hpdsl-0-c" \
		"$bed/tmp/hpdsl-0-b" "$bed/tmp/hpdsl-0-d"
}

# bats test_tags=more
@test "hosts: a node where it is another one's is named" {
	need_hosts
	"$hosts" on "$bed" 2 mkdir "$disk/hpdsl-0-in"
	"$hosts" on "$bed" 2 chown 12345 "$disk/hpdsl-0-in"
	fails 3 "node 1 (bed-n002): $disk/hpdsl-0-in: belongs to another user (number 12345)" \
		auto "TMPDIR=$disk" "$ds" auto:in
	# what nobody else may write to is no place
	on_each chmod 555 "$disk"
	fails 3 "\$TMPDIR ($disk) cannot be used (Permission denied) on node 0 (bed-n001)" \
		mpi 1 setpriv --bounding-set=-dac_override,-dac_read_search \
		--inh-caps=-all env "TMPDIR=$disk" hpdsl-stage "$ds" auto
	on_each chmod 755 "$disk"
}
