#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-snapshot dump and load: the same bytes again, a text that tools can
# work with, and what is said of a text that makes no sense.

load ../kit/lib

edits()
{
	python3 "$SRC/tests/kit/snapshot_edits.py" "$@"
}

create()
{
	hpdsl-snapshot create -q "$@"
}

# Dumps it, loads that in two ways: the same bytes.
there_and_back()
{
	hpdsl-snapshot dump "$1" > text
	hpdsl-snapshot load -q text -o again
	cmp "$1" again
	hpdsl-snapshot load -q - -o again < text
	cmp "$1" again
	hpdsl-snapshot dump again | cmp text -
	hpdsl-snapshot verify -q again
}

@test "dump is what lstat says, load makes the same bytes of it" {
	local seed
	for seed in 1 2 3; do
		edits make "t$seed" "$seed" $((seed * 100))
		edits scan "t$seed" > state
		create "t$seed" -o a
		hpdsl-snapshot dump a > text
		edits dump state | diff -a - text
		there_and_back a
	done
}

@test "an empty tree, and one of each type" {
	mkdir t
	create t -o a
	there_and_back a
	[ "$(wc -l < text)" = 2 ]
	mkfifo t/pipe
	ln -s $'odd\ttarget\n' t/link
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("t/s")'
	chmod 7777 t/pipe
	create t -o a
	there_and_back a
	grep -q '^p 7777 0 .* - - pipe$' text
	grep -qF $'link\todd\\ttarget\\n' text
}

@test "a dataset" {
	make_tree t 3 4
	hpdsl-pack -q --labels=dir --cls t ds
	create ds -o a
	there_and_back a
	id=$(sed -n 's/^dataset_id: //p' ds/dataset.yaml)
	pack=$(xxhsum -H2 ds/index.hpdsl | cut -d' ' -f1)
	[ "$(sed -n 2p text)" = "dataset $id $pack" ]
	# Members and checksums are those of the index.
	hpdsl-ls --json ds | python3 -c 'import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if not m["path"].endswith(".cls"):
        print(m["path"], m["size"])' | sort > want
	awk '$1 == "f" { print $7, $3 }' text | sort | diff want -
	# Lines of folders may be left out.
	grep -v '^d ' text > files
	hpdsl-snapshot load -q files -o again
	cmp a again
}

@test "lines may come in any order" {
	edits make t 9 200
	create t -o a
	hpdsl-snapshot dump a > text
	for seed in 1 2 3; do
		(head -n 1 text && tail -n +2 text |
			shuf --random-source=<(yes $seed)) > shuffled
		hpdsl-snapshot load -q shuffled -o again
		cmp a again
	done
}

@test "the text greps and diffs" {
	make_tree t 2 3
	create t -o a
	[ "$(hpdsl-snapshot dump a | grep -c ' class1/.*\.png$')" = 3 ]
	rm t/class0/00001.png
	chmod 600 t/class1/00002.json
	touch t/zz
	create t -o b
	diff <(hpdsl-snapshot dump a) <(hpdsl-snapshot dump b) |
		sed -n 's/^\([<>]\) [fl] .* - - /\1 /p' > out
	diff - out <<- 'END'
		< class0/00001.png
		< class1/00002.json
		> class1/00002.json
		> zz
	END
}

@test "an edited text makes another snapshot" {
	make_tree t 1 2
	create t -o a
	hpdsl-snapshot dump a |
		sed 's| \([0-9]*\) [-0-9.]* - - class0/00000.png$| 7 -1.500000000 - - class0/00000.png|' > text
	hpdsl-snapshot load -q text -o b
	hpdsl-snapshot diff -q a b > out || [ $? = 1 ]
	grep -q $'^~ class0/00000.png\tsize [0-9]* -> 7, mtime .* -> 1969-12-31 23:59:59$' out
	[ "$(wc -l < out)" = 1 ]
}

