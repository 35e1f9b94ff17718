#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Each rule of hpdsl-format(5), "What a checking reader checks": hpdsl-verify
# finds it broken.  And what is of other origin, but right, breaks none.

bats_require_minimum_version 1.5.0
load lib

# What wrong.py begins with.
make_bases()
{
	mkdir -p in/cat in/dog odd one two bases
	for n in cat/1 cat/2 dog/3; do
		printf 'picture %s' $n > in/$n.jpg
		printf '{"n": "%s"}' $n > in/$n.json
	done
	cp -R in/cat in/dog odd
	printf x > "odd/cat/4 b.JPG"
	printf y > "odd/dog/5 c.JPG"
	mkdir -p large/a
	for n in 1 2 3; do
		head -c $((n == 2 ? 300000 : 3000)) /dev/zero |
			tr '\0' $n > large/a/$n.bin
		echo $n > large/a/$n.txt
	done
	hpdsl-pack -q --labels=dir --cls --chunks=2 --shuffle=none in bases/plain
	hpdsl-pack -q --chunks=2 in bases/bare
	hpdsl-pack -q --shuffle=none in bases/ordered
	hpdsl-pack -q --names=portable odd bases/named
	hpdsl-pack -q --zstd --chunks=1 large bases/zst
	hpdsl-pack -q --digest=sha256 --emit=wids in bases/sums
	hpdsl-pack -q --group=none in bases/single
	mkdir bases/tars
	tar -C in --sort=name -cf bases/tars/a.tar cat
	tar -C in --sort=name -cf bases/tars/b.tar dog
	hpdsl-index -q bases/tars
}

@test "every rule of the page has a wrong dataset, and each is found" {
	need zstd
	make_bases
	python3 "$SRC/tests/wrong.py" "$SRC/man/hpdsl-format.5" bases
}
