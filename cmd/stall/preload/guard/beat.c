/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of the job that has no bond keeps nothing unless hpdsl-stall was
 * alive when it began to: it waits until there is a beat that was not there
 * then, which takes a second or so.  What was new before says nothing, as a
 * rank may fail, and save, just when another one was killed with hpdsl-stall.
 *
 * Logs would make each step of a job so much longer.  So it is enough that
 * hpdsl-stall was alive a short time ago where a file is only added to, and
 * where one is opened right behind another, in the same step.  That is told to
 * all processes of the node: a beat that a look finds, and the one before did
 * not, was written since that one began; and ranks look once a second.
 */
#include "next.h"

#include "guard.h"
#include "measure/alive.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	AGAIN = 200000000, /* ns between two looks while it waits */
	FRESH = 3000,	   /* ms: a short time ago */
	BURST = 20,	   /* ms: right behind another */
	COUNT = 24,	   /* bits of a look: beats, in months; above them when
			      it began, ms */
};

/* Not without a run's name: a dry one trains as ever. */
static bool is_watched;
/* When something was last kept, since the last step. */
static uint64_t last;
static struct guard_file top; /* of all names, as the process began */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void guard_die(void)
{
	raise(SIGKILL);
	syscall(SYS_exit_group, 128 + SIGKILL);
}

/* ---- Looking ---------------------------------------------------------- */

/* What is not there is gone, unless this process sees other names by now. */
static bool is_gone(int why)
{
	struct guard_file f;

	return (why == ENOENT || why == ESTALE) &&
	       guard_stat(AT_FDCWD, "/", true, &f) && f.dev == top.dev &&
	       f.ino == top.ino;
}

/* Anew each time, as others keep what they have open.  false: it cannot be
 * read; 0: it is gone. */
static bool read_count(uint64_t *ret, bool *ret_over)
{
	char name[GUARD_PATH], text[1024];
	ssize_t n = snprintf(name, sizeof(name), "%s/beat", guard_folder());
	int fd;

	*ret = 0;
	*ret_over = false;
	if (n < 0 || n >= GUARD_PATH)
		return false;
	fd = guard_raw_open(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return is_gone(errno);
	n = syscall(SYS_read, fd, text, sizeof(text) - 1);
	guard_raw_close(fd);
	if (n < 0)
		return is_gone(errno);
	text[n] = '\0';
	if (strncmp(text, "beat ", 5) != 0)
		return false;
	*ret = strtoull(text + 5, NULL, 10);
	*ret_over = strstr(text, "\nover ") != NULL;
	return true;
}

static void set_alive(struct guard_beat *b, uint64_t at)
{
	uint64_t was = __atomic_load_n(&b->alive, __ATOMIC_ACQUIRE);

	while (was < at &&
	       !__atomic_compare_exchange_n(&b->alive, &was, at, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
}

/* Tells the node of a look that began then. */
static void tell(uint64_t begun, uint64_t count)
{
	const uint64_t mask = (UINT64_C(1) << COUNT) - 1;
	struct guard_beat *b = guard_beat();
	uint64_t was = __atomic_load_n(&b->look, __ATOMIC_ACQUIRE), is;

	do {
		/* Somebody else's was later. */
		if ((count & mask) < (was & mask) || begun < was >> COUNT)
			return;
		is = begun << COUNT | (count & mask);
	} while (!__atomic_compare_exchange_n(
		&b->look, &was, is, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	if (was && (count & mask) != (was & mask))
		set_alive(b, was >> COUNT);
}

/* What a clock that another name space has set back says, nothing. */
static bool is_fresh(void)
{
	uint64_t at = __atomic_load_n(&guard_beat()->alive, __ATOMIC_ACQUIRE);

	return at && now() - at <= FRESH;
}

void guard_first_beat(void)
{
	const char *run = secure_getenv("HPDSL_STALL_RUN");
	uint64_t begun = now(), count;
	int was = errno;
	bool is_over;

	is_watched = run && *run && guard_on() && *guard_folder() &&
		     guard_stat(AT_FDCWD, "/", true, &top);
	if (is_watched && !is_fresh() && read_count(&count, &is_over) && count)
		tell(begun, count);
	errno = was;
}

/* For the library, in the same process: a step of training, behind which
 * nothing is of the same burst; a look that began then, in seconds. */
PUBLIC void hpdsl_stall_step(void);
PUBLIC void hpdsl_stall_step(void)
{
	__atomic_store_n(&last, 0, __ATOMIC_RELAXED);
}

PUBLIC void hpdsl_stall_heard(double begun, int64_t count);
PUBLIC void hpdsl_stall_heard(double begun, int64_t count)
{
	if (begun > 0 && count > 0 && guard_on())
		tell((uint64_t)(begun * 1000), (uint64_t)count);
}

/* ---- Waiting ---------------------------------------------------------- */

/* The run's own, devices, caches: whether they change is nothing to anybody.
 * Links to such are not looked through. */
static bool is_left(int dir, const char *path)
{
	char real[GUARD_PATH];
	size_t n;

	if (*path == '/')
		return guard_leaves(path);
	if (dir == AT_FDCWD)
		guard_path(AT_FDCWD, ".", true, real);
	else
		guard_path_fd(dir, real);
	n = strlen(real);
	if (!n || n + strlen(path) + 2 > sizeof(real))
		return false;
	real[n] = '/';
	strcpy(real + n + 1, path);
	return guard_leaves(real);
}

/* Until there is a beat that the first look did not see. */
static void await(bool adds)
{
	const struct timespec again = { .tv_nsec = AGAIN };
	struct hp_measure_alive a = { .seen = (double)now() / 1000 };
	uint64_t first = 0, seen = 0, count, begun;
	bool is_over;

	a.looked = a.seen;
	for (;;) {
		begun = now();
		/* It may be this process's own limit. */
		if (!read_count(&count, &is_over))
			return;
		if (count)
			tell(begun, count);
		if (is_over ||
		    hp_measure_looked(&a, (double)begun / 1000,
				      (double)now() / 1000,
				      count > seen) == HP_MEASURE_ENDED)
			guard_die();
		if ((first && count > first) || (adds && is_fresh()))
			return;
		first = first ? first : count;
		seen = count > seen ? count : seen;
		nanosleep(&again, NULL);
	}
}

void guard_await_beat(int dir, const char *path, bool adds)
{
	int was = errno;
	bool follows, is = false;

	if (!is_watched || !path)
		return;
	follows = now() - __atomic_load_n(&last, __ATOMIC_RELAXED) <= BURST;
	if ((adds || follows) && is_fresh()) {
		is = true;
	} else if (!is_left(dir, path)) {
		await(adds || follows);
		is = true;
	}
	/* Nothing follows what did not wait itself. */
	if (is && !adds)
		__atomic_store_n(&last, now(), __ATOMIC_RELAXED);
	errno = was;
}
