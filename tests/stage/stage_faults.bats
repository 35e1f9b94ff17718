#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What goes wrong while hpdsl-stage is at work: it ends in time, names node and
# reason, and loses nothing that was staged.
# need_disk: a stage directory on a disk, beside those on a tmpfs.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 40 50000
	hpdsl-pack -q --chunks=20 tree ds
	hpdsl-pack -q --chunks=40 tree many
	hpdsl-pack -q --chunks=40 --seed=3 tree other
}

begin()
{
	bed=$BUILD/tests/bed/hpdsl-stage
}

# fault FAULT STATUS TEXT ARG..: on two nodes, or as `stage` takes it.
faulty()
{
	local fault=$1 status=$2 text=$3
	shift 3
	rm -rf node* report
	[ -x "$bed" ] || skip "no $bed"
	HPDSL_FAULT=$fault STAGE=$bed fails "$status" "$text" \
		stage 2 -q --pretend-nodes=2 --mode=replicate --report=report \
		"$@" "$from/ds" node%n
	one_line
}

# What all ranks lived to tell is told once.
one_line()
{
	echo "$message"
	[ "$(grep -vc ": warning: " <<< "$message")" = 1 ]
	[[ $message == hpdsl-stage:* ]]
}

# healed FAULT [ARG..]: it ends complete all the same.
healed()
{
	local fault=$1
	shift
	rm -rf node* report
	[ -x "$bed" ] || skip "no $bed"
	HPDSL_FAULT=$fault STAGE=$bed stage 2 -q --pretend-nodes=2 \
		--mode=replicate --report=report "$@" "$from/ds" node%n
	check_stage placed "$from/ds" replicate "- -" node0 node1
}

# sum FIELD: over the nodes of the report.
sum()
{
	python3 -c 'import json, sys
print(sum(n[sys.argv[1]] for n in json.load(open("report"))["nodes"]))' "$1"
}

# completes [DATASET]: what is there is sound, and a run without faults needs only the
# rest.
completes()
{
	local missing ds=$from/${1:-ds}
	check_stage named "$ds" node*
	missing=$(check_stage missing "$ds" node*)
	stage 2 -q --pretend-nodes=2 --mode=replicate --report=report "$ds" \
		node%n
	[ "$(sum origin_bytes)" = "$missing" ]
	check_stage placed "$ds" replicate "- -" node0 node1
}

