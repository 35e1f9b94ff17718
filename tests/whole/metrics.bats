#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What programs show to Prometheus while they run, against promtool and
# node_exporter where these are there.

load ../kit/lib
load ../kit/python
load ../kit/metrics

teardown()
{
	[ -z "${exporter_pid:-}" ] || kill "$exporter_pid" || :
}

begin()
{
	local i
	mkdir m
	export HPDSL_METRICS=$PWD/m
	mkdir tree
	for i in {1..120}; do
		printf '%*s' $((i * 37)) "$i" > "tree/$i.txt"
	done
	hpdsl-pack -q --chunks=4 tree packed
}

names()
{
	find m -mindepth 1 -printf '%f\n' | LC_ALL=C sort
}

@test "metrics: a loader's are its statistics, in Python" {
	forks_are_safe
	cases test_metrics
}

# Without a wait: what is left in the end is all of it.
@test "metrics: a loader's are what hpdsl-bench prints" {
	begin
	mkdir m/last
	SLURM_JOB_ID=5 hpdsl-bench -q --json packed > said
	[ "$(ls m)" = last ]
	checked m/last loader
	same_as said d loader m/last/*.prom > left
	diff left - <<- 'END'
		no failed_steps
		complete filling_samples first_batch_seconds wait_max_seconds wait_p50_seconds wait_p99_seconds
	END
}

@test "metrics: while it runs, for node_exporter; away in the end" {
	local name pid
	begin
	hpdsl-bench -q --batch=2 --epochs=1000 --compute=0.1 packed 3>&- &
	pid=$!
	until_true compgen -G 'm/*.prom'
	name=$(echo m/*)
	[ "$name" = "m/hpdsl-loader.$(uname -n).$pid.prom" ]
	[ "$(stat -c %a "$name")" = 644 ]
	until_more 5 hpdsl_loader_steps_total "$name"
	checked m loader
	if command -v prometheus-node-exporter > /dev/null; then
		exporter m
		exported
		diff given <(page_families loader)
		grep -q '^hpdsl_loader_steps_total{.*node=.*,pid=' scraped
	fi
	kill %1
	wait %1 || :
	[ -z "$(ls -A m)" ]
	command -v prometheus-node-exporter > /dev/null ||
		skip "no prometheus-node-exporter"
	command -v promtool > /dev/null || skip "no promtool"
}

@test "metrics: what a killed one left goes with the next" {
	local pid
	begin
	hpdsl-bench -q --batch=2 --epochs=1000 --compute=0.1 packed 3>&- &
	pid=$!
	until_true compgen -G 'm/*.prom'
	touch "m/hpdsl-loader.elsewhere.$pid.prom" m/other.prom
	hpdsl-bench -q packed
	[ "$(names)" = "$(LC_ALL=C sort <<< "hpdsl-loader.$(uname -n).$pid.prom
hpdsl-loader.elsewhere.$pid.prom
other.prom")" ]
	kill -KILL %1
	wait %1 || :
	hpdsl-bench -q packed
	[ "$(names)" = "hpdsl-loader.elsewhere.$pid.prom
other.prom" ]
}

@test "metrics: a folder that is not there, or is none's: a warning" {
	begin
	HPDSL_METRICS=$PWD/absent hpdsl-bench -q packed 2> said
	[ "$(cat said)" = "hpdsl-bench: warning: HPDSL_METRICS: $PWD/absent: No such file or directory" ]
	HPDSL_METRICS=/proc/self hpdsl-bench -q packed 2> said
	[ "$(wc -l < said)" = 1 ]
	grep -q "^hpdsl-bench: warning: HPDSL_METRICS: /proc/self: hpdsl-loader\." said
	HPDSL_METRICS='' hpdsl-bench -q packed 2> said
	[ ! -s said ]
	[ -z "$(ls -A m)" ]
}
