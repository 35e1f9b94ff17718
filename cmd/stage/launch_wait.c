/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A task that has nothing to do but to be there: until task 0 wakes it, or else
 * until the rank that mpirun has started on this node is gone.
 */
#include "job.h"
#include "launch.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define LOOK_EVERY 0.2
#define COMES_WITHIN 60
#define WOKEN_WITHIN 10
#define HOLD 5 /* looks, for those that end it */

/* The tasks of one node look for it one after the other. */
static struct timespec pause_of(const struct launch *l)
{
	double s = LOOK_EVERY * (1 + (double)l->tasks / l->nodes / 8);
	struct timespec t = { .tv_sec = (time_t)s };

	t.tv_nsec = (long)((s - (double)t.tv_sec) * 1e9);
	return t;
}

int launch_wait(const struct launch *l)
{
	const struct timespec pause = pause_of(l);
	struct launch_rank rank = { .step = l->step, .dir = -1 };
	sigset_t signals = launch_signals();
	double until = stage_now() + COMES_WITHIN;
	int signal = 0, end = 0, held = 0;

	rank.wish = cmd_stop;
	while (signal != SIGURG && stage_now() < until) {
		bool ends = signal == SIGTERM || signal == SIGINT;

		/* mostly all tasks have got it, and task 0 sees to the end:
		 * ranks that die at once let some mpirun crash */
		if (ends)
			end = signal;
		if (end && held++ == HOLD)
			launch_rank_take(&rank, end);
		if (signal == SIGUSR1)
			launch_rank_take(&rank, signal);
		if (launch_rank_pass(&rank) || (ends && !rank.met))
			until = stage_now() + WOKEN_WITHIN;
		signal = sigtimedwait(&signals, NULL, &pause);
	}
	launch_rank_release(&rank);
	launch_tidy(&rank);
	return CMD_DONE;
}
