/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as people and programs read it, and the report it depends on. */
#ifndef CMD_STAGE_PLAN_H
#define CMD_STAGE_PLAN_H

#include "common/common.h"

struct plan_view {
	struct hpdsl_stage_plan *plan;
	const char *mode;
	uint32_t nodes;
	uint64_t chunks;
	const char *const *hosts;	/* of each node; NULL: not known */
	struct hpdsl_stage_rates rates; /* 0: not known */
	/* What auto found, why, and why none before ("": all good); NULL. */
	const char *directory, *reason, *others;
	/* plan_sums() fills the rest. */
	struct hpdsl_stage_share *share; /* of each node; to be freed */
	struct hpdsl_stage_estimate estimate;
	uint64_t bytes, origin_bytes, left_bytes; /* of the dataset */
};

void plan_sums(struct plan_view *v);
/* On standard output. */
void plan_print(const struct plan_view *v);
void plan_json(const struct plan_view *v);

/* Puts rates of a report where there are none yet. */
int plan_rates(const char *file, struct hpdsl_stage_rates *rates,
	       struct hpdsl_error *err);

#endif
