# SPDX-License-Identifier: Apache-2.0
# For tests of servers on hosts of their own (tests/bed/nodes): `load ../kit/job`
# behind lib, mpi and python.  $nodes is that program, $ds the dataset that the
# origin has, $hosts how many there are; the bed is in bed, what is staged in
# bed/ssd/in.
# shellcheck shell=bash

# hosts_unable: what keeps hosts from being there, and staging on them from being
# done, a line each.
hosts_unable()
{
	[ -x "$BUILD/hpdsl-stage" ] || echo "hpdsl-stage was not built"
	[ -x "$BUILD/tests/bed/origin" ] || echo "no fuse3"
	[ -c /dev/fuse ] || echo "no /dev/fuse"
	[ "$(id -u)" = 0 ] || echo "not root"
	[[ $("$MPIRUN" --version 2>&1) == *"Open MPI"* ]] || echo "not Open MPI"
	unshare --net --uts --mount --pid --fork true 2> /dev/null ||
		echo "no namespaces"
	command -v ip > /dev/null || echo "no ip"
}

# job_unable: what keeps such a job from being there.
job_unable()
{
	hosts_unable
	[ -x "$BUILD/hpdsl-serve" ] || echo "hpdsl-serve was not built"
	ldconfig -p | grep -q 'libcurl\.so\.4' || echo "no libcurl"
}

# job_up HOSTS [OPTION..]: hosts, of `nodes up`.
job_up()
{
	local why
	why=$(job_unable | head -n 1)
	[ -z "$why" ] || skip "$why"
	: "${ds:?}"
	nodes=$SRC/tests/bed/nodes hosts=$1
	"$nodes" up bed "$1" --origin="$ds" --watch=$$ "${@:2}" 3>&- ||
		skip "no hosts can be made here"
}

job_down()
{
	[ ! -e bed/init ] || "$SRC/tests/bed/nodes" down bed
}

# job_stage [OPTION..]: on all hosts.
job_stage()
{
	timeout -k 5 600 "$nodes" run bed \
		mpirun -q --mca oob_tcp_keepalive_time 0 --map-by ppr:1:node \
		hpdsl-stage -q "$@" "$PWD/bed/origin" "$PWD/bed/ssd/in" < /dev/null
}

# on HOST COMMAND..
on()
{
	"$nodes" on bed "$@"
}

# serve HOST [OPTION..]: until it answers.
serve()
{
	# a parent would be stopped with it, and not go on
	on "$1" timeout 600 hpdsl-serve -q --detach "${@:2}" "$PWD/bed/ssd/in" 3>&- \
		2>> "served$1"
	until_true on "$1" hpdsl-serve --status --json "$PWD/bed/ssd/in" \
		> "status$1"
}

serve_all()
{
	local n
	for ((n = 1; n <= hosts; n++)); do
		serve "$n"
	done
}

# server HOST SIGNAL: to its server.
server()
{
	on "$1" kill -s "$2" "$(python3 -c 'import json, sys
print(json.loads(sys.stdin.read().splitlines()[-1])["pid"])' < "status$1")"
}

# of_server HOST NAME: a number of its status, now.
of_server()
{
	on "$1" hpdsl-serve --status --json "$PWD/bed/ssd/in" | field "$2"
}

# from_origin: bytes of chunks that it was asked for.
from_origin()
{
	"$nodes" stats bed |
		awk '$1 == "file" && $5 ~ /chunk-/ { n += $2 } END { print n + 0 }'
}

# epoch NAME [ARG..]: by a rank of each host of those in $readers (all), held
# against the dataset.
epoch()
{
	local n pids=
	for n in ${readers:-$(seq "$hosts")}; do
		# shellcheck disable=SC2016
		on "$n" "$BASH" -c '. "$SRC/tests/kit/lib.bash"
			. "$SRC/tests/kit/python.bash"
			py "$SRC/tests/kit/stage_loader.py" "$@"' bash \
			"$PWD/bed/ssd/in" "$ds" parts=1 batch=16 \
			ranks="$hosts" memory=16 rank=$((n - 1)) "${@:2}" \
			> "$1.$n" 2> "$1.$n.err" 3>&- &
		pids+=" $!"
	done
	for n in $pids; do
		wait "$n" || { cat "$1".*.err; return 1; }
	done
}

# holds NAME CONDITION: over the ranks r, and sums of theirs.
holds()
{
	python3 - "$@" << 'end' || { cat "$1".[0-9]*; return 1; }
import glob, json, sys
r = [json.load(open(n)) for n in sorted(glob.glob(sys.argv[1] + ".*"))
     if not n.endswith(".err")]
assert r
def total(name):
	return sum(x[name] for x in r)
assert eval(sys.argv[2]), sys.argv[2]
end
}

# reading NAME [ARG..]: an epoch that goes on with `go`, once it has begun.
reading()
{
	epoch "$1" pause="$PWD/bed/tmp/paused" "${@:2}" &
	reader=$!
	local n
	# each of them: what is taken away before it is there is waited for
	for n in ${readers:-$(seq "$hosts")}; do
		until_true on "$n" test -e "$PWD/bed/tmp/paused"
	done
}

go()
{
	local n
	for n in ${readers:-$(seq "$hosts")}; do
		until_true on "$n" rm -f "$PWD/bed/tmp/paused"
	done
	wait "$reader"
}
