#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Readers of a node, of what another one has, when something goes wrong: the
# cases are in peer_reads.py.
# uses: ports, meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/serve
load ../kit/python

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 80 9000
	hpdsl-pack -q --chunks=20 tree ds
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	ldconfig -p | grep -q 'libcurl\.so\.4' || skip "no libcurl"
	stage 2 -q --pretend-nodes=2 --mode=partition "$BATS_FILE_TMPDIR/ds" node%n
	hpdsl-serve -q "$PWD/node0" 3>&- &
	server=$!
	until_true has_port node0
}

teardown()
{
	[ -z "${server:-}" ] || kill "$server" 2> /dev/null || :
	wait
}

# peer_case NAME: it ends well, and the server lives on.
peer_case()
{
	# what others cannot be asked for is told
	py -W default::RuntimeWarning "$SRC/tests/serve/peer_reads.py" "$1" "$PWD/node0" "$PWD/node1" \
		"$BATS_FILE_TMPDIR/ds" 3>&-
	has_port node0
}

@test "bits that flip on the way: found, read elsewhere, the node left alone" {
	unhurried peer_case flips
}

@test "what the other node has goes away under way, and so does it" {
	unhurried peer_case removed
}

@test "a reader that is killed in the middle of an answer leaves nothing" {
	unhurried peer_case killed
}

@test "a disk of the other node that hangs: read elsewhere, and it lives on" {
	[ -z "${SAN:-}" ] || skip "preloaded, it would be before the sanitizer"
	cat > hangs.c <<- 'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/sendfile.h>
		#include <sys/types.h>
		#include <unistd.h>

		/* Reads of chunks wait while there is a file "hang". */
		static void wait_for(int fd)
		{
			char link[64], path[4096] = "";

			snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
			while (readlink(link, path, sizeof path - 1) > 0 &&
			       strstr(path, "/chunk-") && !access("hang", F_OK))
				usleep(20000); /* clock: a gate */
		}

		ssize_t pread(int fd, void *p, size_t n, off_t off)
		{
			ssize_t (*real)(int, void *, size_t, off_t) =
				(ssize_t(*)(int, void *, size_t, off_t))
					dlsym(RTLD_NEXT, "pread");

			wait_for(fd);
			return real(fd, p, n, off);
		}

		ssize_t pread64(int fd, void *p, size_t n, off64_t off)
		{
			return pread(fd, p, n, off);
		}

		ssize_t sendfile(int to, int fd, off_t *off, size_t n)
		{
			ssize_t (*real)(int, int, off_t *, size_t) =
				(ssize_t(*)(int, int, off_t *, size_t))
					dlsym(RTLD_NEXT, "sendfile");

			wait_for(fd);
			return real(to, fd, off, n);
		}

		ssize_t sendfile64(int to, int fd, off64_t *off, size_t n)
		{
			return sendfile(to, fd, off, n);
		}
	END
	cc -shared -fPIC -o hangs.so hangs.c -ldl
	peer_case hangs
}

@test "forked children of a process that reads" {
	forks_are_safe
	unhurried peer_case forked
}

@test "spawned children of a process that reads" {
	unhurried peer_case spawned
}

# bats test_tags=more
@test "children of a process whose threads always ask" {
	forks_are_safe
	CHILDREN=$(rounds 500 500 20000)
	export CHILDREN
	# by the clock as it is: a played one would make of a moment minutes
	peer_case often
}

# bats test_tags=more
@test "workers of a DataLoader" {
	load ../kit/torch
	need_torch
	PYTHON=$python unhurried peer_case torch
}

@test "who cannot ask other nodes reads the origin, and says so" {
	mkdir fake
	: > fake/libcurl.so.4
	local why="warning: node0: read from the origin: there is no libcurl.so.4 that can be loaded"
	LD_LIBRARY_PATH=$PWD/fake hpdsl-unpack -q node0 out 2> err
	diff -r out "$BATS_FILE_TMPDIR/tree"
	diff err - <<< "hpdsl-unpack: $why"
	# a chunk of the other node
	LD_LIBRARY_PATH=$PWD/fake hpdsl-cat node0 \
		"$(tar tf node1/chunk-000001.tar | sed -n 1p)" > /dev/null 2> err
	diff err - <<< "hpdsl-cat: $why"
	# Python's, of which another warning would be an error
	LD_LIBRARY_PATH=$PWD/fake py -W default -c '
import hpdsl
dataset = hpdsl.Dataset("node0")
for i in range(len(dataset)):
    dataset[i].data' 2> err
	[ "$(grep -c "RuntimeWarning: .*/${why#warning: }" err)" = 1 ]
	# a mount's server, to where its messages go
	[ -c /dev/fuse ] && unshare --mount true 2> /dev/null || return 0
	mkdir mnt
	LD_LIBRARY_PATH=$PWD/fake hpdsl-mount node0 mnt -- \
		diff -r mnt "$BATS_FILE_TMPDIR/tree" 2> err
	echo "hpdsl-mount: $why" > expected
	until_true cmp -s err expected
}
