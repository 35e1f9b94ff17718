/* SPDX-License-Identifier: Apache-2.0 */
/* A step that all leaders take, and whether all go on after it. */
#include "run.h"

#include <stdarg.h>

int run_agree(struct stage_run *r, const struct hpdsl_error *mine, bool global)
{
	struct stage_failure f = { .err = *mine, .global = global };

	return job_agree(r->j, &f, &r->failure);
}

struct call {
	int (*fn)(struct stage_step *);
	struct stage_step step;
};

static int run_call(void *arg)
{
	struct call *c = arg;
	int ret = c->fn(&c->step);

	if (ret < 0 && !c->step.err.code)
		c->step.err = (struct hpdsl_error){ ret, "failed" };
	return ret;
}

int run_step(struct stage_run *r, int (*fn)(struct stage_step *), bool here,
	     bool global, const char *fmt, ...)
{
	struct call c = { .fn = fn, .step.r = r };
	char what[STAGE_DOING];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (here && job_work(r->j, run_call, &c, "%s", what) >= 0)
		c.step.err.code = 0;
	return run_agree(r, &c.step.err, global);
}
