#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Many readers of one snapshot: they share one copy, and what happens to the
# file while they read.
# need_disk: what readers share in memory.

load ../kit/lib
load ../kit/stopped
load ../kit/snapshot

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_snapshot large 100 1000
	make_tree tree 3 3
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	cp "$BATS_FILE_TMPDIR/large" snap
	tree=$BATS_FILE_TMPDIR/tree
}

# fails_as_cut STATUS FILE: a command that was reading FILE when it was cut.
fails_as_cut()
{
	if [ "$1" != 3 ] || [ "$(wc -l < err)" != 1 ] ||
		! grep -q "^hpdsl-[a-z]*: .*$2\$" err; then
		echo "exit $1"
		cat err
		return 1
	fi
}

# cut_under COMMAND..: it prints more than fits into a pipe; FILE is cut when
# the first byte has come.
cut_under()
{
	local pid status=0
	rm -f pipe
	mkfifo pipe
	"$@" > pipe 2> err 3>&- &
	pid=$!
	exec 5< pipe
	head -c 1 <&5 > /dev/null
	truncate -s 4096 snap
	cat <&5 > rest
	exec 5<&-
	wait "$pid" || status=$?
	[ -s rest ]
	fails_as_cut "$status" snap
	cp "$BATS_FILE_TMPDIR/large" snap
}

# held_under FILE COMMAND..: FILE is cut when the command has just mapped it.
held_under()
{
	local file=$1 status=0
	shift
	stopped_at 1 close -P"$PWD/$file" "$@"
	truncate -s 4096 "$file"
	goes_on || status=$?
	echo "$message" > err
	fails_as_cut "$status" "$file"
	cp "$BATS_FILE_TMPDIR/large" "$file"
}

@test "eight processes hold one copy" {
	[ -z "${SAN:-}" ] || skip "sanitizers need memory of their own"
	python snapshot_readers.py shared snap 8
}

@test "cut while commands print: exit 3 and one line that names it" {
	cut_under hpdsl-snapshot find snap
	cut_under hpdsl-snapshot find --json snap
	cut_under hpdsl-snapshot ls -lR snap
	cut_under hpdsl-snapshot du -a snap
	cut_under hpdsl-snapshot dump snap
}

@test "cut before anything is read: exit 3 and one line that names it" {
	need strace
	strace -qq -o /dev/null true || skip "strace may not trace"
	cp snap other
	held_under snap hpdsl-snapshot verify snap
	held_under snap hpdsl-snapshot du -s snap
	held_under snap hpdsl-snapshot stat snap train-000099
	held_under snap hpdsl-snapshot check snap "$tree"
	held_under snap hpdsl-snapshot diff snap other
	held_under other hpdsl-snapshot diff snap other
	held_under snap hpdsl-pack -q --from-snapshot snap "$tree" packed
	[ ! -e packed/dataset.yaml ]
}

@test "a copy is not harmed where a mapping is" {
	python snapshot_readers.py cut snap
}

@test "replaced under a reader: it goes on with what it had" {
	local pid
	python snapshot_readers.py replaced snap \
		hpdsl-snapshot create -q "$tree" -o snap
	cp "$BATS_FILE_TMPDIR/large" snap
	hpdsl-snapshot find snap > want
	mkfifo pipe
	hpdsl-snapshot find snap > pipe 3>&- &
	pid=$!
	exec 5< pipe
	head -c 1 <&5 > got
	hpdsl-snapshot create -q "$tree" -o snap
	cat <&5 >> got
	exec 5<&-
	wait "$pid"
	cmp want got
	[ "$(hpdsl-snapshot find snap | wc -l)" = \
		"$(find "$tree" | wc -l)" ]
}

@test "many at a time while it is replaced again and again: always one or the other" {
	local pids=() i
	make_snapshot one 3 300
	make_snapshot two 300 3
	cp one snap
	hpdsl-snapshot dump one > one.txt
	hpdsl-snapshot dump two > two.txt
	for i in 1 2 3; do
		for _ in {1..40}; do
			hpdsl-snapshot dump snap > "got$i" || exit 1
			cmp -s "got$i" one.txt || cmp -s "got$i" two.txt ||
				exit 1
		done 3>&- &
		pids+=($!)
	done
	for i in {1..30}; do
		hpdsl-snapshot load -q two.txt -o snap
		hpdsl-snapshot load -q one.txt -o snap
	done
	for i in "${pids[@]}"; do
		wait "$i"
	done
	cmp snap one
	nothing_beside .
}
