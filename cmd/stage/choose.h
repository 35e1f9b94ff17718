/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LOCALDIR auto: which candidate is taken, given what each node has found in
 * it.  Pure functions: nothing is looked at here, and no node is asked.
 */
#ifndef CMD_STAGE_CHOOSE_H
#define CMD_STAGE_CHOOSE_H

#include <hpdsl.h>
#include <stdbool.h>
#include <stdint.h>

/* Candidates, in the order in which they are preferred. */
enum { CHOOSE_PLACES = 5, CHOOSE_TEXT = 700 };

/* "$TMPDIR", or "/tmp", which is none of a variable. */
const char *choose_name(uint32_t place);

/*
 * The candidates of an environment, without slashes behind them, to be freed;
 * NULL: there is none.  One that is there twice stands where it is first, but
 * /tmp is the last.
 */
void choose_candidates(char *(*get)(const char *name), char **ret);

/* Has NAME of auto:NAME the form of one? */
bool choose_is_name(const char *name);

/*
 * Room for chunks in a place that is chosen, where options want it to be no
 * more than asked: of memory, half of what is left and what is held.
 */
uint64_t choose_room(uint64_t asked, const struct hpdsl_stage_place *p);

/* What a node has found. */
enum choose_state {
	CHOOSE_UNSET = 0,
	CHOOSE_RELATIVE, /* its path begins with no slash */
	CHOOSE_BAD,	 /* code says why */
	CHOOSE_KIND,	 /* of a kind that is shared */
	CHOOSE_SEEN,	 /* another node's file is there */
	CHOOSE_GOOD,
};

struct choose_look {
	uint64_t room; /* bytes for chunks, with those that are there */
	int32_t code;
	uint8_t state;
	bool ram, holds;
	bool differs; /* from rank 0's */
	char kind[16];
};

struct choose_node {
	struct choose_look of[CHOOSE_PLACES];
};

struct choose {
	const struct choose_node *all; /* of each node */
	const char *const *path;       /* rank 0's candidates, or NULL */
	/* Capacity is filled in; order: any, as only sums matter. */
	struct hpdsl_stage_wish wish;
};

struct choice {
	uint32_t place;
	uint32_t node; /* whose path is another one; UINT32_MAX: nobody's */
	bool ram;
	char why[CHOOSE_TEXT]; /* "$TMPDIR has room on every node" */
	/* What is wrong with those that would come before it; "". */
	char others[CHOOSE_TEXT];
};

/*
 * 0; HPDSL_EUSAGE: ret->node has another path than node 0, or none, for the
 * candidate whose turn it is; -ENOSPC: no place, *err says what is wrong with
 * each; what the plan fails with.
 */
int choose_place(const struct choose *c, struct choice *ret,
		 struct hpdsl_error *err);

#endif
