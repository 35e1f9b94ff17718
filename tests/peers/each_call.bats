#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# F1: the k-th call that sends or receives fails, in the reader and in the server
# that it asks.  In check-long for every k, else for some.
# uses: ports

bats_require_minimum_version 1.5.0
load ../kit/lib
load ../kit/mpi
load ../kit/serve

setup_file()
{
	[ -x "$BUILD/hpdsl-stage" ] || return 0
	[ -x "$BUILD/hpdsl-serve" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	make_random tree 24 30000
	hpdsl-pack -q --chunks=6 tree ds
	stage 2 -q --pretend-nodes=2 --mode=partition "$PWD/ds" node%n
	rm node?/peers.hpdsl
	(umask 077 && seq 64 | sha256sum | cut -d' ' -f1 > secret)
	printf 'a 127.0.0.1\nb 127.0.0.2\n' > hosts
	# sends and receives of TCP: of what else there are sockets for, none
	cat > fails.c <<- 'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <errno.h>
		#include <stdatomic.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/sendfile.h>
		#include <sys/socket.h>
		#include <sys/uio.h>
		#include <unistd.h>

		static _Atomic long count;

		/* 1: with errno; -1: a byte at most. */
		static int fails(int fd)
		{
			const char *at = getenv("FAIL_AT"), *how = getenv("FAIL");
			const char *seen = getenv("FAIL_SEEN");
			int domain = 0;
			socklen_t n = sizeof domain;
			FILE *f;

			if (!at || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain,
					      &n) < 0 ||
			    (domain != AF_INET && domain != AF_INET6) ||
			    ++count != atol(at))
				return 0;
			if (seen && (f = fopen(seen, "w")))
				fclose(f);
			if (!strcmp(how, "short"))
				return -1;
			errno = !strcmp(how, "pipe") ? EPIPE : ECONNRESET;
			return 1;
		}

		#define REAL(type, name, ...) \
			type (*real)(__VA_ARGS__) = dlsym(RTLD_NEXT, name)

		ssize_t send(int fd, const void *p, size_t n, int flags)
		{
			REAL(ssize_t, "send", int, const void *, size_t, int);
			int f = fails(fd);
			return f > 0 ? -1 : real(fd, p, f && n ? 1 : n, flags);
		}
		ssize_t recv(int fd, void *p, size_t n, int flags)
		{
			REAL(ssize_t, "recv", int, void *, size_t, int);
			int f = fails(fd);
			return f > 0 ? -1 : real(fd, p, f && n ? 1 : n, flags);
		}
		ssize_t sendfile(int to, int from, off_t *at, size_t n)
		{
			REAL(ssize_t, "sendfile", int, int, off_t *, size_t);
			int f = fails(to);
			return f > 0 ? -1 : real(to, from, at, f && n ? 1 : n);
		}
		ssize_t sendfile64(int to, int from, off64_t *at, size_t n)
		{
			REAL(ssize_t, "sendfile64", int, int, off64_t *, size_t);
			int f = fails(to);
			return f > 0 ? -1 : real(to, from, at, f && n ? 1 : n);
		}
		ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
		{
			REAL(ssize_t, "sendmsg", int, const struct msghdr *, int);
			return fails(fd) > 0 ? -1 : real(fd, m, flags);
		}
		ssize_t writev(int fd, const struct iovec *v, int n)
		{
			REAL(ssize_t, "writev", int, const struct iovec *, int);
			return fails(fd) > 0 ? -1 : real(fd, v, n);
		}
	END
	cc -shared -fPIC -o fails.so fails.c -ldl
}

setup()
{
	[ -x "$BUILD/hpdsl-stage" ] || skip "hpdsl-stage was not built"
	[ -x "$BUILD/hpdsl-serve" ] || skip "hpdsl-serve was not built"
	[ -z "${SAN:-}" ] || skip "preloaded, it would be before the sanitizer"
	ldconfig -p | grep -q 'libcurl\.so\.4' || skip "no libcurl"
	cd "$BATS_FILE_TMPDIR" || return 1
	servers=() step=13
	! at_level long || step=1
}

teardown()
{
	[ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2> /dev/null || :
	wait
}

# begin NODE [VARIABLE=VALUE..]
begin()
{
	env "${@:2}" hpdsl-serve -q --hosts=hosts --secret=secret --node="$1" \
		--interface=127.0.0.0/8 "node$1" 3>&- 2>> "said$1" &
	servers+=($!)
	until_true has_port "node$1"
}

# reads [VARIABLE=VALUE..]: all of it, as it was packed.
reads()
{
	rm -rf got
	env "$@" timeout 600 hpdsl-unpack -q node0 got
	diff -r tree got
}

# end: and what was seen of the others is forgotten.
end()
{
	kill "${servers[@]}"
	wait "${servers[@]}" || :
	servers=()
	rm node?/peers.health
}

@test "F1: in the reader the k-th send or receive fails" {
	local k how=0 hows=(reset pipe short)
	for ((k = 1; ; k += step)); do
		rm -f seen
		begin 0
		begin 1
		reads LD_PRELOAD="$PWD/fails.so" FAIL_AT="$k" \
			FAIL="${hows[how++ % 3]}" FAIL_SEEN="$PWD/seen"
		end
		[ -e seen ] || break
	done
	echo "# $k calls, one in $step" >&3
	[ "$k" -gt 20 ]
}

@test "F1: in the server the k-th send or receive fails" {
	local k how=0 hows=(reset pipe short)
	for ((k = 1; ; k += step)); do
		rm -f seen
		begin 0
		begin 1 LD_PRELOAD="$PWD/fails.so" FAIL_AT="$k" \
			FAIL="${hows[how++ % 3]}" FAIL_SEEN="$PWD/seen"
		reads
		# it lives on, and answers
		hpdsl-serve --status --json node1 > status
		end
		[ -e seen ] || break
	done
	echo "# $k calls, one in $step" >&3
	[ "$k" -gt 10 ]
}
