/* SPDX-License-Identifier: Apache-2.0 */
/* Signals and the deadline. */
#include "common.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define MARGIN_MAX 30
#define BUS_ERROR "file changed under us (bus error): %s"

int cmd_stop;

/* A line that is ready when a handler needs it. */
struct line {
	char text[HPDSL_PATH_MAX + 200];
	size_t length;
};

static struct line bus_line, int_line, term_line, hup_line;

/* Mapped snapshots, which the handler asks; s is written last, and atomically.
 */
static struct {
	const struct hpdsl_snapshot *s;
	struct line line;
} maps[2];

#define MAPS (sizeof(maps) / sizeof(*maps))

__attribute__((format(printf, 2, 3))) static void line_set(struct line *l,
							   const char *fmt, ...)
{
	int n = snprintf(l->text, sizeof(l->text),
			 "%.100s: ", program_invocation_short_name);
	va_list ap;

	va_start(ap, fmt);
	n += vsnprintf(l->text + n, sizeof(l->text) - (size_t)n, fmt, ap);
	va_end(ap);
	if ((size_t)n > sizeof(l->text) - 2)
		n = sizeof(l->text) - 2;
	l->text[n] = '\n';
	l->length = (size_t)n + 1;
}

static void line_write(const struct line *l)
{
	ssize_t done;

	cmd_progress_clear();
	done = write(STDERR_FILENO, l->text, l->length);
	(void)done; /* there is nobody left to tell */
}

/* mpirun leaves a rank one second: no tidying up, and none is needed. */
static void on_end(int signal)
{
	line_write(signal == SIGINT ? &int_line :
		   signal == SIGHUP ? &hup_line :
				      &term_line);
	_exit(128 + signal);
}

static void on_stop(int signal)
{
	(void)signal;
	__atomic_store_n(&cmd_stop, 1, __ATOMIC_RELAXED);
}

/* One that had to wait; the second one does not. */
static int waiting;

static void on_end_later(int signal)
{
	if (__atomic_exchange_n(&waiting, signal, __ATOMIC_RELAXED))
		on_end(signal);
	on_stop(signal);
}

/*
 * Whose mapping is it?  One that is none of these: what the command is about.
 * Many threads may read it, and one line is enough.
 */
static void on_bus(int signal, siginfo_t *info, void *context)
{
	static int told;
	const struct line *line = &bus_line;

	(void)signal;
	(void)context;
	while (__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
		pause();
	for (size_t i = 0; i < MAPS; i++) {
		const struct hpdsl_snapshot *s =
			__atomic_load_n(&maps[i].s, __ATOMIC_ACQUIRE);

		if (s && hpdsl_snapshot_maps(s, info->si_addr))
			line = &maps[i].line;
	}
	line_write(line);
	_exit(CMD_TROUBLE);
}

static void catch_bus(void)
{
	struct sigaction sa = { .sa_sigaction = on_bus,
				.sa_flags = SA_SIGINFO };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGBUS, &sa, NULL);
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

void cmd_signals(const char *dataset, const char *after)
{
	line_set(&bus_line, BUS_ERROR, dataset);
	line_set(&int_line, "ended by SIGINT%s", after);
	line_set(&term_line, "ended by SIGTERM%s", after);
	line_set(&hup_line, "ended by SIGHUP%s", after);
	catch_unless_ignored(SIGINT, on_end);
	catch_unless_ignored(SIGTERM, on_end);
	catch (SIGUSR1, on_stop);
	catch_bus();
}

void cmd_signals_wait(void)
{
	catch_unless_ignored(SIGINT, on_end_later);
	catch_unless_ignored(SIGTERM, on_end_later);
	catch_unless_ignored(SIGHUP, on_end_later);
}

bool cmd_signals_came(void)
{
	return __atomic_load_n(&waiting, __ATOMIC_RELAXED);
}

void cmd_signals_end(void)
{
	if (cmd_signals_came())
		on_end(waiting);
}

void cmd_bus_snapshot(const struct hpdsl_snapshot *s, const char *file)
{
	for (size_t i = 0; i < MAPS; i++) {
		if (maps[i].s)
			continue;
		line_set(&maps[i].line, BUS_ERROR, file);
		__atomic_store_n(&maps[i].s, s, __ATOMIC_RELEASE);
		return;
	}
}

void cmd_bus_forget(const struct hpdsl_snapshot *s)
{
	for (size_t i = 0; i < MAPS; i++)
		if (maps[i].s == s)
			__atomic_store_n(&maps[i].s, NULL, __ATOMIC_RELEASE);
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
