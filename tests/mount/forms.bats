#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount of a dataset in each of its forms is the tree that was packed: one
# with the hardest names, sizes, modes and times, and in it a real one, of ours.
# bats file_tags=wide
# uses: ports, meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/mount
load ../kit/serve
load ../kit/forms

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	python3 "$SRC/tests/kit/nasty.py" tree
	mkdir tree/real
	tar -C "$SRC" --exclude=./build --exclude=./dist --exclude=./.git -cf - \
		"$(rounds man . .)" |
		tar -C tree/real --no-same-owner -xpf -
	packed . --chunk-size=1M
}

@test "plain" {
	plain_is_tree "$from"
}

@test "compressed" {
	compressed_is_tree "$from"
}

@test "adopted: tars of GNU tar" {
	adopted_is_tree "$from"
}

@test "staged, and the origin is gone" {
	need_stage
	staged_is_tree "$from"
}

@test "half staged: the rest is the origin's" {
	need_stage
	half_staged_is_tree "$from"
}

@test "served by peers, and the origin is gone" {
	need_serve
	peer_served_is_tree "$from"
}

# changed FILE COMMAND..: of two/tree, another in its place, called x until then.
changed()
{
	local path=two/tree/$1
	shift
	cp -p "$path" x
	"$@"
	touch -r "$path" x
	mv -f x "$path"
}

# told TEXT..: what is mounted is not the tree, which is said so.
told()
{
	local text
	run ! as_tree two/tree two/ds
	for text; do
		[[ $output == *"$text"* ]] || { echo "$output"; return 1; }
	done
}

@test "another tree is found out: content, name, mode, a nanosecond, a depth" {
	local deep
	mkdir two
	python3 "$SRC/tests/kit/nasty.py" two/tree
	packed two
	cp -p two/tree/size/1048576.bin good
	changed size/1048576.bin flip x 1000000
	mv two/tree/samples/10.jpg two/tree/samples/10.jpeg
	told "1048576.bin differ" "Only in mnt/samples: 10.jpg"
	mv good two/tree/size/1048576.bin
	mv two/tree/samples/10.jpeg two/tree/samples/10.jpg
	as_tree two/tree two/ds
	# what diff does not see
	changed mode/640 chmod 600 x
	touch -d @0.000000002 two/tree/time/one
	deep=$(cd two/tree && compgen -G '00ddd*')
	echo > "two/tree/$deep/new"
	told "mode: b'mode/640'" "mtime: b'time/one'" \
		"did not come back: b'$deep/new'"
}
