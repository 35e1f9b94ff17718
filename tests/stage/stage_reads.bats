#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Each byte of the dataset leaves the origin at most once, as the kernel sees
# it: chunks, index and manifest, on any number of nodes.
# bats file_tags=quick

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 40 60000
	hpdsl-pack -q --chunks=11 tree ds
	make_tree text 2 60
	hpdsl-pack -q --chunks=5 --zstd text zst
	cat > traced <<- 'END'
		#!/bin/sh
		# What a rank reads, a file for each thread.
		exec strace -ff --seccomp-bpf -qq -y -s 0 -o "trace.$$" -e trace=\
		read,pread64,preadv,preadv2,readv,mmap,sendfile,copy_file_range \
			hpdsl-stage "$@"
	END
	chmod +x traced
}

begin()
{
	need strace
	strace -qq -o /dev/null true || skip "strace may not trace"
	export STAGE=$from/traced
	export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
	export LSAN_OPTIONS=${LSAN_OPTIONS:-}:detect_leaks=0
}

# read_once DATASET RANKS NODES ARG..
read_once()
{
	local ds=$1 ranks=$2 n=$3
	shift 3
	rm -rf trace.* node*
	stage "$ranks" -q --pretend-nodes="$n" "$@" "$ds" node%n
	check_stage reads "$ds" trace.*
}

# bats test_tags=wide
@test "replicate: 1, 2, 4 and 8 nodes" {
	local n
	for n in $(rounds 4 "1 2 4 8" "1 2 4 8"); do
		read_once "$from/ds" "$n" "$n" --mode=replicate
	done
}

# bats test_tags=wide
@test "partition, copies, three ranks a node, small pieces, compressed" {
	read_once "$from/ds" 4 4 --mode=copies=2 --memory=4M
	read_once "$from/zst" 3 3 --mode=replicate
	at_level more || return 0
	read_once "$from/ds" 4 4 --mode=partition --memory=4M
	read_once "$from/ds" 6 2 --mode=replicate
	read_once "$from/zst" 3 3 --mode=partition --keep-compressed
}

@test "a rerun with all in place reads the manifest, and no chunk" {
	read_once "$from/ds" 2 2
	rm trace.*
	stage 2 -q --pretend-nodes=2 "$from/ds" node%n
	grep -h '<[^>]*/ds/[^>]*>' trace.* > seen
	run -1 grep -v 'dataset\.yaml>' seen
}

@test "--plan reads no chunk" {
	stage 2 --plan --pretend-nodes=2 "$from/ds" node%n > plan
	run -1 grep -h '<[^>]*/ds/chunk[^>]*>' trace.*
	[ ! -e node0 ]
}
