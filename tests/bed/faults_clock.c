/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock by which commands tell who is silent, stuck or late, where a test
 * sets it.
 *
 * HPDSL_FAULT_SLOW=N: a second of it takes N.  What a busy machine holds up for
 * seconds is then not late.
 *
 * HPDSL_FAULT_CLOCK=FILE, an empty file, is for all ranks of hpdsl-stage: as
 * soon as FILE.runs is there, time is what they count together.  It goes on by
 * STEP whenever each of them has looked at it some times, but for those whose
 * process ids are in FILE.runs: these are stopped; and not while one of them
 * writes to its disk.  So nobody is ever late because the machine is busy, and
 * a minute takes a second.  With -1 in it, time stands still.
 *
 * Where MPI does not return nobody looks at a clock: as soon as
 * HPDSL_FAULT_GUARD=FILE is there, who waits for a time waits for a moment.
 * Else who does looks at the clock meanwhile.
 */
#include "faults_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 64
#define LOOKS 8
#define STEP 0.5
#define MOMENT 0.005

/* Shared by the ranks. */
struct shared {
	uint64_t time;
	struct slot {
		pid_t pid;
		uint64_t seen; /* time that was looked at often enough */
	} slot[SLOTS];
};

static struct {
	struct shared *shared;
	struct slot *mine;
	char runs[300];
	pid_t without[SLOTS];
	int n_without;
	double begin; /* 0: it does not run yet */
	uint64_t time;
	int looks;
	double alarm_at; /* 0: none is set */
	double slow, slow_from;
	int held; /* threads that write to a disk */
} bed;

void faults_clock_hold(int more)
{
	__atomic_add_fetch(&bed.held, more, __ATOMIC_SEQ_CST);
}

double __wrap_stage_now(void);
double __wrap_hp_now(void);
uint64_t __wrap_hp_monotonic(void);
int __real_setitimer(int which, const struct itimerval *t,
		     struct itimerval *ret);
int __wrap_setitimer(int which, const struct itimerval *t,
		     struct itimerval *ret);
int __real_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				  const struct timespec *until);

static double real_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((constructor)) static void slow(void)
{
	const char *by = getenv("HPDSL_FAULT_SLOW");

	bed.slow = by ? atof(by) : 1;
	bed.slow_from = real_now();
}

static double own_now(void)
{
	return bed.slow_from + (real_now() - bed.slow_from) / bed.slow;
}

__attribute__((constructor)) static void join(void)
{
	const char *name = getenv("HPDSL_FAULT_CLOCK");
	struct shared *s;
	int fd;

	if (!name)
		return;
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, sizeof(*s)) < 0)
		abort();
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		abort();
	close(fd);
	for (int i = 0; i < SLOTS && !bed.mine; i++) {
		pid_t none = 0;

		if (__atomic_compare_exchange_n(
			    &s->slot[i].pid, &none, getpid(), false,
			    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			bed.mine = &s->slot[i];
	}
	snprintf(bed.runs, sizeof(bed.runs), "%s.runs", name);
	bed.shared = s;
}

static bool begins(void)
{
	FILE *f = fopen(bed.runs, "re");
	int pid;

	if (!f)
		return false;
	bed.n_without = 0;
	while (bed.n_without < SLOTS && fscanf(f, "%d", &pid) == 1)
		bed.without[bed.n_without++] = pid;
	fclose(f);
	if (bed.begin <= 0)
		bed.begin = real_now();
	return true;
}

static bool stands(void)
{
	return bed.n_without && bed.without[0] == -1;
}

static bool counts(pid_t pid)
{
	for (int i = 0; i < bed.n_without; i++)
		if (bed.without[i] == pid)
			return false;
	return pid != 0;
}

/* Time goes on when all have seen it. */
static void go_on(uint64_t time)
{
	if (stands())
		return;
	for (int i = 0; i < SLOTS; i++)
		if (counts(bed.shared->slot[i].pid) &&
		    __atomic_load_n(&bed.shared->slot[i].seen,
				    __ATOMIC_SEQ_CST) < time)
			return;
	__atomic_compare_exchange_n(&bed.shared->time, &time, time + 1, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void look(void)
{
	uint64_t time = __atomic_load_n(&bed.shared->time, __ATOMIC_SEQ_CST);

	if (time != bed.time)
		bed.looks = 0;
	bed.time = time;
	if (__atomic_load_n(&bed.held, __ATOMIC_SEQ_CST))
		bed.looks = 0;
	if (++bed.looks < LOOKS)
		return;
	__atomic_store_n(&bed.mine->seen, time, __ATOMIC_SEQ_CST);
	go_on(time);
}

/* Of other threads nothing is known: they may be those that are stuck. */
double __wrap_stage_now(void)
{
	bool main = gettid() == getpid();
	double now;

	if (!bed.shared || (bed.begin <= 0 && !(main && begins())))
		return own_now();
	if (main && stands())
		begins();
	if (main)
		look();
	now = bed.begin + STEP * (double)bed.time;
	if (main && bed.alarm_at > 0 && now >= bed.alarm_at) {
		bed.alarm_at = 0;
		raise(SIGALRM);
	}
	return now;
}

double __wrap_hp_now(void)
{
	return __wrap_stage_now();
}

uint64_t __wrap_hp_monotonic(void)
{
	return (uint64_t)(__wrap_stage_now() * 1e9);
}

int __wrap_setitimer(int which, const struct itimerval *t,
		     struct itimerval *ret)
{
	if (!bed.shared)
		return __real_setitimer(which, t, ret);
	bed.alarm_at = __wrap_stage_now() + (double)t->it_value.tv_sec +
		       (double)t->it_value.tv_usec / 1e6;
	return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				  const struct timespec *until)
{
	const char *name = getenv("HPDSL_FAULT_GUARD");
	double soon = real_now() + MOMENT;
	struct timespec t = { .tv_sec = (time_t)soon };
	int ret;

	if (!name && (!bed.shared || bed.begin <= 0))
		return __real_pthread_cond_timedwait(c, m, until);
	t.tv_nsec = (long)((soon - (double)t.tv_sec) * 1e9);
	ret = __real_pthread_cond_timedwait(c, m, &t);
	if (ret == ETIMEDOUT && !(name && access(name, F_OK) == 0) &&
	    real_now() < (double)until->tv_sec + (double)until->tv_nsec / 1e9)
		return 0;
	return ret;
}
