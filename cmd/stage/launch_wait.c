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
#define WOKEN_WITHIN 5

struct waiting {
	const struct launch *l;
	struct launch_rank rank;
	bool met;	    /* there was one */
	int wish, end;	    /* signals to hand on; 0: none */
	double until, look; /* ends then; looks for a rank then */
};

static void look_for_rank(struct waiting *w, double now)
{
	/* those of one node look one after the other */
	double share = (double)w->l->tasks / w->l->nodes / 8;

	if (now < w->look)
		return;
	w->look = now + LOOK_EVERY * (1 + share);
	w->met = launch_rank_find(&w->rank, w->l->step);
}

static void hand_on(struct waiting *w)
{
	if (w->wish && launch_rank_signal(&w->rank, w->wish))
		w->wish = 0;
	if (w->end && w->rank.dir >= 0 && launch_rank_signal(&w->rank, w->end))
		w->end = 0;
}

static void take(struct waiting *w, int signal, double now)
{
	if (signal == SIGUSR1)
		w->wish = signal;
	if (signal == SIGTERM || signal == SIGINT) {
		w->end = signal;
		if (!w->met)
			w->until = now + WOKEN_WITHIN;
	}
}

static void pass(struct waiting *w, double now)
{
	if (!w->met)
		look_for_rank(w, now);
	if (w->rank.dir < 0)
		return;
	hand_on(w);
	w->until = now + WOKEN_WITHIN;
	launch_rank_lives(&w->rank);
}

int launch_wait(const struct launch *l)
{
	const struct timespec tick = { .tv_nsec = (long)(LOOK_EVERY * 1e9) };
	struct waiting w = { .l = l, .rank.dir = -1 };
	sigset_t signals = launch_signals();
	int signal = 0;

	w.until = stage_now() + COMES_WITHIN;
	if (cmd_stop)
		w.wish = SIGUSR1;
	while (signal != SIGURG && stage_now() < w.until) {
		signal = sigtimedwait(&signals, NULL, &tick);
		take(&w, signal, stage_now());
		pass(&w, stage_now());
	}
	if (w.rank.dir >= 0)
		close(w.rank.dir);
	return CMD_DONE;
}
