/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before there are beats, and after them: some calls of MPI wait for all ranks,
 * and cannot be waited for in a round.  Another thread looks at the clock.
 */
#include "stage/job.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t done;
	pthread_t thread;
	bool over;
	const char *what;
	uint64_t seconds;
} guard = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *guarding(void *arg)
{
	struct timespec until;
	int ret = 0;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)guard.seconds;
	pthread_mutex_lock(&guard.lock);
	while (!guard.over && ret != ETIMEDOUT)
		ret = pthread_cond_timedwait(&guard.done, &guard.lock, &until);
	if (!guard.over) {
		cmd_message("%s has not returned for %llu s: a rank is missing",
			    guard.what, (unsigned long long)guard.seconds);
		_exit(CMD_TROUBLE);
	}
	pthread_mutex_unlock(&guard.lock);
	return NULL;
}

void job_guard(const struct stage_job *j, const char *what)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&guard.done, &attr);
	pthread_condattr_destroy(&attr);
	guard.over = false;
	guard.what = what;
	guard.seconds = j->o->timeout;
	if (pthread_create(&guard.thread, NULL, guarding, NULL) != 0)
		cmd_no_memory();
}

void job_unguard(void)
{
	pthread_mutex_lock(&guard.lock);
	guard.over = true;
	pthread_cond_signal(&guard.done);
	pthread_mutex_unlock(&guard.lock);
	pthread_join(guard.thread, NULL);
	pthread_cond_destroy(&guard.done);
}
