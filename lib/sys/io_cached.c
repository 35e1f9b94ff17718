/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a file is in the page cache.  cachestat(2), since Linux 6.5, counts
 * it; before that a few pages are tried with RWF_NOWAIT.  Such a try makes some
 * kernels read the page, so places are drawn anew each time: what was tried
 * before must not be all that is there.
 */
#include "sys/io.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

enum { TRIES = 4 };

struct range {
	uint64_t off, len;
};

struct pages {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

/* A place in each quarter; as random as the clock's low bits is enough. */
static uint64_t place(uint64_t off, uint64_t n, unsigned i)
{
	uint64_t part = n / TRIES;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return off + i * part +
	       (part ? (uint64_t)now.tv_nsec * 2654435761u % part : 0);
}

static int64_t try_some(int fd, uint64_t off, uint64_t n)
{
	uint64_t found = 0;

	for (unsigned i = 0; i < TRIES; i++) {
		char byte;
		struct iovec v = { &byte, 1 };
		ssize_t r =
			preadv2(fd, &v, 1, (off_t)place(off, n, i), RWF_NOWAIT);

		if (r < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		found += r > 0;
	}
	return (int64_t)(n / TRIES * found + (found == TRIES ? n % TRIES : 0));
}

int64_t hp_io_system_cached(const struct hp_io *io, int fd, uint64_t off,
			    uint64_t n)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct range range = { off, n };
	struct pages pages;
	uint64_t bytes;

	(void)io;
	if (!n)
		return 0;
	/* ENOSYS, EPERM, and whatever sandboxes make of what they don't know.
	 */
	if (syscall(SYS_cachestat, fd, &range, &pages, 0) < 0)
		return try_some(fd, off, n);
	bytes = pages.cached * page;
	return (int64_t)(bytes < n ? bytes : n);
}
