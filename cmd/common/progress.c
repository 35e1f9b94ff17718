/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress: a bar with rate and time left on a terminal, a line every ten
 * seconds in a batch log.  The library calls from its threads, never two at a
 * time, and often; most calls only look at the clock.
 */
#include "common.h"

#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define TERMINAL_EVERY 0.1
#define LOG_EVERY 10.0
#define RATE_AFTER 0.5 /* a rate of less time says little */

static struct {
	bool terminal;
	char phase[32];
	const char *what; /* a short word, in place of "files" */
	double phase_start, last;
	uint64_t first; /* done when the phase began */
	struct hpdsl_progress now;
} bar;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct cmd_text amount(uint64_t n)
{
	struct cmd_text t = bar.now.bytes ? cmd_bytes(n) : cmd_thousands(n);

	if (!bar.now.bytes) /* at most 26 digits and commas before */
		strcat(strcat(t.s, " "), bar.what ? bar.what : "files");
	return t;
}

/* "1.2 GiB of 2.6 GiB, 350.1 MiB/s, 4.0 s left" */
static int describe(char *out, size_t cap)
{
	double seconds = now() - bar.phase_start;
	double rate = cmd_rate(bar.now.done - bar.first, seconds);
	uint64_t left =
		bar.now.total > bar.now.done ? bar.now.total - bar.now.done : 0;
	int n = snprintf(out, cap, "%s", amount(bar.now.done).s);

	if (bar.now.total)
		n += snprintf(out + n, cap - (size_t)n, " of %s",
			      amount(bar.now.total).s);
	if (seconds < RATE_AFTER)
		return n;
	n += snprintf(out + n, cap - (size_t)n, ", %s/s",
		      amount((uint64_t)rate).s);
	if (left && rate > 0)
		n += snprintf(out + n, cap - (size_t)n, ", %s left",
			      cmd_seconds((double)left / rate).s);
	return n;
}

static int terminal_width(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 20)
		return w.ws_col < 200 ? w.ws_col : 200;
	return 80;
}

static void draw(void)
{
	char text[200], line[512], blocks[64] = "";
	int width = terminal_width() - 1, n = describe(text, sizeof(text));
	int room = width - n - (int)strlen(bar.phase) - 6;

	if (bar.now.total && room >= 4) {
		int cells = room < 40 ? room : 40;
		double share = (double)bar.now.done / (double)bar.now.total;
		int full = share < 1 ? (int)(share * cells) : cells;

		for (int i = 0; i < cells; i++)
			blocks[i] = i < full ? '=' : ' ';
	}
	n = snprintf(line, sizeof(line), "%s %s%s%s%s", bar.phase,
		     *blocks ? "[" : "", blocks, *blocks ? "] " : "", text);
	if (n > width)
		line[width] = '\0';
	cmd_bar_draw(line);
}

static void log_line(void)
{
	char text[200];

	describe(text, sizeof(text));
	if (bar.now.total)
		cmd_message("%s: %d %%, %s", bar.phase,
			    (int)(100 * (double)bar.now.done /
				  (double)bar.now.total),
			    text);
	else
		cmd_message("%s: %s", bar.phase, text);
}

static void new_phase(const struct hpdsl_progress *p, double t)
{
	cmd_progress_end();
	snprintf(bar.phase, sizeof(bar.phase), "%s", p->phase);
	bar.first = p->done;
	bar.phase_start = t;
	/* a log hears of a phase only when it has lasted */
	bar.last = bar.terminal ? 0 : t;
}

static void show(void *arg, const struct hpdsl_progress *p)
{
	double t = now();

	(void)arg;
	if (strncmp(p->phase, bar.phase, sizeof(bar.phase) - 1) != 0)
		new_phase(p, t);
	bar.now = *p;
	if (t - bar.last < (bar.terminal ? TERMINAL_EVERY : LOG_EVERY))
		return;
	bar.last = t;
	if (bar.terminal)
		draw();
	else
		log_line();
}

static void warn(void *arg, const char *text)
{
	(void)arg;
	cmd_warning("%s", text);
}

void cmd_progress_end(void)
{
	if (cmd_bar_is_drawn())
		draw(); /* its last state, which the clock may have left out */
	cmd_bar_leave();
}

void cmd_progress_counts(const char *what)
{
	bar.what = what;
}

void cmd_watch(struct hpdsl_watch *w, bool quiet)
{
	bar.terminal = cmd_on_terminal();
	w->progress = quiet ? NULL : show;
	w->warn = warn;
	w->stop = &cmd_stop;
}
