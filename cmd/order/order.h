/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-order: an order, position by position, and what it costs. */
#ifndef CMD_ORDER_H
#define CMD_ORDER_H

#include "common/order_options.h"

struct order {
	struct cmd_order o;
	const char *dataset;
	uint64_t from, count; /* positions from .., so many lines */
	bool foreign_owner;
	bool count_given;
	bool cost, classes; /* instead of the list */
	bool where;	    /* the same, of one sample */
	uint64_t sample;
	uint64_t memory; /* of the loader; 0: its default */
	uint64_t some;	 /* steps at most; 0: all */
	bool json;

	/* While it runs: */
	struct hpdsl_dataset *ds;
	struct hpdsl_choice *choice; /* or NULL */
	struct hpdsl_epoch *e;
	struct hpdsl_epoch_info info;
	uint64_t steps; /* of the epoch */
	uint64_t end;	/* of the steps that are asked for */
	struct hpdsl_error err;
};

/*
 * walk.c: calls see() for each step of the share, in its order, with the
 * places that are real; it returns 0 to go on, 1 to end, or an error's code.
 * Exit status.
 */
int order_walk(struct order *w,
	       int (*see)(struct order *w, uint64_t step,
			  const struct hpdsl_place *place, size_t n, void *arg),
	       void *arg);

/* list.c, where.c: exit status. */
int order_list(struct order *w);
int order_where(struct order *w);
/* cost.c, classes.c: exit status; j: the summary, with --json. */
int order_cost(struct order *w, struct cmd_json *j);
int order_classes(struct order *w, struct cmd_json *j);

#endif
