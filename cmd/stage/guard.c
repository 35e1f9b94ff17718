/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some calls of MPI wait for all ranks, and cannot be waited for in a round;
 * and one that should return at once may not, as when a link is lost in the
 * moment in which Open MPI makes a connection.  Another thread looks at the
 * clock.
 */
#include "job.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define TICKS 20
/* After those who are not stuck had their turn to name who is. */
#define LATER 5

static struct {
	pthread_mutex_t lock;
	pthread_cond_t done;
	pthread_t thread;
	bool on, over;
	const struct stage_job *j;
	const char *what; /* NULL: rounds are counted, and tell tells */
	job_tell_fn *tell;
	uint64_t rounds, seconds;
} guard = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* False: it was woken up before. */
static bool tick(void)
{
	const uint64_t ms = guard.seconds * 1000 / TICKS + 1;
	struct timespec until;
	int ret = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	while (!guard.over && ret != ETIMEDOUT)
		ret = pthread_cond_timedwait(&guard.done, &guard.lock, &until);
	return !guard.over;
}

/* Ticks are counted, not time: while this process is stopped there are none. */
static void *guarding(void *arg)
{
	uint64_t seen = 0;
	int idle = 0;

	(void)arg;
	pthread_mutex_lock(&guard.lock);
	while (idle < TICKS && tick()) {
		uint64_t now = __atomic_load_n(&guard.rounds, __ATOMIC_RELAXED);

		idle = now == seen ? idle + 1 : 0;
		seen = now;
	}
	if (!guard.over) {
		if (guard.what)
			cmd_message("%s has not returned for %llu s: a rank is "
				    "missing",
				    guard.what,
				    (unsigned long long)guard.seconds);
		else
			guard.tell(guard.j, guard.seconds);
		_exit(CMD_TROUBLE);
	}
	pthread_mutex_unlock(&guard.lock);
	return NULL;
}

static void start(const struct stage_job *j, const char *what,
		  job_tell_fn *tell, uint64_t seconds)
{
	pthread_condattr_t attr;

	job_unguard();
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&guard.done, &attr);
	pthread_condattr_destroy(&attr);
	guard.over = false;
	guard.j = j;
	guard.what = what;
	guard.tell = tell;
	guard.seconds = seconds;
	if (pthread_create(&guard.thread, NULL, guarding, NULL) != 0)
		cmd_no_memory();
	guard.on = true;
}

void job_guard(const struct stage_job *j, const char *what)
{
	start(j, what, NULL, j->o->timeout);
}

void job_guard_rounds(const struct stage_job *j, job_tell_fn *tell)
{
	start(j, NULL, tell, j->o->timeout + LATER);
}

void job_guard_round(void)
{
	__atomic_fetch_add(&guard.rounds, 1, __ATOMIC_RELAXED);
}

void job_unguard(void)
{
	if (!guard.on)
		return;
	pthread_mutex_lock(&guard.lock);
	guard.over = true;
	pthread_cond_signal(&guard.done);
	pthread_mutex_unlock(&guard.lock);
	pthread_join(guard.thread, NULL);
	pthread_cond_destroy(&guard.done);
	guard.on = false;
}
