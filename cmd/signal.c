/* SPDX-License-Identifier: Apache-2.0 */
/* Signals and the deadline. */
#include "common.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#define MARGIN_MAX 30

int cmd_stop;

static char bus_text[HPDSL_PATH_MAX + 200];
static size_t bus_length;

/* mpirun leaves a rank one second: no tidying up, and none is needed. */
static void on_end(int signal)
{
	_exit(128 + signal);
}

static void on_stop(int signal)
{
	(void)signal;
	__atomic_store_n(&cmd_stop, 1, __ATOMIC_RELAXED);
}

static void on_bus(int signal)
{
	ssize_t done = write(STDERR_FILENO, bus_text, bus_length);

	(void)signal;
	(void)done;
	_exit(CMD_TROUBLE);
}

static void catch (int signal, void (*handler)(int))
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigemptyset(&sa.sa_mask);
	sigaction(signal, &sa, NULL);
}

/* As a shell does for background jobs and nohup: what is ignored stays so. */
static void catch_unless_ignored(int signal, void (*handler)(int))
{
	struct sigaction old;

	if (sigaction(signal, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
		return;
	catch (signal, handler);
}

void cmd_signals(const char *dataset)
{
	int n = snprintf(bus_text, sizeof(bus_text),
			 "%s: file changed under us (bus error): %s\n",
			 program_invocation_short_name, dataset);

	bus_length =
		(size_t)n < sizeof(bus_text) ? (size_t)n : sizeof(bus_text) - 1;
	catch_unless_ignored(SIGINT, on_end);
	catch_unless_ignored(SIGTERM, on_end);
	catch (SIGUSR1, on_stop);
	catch (SIGBUS, on_bus);
}

void cmd_deadline(uint64_t seconds)
{
	uint64_t margin_ms =
		seconds < MARGIN_MAX * 10 ? seconds * 100 : MARGIN_MAX * 1000;
	uint64_t ms;
	struct itimerval t = { 0 };

	if (seconds > INT32_MAX) /* 68 years: none */
		return;
	ms = seconds * 1000 - margin_ms;
	t.it_value.tv_sec = (time_t)(ms / 1000);
	t.it_value.tv_usec = (suseconds_t)(ms % 1000 * 1000);
	catch (SIGALRM, on_stop);
	setitimer(ITIMER_REAL, &t, NULL);
}
