#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-cat, and how ls, cat and unpack compose.
# bats file_tags=quick

bats_require_minimum_version 1.5.0
load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	make_tree tree 2 20
	printf 1 > $'tree/class0/new\nline.txt'
	printf 2 > 'tree/class0/back\slash.txt'
	printf 3 > $'tree/class1/no\xffutf8.txt'
	: > tree/class1/empty.txt
	hpdsl-pack -q --chunks 3 tree ds
}

setup()
{
	cd "$BATS_FILE_TMPDIR" || return 1
}

@test "cat: members by path, in the order asked for" {
	hpdsl-cat ds class1/00002.png class0/00001.json class1/00002.png |
		cmp - <(cat tree/class1/00002.png tree/class0/00001.json \
			tree/class1/00002.png)
	hpdsl-cat ds 'class0/back\slash.txt' $'class0/new\nline.txt' |
		cmp - <(printf 21)
}

@test "cat: samples and members by number, mixed with paths" {
	# sample 12 of plain names, and the second member of the next one
	read -r number _ _ _ _ _ key < <(hpdsl-ls -l --samples ds \
		'class1/00012.*')
	read -r _ _ member _ < <(hpdsl-ls -l --samples ds 'class0/00005.*')
	path=class0/00005.json
	hpdsl-cat --sample "$number" ds class0/00001.png --member="$member" |
		cmp - <(cat "tree/$key".* tree/class0/00001.png "tree/$path")
}

@test "cat: an empty member prints nothing" {
	[ "$(hpdsl-cat ds class1/empty.txt | wc -c)" = 0 ]
}

@test "cat: what is absent is named, the rest is printed, exit 1" {
	run --separate-stderr hpdsl-cat ds no/such class0/00001.json
	[ "$status" = 1 ]
	[ "$output" = "$(cat tree/class0/00001.json)" ]
	[[ $stderr = "hpdsl-cat: no member 'no/such'; there are "* ]]
	fails 1 "99999" hpdsl-cat ds --sample 99999
	fails 1 "99999" hpdsl-cat ds --member 99999
}

@test "cat: usage" {
	fails 2 "PATH, --sample, --member or --files-from is missing" hpdsl-cat ds
	fails 2 "'x' is no number" hpdsl-cat ds --sample x
	fails 2 "'-1' is no number" hpdsl-cat ds --member -1
	fails 3 none hpdsl-cat none a
	fails 3 "none" hpdsl-cat ds --files-from none
}

@test "cat takes what ls prints" {
	names=$BATS_TEST_TMPDIR/names
	hpdsl-ls -0 ds > "$names"
	(cd tree && xargs -0 cat < "$names") > "$BATS_TEST_TMPDIR/all"
	hpdsl-ls ds | hpdsl-cat --files-from - ds |
		cmp - "$BATS_TEST_TMPDIR/all"
	hpdsl-cat -0 --files-from="$names" ds | cmp - "$BATS_TEST_TMPDIR/all"
}

@test "unpack takes what ls prints" {
	hpdsl-ls ds | hpdsl-unpack -q --files-from=- ds "$BATS_TEST_TMPDIR/a"
	same_trees tree "$BATS_TEST_TMPDIR/a"
	hpdsl-ls -0 ds '*.png' |
		hpdsl-unpack -q -0 --files-from=- ds "$BATS_TEST_TMPDIR/b"
	[ "$(find "$BATS_TEST_TMPDIR/b" -type f | wc -l)" = 40 ]
}

@test "unpack: a part, by patterns and samples" {
	out=$BATS_TEST_TMPDIR/out
	read -r number _ _ _ _ _ key < <(hpdsl-ls -l --samples ds \
		'class1/00012.*')
	hpdsl-unpack -q ds "$out" 'class0/*' '*00004.json'
	mkdir -p "$out.want/class1"
	cp -a tree/class0 "$out.want/"
	cp -a tree/class1/00004.json "$out.want/class1/"
	same_trees "$out.want" "$out"
	hpdsl-unpack --json --sample "$number" ds "$out.7" > "$out.json"
	(cd tree && ls "$key".*) |
		cmp - <(cd "$out.7" && find . -type f | cut -c 3- |
			LC_ALL=C sort)
	python3 -c 'import json, sys
assert json.load(open(sys.argv[1]))["members"] >= 1' "$out.json"
}

