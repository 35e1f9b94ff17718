#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whatever was packed comes back, by every way out: tar, bsdtar, Python's
# tarfile, hpdsl-unpack, hpdsl-cat; whatever the names are.
# bats file_tags=quick

load ../kit/lib

setup_file()
{
	cd "$BATS_FILE_TMPDIR" || return 1
	python3 "$SRC/tests/kit/nasty.py" in
	hpdsl-pack -q --chunk-size 256K in ds
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	in=$BATS_FILE_TMPDIR/in
	ds=$BATS_FILE_TMPDIR/ds
}

trees()
{
	python3 "$SRC/tests/kit/trees.py" "$@"
}

# Every name of the tree, each ended by a NUL byte, in an order of its own.
names()
{
	(cd "$in" && find . -type d -name 'to a*' -o -xtype f -printf '%P\0') |
		shuf -z --random-source=<(yes)
}

@test "hpdsl-unpack: contents, modes, times to the nanosecond" {
	hpdsl-unpack -q "$ds" out
	trees same "$in" out
	# nothing but these files and their folders
	[ "$(find out ! -type f ! -type d | wc -l)" = 0 ]
	[ ! -e out/empty ]
}

@test "hpdsl-unpack -j 0 makes the same tree" {
	hpdsl-unpack -q -j 0 "$ds" out
	trees same "$in" out
}

@test "GNU tar" {
	tar --version | grep -q GNU || skip "another tar"
	mkdir out
	for c in "$ds"/chunk-*.tar; do
		tar -C out -xpf "$c" 2>> err
	done
	# it does not know hdrcharset, and looks askance at the future
	! grep -v -e hdrcharset -e 'in the future' err || return 1
	trees same "$in" out seconds
}

@test "bsdtar" {
	need bsdtar
	mkdir out
	for c in "$ds"/chunk-*.tar; do
		bsdtar -C out -xpf "$c"
	done
	trees same "$in" out seconds
}

@test "Python's tarfile and the index agree on every member; samples are whole" {
	local o
	trees tars "$ds"
	for o in --group=none --shuffle=none --chunks=1 --seed=77; do
		hpdsl-pack -q "$o" "$in" "out$o"
		[ "$o" = --group=none ] || trees tars "out$o"
	done
}

@test "image, json, text and mask of a sample: neighbours in one chunk" {
	local at
	for ((s = 0; s < 60; s++)); do
		at=$(hpdsl-ls -l "$ds" "samples/$(printf '%02d' "$s").*" |
			awk '{ print $5, $7 }' | sort -u)
		[ "$(wc -l <<< "$at")" = 1 ]
	done
	cat "$ds"/chunk-*.tar | tar -itf - | grep ^samples/ | sed 's/\..*//' |
		uniq > keys
	[ "$(wc -l < keys)" = 60 ]
}

@test "hpdsl-verify --source agrees, and tells when the source differs" {
	hpdsl-verify -q --source "$in" "$ds"
	hpdsl-unpack -q "$ds" c
	hpdsl-verify -q --source c "$ds"
	printf '\001' | dd of=c/size/65536.bin bs=1 conv=notrunc status=none
	run hpdsl-verify -q --source c "$ds"
	[ "$status" = 1 ]
	[[ $output = *size/65536.bin* ]]
}

@test "hpdsl-cat by path: any name" {
	local n=0 name
	# not the whole tree: a process for each
	(cd "$in" && find odd mode/7* len/2* -type f -print0) > some
	(cd "$in" && find . -type f -printf '%d %P\0') | sort -znr |
		head -z -n 1 | cut -z -d ' ' -f 2- >> some
	while IFS= read -r -d '' name; do
		n=$((n + 1))
		[ $((n % 3)) = 0 ] || continue
		hpdsl-cat "$ds" -- "$name" > got
		(cd "$in" && cat < "$name") | cmp - got || {
			printf '%q\n' "$name"
			return 1
		}
	done < some
	[ "$n" -gt 150 ]
}

@test "hpdsl-ls: every name once, in stored order; -0 and escaped agree" {
	hpdsl-ls -0 "$ds" | LC_ALL=C sort -z > a
	names | LC_ALL=C sort -z > b
	cmp a b
	# a line each, though names have newlines
	[ "$(hpdsl-ls "$ds" | wc -l)" = "$(tr -cd '\0' < a | wc -c)" ]
	hpdsl-ls "$ds" | python3 -c '
import sys
for line in sys.stdin.buffer.read().split(b"\n")[:-1]:
    out = b""
    while line:
        n = 2 if line[:1] == b"\\" else 1
        out += {b"\\n": b"\n", b"\\\\": b"\\"}.get(line[:n], line[:n])
        line = line[n:]
    sys.stdout.buffer.write(out + b"\0")' > c
	hpdsl-ls -0 "$ds" | cmp - c
}

