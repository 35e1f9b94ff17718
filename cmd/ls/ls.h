/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-ls: what was asked for, and how far the listing is. */
#ifndef CMD_LS_H
#define CMD_LS_H

#include "common/common.h"

enum unit { MEMBERS, SAMPLES, CHUNKS };

struct ls {
	enum unit unit;
	bool foreign_owner;
	bool long_form, json, null, stored;
	const char *label, *dataset;
	char **patterns;
	size_t n_patterns;

	struct hpdsl_dataset *ds;
	struct hpdsl_counts count;
	struct cmd_selection sel;
	size_t at;     /* next of sel, with patterns */
	uint64_t next; /* members before this one are done with */
	uint32_t label_number;
	int size_width, sample_width, label_width;
	struct hpdsl_error err;
};

/* Each gives 0, or a code with l->err set. */
int ls_print_member(struct ls *l, const struct hpdsl_member *m);
int ls_print_sample(struct ls *l, const struct hpdsl_sample *s);
int ls_print_chunk(struct ls *l, const struct hpdsl_chunk *c);

#endif
