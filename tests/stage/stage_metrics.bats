#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What hpdsl-stage shows to Prometheus.

load ../kit/lib
load ../kit/mpi
load ../kit/metrics

setup_file()
{
	local i
	cd "$BATS_FILE_TMPDIR" || return 1
	mkdir tree
	for i in {1..120}; do
		printf '%*s' $((i * 37)) "$i" > "tree/$i.txt"
	done
	hpdsl-pack -q --chunks=4 tree ds
}

begin()
{
	mkdir -p m/last
	export HPDSL_METRICS=$PWD/m
}

# Of both nodes, while it runs, and then in the report.
@test "stage: what it shows is its row of the report" {
	local node file files
	PBS_JOBID=7.pbs at_gate op=pread,node=1,after=1,times=0,name=/ds/chunk- 2 -q \
		--pretend-nodes=2 --mode=partition --report=report "$from/ds" \
		node%n
	until_true compgen -G 'm/*.prom'
	files=(m/*.prom)
	until_more 1 hpdsl_stage_origin_bytes_total "${files[0]}"
	checked m stage
	rm gate
	wait "$stager"
	[ "$(ls m)" = last ]
	checked m/last stage
	for node in 0 1; do
		file=$(grep -l "rank=\"$node\"" m/last/*.prom)
		grep -q '{job="7.pbs",rank=' "$file"
		same_as report "d['nodes'][$node]" stage "$file" > left
		diff left - <<- 'END'
			no stuck_seconds
			address address_mbits host interface last_part node part
		END
		[ "$(value hpdsl_stage_chunks_total "$file")" = 2 ]
	done
}

@test "stage: rank 0 alone warns of a folder that is not there" {
	HPDSL_METRICS=$PWD/absent stage 2 -q --pretend-nodes=2 "$from/ds" \
		node%n 2> said
	[ "$(grep -c HPDSL_METRICS said)" = 1 ]
	grep "^hpdsl-stage: warning: HPDSL_METRICS: $PWD/absent: " said
}
