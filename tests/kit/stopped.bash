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

# at_gate FAULT COMMAND..: it stands still at this place of tests/bed/faults.c, as
# process $pid, and so does each of its threads that comes there, too.
at_gate()
{
	# a shell's background jobs ignore SIGINT
	HPDSL_FAULT=$1,times=0,wait=$PWD/gate env --default-signal=INT \
		"$BUILD/tests/bed/$2" "${@:3}" > stdout 2> stderr 3>&- &
	pid=$! tracer=$!
	until_true is_at_gate
	[ -e gate ] || {
		echo "it never came to $1"
		cat stderr
		return 1
	}
}

# is_at_gate: or has ended.
is_at_gate()
{
	[ -e gate ] || [ ! -e "/proc/$pid" ]
}

# signalled SIGNAL: $pid has taken it, before anything else goes on.
signalled()
{
	kill -"$1" "$pid"
	until_true has_taken_it
}

has_taken_it()
{
	! grep -qsE '^(Sig|Shd)Pnd:.*[1-9a-f]' "/proc/$pid/status"
}

# killed_at FAULT COMMAND..: it is killed at this place; fails if it was not.
killed_at()
{
	local status=0
	HPDSL_FAULT=$1,kill "$BUILD/tests/bed/$2" "${@:3}" || status=$?
	[ "$status" = 137 ] || {
		echo "exit $status, it never came to $1"
		return 1
	}
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
	rm -f gate
	# None at a gate is stopped, and SIGCONT would undo the stop that a
	# sanitizer needs when it looks for leaks.
	[ ! -e trace ] || until_true has_gone_on
	wait "$tracer" || status=$?
	pid=
	# shellcheck disable=SC2034
	message=$(cat stderr)
	rm -f stderr stdout pid trace
	return "$status"
}

# strace counts for each thread: others may stop, too.
has_gone_on()
{
	! kill -CONT "$pid" 2> /dev/null || [ ! -e "/proc/$tracer" ]
}