@test "a disk that is full on one node" {
	need_root
	unshare -m true || skip "no mount namespaces"
	mkdir node0 node1
	unshare -m bash -eu <<- END
		. "$SRC/tests/kit/lib.bash"
		. "$SRC/tests/kit/mpi.bash"
		mount -t tmpfs -o size=1500k none node1
		fails 3 'node 1 (' stage 2 -q --pretend-nodes=2 --capacity=1G \
			--mode=replicate "$from/ds" "$PWD/node%n/in"
		echo "\$message"
		[[ \$message == *"No space left on device"* ]]
		[[ \$message == *chunk-0000*.tar* ]]
		[ "\$(grep -c . <<< "\$message")" = 1 ]
		[ "\$(chunks_in node1/in)" -gt 0 ]
		check_stage named "$from/ds" node0/in node1/in
		# with more room the same command completes it
		missing=\$(check_stage missing "$from/ds" node0/in node1/in)
		mount -o remount,size=10m node1
		stage 2 -q --pretend-nodes=2 --mode=replicate --report=report \
			"$from/ds" "$PWD/node%n/in"
		[ "\$(python3 -c 'import json
		print(sum(n["origin_bytes"] for n in json.load(open("report"))["nodes"]))')" = "\$missing" ]
		check_stage placed "$from/ds" replicate "- -" node0/in node1/in
	END
}

@test "a tmpfs with too little room takes what it has room for" {
	need_root
	unshare -m true || skip "no mount namespaces"
	mkdir small
	unshare -m bash -eu <<- END
		. "$SRC/tests/kit/lib.bash"
		. "$SRC/tests/kit/mpi.bash"
		mount -t tmpfs -o size=700k none small
		stage 1 -q --report=report "$from/ds" small/node
		df -k small
		check_stage sound "$from/ds" small/node
		hpdsl-verify -q small/node
		[ "\$(chunks_in small/node)" -gt 2 ]
	END
}

# bats test_tags=wide
@test "no space, in any of the calls that can tell" {
	local op
	for op in pwrite $(rounds "" allocate allocate); do
		faulty "op=$op,node=1,after=6,times=0,error=ENOSPC,name=chunk-" \
			3 'node 1 ('
		[[ $message == *chunk-*"No space left on device"* ]]
		completes
	done
}

@test "a chunk that is damaged at the origin" {
	cp -r "$from/ds" ds
	flip ds/chunk-000005.tar 30000
	fails 1 chunk-000005.tar stage 3 -q --pretend-nodes=3 \
		--mode=replicate --report=report "$PWD/ds" node%n
	one_line
	[ ! -e node0/chunk-000005.tar ] && [ ! -e node2/chunk-000005.tar ]
	check_stage named "$from/ds" node0 node1 node2
	[ "$(sum refetch_bytes)" -gt 0 ]
	cp "$from/ds/chunk-000005.tar" ds/
	stage 3 -q --pretend-nodes=3 --mode=replicate "$PWD/ds" node%n
	check_stage placed "$from/ds" replicate "- - -" node0 node1 node2
}

# without CHUNK WHY: all else is staged, and a run with the chunk mended brings it.
without()
{
	fails 1 "$1: $2" stage 2 -q --pretend-nodes=2 --mode=replicate \
		--report=report "$PWD/ds" node%n
	one_line
	[ "$(sum lost_chunks)" = 2 ]
	[[ $message == *": node "[01]" ("*"$PWD/ds/$1: $2"* ]]
	[ "$(grep -c . <<< "$message")" = 1 ]
	check_stage named "$from/ds" node0 node1
	[ "$(chunks_in node0)" = 19 ] && [ "$(chunks_in node1)" = 19 ]
	cp "$from/ds/$1" ds/
	completes
	rm -r node*
}

# bats test_tags=wide
@test "a chunk that is short, missing, or no file, at the origin" {
	cp -r "$from/ds" ds
	truncate -s 1000 ds/chunk-000004.tar
	without chunk-000004.tar 'is 1000 bytes, was '
	if at_level more; then
		rm ds/chunk-000007.tar
		without chunk-000007.tar 'is missing'
	fi
	rm ds/chunk-000002.tar
	mkdir ds/chunk-000002.tar
	fails 1 'is no regular file' stage 2 -q --pretend-nodes=2 "$PWD/ds" node%n
	one_line
}

@test "several chunks that cannot be had are named, each once a node" {
	cp -r "$from/ds" ds
	rm ds/chunk-000003.tar ds/chunk-000011.tar
	flip ds/chunk-000005.tar 30000
	fails 1 '/ds/chunk-0000' stage 2 -q --pretend-nodes=2 \
		--mode=replicate "$PWD/ds" node%n
	one_line
	for c in 3.tar:\ is\ missing 11.tar:\ is\ missing 5.tar:\ is\ damaged; do
		[ "$(grep -c "ds/chunk-0*$c" <<< "$message")" -le 3 ]
		grep -q "ds/chunk-0*$c" <<< "$message"
	done
	[[ $message != *"once more"* ]]
	[ "$(chunks_in node0)" = 17 ] && [ "$(chunks_in node1)" = 17 ]
}

@test "an origin that is lost ends the job" {
	cp -r "$from/many" ds
	rm ds/chunk-*
	fails 3 '8 chunks in a row cannot be had, the last one is chunk-' \
		stage 2 -q --pretend-nodes=2 --mode=replicate "$PWD/ds" node%n
	one_line
	[ "$(grep -c . <<< "$message")" -le 17 ]
	rm -r node*
	faulty "op=pread,node=1,times=0,name=/ds/dataset.yaml;op=pread,node=1,times=0,name=/ds/chunk-" \
		3 '/ds: cannot be read: Input/output error'
	[ "$message" = "${message#*chunk-}" ]
	completes
}

@test "index or manifest damaged at the origin" {
	cp -r "$from/ds" ds
	flip ds/index.hpdsl 3000
	fails 1 index.hpdsl stage 2 -q --pretend-nodes=2 "$PWD/ds" node%n
	one_line
	[ "$(chunks_in node0)" = 0 ]
	cp "$from/ds/index.hpdsl" ds/
	flip ds/dataset.yaml 400
	fails 1 dataset.yaml stage 2 -q --pretend-nodes=2 "$PWD/ds" node%n
	one_line
	rm ds/dataset.yaml
	fails 3 ds stage 2 -q --pretend-nodes=2 "$PWD/ds" node%n
	one_line
}

# bats test_tags=wide
@test "a byte changed on its way: fetched again, and counted" {
	# by who reads the origin, so by all that get it from there
	healed "op=pread,flip=100,after=3,name=/ds/chunk-"
	[ "$(sum refetch_bytes)" -gt 0 ]
	at_level more || return 0
	healed "op=pread,node=1,flip=100,times=3,name=/ds/chunk-" --memory=4M
	[ "$(sum refetch_bytes)" -gt 0 ]
}

# bats test_tags=wide
@test "a read that fails is tried again; then its chunk is given up" {
	healed "op=pread,node=1,after=2,error=EIO,name=/ds/chunk-"
	[ "$(sum retries)" = 1 ]
	faulty "op=pread,node=1,after=2,times=15,error=EIO,name=/ds/chunk-" 1 \
		'node 1 ('
	[[ $message == *chunk-*"cannot be read: Input/output error"* ]]
	[ "$(chunks_in node0)" = 20 ]
	completes
	at_level more || return 0
	faulty "op=pread,node=0,times=0,error=EACCES,name=/ds/chunk-00001" 1 \
		'node 0 ('
	[[ $message == *chunk-00001*"Permission denied"* ]]
	[ "$(chunks_in node0)" = 10 ] && [ "$(chunks_in node1)" = 20 ]
	completes
}

# bats test_tags=wide
@test "the rename, the lock, the state file cannot be done" {
	faulty "op=rename,node=1,after=4,times=0,error=EIO" 3 'node 1 ('
	completes
	if at_level more; then
		faulty "op=map,node=1,times=0,error=EIO" 3 'node 1 (' || :
		completes
	fi
	faulty "op=mkdir,node=1,error=EROFS,times=0" 3 'node 1 ('
	[[ $message == *"Read-only"* ]]
	faulty "op=statvfs,node=1,error=EIO,times=0" 3 'node 1 ('
}

# ends_named TEXT: the stager does so, after a minute of time_runs.
ends_named()
{
	local status=0
	wait "$stager" || status=$?
	cat said
	[ "$status" = 3 ]
	grep -q "$1" said
	until_true nobody
}

nobody()
{
	! pgrep -f "hpdsl-stage.* $BATS_TEST_TMPDIR/" > /dev/null
}

# stopped RANK NODE: a rank that is stopped is named, and ends the job.
stopped_rank()
{
	local pid
	rm -rf node*
	at_gate op=pwrite,node=1,after=4,name=chunk- 3 -q --pretend-nodes=3 \
		--mode=replicate --timeout=60 "$from/ds" "$PWD/node%n"
	pid=$(ranks_of "$stager" | sed -n "s/^$1 //p")
	kill -STOP "$pid"
	rm gate
	time_runs "$pid"
	ends_named "node $2 ("
	check_stage named "$from/ds" node0 node1 node2
}

# bats test_tags=wide
@test "a stopped rank is named, and ends the job after --timeout" {
	stopped_rank 2 2
	! at_level more || stopped_rank 1 1
}

@test "rank 0 stopped: so does the lowest other leader" {
	stopped_rank 0 0
}

# bats test_tags=wide
@test "a read that never returns" {
	at_gate op=pread,node=1,after=4,name=/ds/chunk- 2 -q --pretend-nodes=2 \
		--mode=replicate --timeout=60 "$from/ds" "$PWD/node%n"
	time_runs
	ends_named 'node 1 (.*reading chunk-0000.*tar'
	completes
	at_level more || return 0
	rm -r node*
	at_gate op=pwrite,node=0,after=4,name=chunk- 2 -q --pretend-nodes=2 \
		--mode=replicate --timeout=60 "$from/ds" "$PWD/node%n"
	time_runs
	ends_named 'node 0 (.*writing.*chunk-0000.*tar'
	completes
}

both_stuck()
{
	[ "$(compgen -G "now.*" | wc -l)" = 2 ]
}

@test "a call of MPI that never returns, on all nodes" {
	[ -z "${SAN:-}" ] || skip "preloaded, it would be before the sanitizer"
	cat > stuck.c <<- 'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		int MPI_Improbe(int from, int tag, void *comm, int *flag, void *m,
				void *status)
		{
			int (*real)(int, int, void *, int *, void *, void *) =
				dlsym(RTLD_NEXT, "MPI_Improbe");
			while (access(getenv("STUCK"), F_OK) == 0) {
				char name[4096];
				snprintf(name, sizeof(name), "%s.%d",
					 getenv("STUCK"), getpid());
				fclose(fopen(name, "w"));
				pause();
			}
			return real(from, tag, comm, flag, m, status);
		}
	END
	cc -shared -fPIC -o stuck.so stuck.c -ldl
	cat > stuck <<- 'END'
		#!/bin/sh
		LD_PRELOAD="$LD_PRELOAD $PWD/stuck.so" \
			exec "$BUILD/tests/bed/hpdsl-stage" "$@"
	END
	chmod +x stuck
	export STUCK=$PWD/now HPDSL_FAULT_GUARD=$PWD/guard
	STAGE=$PWD/stuck at_gate op=pwrite,node=1,after=4,name=chunk- 2 -q \
		--pretend-nodes=2 --mode=replicate --timeout=60 "$from/ds" \
		"$PWD/node%n"
	touch now
	until_true both_stuck
	touch guard
	ends_named 'rank [01] (.*): MPI has not returned for [0-9]* s'
	completes
}

