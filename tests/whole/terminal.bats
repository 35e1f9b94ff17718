#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Names with control characters: as they are in a pipe, escaped on a terminal.

load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	local esc=$'e\033[31m' c1=$'u\302\233m' raw=$'r\233m'
	mkdir -p in/"$esc" in/plain
	echo a > in/"$esc"/$'x\a.txt'
	echo b > in/"$c1.txt"
	echo c > in/"$raw.txt"
	echo d > in/plain/$'d\177.txt'
	echo e > in/plain/$'gr\303\274n.txt'
	echo f > in/plain/$'t\t.txt'
	hpdsl-pack -q --labels=parent --chunks=1 in ds
	hpdsl-snapshot create -q in -o snap
	rm -r in/"$esc"
	hpdsl-snapshot create -q in -o fewer
}

# shown COMMAND..: the same without progress.
shown()
{
	on_terminal sh -c '"$@" 2> /dev/null' sh "$@"
}

# Bytes that a terminal obeys; of newlines and tabs no harm comes.
obeyed()
{
	LC_ALL=C grep -q -a -P \
		'[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|(^|[^\xc3])[\x80-\x9b]' "$1"
}

@test "on a terminal no name is obeyed" {
	local what from=$BATS_FILE_TMPDIR
	for what in "ls ds" "ls -l ds" "ls --samples ds" "ls -l --samples ds" \
		"ls --json ds" "order ds" "snapshot ls -R snap" \
		"snapshot ls -lR snap" "snapshot find snap" "snapshot du snap" \
		"snapshot stat snap u*.txt" "snapshot diff -q snap fewer"; do
		(
			cd "$from" || exit
			# shellcheck disable=SC2086
			set -- ${what/u\*.txt/$'u\302\233m.txt'}
			command=hpdsl-$1
			shift
			shown "$command" "$@" > "$BATS_TEST_TMPDIR/seen" ||
				[ "$command $1" = "hpdsl-snapshot diff" ]
		)
		! obeyed seen || { echo "$what"; cat -v seen; return 1; }
		[ -s seen ]
	done
	shown hpdsl-ls "$from/ds" > seen
	LC_ALL=C sort seen > got
	cat > want <<- 'END'
		e\x1b[31m/x\x07.txt
		plain/d\x7f.txt
		plain/grün.txt
		plain/t\x09.txt
		r\x9bm.txt
		u\xc2\x9bm.txt
	END
	diff got want
	shown hpdsl-snapshot diff "$from/snap" "$from/fewer" > seen ||
		[ $? = 1 ]
	grep -qxF -e '- e\x1b[31m' seen
}

@test "in a pipe bytes are as they were" {
	(cd "$BATS_FILE_TMPDIR" && hpdsl-ls ds) > list
	(cd "$BATS_FILE_TMPDIR" && hpdsl-snapshot find snap) > found
	grep -qxF $'e\033[31m/x\a.txt' list
	grep -qxF $'u\302\233m.txt' found
	LC_ALL=C grep -qxF $'r\233m.txt' list
	hpdsl-cat --files-from=list "$BATS_FILE_TMPDIR/ds" > contents
	[ "$(LC_ALL=C sort contents | tr -d '\n')" = abcdef ]
}