@test "hpdsl-ls | hpdsl-cat: contents in that order" {
	hpdsl-ls -0 "$ds" | trees content "$in" > want
	hpdsl-ls "$ds" | hpdsl-cat --files-from - "$ds" | cmp - want
	hpdsl-ls -0 "$ds" | hpdsl-cat -0 --files-from - "$ds" | cmp - want
	names > list
	trees content "$in" < list > want
	hpdsl-cat -0 --files-from=list "$ds" | cmp - want
}

@test "hpdsl-ls | hpdsl-unpack: the tree" {
	hpdsl-ls "$ds" | hpdsl-unpack -q --files-from - "$ds" out
	trees same "$in" out
	hpdsl-ls -0 "$ds" | hpdsl-unpack -q -0 --files-from - "$ds" out0
	trees same "$in" out0
}

@test "hpdsl-ls PATTERN | hpdsl-unpack: that part of the tree" {
	mkdir part
	cp -a "$in/odd" part/odd
	hpdsl-ls "$ds" 'odd/*' | hpdsl-unpack -q --files-from - "$ds" out
	trees same part out
	hpdsl-unpack -q "$ds" out2 'odd/*'
	trees same part out2
}

# but_litter A B: the same dataset, though of one nothing would be left out.
but_litter()
{
	diff -r -x dataset.yaml "$1" "$2"
	diff <(grep -av '^  litter: \|^checksum: ' "$1/dataset.yaml") \
		<(grep -av '^  litter: \|^checksum: ' "$2/dataset.yaml")
}

@test "hpdsl-ls | hpdsl-pack --files-from: the same dataset" {
	hpdsl-ls "$ds" |
		hpdsl-pack -q --chunk-size 256K --files-from - "$in" a
	but_litter a "$ds"
	names | hpdsl-pack -q --chunk-size 256K -0 --files-from - "$in" b
	but_litter b "$ds"
}

@test "--files-from without INPUT: from the current folder; ./ and / are dropped" {
	(cd "$in" && find ./samples -type f |
		hpdsl-pack -q --files-from - "$BATS_TEST_TMPDIR/rel")
	[ "$(hpdsl-ls rel | wc -l)" = 240 ]
	[ "$(hpdsl-ls rel | head -c 8)" = samples/ ]
	find "$in/samples" -type f | hpdsl-pack -q --files-from - abs
	hpdsl-ls abs | sort > got
	find "$in/samples" -type f | cut -c 2- | sort | cmp - got
}

@test "what was unpacked packs to the same bytes" {
	hpdsl-unpack -q "$ds" out
	hpdsl-pack -q --chunk-size 256K out again
	[ "$(dataset_digest again)" = "$(dataset_digest "$ds")" ]
}

@test "umask: unpacked files have the modes of the dataset, folders follow it" {
	(umask 077 && hpdsl-unpack -q "$ds" out 'mode/*')
	mkdir part
	cp -a "$in/mode" part/
	trees same part out
	[ "$(stat -c %a out/mode)" = 700 ]
}

@test "a sample of more than 64 members is told, and comes back" {
	mkdir many
	for ((i = 0; i < 65; i++)); do
		echo "$i" > "many/s.$i"
	done
	echo > many/t.1
	hpdsl-pack -q --group=key --chunks 2 many out 2> err
	[ "$(wc -l < err)" = 1 ]
	grep "more than 64 members.*'s\..*--group=none" err
	hpdsl-verify -q --source many out
	rm many/s.64
	hpdsl-pack -q --group=key many out64 2> err
	[ ! -s err ]
	hpdsl-pack -q --group=none many none
	[ "$(hpdsl-ls --samples none | wc -l)" = 65 ]
}

@test "what is not kept is counted" {
	hpdsl-pack --json "$in" out > json
	[ "$(field symlinks_followed < json)" = 4 ]
	[ "$(field symlinks_to_folders < json)" = 1 ]
	[ "$(field empty_folders < json)" = 1 ]
	[ "$(field hard_links < json)" -ge 2 ]
	[ "$(field sparse < json)" -ge 1 ]
}

@test "one empty file; one byte" {
	mkdir e
	: > e/empty
	hpdsl-pack -q e out
	hpdsl-verify -q --source e out
	[ "$(hpdsl-cat out empty | wc -c)" = 0 ]
	printf x > e/empty
	hpdsl-pack -q --force e out
	[ "$(hpdsl-cat out empty)" = x ]
}

@test "names like those of unpack's temporary files" {
	mkdir temp
	for i in $(seq 0 9); do
		echo "$i" > "temp/.hpdsl-000-00000$i.part"
	done
	hpdsl-pack -q temp packed-temp
	hpdsl-unpack -q -j 0 packed-temp restored
	diff -r temp restored
}
