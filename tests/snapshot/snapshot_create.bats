#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The walk of hpdsl-snapshot create: where it goes, what it costs, and what it
# says of a tree that goes away.

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/stopped
load ../kit/snapshot

# paths FILE: those of all entries.
paths()
{
	hpdsl-snapshot dump "$1" | sed 1d | cut -d' ' -f7- | LC_ALL=C sort
}

@test "another file system is recorded, and entered only if asked" {
	unshare -m true 2> /dev/null || skip "no mount namespaces"
	mkdir -p tree/mnt tree/sub
	touch tree/sub/file
	unshare -m bash -euc '
		mount -t tmpfs none tree/mnt
		mkdir tree/mnt/d
		touch tree/mnt/d/in
		hpdsl-snapshot create tree -o one 2> err
		hpdsl-snapshot create --all-file-systems tree -o all 2> err.all
		hpdsl-snapshot check -q one tree 2> /dev/null
		hpdsl-snapshot check -q --all-file-systems all tree
	'
	[ "$(paths one | xargs)" = ". mnt sub sub/file" ]
	[ "$(paths all | xargs)" = ". mnt mnt/d mnt/d/in sub sub/file" ]
	grep -q "^hpdsl-snapshot: warning: tree/mnt: another file system, not entered$" \
		err
	run ! grep "another file system" err.all
}

@test "a path of 4,095 bytes is taken, one more is an error" {
	python3 - <<- 'END'
		import os
		def deep(top, last):
		    os.mkdir(top)
		    at = os.getcwd()
		    os.chdir(top)
		    for _ in range(40):          # 40 * 100 bytes with the slashes
		        os.mkdir("d" * 99)
		        os.chdir("d" * 99)
		    open("f" * last, "w").close()
		    os.chdir(at)
		deep("good", 95)
		deep("bad", 96)
		deep("worse", 200)
	END
	hpdsl-snapshot create -q good -o snap
	[ "$(paths snap | tail -n 1 | tr -d '\n' | wc -c)" = 4095 ]
	hpdsl-snapshot check -q snap good
	cp snap old
	for tree in bad worse; do
		fails 3 "File name too long" hpdsl-snapshot create -q "$tree" -o snap
		cmp old snap
	done
	nothing_beside .
}

@test "one large folder: the same bytes for any -j" {
	local many=20000 j
	! at_level long || many=200000
	mkdir tree
	python3 - "$many" <<- 'END'
		import os, sys
		for i in range(int(sys.argv[1])):
		    os.close(os.open(f"tree/{i * 7919 % 1000003}.jpg",
		                     os.O_CREAT | os.O_WRONLY))
	END
	hpdsl-snapshot create -q -j0 tree -o snap
	[ "$(paths snap | wc -l)" = $((many + 1)) ]
	for j in 1 2 16 600; do
		hpdsl-snapshot create -q -j$j tree -o other
		cmp snap other
	done
}

@test "each name is asked for once, each folder opened once" {
	local j
	need strace
	make_tree tree 30 20
	ln -s none tree/link
	names=$(find tree -mindepth 1 | wc -l)
	for j in 0 16; do
		traced -f -o calls \
			-e trace=newfstatat,statx,openat,getdents64,readlinkat \
			hpdsl-snapshot create -q -j$j tree -o snap
		# the walk begins where the top is opened
		sed -n '/O_PATH/,$p' calls | grep -v resumed > walk
		echo "$names names, -j$j"
		grep -c newfstatat walk
		[ "$(grep -c newfstatat walk)" -le $((names + 31 + 10)) ]
		[ "$(grep -c 'O_NOFOLLOW.*O_DIRECTORY' walk)" = 31 ]
		[ "$(grep -c getdents64 walk)" = 62 ]
		[ "$(grep -c readlinkat walk)" = 1 ]
	done
}

@test "SOURCE goes away while it is walked: exit 3, the old file is kept" {
	local status=0
	make_tree tree 20 10
	hpdsl-snapshot create -q tree -o snap
	cp snap old
	stopped_at 1 getdents64 hpdsl-snapshot create -q -j1 tree -o snap
	rm -rf tree
	goes_on || status=$?
	echo "$message"
	[ "$status" = 3 ]
	[[ $message = *" during the walk" ]]
	cmp old snap
	nothing_beside .
	fails 3 "tree: No such file or directory" \
		hpdsl-snapshot create -q tree -o snap
	cmp old snap
}

@test "SOURCE is a link to a folder, a file, a device" {
	mkdir tree
	touch tree/f
	ln -s tree link
	hpdsl-snapshot create -q link -o snap
	[ "$(paths snap | xargs)" = ". f" ]
	hpdsl-snapshot create -q tree/ -o other
	cmp snap other
	(cd tree && hpdsl-snapshot create -q . -o ../other)
	cmp snap other
	fails 3 "tree/f: Not a directory" hpdsl-snapshot create -q tree/f -o snap
	fails 3 "/dev/null: Not a directory" \
		hpdsl-snapshot create -q /dev/null -o snap
	cmp snap other
}
