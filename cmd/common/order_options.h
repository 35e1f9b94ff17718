/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that say in which order which samples are read, for all commands
 * that read epochs, or plan for those who do.
 */
#ifndef CMD_ORDER_OPTIONS_H
#define CMD_ORDER_OPTIONS_H

#include "common.h"

struct cmd_order {
	struct hpdsl_order order; /* what was not given is 0 */
	uint32_t batch_size;	  /* 0: not given */
	struct hpdsl_share share;
	enum hpdsl_end end;
	const char *state;	   /* a file */
	uint64_t given, given_too; /* see cmd_order_gave() */

	/* The choice, as it was asked for. */
	struct cmd_strings labels, folders, tars, include, exclude;
	const char *samples; /* a file */
	struct hpdsl_choice_options choice;
};

/*
 * Parsers whose input is a struct cmd_order: the order itself, and who reads
 * which samples of it.  Children is the list with both of them and the common
 * one, whose input is a struct cmd_common, in this order.
 */
extern const struct argp cmd_order_argp, cmd_share_argp;
extern const struct argp_child cmd_order_children[];
/* Put the options there, before they are parsed. */
void cmd_order_show(void);
void cmd_share_show(void);
/* Was the option with this name on the command line? */
bool cmd_order_gave(const struct cmd_order *o, const char *option);
bool cmd_share_gave(const struct cmd_order *o, const char *option);

/*
 * order_state.c: what the state says; what it leaves open stays as it was
 * given.  HPDSL_EUSAGE: what was given is other than it.
 */
int cmd_order_take(struct cmd_order *o, const struct hpdsl_state *s,
		   const char *name, struct hpdsl_error *err);
/* The file o->state, if it is of this dataset and choice.  Exit status. */
int cmd_order_state(struct cmd_order *o, const struct hpdsl_dataset *ds,
		    const struct hpdsl_choice *choice);
/* HPDSL_EUSAGE: a batch, and --batch-size of the ranks, that do not agree. */
int cmd_order_batch(const struct cmd_order *o, struct hpdsl_error *err);

/*
 * order_begin.c: with the dataset open, makes the choice, NULL if all samples
 * are meant, which the caller frees, and the order whole.  Exit status; what
 * was wrong has been told.
 */
int cmd_order_begin(struct cmd_order *o, const struct hpdsl_dataset *ds,
		    struct hpdsl_choice **ret);
void cmd_order_release(struct cmd_order *o);

#endif
