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
	/* plan_find_link(): of a node, bytes a second, 0: not known; and what
	 */
	double link;
	char link_name[64];
	/* plan_sums() fills the rest. */
	struct hpdsl_stage_share *share; /* of each node; to be freed */
	struct hpdsl_stage_estimate estimate;
	uint64_t bytes, origin_bytes, left_bytes; /* of the dataset */
};

void plan_sums(struct plan_view *v);
/* On standard output. */
void plan_print(const struct plan_view *v);
void plan_json(const struct plan_view *v);

/*
 * plan_peers.c: what a node gets from all others together, in no order, with
 * links of so many bytes a second (0: not known); false: it asks nobody.
 */
struct plan_peers {
	uint32_t copies;
	double efficiency; /* of the link */
	double rate;	   /* bytes a second; 0: not known */
};
bool plan_peers(uint32_t nodes, uint32_t parts, double link,
		struct plan_peers *ret);
/* That of --rates, or else this node's; interface: as --interface has it. */
void plan_find_link(struct plan_view *v, const char *interface);
void plan_print_peers(const struct plan_view *v);
void plan_json_peers(const struct plan_view *v, struct cmd_json *j);

/* Puts rates of a report where there are none yet. */
int plan_rates(const char *file, struct hpdsl_stage_rates *rates,
	       struct hpdsl_error *err);

#endif
