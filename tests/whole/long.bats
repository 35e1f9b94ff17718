#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tests/long/run, which `make check-long` is: its table, its time, its verdicts.

load ../kit/lib

run_loops()
{
	BUILD=$PWD/build LOOPS_FILE=$PWD/loops "$SRC/tests/long/run" "$@" \
		> table 2> err
}

# bats test_tags=time
@test "check-long: a table, and 1 if a loop has failed" {
	cat > loops <<- 'END'
		# NAME SHARE HOW COUNTED COMMAND
		good 1 self kills echo '# 3 kills in 4 runs'; echo "# $LONG_SECONDS kills"
		endless 1 cut tests echo ok 1 a; echo ok 2 b; sleep 1000
		none 1 cut tests echo 'ok 1 x # skip no such program'
	END
	LONG=6s run_loops
	grep -Eqx 'good +[0-9]+  5 kills +passed' table
	grep -Eqx 'endless +[0-9]+  2 tests +cut off, nothing wrong' table
	grep -Eqx 'none +[0-9]+  0 tests +skipped: no such program' table
	LONG=1m run_loops good none
	grep -Eqx 'good +[0-9]+  33 kills +passed' table
	[ "$(wc -l < table)" = 4 ]
	cat >> loops <<- 'END'
		wrong 1 cut tests echo ok 1 a; echo not ok 2 b; sleep 1000
		status 1 self tests exit 3
	END
	status=0
	LONG=2s run_loops wrong status || status=$?
	[ "$status" = 1 ]
	grep -Eqx 'wrong +[0-9]+  1 tests +FAILED' table
	grep -Eqx 'status +[0-9]+  0 tests +FAILED: status 3' table
	grep -q '^not ok 2 b' err
	status=0
	LONG=soon run_loops || status=$?
	[ "$status" = 2 ]
}

@test "check-long: the tests that its loops name are there" {
	cd "$SRC"
	grep -oE 'bats --tap [^;]*' tests/long/loops | sed 's/--tap/--count/' |
		while read -r count; do
			echo "$count"
			[ "$(bash -c "$count")" -gt 0 ]
		done
	[ "$(grep -c '^[a-z]' tests/long/loops)" -ge 10 ]
}
