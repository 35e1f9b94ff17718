#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Small files that commands write, where others may write, too.

load ../kit/lib

setup_file()
{
	make_tree "$BATS_FILE_TMPDIR/tree" 1 6
	hpdsl-pack -q "$BATS_FILE_TMPDIR/tree" "$BATS_FILE_TMPDIR/ds"
}

# With what each command calls the file.
both()
{
	hpdsl-bench -q --save="$1" "$BATS_FILE_TMPDIR/ds"
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	hpdsl-stage -q --report="$1" "$BATS_FILE_TMPDIR/ds" "$PWD/node"
}

@test "files with names like the temporary one's are nobody's but their owner's" {
	local file
	for file in state.part .state.part .state-123456.part; do
		echo "mine: $file" > "$file"
	done
	both state
	[ -s state ]
	for file in state.part .state.part .state-123456.part; do
		[ "$(cat "$file")" = "mine: $file" ]
	done
	rm -rf node
	[ "$(find . -name '*state*' | wc -l)" = 4 ]
}

@test "a link at the temporary name is not followed" {
	echo precious > victim
	ln -s victim state.part
	ln -s victim .state.part
	both state
	[ "$(cat victim)" = precious ]
	[ -L state.part ] && [ -f state ] && [ ! -L state ]
}

@test "another user's link in place of the file is not followed" {
	need_root
	echo precious > victim
	ln -s victim state
	chown -h 65534 state
	fails 3 "state: is a symbolic link of another user (number 65534)" \
		hpdsl-bench -q --save=state "$BATS_FILE_TMPDIR/ds"
	[ "$(cat victim)" = precious ]
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	fails 3 "state: is a symbolic link of another user" \
		hpdsl-stage -q --report=state "$BATS_FILE_TMPDIR/ds" "$PWD/node"
	[ "$(cat victim)" = precious ] && [ ! -e node ]
}

@test "a log that is standard output keeps what it has" {
	echo before > log
	{
		echo same
		both /dev/stdout
		echo behind
	} >> log
	[ "$(head -n 2 log)" = $'before\nsame' ]
	[ "$(tail -n 1 log)" = behind ]
	# not opened to append: each goes on where the other has ended
	{
		echo first
		both /dev/stdout
		echo behind
	} > log
	[ "$(head -n 1 log)" = first ] && [ "$(tail -n 1 log)" = behind ]
	[ "$(field step < log)" = 1 ]
}

@test "/dev/stdout is followed in a user's name space, where root is nobody" {
	local ds=$BATS_FILE_TMPDIR/ds caller=()
	if [ "$(id -u)" = 0 ]; then
		need setpriv
		caller=(setpriv --reuid=65533 --regid=65533 --clear-groups)
		chmod 755 . .. ../..
	fi
	"${caller[@]}" unshare -Ur test -r "$ds" -a -x "$BUILD/hpdsl-bench" ||
		skip "no user name spaces, or nobody else can come here"
	"${caller[@]}" unshare -Ur "$BUILD/hpdsl-bench" -q --save=/dev/stdout \
		"$ds" > out
	[ "$(field step < out)" = 1 ]
}
