/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems, warnings, progress.  Lines are collected and told at the end, in
 * the order of their text: the same for any number of threads.
 */
#include "scan/private.h"

#include "base/error.h"

#include <time.h>

#define TELL_EVERY 200000000 /* nanoseconds */

/* "input/a/b: what", or with the text of code. */
static void line_format(struct hp_scan_worker *w, uint16_t root, int code,
			const char *what, struct hpdsl_error *ret)
{
	const struct hp_root *at = &w->s->list->roots[root];
	size_t n = at->prefix_len;
	char name[HP_INPUT_NAME];

	hp_input_name(at, w->path + n, w->len - n, name);
	if (what)
		hp_fail(ret, code, "%s: %s", name, what);
	else
		hp_fail_errno(ret, code, "%s", name);
}

void hp_scan_problem(struct hp_scan_worker *w, uint16_t root, int code,
		     const char *what)
{
	struct hpdsl_error line;

	line_format(w, root, code, what, &line);
	hp_scan_problem_line(w, &line);
}

void hp_scan_problem_line(struct hp_scan_worker *w,
			  const struct hpdsl_error *line)
{
	pthread_mutex_lock(&w->s->tell);
	hp_lines_add(&w->s->problems, line);
	pthread_mutex_unlock(&w->s->tell);
}

void hp_scan_warning(struct hp_scan_worker *w, uint16_t root, const char *what)
{
	struct hpdsl_error line;

	line_format(w, root, 0, what, &line);
	pthread_mutex_lock(&w->s->tell);
	hp_lines_add(&w->s->warnings, &line);
	pthread_mutex_unlock(&w->s->tell);
}

static void progress(struct hp_scan *s)
{
	struct hpdsl_progress p = { .phase = "scanning" };

	p.done = __atomic_load_n(&s->files, __ATOMIC_RELAXED);
	s->opt->watch.progress(s->opt->watch.arg, &p);
}

void hp_scan_tick(struct hp_scan_worker *w)
{
	struct hp_scan *s = w->s;
	struct timespec t;
	uint64_t now;

	if (!s->opt->watch.progress || ++w->ticks % 64)
		return;
	__atomic_fetch_add(&s->files, w->n - w->told, __ATOMIC_RELAXED);
	w->told = w->n;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	if (pthread_mutex_trylock(&s->tell))
		return; /* somebody is telling something */
	if (now >= s->next_tell) {
		s->next_tell = now + TELL_EVERY;
		progress(s);
	}
	pthread_mutex_unlock(&s->tell);
}

int hp_scan_conclude(struct hp_scan *s, struct hpdsl_error *err)
{
	if (s->opt->watch.progress)
		progress(s);
	hp_lines_tell(&s->warnings, &s->opt->watch, "links left out");
	return hp_lines_fail(&s->problems, &s->opt->watch, "the input", err);
}
