/* SPDX-License-Identifier: Apache-2.0 */
/* Problems, warnings, progress. */
#include "scan/private.h"

#include "base/error.h"

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