@test "unpack: what is absent is named, the rest restored, exit 1" {
	out=$BATS_TEST_TMPDIR/out
	fails 1 "no member 'no/such'; there are 'class" \
		hpdsl-unpack -q ds "$out" no/such class0/00001.json
	cmp "$out/class0/00001.json" tree/class0/00001.json
	[ "$(find "$out" -type f | wc -l)" = 1 ]
	fails 1 "no/such" hpdsl-unpack -q ds "$out.none" no/such
	[ ! -e "$out.none" ]
}

@test "unpack: a list that is empty restores nothing" {
	hpdsl-unpack -q --files-from /dev/null ds "$BATS_TEST_TMPDIR/out"
	[ "$(find "$BATS_TEST_TMPDIR/out" -type f | wc -l)" = 0 ]
}

@test "lists: a bad escape or a NUL is exit 2 and names the line" {
	printf 'class0/00001.json\na\\qb\n' > "$BATS_TEST_TMPDIR/list"
	fails 2 "list: line 2: a backslash" \
		hpdsl-cat --files-from "$BATS_TEST_TMPDIR/list" ds
	printf 'a\0b' > "$BATS_TEST_TMPDIR/list"
	fails 2 "list: line 1: a NUL byte" \
		hpdsl-cat --files-from "$BATS_TEST_TMPDIR/list" ds
}

@test "lists: --null without a list is a usage error" {
	fails 2 "--null goes with --files-from" hpdsl-cat -0 ds x
	fails 2 "--null goes with --files-from" \
		hpdsl-unpack -0 ds "$BATS_TEST_TMPDIR/out"
}

@test "lists: no newline at the end is fine, a CR is part of the name" {
	printf class0/00001.json | hpdsl-cat --files-from=- ds |
		cmp - tree/class0/00001.json
	printf 'class0/00001.json\r\n' > "$BATS_TEST_TMPDIR/list"
	fails 1 "no member 'class0/00001.json\\x0d'; there are 'class0/00001.json'" \
		hpdsl-cat --files-from "$BATS_TEST_TMPDIR/list" ds
}

@test "cat: a damaged member is exit 1, the rest is printed" {
	cp -r ds "$BATS_TEST_TMPDIR/ds"
	read -r _ _ _ _ chunk offset _ < <(hpdsl-ls -l ds class0/00001.json)
	printf '#' | dd of="$BATS_TEST_TMPDIR/ds/chunk-00000$chunk.tar" bs=1 \
		seek="$offset" conv=notrunc status=none
	cd "$BATS_TEST_TMPDIR"
	run --separate-stderr hpdsl-cat ds class0/00001.json class0/00002.json
	[ "$status" = 1 ]
	[[ $output = *"$(cat "$BATS_FILE_TMPDIR/tree/class0/00002.json")" ]]
	[[ $stderr = *"class0/00001.json"*checksum* ]]
}

@test "cat: a full disk is exit 3" {
	status=0
	hpdsl-cat ds class0/00001.png > /dev/full 2> "$BATS_TEST_TMPDIR/err" ||
		status=$?
	[ "$status" = 3 ]
	grep "standard output: No space left" "$BATS_TEST_TMPDIR/err"
}

@test "cat: an output that fails when it is closed is exit 3" {
	need strace
	out=$BATS_TEST_TMPDIR/out
	: > "$out"
	status=0
	# shellcheck disable=SC2094
	traced -f -o "$out.trace" -P "$out" -e inject=close:error=EDQUOT \
		hpdsl-cat ds class0/00001.png > "$out" 2> "$out.err" || status=$?
	[ "$status" = 3 ]
	grep "standard output: Disk quota exceeded" "$out.err"
}
