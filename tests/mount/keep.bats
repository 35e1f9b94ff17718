#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# hpdsl-mount: a server that dies is followed by another one, and whoever reads
# notices no more than that it takes a little longer.
# shellcheck disable=SC2016,SC2154
# uses: meet

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/mount

setup_file()
{
	[ -z "$(unable)" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 60 20000
	hpdsl-pack -q tree ds
	make_random others 60 20000
	hpdsl-pack -q others other
}

none_left()
{
	! pgrep -f "^hpdsl-mount .*$BATS_TEST_TMPDIR" > left
}

# of_mount NAME: what --status says of the mount of this test.
of_mount()
{
	hpdsl-mount --status --json mnt | field "$1"
}

# replaced N: so often a server was, and the last one answers.
replaced()
{
	[ "$(of_mount replaced)" = "$1" ]
}
export -f field of_mount replaced until_true

# The storm has been over files of the mount, and their servers were killed.
after_storm()
{
	local pid
	sed 's/^/# /' told >&3
	grep -q "the server was ended by signal 9 (Killed), and another one goes on" said
	[ "$(wc -l < said)" = 10 ]
	until_true none_left
	# nor sockets of theirs
	while read -r pid; do
		[ -z "$(find "/tmp/hpdsl-$(id -u)" -name "*mount-*-$pid-*")" ]
	done < killed
}

# bats test_tags=wide
@test "a server dies at each read but some: nothing is wrong, none missing" {
	local k
	for k in $(rounds "1 5" "1 2 3 5 8" "$(seq 10)"); do
		rm -f killed
		HPDSL_FAULT="op=pread,name=chunk-,after=$k,kill" \
			"$BUILD/tests/bed/hpdsl-mount" --fill=off "$from/ds" \
			"$PWD/mnt" -- bash -ec '
			python3 "$SRC/tests/mount/storm.py" "$from/tree" mnt 0
			diff -r "$from/tree" mnt' > told 2> said
		after_storm
	done
}

# bats test_tags=more
@test "servers are killed while files are read: nothing is wrong, none missing" {
	timeout $((600 + ${KILLS:-20})) hpdsl-mount --fill=off "$from/ds" "$PWD/mnt" -- bash -ec '
		python3 "$SRC/tests/mount/storm.py" "$from/tree" mnt "${KILLS:-20}"
		until_true replaced "${KILLS:-20}"
		diff -r "$from/tree" mnt' > told 2> said
	[ "$(wc -l < killed)" = "${KILLS:-20}" ]
	after_storm
}

@test "asked when a server was just killed, it is the next one that answers" {
	timeout 600 hpdsl-mount "$from/ds" "$PWD/mnt" -- bash -ec '
		before=$(of_mount worker)
		for i in 1 2 3 4 5 6 7 8 9 10; do
			kill -KILL "$before"
			now=$(of_mount worker)
			[ -n "$now" ]
			# it may have been asked before it knew of its end
			until_true replaced "$i"
			before=$(of_mount worker)
		done' 2> said
	[ "$(grep -vc "and another one goes on" said)" = 0 ]
	# of what is not mounted nothing is waited for; until they are gone they answer
	until_true none_left
	run -1 hpdsl-mount --status mnt
	[ "$output" = "nothing is mounted there" ]
}

@test "a request that servers fail with is answered with an error, others are not" {
	[ -z "${SAN:-}" ] || skip "preloaded, it would be before the sanitizer"
	cat > fails.c <<- 'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <signal.h>
		#include <string.h>
		#include <sys/types.h>
		#include <unistd.h>
		/* an answer to a READ that has these bytes in it */
		ssize_t write(int fd, const void *p, size_t n)
		{
			static ssize_t (*real)(int, const void *, size_t);

			if (!real)
				real = (ssize_t(*)(int, const void *, size_t))
					dlsym(RTLD_NEXT, "write");
			if (memmem(p, n, "this one", 8))
				raise(SIGSEGV);
			return real(fd, p, n);
		}
	END
	cc -shared -fPIC -o fails.so fails.c -ldl
	cp -r "$from/tree" tree
	echo "this one" > tree/bad
	hpdsl-pack -q tree ds
	LD_PRELOAD=$PWD/fails.so timeout 600 hpdsl-mount --fill=off ds \
		"$PWD/mnt" -- bash -c '
		unset LD_PRELOAD
		for f in mnt/*; do
			[ "$f" = mnt/bad ] || cmp "$f" "tree/${f#mnt/}" || exit 1
		done
		cat mnt/bad > got 2> error
		echo $? > status
		cat mnt/bad > got 2>> error
		for f in mnt/*; do
			[ "$f" = mnt/bad ] || cmp "$f" "tree/${f#mnt/}" || exit 1
		done
		of_mount replaced > times' 2> said
	[ "$(cat status)" = 1 ]
	grep -q "mnt/bad: Input/output error" error
	[ "$(cat times)" -ge 2 ]
	grep -q "ended by signal 11" said
	grep -q "servers failed with it at hand" said
	until_true none_left
}

@test "another dataset by then, or none: all fails, nothing is wrong" {
	cp -r "$from/ds" ds
	timeout 600 hpdsl-mount --fill=off "$PWD/ds" "$PWD/mnt" -- bash -c '
		head -c 10 mnt/00001.bin | cmp - <(head -c 10 "$from/tree/00001.bin") ||
			exit 1
		rm -r ds
		cp -r "$from/other" ds
		kill -KILL "$(of_mount worker)"
		until_true replaced 1
		! cat mnt/00002.bin 2> error || exit 1
		! ls mnt/none 2>> error || exit 1
		rm -r ds
		kill -KILL "$(of_mount worker)"
		until_true replaced 2
		! cat mnt/00003.bin 2>> error || exit 1
		# it is there again
		cp -r "$from/ds" ds
		kill -KILL "$(of_mount worker)"
		until_true replaced 3
		cmp mnt/00004.bin "$from/tree/00004.bin"' 2> said
	[ "$(grep -c "Input/output error" error)" = 3 ]
	grep -q "another dataset than it was when it was mounted" said
	grep -q "ds: No such file or directory" said
	[ "$(grep -c "all that is asked from now on fails" said)" = 2 ]
	until_true none_left
}

# The kernel may have a listing, but not this.
is_gone()
{
	! stat -f mnt > /dev/null 2>&1
}

@test "without its keeper a mount ends at once" {
	need_root
	hpdsl-mount "$from/ds" mnt
	kill -KILL "$(of_mount pid)"
	until_true none_left
	# its worker's end follows
	until_true is_gone
	hpdsl-mount "$from/ds" mnt 2> said
	diff -r "$from/tree" mnt
	hpdsl-mount -u mnt
	until_true none_left
}

@test "in the foreground: replaced, and ended by a signal" {
	need_root
	hpdsl-mount -f "$from/ds" mnt 3>&- 2> said &
	until_true test -e mnt/00001.bin
	kill -KILL "$(of_mount worker)"
	until_true replaced 1
	diff -r "$from/tree" mnt
	kill $!
	wait $!
	[ -z "$(ls mnt)" ]
	until_true none_left
}

@test "signals that whoever began it ignores change nothing" {
	need_root
	python3 -c '
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])' \
		hpdsl-mount --fill=off "$from/ds" mnt 2> said
	kill -KILL "$(of_mount worker)"
	until_true replaced 1
	diff -r "$from/tree" mnt
	hpdsl-mount -u mnt
	until_true none_left
}


@test "killed while the page cache is filled: whoever waits for a page gets it" {
	[ -z "${SAN:-}" ] || skip "preloaded, it would be before the sanitizer"
	need_root
	cat > slow.c <<- 'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <stdio.h>
		#include <sys/types.h>
		#include <unistd.h>
		/* answers of a megabyte and more wait: of the first one "slow"
		 * gets the name "held", and they go on when that is gone */
		ssize_t write(int fd, const void *p, size_t n)
		{
			ssize_t (*real)(int, const void *, size_t) =
				(ssize_t(*)(int, const void *, size_t))
					dlsym(RTLD_NEXT, "write");

			if (n > 100000)
				rename("slow", "held");
			while (n > 100000 && !access("held", F_OK))
				usleep(20000); /* clock: a gate */
			return real(fd, p, n);
		}
	END
	cc -shared -fPIC -o slow.so slow.c -ldl
	mkdir big
	head -c 2000000 /dev/urandom > big/a
	head -c 2000000 /dev/urandom > big/b
	hpdsl-pack -q big two
	touch slow
	LD_PRELOAD=$PWD/slow.so hpdsl-mount --fill=on two mnt 2> said
	local worker
	worker=$(of_mount worker)
	ls -l mnt > /dev/null
	cksum < mnt/a > sum 3>&- &
	until_true test -e held
	kill -KILL "$worker"
	rm held
	until_true test -s sum
	cmp sum <(cksum < big/a)
	cmp mnt/b big/b
	hpdsl-mount -u mnt
	until_true none_left
}
