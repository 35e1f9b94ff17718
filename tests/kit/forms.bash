# SPDX-License-Identifier: Apache-2.0
# For tests that hold a mount of a dataset, in each of the forms that it may have,
# against the tree that was packed: `load ../kit/forms` behind lib, mpi, mount and
# serve.
# shellcheck shell=bash disable=SC2016,SC2154

# packed DIR OPTION..: DIR/tree as a dataset, plain and compressed.
packed()
{
	local dir=$1
	shift
	hpdsl-pack -q "$@" "$dir/tree" "$dir/ds"
	hpdsl-pack -q --zstd=1 "$@" "$dir/tree" "$dir/zst"
	# a dataset knows no links to folders, none that lead nowhere, no empty
	# folders and no such bits
	find "$dir/tree" -type l ! -xtype f -delete
	find "$dir/tree" -mindepth 1 -depth -type d -empty -delete
	find "$dir/tree" -type f -perm /7000 -exec chmod a-s,-t {} +
}

# as_tree TREE DATASET: what is mounted is the tree: for diff, and, as some paths
# are too long for that, for who takes each folder by itself, with sizes, modes and
# nanoseconds.  With $how `sizes`, that one reads no contents again.
as_tree()
{
	timeout 600 hpdsl-mount "$2" "$PWD/mnt" -- bash -ec '
		diff -r --exclude="0*ddddd*" --exclude=many "$1" mnt
		python3 "$SRC/tests/kit/trees.py" same "$1" mnt ${2:+"$2"}' - \
		"$1" "${how:-}" || return
	until_true no_server
}

# chunks DIR: what one with all of them has.
chunks()
{
	find "$1" -name 'chunk-*.tar*' | wc -l
}

plain_is_tree()
{
	as_tree "$1/tree" "$1/ds"
}

compressed_is_tree()
{
	[ "$(find "$1/zst" -name 'chunk-*.tar.zst' | wc -l)" -gt 1 ]
	as_tree "$1/tree" "$1/zst"
}

# Two tars of GNU tar, each with every second name at the top.
adopted_is_tree()
{
	local n
	mkdir adopted
	find "$1/tree" -mindepth 1 -maxdepth 1 -printf '%f\0' | sort -z > top
	for n in 1 2; do
		sed -zn "$n~2p" top > these
		tar -C "$1/tree" --format=posix --sort=name -h --hard-dereference \
			--null --verbatim-files-from -T these -cf "adopted/$n.tar"
	done
	hpdsl-index -q adopted 2> said || { cat said; return 1; }
	grep -qx 'adopted: true' adopted/dataset.yaml
	as_tree "$1/tree" adopted
}

# Whole: the origin is gone, for certain.
staged_is_tree()
{
	cp -rl "$1/ds" origin
	stage 1 -q origin "$PWD/node"
	[ "$(chunks node)" = "$(chunks origin)" ]
	rm -r origin
	as_tree "$1/tree" node
}

# A disk that fails when half of them have their names.  That one was killed is
# known to readers after a while only.
half_staged_is_tree()
{
	local half=$(($(chunks "$1/ds") / 2))
	HPDSL_FAULT="op=rename,name=chunk-,after=$half,times=0" \
		run -3 "$BUILD/tests/bed/hpdsl-stage" -q "$1/ds" "$PWD/half"
	[ "$(chunks_in half)" = "$half" ]
	as_tree "$1/tree" half
}

# Two nodes have a half each, and the origin is gone.
peer_served_is_tree()
{
	halves "$1/ds"
	[ "$(chunks node0)" -lt "$(chunks "$1/ds")" ]
	[ "$(chunks node1)" -lt "$(chunks "$1/ds")" ]
	unhurried as_tree "$1/tree" node0
	no_halves
}

need_stage()
{
	[ -x "$BUILD/hpdsl-stage" ] || skip "hpdsl-stage was not built"
}

need_serve()
{
	need_stage
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	ldconfig -p | grep -q 'libcurl\.so\.4' || skip "no libcurl"
}
