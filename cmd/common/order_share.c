/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line says of the share that is read, and of which samples.
 */
#include "order_options.h"

#include "option_table.h"

#include <string.h>

/* A decimal from 0 to 1 with up to nine digits, exactly: up to : or the end. */
static const char *read_share(const char *s, uint32_t *ret)
{
	uint32_t unit = HPDSL_SPLIT_ONE, sum;

	if (*s != '0' && *s != '1')
		return NULL;
	sum = (uint32_t)(*s++ - '0') * HPDSL_SPLIT_ONE;
	if (*s == '.') {
		if (*++s < '0' || *s > '9')
			return NULL;
		for (; *s >= '0' && *s <= '9'; s++) {
			unit /= 10;
			if (!unit)
				return NULL;
			sum += (uint32_t)(*s - '0') * unit;
		}
	}
	*ret = sum;
	return sum <= HPDSL_SPLIT_ONE ? s : NULL;
}

static int take_split(const struct cmd_option *o, void *to, const char *arg,
		      struct cmd_why *why)
{
	struct hpdsl_choice_options *c = &((struct cmd_order *)to)->choice;
	const char *s = read_share(arg, &c->split_from);

	if (s && *s == ':')
		s = read_share(s + 1, &c->split_to);
	else
		s = NULL;
	if (s && *s == ':' && cmd_parse_count(s + 1, &c->split_seed) == 0)
		s = "";
	if (!s || *s || c->split_from >= c->split_to)
		return cmd_refuse(why,
				  "%s: '%s' is not FROM:TO[:SEED] with "
				  "0 <= FROM < TO <= 1 and at most nine digits",
				  o->name, arg);
	return 0;
}

#define FLAG(member) CMD_FLAG(struct cmd_order, member)
#define STRINGS(member) CMD_STRINGS(struct cmd_order, member)
#define NUMBER(member, from) \
	CMD_NUMBER(struct cmd_order, member, from, UINT32_MAX)

static const struct cmd_option options[] = {
	{ "parts", "N",
	  "Parts that nodes hold, as hpdsl-stage made them (default: 1)",
	  NUMBER(order.parts, 1) },
	{ "end", "HOW",
	  "What the last step lacks: mask or repeat fill it up, drop leaves "
	  "the step out, short has fewer samples (default: mask)",
	  CMD_WORD(struct cmd_order, end, "mask repeat drop short",
		   "none of mask, repeat, drop and short") },
	{ "state", "FILE",
	  "All of this from a loader's state; what is given besides must agree",
	  CMD_STRING(struct cmd_order, state) },

	{ NULL, NULL, "Share:", .group = 4 },
	{ "ranks", "N", "Ranks of the job (default: 1)",
	  NUMBER(share.ranks, 1) },
	{ "rank", "N", "Which of them, from 0", NUMBER(share.rank, 0) },
	{ "workers", "N", "Workers of a rank (default: 1)",
	  NUMBER(share.workers, 1) },
	{ "worker", "N", "Which of them, from 0", NUMBER(share.worker, 0) },
	{ "uneven", NULL,
	  "Ranks need not divide the batch: those of a step then differ by a "
	  "sample",
	  FLAG(share.uneven) },

	{ NULL, NULL, "Samples (those that pass all of these):", .group = 5 },
	{ "label", "CLASS", "Of this class, by name or number; may be repeated",
	  STRINGS(labels) },
	{ "folder", "DIR", "In this folder of the dataset; may be repeated",
	  STRINGS(folders) },
	{ "tars", "GLOB",
	  "In chunks or adopted tars called so; may be repeated",
	  STRINGS(tars) },
	{ "include", "GLOB",
	  "With a member whose path matches; may be repeated",
	  STRINGS(include) },
	{ "exclude", "GLOB", "Without such a member; may be repeated",
	  STRINGS(exclude) },
	{ "samples", "FILE",
	  "Whose numbers are in FILE, one a line (-: standard input)",
	  CMD_STRING(struct cmd_order, samples) },
	{ "split", "FROM:TO[:SEED]",
	  "A random share of all: 0:0.9 for training, 0.9:1 to validate",
	  .take = take_split },
	{ "balanced", NULL, "Each class equally often, as many samples in all",
	  FLAG(choice.balanced) },
	{ 0 }
};

/* As argp has it. */
static struct argp_option shown[sizeof(options) / sizeof(*options)];

bool cmd_share_gave(const struct cmd_order *o, const char *option)
{
	for (const struct cmd_option *row = options; row->text; row++)
		if (row->name && strcmp(row->name, option) == 0)
			return o->given_too & cmd_options_bit(options, row);
	return false;
}

static void check(const struct cmd_order *o, const struct argp_state *state)
{
	uint32_t ranks = o->share.ranks ? o->share.ranks : 1;
	uint32_t workers = o->share.workers ? o->share.workers : 1;

	if (o->share.rank >= ranks)
		argp_error(state, "--rank=%u is not below --ranks=%u",
			   o->share.rank, ranks);
	if (o->share.worker >= workers)
		argp_error(state, "--worker=%u is not below --workers=%u",
			   o->share.worker, workers);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const struct cmd_option *row = cmd_options_find(options, key);
	struct cmd_order *o = state->input;

	if (key == ARGP_KEY_END) {
		check(o, state);
		return 0;
	}
	if (row)
		o->given_too |= cmd_options_bit(options, row);
	return cmd_options_parse(options, key, arg, state);
}

const struct argp cmd_share_argp = {
	shown, parse, NULL, NULL, NULL, NULL, NULL
};

const struct argp_child cmd_order_children[] = {
	{ &cmd_order_argp, 0, NULL, 0 },
	{ &cmd_share_argp, 0, NULL, 0 },
	{ &cmd_common_argp, 0, NULL, 9 },
	{ 0 },
};

void cmd_share_show(void)
{
	cmd_options_show(options, shown);
}
