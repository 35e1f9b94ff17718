#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Snapshots say what the live tree says, entry by entry: of odd trees, large
# ones, real ones, and of what was packed from them.  The same tree gives the
# same bytes.
# need_disk: its trees are on two kinds of file systems.
# uses: shm

load ../kit/lib
load ../kit/snapshot

create()
{
	hpdsl-snapshot create -q "$@"
}

# agrees TREE [SHORT]: its snapshot, made here, with the tree itself in every way, and
# its text with itself.
agrees()
{
	local j
	create "$1" -o snap
	python snapshot_same.py live snap "$1"
	[ -n "${2:-}" ] || {
		python snapshot_same.py text snap "$1"
		python snapshot_same.py json snap "$1"
	}
	hpdsl-snapshot check -q snap "$1"
	for j in $(rounds "0 16" "0 1 2 16" "0 1 2 16"); do
		create -j "$j" "$1" -o again
		cmp snap again
	done
	hpdsl-snapshot dump snap > text
	hpdsl-snapshot load -q text -o again
	cmp snap again
	shuf --random-source=text <(tail -n +2 text) > shuffled
	{ echo 'hpdsl-snapshot 1' && cat shuffled; } |
		hpdsl-snapshot load -q - -o again
	cmp snap again
	python3 "$SRC/tests/kit/read_snapshot.py" dump snap | cmp text -
	rm again text shuffled
}

# The names as find and du have them.
agrees_with_find()
{
	(cd "$1" && find . -print0) | sed -z 's|^\./||' | LC_ALL=C sort -z \
		> want
	hpdsl-snapshot find -0 snap | LC_ALL=C sort -z | cmp want -
	(cd "$1" && find . -type f -name '*[ac]*' -size +0c -print0) |
		sed -z 's|^\./||' | LC_ALL=C sort -z > want
	hpdsl-snapshot find -0 --type f --name '*[ac]*' --size +0 snap |
		LC_ALL=C sort -z | cmp want -
	(cd "$1" && find . -newermt 2030-01-01 -print0) |
		sed -z 's|^\./||' | LC_ALL=C sort -z > want
	hpdsl-snapshot find -0 --newer 2030-01-01 snap | LC_ALL=C sort -z |
		cmp want -
}

# bats test_tags=wide
@test "a tree of all that a name space can hold" {
	"$SRC/tests/kit/snapshot_trees.py" nasty tree
	agrees tree
	agrees_with_find tree
}

# bats test_tags=more
@test "the same tree made in another order, on another file system" {
	local shm i
	"$SRC/tests/kit/snapshot_trees.py" nasty tree
	create tree -o snap
	digests snap > want
	[ "$(wc -l < want)" = 2 ]
	for i in 1 2; do
		"$SRC/tests/kit/snapshot_trees.py" nasty again "$i"
		create again -o other
		digests other | diff want -
		# a folder's size says how many were in it once
		hpdsl-snapshot diff snap other
		rm -r again
	done
	shm=$(mktemp -d /dev/shm/hpdsl.XXXXXX) || skip "no /dev/shm"
	"$SRC/tests/kit/snapshot_trees.py" nasty "$shm/tree" 3
	create "$shm/tree" -o other || :
	rm -rf "$shm"
	digests other | diff want -
	hpdsl-snapshot diff snap other
}

# bats test_tags=more
@test "a folder of very many files, many folders of some" {
	local n=40000 folders=60
	if at_level long; then
		n=1000000 folders=1000
	elif [ -n "${SAN:-}" ]; then
		n=5000 folders=20
	fi
	"$SRC/tests/kit/snapshot_trees.py" many tree 1 "$n"
	"$SRC/tests/kit/snapshot_trees.py" many tree/more "$folders" \
		$((folders > 100 ? 1000 : 200))
	agrees tree short
	agrees_with_find tree
}

# bats test_tags=more
@test "a kernel's source tree" {
	from=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.xz' \
		2> /dev/null | head -n 1)
	[ -n "$from" ] || skip "no package linux-source"
	mkdir tree
	if at_level long; then
		tar xJf "$from" -C tree --strip-components=1
	else
		# the first of it, and an end in the middle of a file
		xz -dcq "$from" | head -c 120M |
			tar xf - -C tree --strip-components=1 2> /dev/null || :
	fi
	[ "$(find tree | wc -l)" -ge 5000 ]
	agrees tree
	agrees_with_find tree
}

# same_of_packed OPTION..: what is packed from ./tree with these options and
# the tree have the same files; pack --snapshot gives what create gives.
same_of_packed()
{
	rm -rf packed
	hpdsl-pack -q "$@" --snapshot with tree packed
	create packed -o after
	cmp with after
	python snapshot_same.py dataset after packed tree
	digests after | grep files_ | diff files -
	hpdsl-snapshot dump after | hpdsl-snapshot load -q - -o again
	cmp after again
	python3 "$SRC/tests/kit/read_snapshot.py" dump after > text
	hpdsl-snapshot dump after | cmp - text
	hpdsl-snapshot diff snap after
	hpdsl-snapshot diff after snap
}

# Packed with a walk and without one.
same_without_walk()
{
	rm -rf packed
	hpdsl-pack -q "$@" tree packed
	hpdsl-pack -q "$@" --from-snapshot snap tree unwalked
	diff -r packed unwalked
	rm -r unwalked
}

# bats test_tags=more
@test "a dataset has what its tree has: every kind of dataset" {
	python3 "$SRC/tests/kit/nasty.py" tree
	find tree -type l -delete
	find tree -type d -empty -delete
	create tree -o snap
	digests snap | grep files_ > files
	same_of_packed
	same_of_packed --group=none --shuffle=none --chunks=7
	same_of_packed --names=portable --zstd --digest=sha256 --labels=dir
	same_without_walk
	same_without_walk --labels=dir --chunks=5
	# modes that a dataset does not keep are no difference, others are
	chmod 0600 tree/size/1.bin
	create tree -o snap
	hpdsl-snapshot diff -q snap after > out || [ "$?" = 1 ]
	grep -q '^~ size/1.bin' out
	[ "$(wc -l < out)" = 1 ]
}

@test "--cls, --meta and side files are no entries" {
	make_tree tree 4 25
	create tree -o snap
	digests snap | grep files_ > files
	same_of_packed --labels=dir --cls --meta a=b --chunks=3
	same_of_packed --labels=dir --cls --emit=dali,energon,wids \
		--names=portable --chunks=3
	same_without_walk --labels=dir --cls --chunks=3
}

# bats test_tags=more
@test "links that a pack follows: the tree's snapshot packs the same" {
	python3 "$SRC/tests/kit/nasty.py" tree
	create tree -o snap
	same_without_walk
	same_without_walk --symlinks=follow-all
}

# bats test_tags=long
@test "Fashion-MNIST: 70,000 images" {
	[ -d /usr/share/datasets/fashion-mnist ] ||
		skip "no package dataset-fashion-mnist"
	"$SRC/examples/fashion_mnist_to_png.py" tree
	agrees tree
	digests snap | grep files_ > files
	same_of_packed --labels=dir --chunk-size=8M
	same_without_walk --labels=dir
}