@test "a system call before the staging that never returns" {
	at_gate op=mkdir,node=1 2 -q --pretend-nodes=2 --timeout=60 \
		"$from/ds" "$PWD/node%n"
	time_runs
	ends_named 'node 1 ('
}

@test "LOCALDIR: a link, somebody else's, no directory, not writable" {
	mkdir real
	ln -s "$PWD/real" node1
	fails 3 node1 stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	one_line
	[[ $message == *"node 1 ("* ]]
	[ -z "$(ls -A real)" ]
	[ ! -e node0 ] || [ "$(chunks_in node0)" = 0 ]
	rm node1
	touch node1
	fails 3 node1 stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	one_line
	rm node1
	fails 3 nowhere stage 2 -q --pretend-nodes=2 "$from/ds" nowhere/node%n
	one_line
	need_root
	mkdir node1
	chown 65534 node1
	fails 3 node1 stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	one_line
	[ "$(stat -c %u node1)" = 65534 ] && [ -z "$(ls -A node1)" ]
	rm -r node1
	unshare -m true || skip "no mount namespaces"
	unshare -m bash -eu <<- END
		. "$SRC/tests/kit/lib.bash"
		. "$SRC/tests/kit/mpi.bash"
		mkdir readonly
		mount -t tmpfs -o ro none readonly
		fails 3 Read-only stage 2 -q --pretend-nodes=2 "$from/ds" \
			readonly/node%n
	END
}

