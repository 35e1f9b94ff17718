/* SPDX-License-Identifier: Apache-2.0 */
/* Problems, warnings, progress. */
#include "scan/private.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
	hp_crew_problem(&w->s->crew, &line);
}

void hp_scan_outside(struct hp_scan_worker *w, uint16_t root, const char *what)
{
	struct hpdsl_error line;

	if (!w->outside_first)
		w->outside_first = calloc(1, sizeof *w->outside_first);
	if (!w->outside_first) {
		hp_crew_no_memory(&w->s->crew);
		return;
	}
	line_format(w, root, -EXDEV, what, &line);
	/* The first by name, whoever was first. */
	if (!w->outside++ || strcmp(line.msg, w->outside_first->msg) < 0)
		*w->outside_first = line;
}

void hp_scan_tell_outside(struct hp_scan_worker *w, uint32_t n)
{
	const struct hpdsl_error *first = NULL;
	struct hpdsl_error line;
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (w[i].outside &&
		    (!first || strcmp(w[i].outside_first->msg, first->msg) < 0))
			first = w[i].outside_first;
		all += w[i].outside;
	}
	if (!all)
		return;
	line = *first;
	if (all > 1)
		hp_fail(&line, first->code, "%s, as %" PRIu64 " more link%s",
			first->msg, all - 1, all == 2 ? " does" : "s do");
	hp_crew_problem(&w->s->crew, &line);
}

void hp_scan_warning(struct hp_scan_worker *w, uint16_t root, const char *what)
{
	struct hpdsl_error line;

	line_format(w, root, 0, what, &line);
	hp_crew_warning(&w->s->crew, &line);
}

void hp_scan_tick(struct hp_scan_worker *w)
{
	if (++w->ticks % 64)
		return;
	hp_crew_tick(&w->s->crew, w->n - w->told);
	w->told = w->n;
}
