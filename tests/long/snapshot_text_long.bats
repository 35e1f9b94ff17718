#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Text and differences of large trees: a kernel's, and a million lines.

load ../kit/lib

edits()
{
	python3 "$SRC/tests/kit/snapshot_edits.py" "$@"
}

@test "a kernel's tree: dump is what lstat says, edits are found" {
	from=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.xz' \
		2> /dev/null | head -n 1)
	[ -n "$from" ] || skip "no package linux-source"
	mkdir t
	tar xJf "$from" -C t --strip-components=1
	hpdsl-snapshot create -q t -o a
	edits scan t > before
	hpdsl-snapshot dump a > text
	edits dump before | cmp - text
	hpdsl-snapshot load -q text -o again
	cmp a again
	(head -n 1 text && tail -n +2 text | shuf --random-source=text) |
		hpdsl-snapshot load -q - -o again
	cmp a again

	edits edit t 1 3000
	edits scan t > after
	hpdsl-snapshot create -q t -o b
	hpdsl-snapshot diff -q0 a b > out || [ $? = 1 ]
	edits check before after < out
	hpdsl-snapshot check -q0 a t | cmp - out
	hpdsl-snapshot diff --json a b | edits json before after
	hpdsl-snapshot diff -q0 b a > out || [ $? = 1 ]
	edits check after before < out
}

# million SIZE: the text of a thousand folders with as many files each.
million()
{
	echo 'hpdsl-snapshot 1'
	echo 'd 0755 0 0.000000000 - - .'
	awk -v size="$1" 'BEGIN {
		for (d = 0; d < 1000; d++) {
			printf "d 0755 0 0.000000000 - - class%04d\n", d
			for (f = 0; f < 1000; f++)
				printf "f 0644 %d 1700000000.%09d - - " \
					"class%04d/image_%06d.jpg\n", \
					f % size ? d : size, f, d, f
		}
	}'
}

@test "a million lines: loaded, dumped, compared" {
	million 10 > one
	million 100 > two
	time hpdsl-snapshot load one -o a
	hpdsl-snapshot load -q two -o b
	time hpdsl-snapshot dump a | cmp - one
	time hpdsl-snapshot diff a b > out || [ $? = 1 ]
	diff one two | grep -c '^>' > want
	wc -l < out | diff want -
	hpdsl-snapshot diff -q a a
}
