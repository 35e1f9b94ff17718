#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-stall: the share of a step that waits for storage, of jobs at random, is
# about what they say themselves; `make bench BENCH=stall` has closer bars.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/python

teardown()
{
	[ ! -d slow ] || fusermount3 -uq slow || :
}

# job MS: its command; what it is to read follows.
job()
{
	echo hpdsl-bench -q --memory=16M --batch-size=16 --compute="0.0$(printf %02d "$1")"
}

# by_itself MS FROM: what a step takes, behind the first.
by_itself()
{
	$(job "$1") --json --epochs=5 "$2" > self
	"$PYTHON" - <<- 'EOF'
		import json
		r = json.load(open("self"))
		print((r["seconds"] - r["first_batch_seconds"]) / (r["steps"] - 1))
	EOF
}

# agrees COLD LOCAL: in points of a cold step.
agrees()
{
	"$PYTHON" - "$@" <<- 'EOF'
		import json, sys
		cold, local = map(float, sys.argv[1:])
		r = json.load(open("report"))
		truth = 100 * max(0, 1 - local / cold)
		said = 100 * r["parts"]["fetch"]["ms"] / r["steps"]["cold"]["ms"]
		print(f"truth {truth:.0f} %, said {said:.0f}")
		sys.exit(abs(truth - said) > 10)
	EOF
}

@test "jobs at random wait for storage as long as is said" {
	local end=$((SECONDS + ${LONG_SECONDS:-120})) n=0 i ms rate cold
	[ -x "$BUILD/tests/bed/origin" ] || skip "no fuse3"
	"$BUILD/tests/bench/gen" tree 2000 20 bin 3000-30000
	hpdsl-pack -q --labels=dir --chunks=8 tree ds
	mkdir slow
	RANDOM=22
	while [ "$n" = 0 ] || [ "$SECONDS" -lt "$end" ]; do
		ms=$((1 + RANDOM % 40)) rate=$((5 + RANDOM % 20))
		echo "$ms ms, $rate MiB/s"
		"$BUILD/tests/bed/origin" ds slow -o \
			"rate=${rate}M,keep=30,mapped=index.hpdsl,watch=$$"
		cold=$(by_itself "$ms" slow)
		for i in 1 2 3; do
			# shellcheck disable=SC2046
			hpdsl-stall run -q --rounds=1 --steps=40 --json -o report \
				-- $(job "$ms") --epochs=1000 slow
			! agrees "$cold" "$(by_itself "$ms" ds)" || break
			[ "$i" -lt 3 ]
		done
		fusermount3 -u slow
		n=$((n + 1))
	done
	echo "# $n jobs" >&3
}