# bad LINE TEXT LINES..: the text that LINES make behind the top is refused.
bad()
{
	local line=$1 want=$2
	shift 2
	{
		echo 'hpdsl-snapshot 1'
		echo 'd 0755 0 0.000000000 - - .'
		printf '%b\n' "$@"
	} > bad
	fails 1 "bad: line $line: $want" hpdsl-snapshot load -q bad -o old
	[ "$(cat old)" = old ]
}

@test "what makes no sense is refused, and nothing written" {
	echo old > old
	f='f 0644 0 0.000000000 - -'
	bad 3 'not the 7 fields' ''
	bad 3 'not the 7 fields' 'f 0644 0 0.000000000 - -'
	bad 3 "no type is 'F'" 'F 0644 0 0.000000000 - - a'
	bad 3 "mode '644' is not" 'f 644 0 0.000000000 - - a'
	bad 3 "mode '17777' is not" 'f 17777 0 0.000000000 - - a'
	bad 3 "size '1k' is no" 'f 0644 1k 0.000000000 - - a'
	bad 3 "mtime '0.5' is not" 'f 0644 0 0.5 - - a'
	bad 3 'only files of a dataset' 'f 0644 0 0.000000000 1 0123456789abcdef a'
	bad 3 'a backslash that' "$f"' a\\q'
	bad 3 'byte 0x0d, which' "$f a\\r"
	bad 3 'byte 0xff, which' "$f a\\xff"
	bad 3 'byte 0x00, which' "$f a\\0000"
	bad 3 "'../a' is no path" "$f ../a"
	bad 3 "'/a' is no path" "$f /a"
	bad 3 'a symbolic link without' 'l 0777 1 0.000000000 - - a'
	bad 3 'size 2, but the target' 'l 0777 2 0.000000000 - - a\tb'
	bad 3 'a tab and a target' "$f a\\tb"
	bad 5 "this path for a second time: 'a'" "$f a" "$f b" "$f a"
	bad 4 "no line has the folder it is in: 'x/y'" "$f a" "$f x/y"
	bad 4 "what it lies in is no folder: 'a/b'" "$f a" "$f a/b"
	bad 3 'the top for a second time' 'd 0755 0 0.000000000 - - .'

	printf 'hpdsl-snapshot 1\nd 0755 0 0.000000000 - - .' > bad
	fails 1 'bad: line 2: no newline' hpdsl-snapshot load -q bad -o old
	printf 'hpdsl-snapshot 1\n%s a\n' "$f" > bad
	fails 1 'bad: line 3: the end, and no line of the top' \
		hpdsl-snapshot load -q bad -o old
	fails 1 'no text of a snapshot' hpdsl-snapshot load -q /dev/null -o old
	fails 1 'no text of a snapshot' hpdsl-snapshot load -q "$BUILD/hpdsl-ls" -o old
	echo 'hpdsl-snapshot 2' > bad
	fails 3 'bad: line 1: the text of a later version' \
		hpdsl-snapshot load -q bad -o old
	fails 3 'no-such' hpdsl-snapshot load -q no-such -o old
	[ "$(cat old)" = old ]
	[ "$(ls -A)" = $'bad\nold' ]
}

@test "an old file is replaced, anything else is not" {
	mkdir t folder
	create t -o a
	hpdsl-snapshot dump a > text
	echo old > b
	hpdsl-snapshot load -q text -o b
	cmp a b
	fails 3 folder hpdsl-snapshot load -q text -o folder
	fails 3 /dev/null hpdsl-snapshot load -q text -o /dev/null
	[ -c /dev/null ]
	fails 2 '' hpdsl-snapshot load -q text
	fails 3 text hpdsl-snapshot dump text
}

@test "dump says that its output is full" {
	mkdir t
	create t -o a
	[ -c /dev/full ] || skip "no /dev/full"
	local status=0
	hpdsl-snapshot dump a > /dev/full 2> err || status=$?
	[ "$status" = 3 ]
	grep -q 'No space left' err
}
