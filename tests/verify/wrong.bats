#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Each rule of hpdsl-format(5), "What a checking reader checks": hpdsl-verify
# finds it broken.  And what is of other origin, but right, breaks none.

bats_require_minimum_version 1.5.0
load ../kit/lib

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
	# the order of the keys is not that of the paths
	mkdir -p dashes/1
	touch dashes/1.a dashes/1.b dashes/1-.a dashes/1/x dashes/10.a dashes/1,
	hpdsl-pack -q dashes bases/dashes
	mkdir bases/tars
	tar -C in --sort=name -cf bases/tars/a.tar cat
	tar -C in --sort=name -cf bases/tars/b.tar dog
	hpdsl-index -q bases/tars
	cp -R bases/tars bases/told
	rm bases/told/index.hpdsl bases/told/dataset.yaml
	hpdsl-index -q --shuffled bases/told
}

@test "every rule of the page has a wrong dataset, and each is found" {
	need zstd
	make_bases
	python3 "$SRC/tests/kit/wrong.py" "$SRC/man/hpdsl-format.5" bases
}

# rebuilt DATASET LOST..: without these files, made again: it is sound.  Of one of
# which each file is a sample somebody has to say so, where nothing else is left.
rebuilt()
{
	local ds=$1 how=()
	shift
	[ "$ds $#" != "bases/single 2" ] || how=(--group=none)
	rm -rf again
	cp -R "$ds" again
	(cd again && rm -f "$@")
	hpdsl-index -q "${how[@]}" again 2> log || { cat log; return 1; }
	hpdsl-verify -q again
}

@test "what a rebuild finds, and tars of others, break no rule" {
	need zstd
	make_bases
	for ds in plain named zst single dashes; do
		rebuilt bases/$ds index.hpdsl
		rebuilt bases/$ds dataset.yaml
		rebuilt bases/$ds index.hpdsl dataset.yaml
	done
	# frames of others
	cp -R bases/zst other
	PYTHONPATH=$SRC/tests/kit python3 -c 'from wrong_model import Dataset
d = Dataset("bases/zst")
d.frames = lambda ends, total: ends + [total]
d.write("other")'
	run -1 hpdsl-verify -q other
	rebuilt other index.hpdsl dataset.yaml
	# names in any order, keys and paths that come again
	mkdir tars
	tar -C in -cf tars/a.tar dog/3.json cat/1.json cat/2.jpg dog/3.jpg cat/1.jpg
	tar -C in -cf tars/b.tar cat dog
	hpdsl-index -q tars 2> log
	hpdsl-verify -q tars
}