# replacing COMMAND: while `many` is staged from ds.
replacing()
{
	rm -rf ds old new node*
	cp -r "$from/many" ds
	cp -r "$from/other" new
	at_gate op=pread,node=1,after=5,times=0,name=/ds/chunk- 2 -q \
		--pretend-nodes=2 --mode=replicate "$PWD/ds" "$PWD/node%n"
	until_true chunks_at_least node0 2
	"$@"
	rm gate
	status=0
	wait "$stager" || status=$?
	cat said
}

rename_all()
{
	mv ds old && mv new ds
}

rename_each()
{
	mv new/dataset.yaml ds/
	mv new/* ds/
}

# bats test_tags=wide
@test "the dataset is replaced while it is staged" {
	replacing rename_each
	[ "$status" = 3 ]
	tail -n 1 said | grep -q 'replaced while it was staged'
	[ "$(grep -vc ': warning: ' said)" = 1 ]
	check_stage named "$from/many" node0 node1
	[ "$(chunks_in node0)" -ge 2 ]
	completes many
	at_level more || return 0
	# a folder that is renamed may still be read to the end
	replacing rename_all
	[ "$status" = 0 ] || grep -q 'replaced while it was staged' said
	check_stage named "$from/many" node0 node1
	completes many
}

@test "ranks of different versions" {
	local version
	version=$(hpdsl-stage --version | grep -o '[0-9][0-9.]*' | head -n 1)
	sed "s/${version//./\\.}/9.9.9/g" "$BUILD/hpdsl-stage" > hpdsl-stage
	chmod +x hpdsl-stage
	[ ${#version} = 5 ] && ./hpdsl-stage --version | grep -q 9.9.9 ||
		skip "no version to put in its place"
	fails 2 9.9.9 launch -n 1 hpdsl-stage -q --pretend-nodes=2 "$from/ds" \
		node%n : -n 1 "$PWD/hpdsl-stage" -q --pretend-nodes=2 \
		"$from/ds" node%n
	one_line
	[ ! -e node0 ]
}

@test "ranks with different arguments" {
	fails 2 'rank 1' launch -n 1 hpdsl-stage -q --pretend-nodes=2 "$from/ds" \
		node%n : -n 1 hpdsl-stage -q --pretend-nodes=2 --mode=partition \
		"$from/ds" node%n
	one_line
	fails 2 'rank 1' launch -n 1 hpdsl-stage -q --pretend-nodes=2 "$from/ds" \
		node%n : -n 1 hpdsl-stage -q --pretend-nodes=2 \
		"$from/other" node%n
	one_line
}
