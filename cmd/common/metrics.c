/* SPDX-License-Identifier: Apache-2.0 */
/* From a command's counters to its file. */
#include "metrics.h"

#include <assert.h>

void cmd_metrics_open(struct cmd_metrics *c,
		      const struct hpdsl_metrics_options *opt)
{
	struct hpdsl_error err;

	if (hpdsl_metrics_open(opt, &c->m, &err) < 0 && !c->quiet)
		cmd_warning("%s", err.msg);
}

static double value_of(const struct cmd_metric *row, const void *of)
{
	const char *p = (const char *)of + row->at;

	return row->real ? *(const double *)(const void *)p :
			   (double)*(const uint64_t *)(const void *)p;
}

void cmd_metrics_put(const struct cmd_metrics *c, const void *of)
{
	struct hpdsl_metric v[CMD_METRICS];
	struct hpdsl_error err;

	assert(c->n <= CMD_METRICS);
	for (size_t i = 0; i < c->n; i++)
		v[i] = (struct hpdsl_metric){
			.name = c->rows[i].name,
			.help = c->rows[i].help,
			.type = c->rows[i].type,
			.value = value_of(&c->rows[i], of),
		};
	if (hpdsl_metrics_put(c->m, v, c->n, &err) < 0 && !c->quiet)
		cmd_warning("%s", err.msg);
}

void cmd_metrics_close(struct cmd_metrics *c)
{
	hpdsl_metrics_close(c->m);
	c->m = NULL;
}
