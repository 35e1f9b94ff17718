/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file system gives in a second, shared by all processes that map the
 * same file: two lines of the times until which it is taken, in nanoseconds of
 * the monotonic clock.  A process that dies leaves nothing behind that others
 * would wait for.
 */
#ifndef BED_BUDGET_H
#define BED_BUDGET_H

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Time that was not used may be used later, within this. */
#define BUDGET_SLACK_NS 20000000u

struct budget {
	_Atomic uint64_t bytes, ops;
};

static inline uint64_t budget_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* path NULL: a budget of this process alone; NULL on failure, with errno. */
static inline struct budget *budget_open(const char *path)
{
	int flags = path ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *p = MAP_FAILED;

	if (!path || (fd >= 0 && !ftruncate(fd, sizeof(struct budget))))
		p = mmap(NULL, sizeof(struct budget), PROT_READ | PROT_WRITE,
			 flags, fd, 0);
	if (fd >= 0)
		close(fd);
	return p == MAP_FAILED ? NULL : p;
}

/* Takes n at rate a second (0: no bound); the time at which they are there. */
static inline uint64_t budget_take(_Atomic uint64_t *line, uint64_t n,
				   double rate)
{
	uint64_t now = budget_now(), was = atomic_load(line), begin, end;

	if (rate <= 0)
		return now;
	do {
		begin = was;
		if (begin + BUDGET_SLACK_NS < now)
			begin = now - BUDGET_SLACK_NS;
		end = begin + (uint64_t)((double)n * 1e9 / rate);
	} while (!atomic_compare_exchange_weak(line, &was, end));
	return end;
}

static inline void budget_wait(uint64_t until)
{
	struct timespec t = { .tv_sec = (time_t)(until / 1000000000u),
			      .tv_nsec = (long)(until % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) ==
	       EINTR)
		;
}
#endif
