/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server is told by signals, all of which the main thread waits for, and
 * who has started it: with him it ends.
 */
#include "life.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* Of the parent's death.  It comes as well when a thread has ended that has
 * started us, so it is a reason to look, and no more. */
#define LOOK SIGUSR2

static sigset_t waited;
static pid_t parent;

/* As a shell does for nohup: what is ignored stays so. */
static void want(int signal)
{
	struct sigaction old;

	if (sigaction(signal, NULL, &old) < 0 || old.sa_handler != SIG_IGN)
		sigaddset(&waited, signal);
}

void serve_signals_begin(const char *local, pid_t launcher, bool detached)
{
	/* of a mapped index that shrank */
	cmd_signals(local, "");
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&waited);
	want(SIGTERM);
	want(SIGINT);
	sigaddset(&waited, SIGUSR1);
	sigaddset(&waited, LOOK);
	sigprocmask(SIG_BLOCK, &waited, NULL);
	parent = detached ? 0 : launcher;
	if (!detached)
		prctl(PR_SET_PDEATHSIG, LOOK);
}

bool serve_is_orphan(void)
{
	return parent && getppid() != parent;
}

int serve_signals_wait(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };
	int signal;

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	signal = sigtimedwait(&waited, NULL, &t);
	return signal < 0 || signal == LOOK ? 0 : signal;
}

void serve_signals_end(void)
{
	signal(SIGALRM, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGUSR1, SIG_IGN);
	signal(LOOK, SIG_IGN);
	sigprocmask(SIG_UNBLOCK, &waited, NULL);
}
