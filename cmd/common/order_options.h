/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that say in which order which samples are read, for all commands
 * that read epochs.
 */
#ifndef CMD_ORDER_OPTIONS_H
#define CMD_ORDER_OPTIONS_H

#include "common.h"

struct cmd_order {
	struct hpdsl_order order;
	struct hpdsl_share share;
	enum hpdsl_end end;
	const char *state; /* a file */
	uint64_t given;	   /* see cmd_order_gave() */

	/* The choice, as it was asked for. */
	struct cmd_strings labels, include, exclude;
	const char *samples; /* a file */
	struct hpdsl_choice_options choice;
};

/* Its input is a struct cmd_order; child is the list with it and the common
 * one, whose input is a struct cmd_common, in this order. */
extern const struct argp cmd_order_argp;
extern const struct argp_child cmd_order_children[];
/* Puts the options there, before they are parsed. */
void cmd_order_show(void);
/* Was the option with this name on the command line? */
bool cmd_order_gave(const struct cmd_order *o, const char *option);

/*
 * With the dataset open: reads --state into order and end, and makes the
 * choice, NULL if all samples are meant, which the caller frees.  Exit status;
 * what was wrong has been told.
 */
int cmd_order_begin(struct cmd_order *o, const struct hpdsl_dataset *ds,
		    struct hpdsl_choice **ret);
void cmd_order_release(struct cmd_order *o);

#endif
