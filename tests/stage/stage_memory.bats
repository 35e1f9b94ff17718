#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stage --memory: what a node's ranks take beyond what MPI took at its
# start, whatever the number of nodes.
# need_disk: what a command has in memory.

load ../kit/lib
load ../kit/mpi

MiB=1024 # KiB

setup_file()
{
	[ -z "${SAN:-}" ] && [ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 96 700000
	hpdsl-pack -q --chunks=24 tree ds
	watcher
	at_level more || return 0
	hpdsl-pack -q --chunks=24 --zstd tree zst
	hpdsl-pack -q --chunks=24 --names=portable --emit=dali tree sides
	"$SRC/tests/kit/side_forge.py" sides shards.json=60000000 \
		chunk-000003.idx=30000000 chunk-000004.idx=20000000
}

# A library between program and MPI that writes, for each rank, the KiB of
# memory after MPI_Init and the most that it saw until MPI_Finalize.
watcher()
{
	cat > watch.c <<- 'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/prctl.h>
		#include <unistd.h>
		int PMPI_Init_thread(int *, char ***, int, int *);
		int PMPI_Finalize(void);
		static long base, most;
		static volatile int done;
		static pthread_t thread;
		static long now(void)
		{
			char line[256];
			long sum = 0, n;
			FILE *f = fopen("/proc/self/status", "re");
			while (f && fgets(line, sizeof(line), f))
				if (sscanf(line, "RssAnon: %ld", &n) == 1 ||
				    sscanf(line, "RssShmem: %ld", &n) == 1)
					sum += n;
			if (f)
				fclose(f);
			return sum;
		}
		static void *watch(void *arg)
		{
			while (!done) {
				long n = now();
				if (n > most)
					most = n;
				usleep(2000); /* clock: looks, as often as it can */
			}
			return arg;
		}
		int MPI_Init_thread(int *c, char ***v, int want, int *got)
		{
			int r;
			/* large pages are the system's idea */
			prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
			r = PMPI_Init_thread(c, v, want, got);
			base = now();
			pthread_create(&thread, NULL, watch, NULL);
			return r;
		}
		int MPI_Finalize(void)
		{
			const char *rank = getenv("OMPI_COMM_WORLD_RANK");
			char name[99];
			FILE *f;
			done = 1;
			pthread_join(thread, NULL);
			snprintf(name, sizeof(name), "memory.%s",
				 rank ? rank : getenv("PMI_RANK"));
			f = fopen(name, "w");
			fprintf(f, "%s %ld %ld\n", name + 7, base, most);
			fclose(f);
			return PMPI_Finalize();
		}
	END
	"${CC:-gcc}" -shared -fPIC -pthread -o watch.so watch.c
	cat > watched <<- END
		#!/bin/sh
		LD_PRELOAD=$PWD/watch.so exec hpdsl-stage "\$@"
	END
	chmod +x watched
}

begin()
{
	[ -z "${SAN:-}" ] || skip "sanitizers need memory of their own"
	export STAGE=$from/watched
}

# within MIB DATASET RANKS NODES ARG..: on every node, sums of its ranks.
within()
{
	local limit=$(($1 * MiB)) ds=$2 ranks=$3 n=$4
	shift 4
	rm -rf memory.* node*
	stage "$ranks" -q --pretend-nodes="$n" "$@" "$ds" node%n
	cat memory.* | awk -v n="$n" -v limit="$limit" '
		{ took[$1 % n] += $3 - $2; ranks++ }
		END {
			for (i in took)
				if (took[i] > most)
					most = took[i]
			printf "%d ranks: %d KiB of %d\n", ranks, most, limit
			exit most > limit
		}'
	[ "$(cat memory.* | wc -l)" = "$ranks" ]
	rm -r node*
}

# bats test_tags=wide
@test "2 nodes: 32M, and the default" {
	within 32 "$from/ds" 2 2 --mode=replicate --memory=32M
	at_level more || return 0
	within 256 "$from/ds" 2 2 --mode=replicate
	within 32 "$from/ds" 6 2 --mode=replicate --memory=32M
}

# bats test_tags=more
@test "16 nodes: 32M, and the default" {
	within 32 "$from/ds" 16 16 --mode=copies=4 --memory=32M
	within 256 "$from/ds" 16 16 --mode=copies=4
}

# bats test_tags=more
@test "compressed chunks, many threads" {
	within 32 "$from/zst" 2 2 --mode=replicate --memory=32M -j 8
}

# bats test_tags=more
@test "the least there is" {
	within 4 "$from/ds" 2 2 --mode=replicate --memory=4M || {
		echo "beyond its buffers it may take 2 MiB"
		within 6 "$from/ds" 2 2 --mode=replicate --memory=4M
	}
}

# bats test_tags=more
@test "side files of tens of MiB go through a few" {
	within 8 "$from/sides" 3 3 --mode=replicate --memory=4M
	within 8 "$from/sides" 5 5 --mode=copies=2 --memory=4M
}
