#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What hpdsl-serve shows to Prometheus.
# uses: ports, meet

load ../kit/lib
load ../kit/mpi
load ../kit/metrics

begin()
{
	[ -x "$BUILD/hpdsl-serve" ] ||
		skip "hpdsl-serve was not built: no libmicrohttpd"
	need curl
	mkdir -p tree m/last
	for i in {1..40}; do
		printf '%*s' $((i * 37)) "$i" > "tree/$i.txt"
	done
	hpdsl-pack -q --chunks=2 tree ds
	hpdsl-stage -q ds node
	export HPDSL_METRICS=$PWD/m PBS_JOBID=7.pbs
}

teardown()
{
	[ -z "${server:-}" ] || kill -9 "$server" 2> /dev/null || true
}

ask()
{
	curl -sf --unix-socket node/serve.sock -o got \
		http://x/chunk-000001.tar
}

@test "serve: what it shows is what it reports" {
	local file
	hpdsl-serve -q --report=report node 3>&- &
	server=$!
	until_true compgen -G 'm/*.prom'
	until_true ask
	cmp got node/chunk-000001.tar
	file=m/hpdsl-serve.$(uname -n).$server.prom
	until_more 0 hpdsl_serve_local_requests_total "$file"
	checked m serve
	hpdsl-serve -q --stop node
	wait "$server" || :
	[ "$(ls m)" = last ]
	checked m/last serve
	same_as report d serve "m/last/${file##*/}" > left
	diff left - <<- 'END'
		book directory end host job no_peer node nodes peers pid port since socket state
	END
}
