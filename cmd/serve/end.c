/* SPDX-License-Identifier: Apache-2.0 */
/* When a server ends, and the word for it. */
#include "life.h"

#include <signal.h>

/* It has been told to leave: is there anybody left? */
static bool is_drained(const struct serve_seen *s)
{
	double last = s->asked > s->drain ? s->asked : s->drain;

	return s->now - s->drain >= SERVE_DRAIN_MOST ||
	       (s->owes == 0 && s->now - last >= SERVE_QUIET_FOR);
}

static bool is_idle(const struct serve_seen *s)
{
	double last = s->asked > s->begun ? s->asked : s->begun;

	return s->detached && s->idle > 0 && s->owes == 0 &&
	       s->now - last >= s->idle;
}

enum serve_end serve_end_of(const struct serve_seen *s)
{
	if (s->signal)
		return SERVE_SIGNAL;
	if (s->orphan && !s->detached)
		return SERVE_ORPHAN;
	if (s->deadline > 0 && s->now >= s->deadline)
		return SERVE_DEADLINE;
	if (s->gone)
		return SERVE_GONE;
	if (s->drain > 0 && is_drained(s))
		return SERVE_DRAINED;
	return is_idle(s) ? SERVE_IDLE : SERVE_GOES_ON;
}

const char *serve_end_text(enum serve_end e, int signal)
{
	switch (e) {
	case SERVE_SIGNAL:
		return signal == SIGINT ? "ended by SIGINT" :
					  "ended by SIGTERM";
	case SERVE_ORPHAN:
		return "ended with the process that started it";
	case SERVE_DEADLINE:
		return "ended at its deadline";
	case SERVE_GONE:
		return "ended, as the directory is gone";
	case SERVE_DRAINED:
		return "ended as asked";
	case SERVE_IDLE:
		return "ended for want of requests";
	default:
		return NULL;
	}
}
