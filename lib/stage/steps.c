/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls of a stage directory may come when: the table of libhpdsl(3).  A
 * call that is out of order says so before it has done anything.
 */
#include "stage/stage.h"

#include "base/error.h"

static const char *const where[] = {
	[HP_STEP_OPENED] = "the directory is opened, and not begun",
	[HP_STEP_INDEX] = "pieces of the index are coming",
	[HP_STEP_BEGUN] = "it is begun, and no plan is published",
	[HP_STEP_PUBLISHED] = "a plan is published, and no stager is at work",
	[HP_STEP_AT_WORK] = "its stager is at work",
	[HP_STEP_ENDED] = "it has ended",
};

static enum hp_stage_step step_of(const struct hpdsl_stage *s)
{
	if (s->ended)
		return HP_STEP_ENDED;
	if (s->has_stager)
		return HP_STEP_AT_WORK;
	if (s->state)
		return HP_STEP_PUBLISHED;
	if (s->ds)
		return HP_STEP_BEGUN;
	return s->put ? HP_STEP_INDEX : HP_STEP_OPENED;
}

int hp_stage_in_order(const struct hpdsl_stage *s, const char *call,
		      unsigned steps, struct hpdsl_error *err)
{
	enum hp_stage_step step = step_of(s);

	if (HP_STEP(step) & steps)
		return 0;
	return hp_fail(err, HPDSL_EUSAGE, "%s: %s() is out of order: %s",
		       s->path, call, where[step]);
}
