/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems, warnings, progress.  Lines are collected and told at the end, in
 * the order of their text: the same for any number of threads.
 */
#include "scan_walk.h"

#include "error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
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

static void lines_add(struct hp_scan_lines *l, const struct hpdsl_error *line)
{
	uint64_t n = l->n < HP_SCAN_TOLD ? l->n : HP_SCAN_TOLD;
	uint64_t i = n;

	l->n++;
	while (i > 0 && strcmp(l->first[i - 1].msg, line->msg) > 0)
		i--;
	if (i == HP_SCAN_TOLD)
		return;
	if (n == HP_SCAN_TOLD)
		n--;
	memmove(&l->first[i + 1], &l->first[i], (n - i) * sizeof *line);
	l->first[i] = *line;
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
	lines_add(&w->s->problems, line);
	pthread_mutex_unlock(&w->s->tell);
}

void hp_scan_warning(struct hp_scan_worker *w, uint16_t root, const char *what)
{
	struct hpdsl_error line;

	line_format(w, root, 0, what, &line);
	pthread_mutex_lock(&w->s->tell);
	lines_add(&w->s->warnings, &line);
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

static void lines_tell(const struct hp_scan *s, const struct hp_scan_lines *l,
		       const char *after)
{
	const struct hpdsl_watch *watch = &s->opt->watch;
	char text[64];

	for (uint64_t i = 0; i < l->n && i < HP_SCAN_TOLD; i++)
		watch->warn(watch->arg, l->first[i].msg);
	if (l->n <= HP_SCAN_TOLD)
		return;
	snprintf(text, sizeof text, "and %" PRIu64 " more %s",
		 l->n - HP_SCAN_TOLD, after);
	watch->warn(watch->arg, text);
}

int hp_scan_conclude(struct hp_scan *s, struct hpdsl_error *err)
{
	const struct hp_scan_lines *l = &s->problems;

	if (s->opt->watch.progress)
		progress(s);
	if (s->opt->watch.warn) {
		lines_tell(s, &s->warnings, "links left out");
		if (l->n > 1) /* a single one is the error itself */
			lines_tell(s, l, "problems");
	}
	if (l->n <= 1)
		return l->n ? hp_fail(err, l->first[0].code, "%s",
				      l->first[0].msg) :
			      0;
	return hp_fail(err, l->first[0].code,
		       "%" PRIu64 " problems in the input, first: %s", l->n,
		       l->first[0].msg);
}
