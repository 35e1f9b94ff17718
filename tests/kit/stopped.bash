# SPDX-License-Identifier: Apache-2.0
# For tests of what happens to files at a certain moment of a command: `load
# ../kit/stopped` behind `load ../kit/lib`.  The command stands still there for as
# long as the test needs.
# shellcheck shell=bash

pid=

teardown()
{
	[ -z "$pid" ] || kill -KILL "$pid" 2> /dev/null || :
}

# stopped_at N CALL [STRACE-OPTION..] COMMAND..: runs it until it makes its Nth
# system call CALL, and leaves it stopped there, as process $pid.
stopped_at()
{
	local when=$1 call=$2 options=()
	shift 2
	need strace
	while [[ $1 = -* ]]; do
		options+=("$1")
		shift
	done
	rm -f trace pid
	traced -f -o trace -e trace="$call" "${options[@]}" \
		-e inject="$call:signal=STOP:when=$when" \
		sh -c 'echo $$ > pid; exec "$@"' sh "$@" \
		> stdout 2> stderr 3>&- &
	tracer=$!
	until_true is_stopped
	if ! grep -qs 'stopped by SIGSTOP' trace; then
		echo "it never stopped at its $call number $when"
		cat stderr
		return 1
	fi
	pid=$(cat pid)
}

# is_stopped: or has ended.
is_stopped()
{
	grep -qs 'stopped by SIGSTOP' trace || [ ! -e "/proc/$tracer" ]
}

# goes_on: its exit status; what it said is in $message.
goes_on()
{
	local status=0
	# strace counts for each thread: others may stop, too
	while kill -CONT "$pid" 2> /dev/null && [ -e "/proc/$tracer" ]; do
		sleep 0.02
	done
	wait "$tracer" || status=$?
	pid=
	# shellcheck disable=SC2034
	message=$(cat stderr)
	rm stderr stdout pid trace
	return "$status"
}
