/* SPDX-License-Identifier: Apache-2.0 */
/* Problems and warnings, in the order of their text. */
#include "sys/lines.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void hp_lines_add(struct hp_lines *l, const struct hpdsl_error *line)
{
	uint64_t n = l->n < HP_LINES_TOLD ? l->n : HP_LINES_TOLD;
	uint64_t i = n;

	l->n++;
	while (i > 0 && strcmp(l->first[i - 1].msg, line->msg) > 0)
		i--;
	if (i == HP_LINES_TOLD)
		return;
	if (n == HP_LINES_TOLD)
		n--;
	memmove(&l->first[i + 1], &l->first[i], (n - i) * sizeof *line);
	l->first[i] = *line;
}

void hp_lines_tell(const struct hp_lines *l, const struct hpdsl_watch *watch,
		   const char *more)
{
	char text[64];

	if (!watch->warn)
		return;
	for (uint64_t i = 0; i < l->n && i < HP_LINES_TOLD; i++)
		watch->warn(watch->arg, l->first[i].msg);
	if (l->n <= HP_LINES_TOLD)
		return;
	snprintf(text, sizeof text, "and %" PRIu64 " more %s",
		 l->n - HP_LINES_TOLD, more);
	watch->warn(watch->arg, text);
}

int hp_lines_fail(const struct hp_lines *l, const struct hpdsl_watch *watch,
		  const char *place, struct hpdsl_error *err)
{
	if (l->n == 0)
		return 0;
	if (l->n == 1)
		return hp_fail(err, l->first[0].code, "%s", l->first[0].msg);
	hp_lines_tell(l, watch, "problems");
	return hp_fail(err, l->first[0].code,
		       "%" PRIu64 " problems in %s, first: %s", l->n, place,
		       l->first[0].msg);
}
