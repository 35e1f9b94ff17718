/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line says of an order and of the share that is read. */
#include "order_options.h"

#include <string.h>

/* Far from the keys of the commands that take these options. */
enum {
	OPT_SEED = 0x300,
	OPT_EPOCH,
	OPT_FROM_STEP,
	OPT_WINDOW,
	OPT_LANES,
	OPT_RUN,
	OPT_STEP_RUNS,
	OPT_PARTS,
	OPT_END,
	OPT_STATE,
	OPT_RANKS,
	OPT_RANK,
	OPT_WORKERS,
	OPT_WORKER,
	OPT_UNEVEN,
	OPT_LABEL,
	OPT_INCLUDE,
	OPT_EXCLUDE,
	OPT_SAMPLES,
	OPT_SPLIT,
	OPT_BALANCED,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Order:", 3 },
	{ "seed", OPT_SEED, "N", 0, "Which random order (default: 0)", 3 },
	{ "epoch", OPT_EPOCH, "N", 0, "Which epoch, from 0 (default: 0)", 3 },
	{ "from-step", OPT_FROM_STEP, "N", 0,
	  "Begin at this step of the epoch (default: 0)", 3 },
	{ "window", OPT_WINDOW, "CHUNKS", 0,
	  "Chunks that are mixed at a time in a lane (default: 16)", 3 },
	{ "lanes", OPT_LANES, "N", 0,
	  "Independent streams that an epoch is dealt from (default: 8, or the "
	  "next multiple of the parts)",
	  3 },
	{ "run", OPT_RUN, "SAMPLES", 0,
	  "Samples in a row from one lane (default: 32)", 3 },
	{ "step-runs", OPT_STEP_RUNS, "N", 0,
	  "Runs of a step, the global batch (default: 8)", 3 },
	{ "parts", OPT_PARTS, "N", 0,
	  "Parts that nodes hold, as hpdsl-stage made them (default: 1)", 3 },
	{ "end", OPT_END, "HOW", 0,
	  "What the last step lacks: mask or repeat fill it up, drop leaves "
	  "the step out (default: mask)",
	  3 },
	{ "state", OPT_STATE, "FILE", 0,
	  "All of this from a loader's state; what is given besides must agree",
	  3 },
	{ NULL, 0, NULL, 0, "Share:", 4 },
	{ "ranks", OPT_RANKS, "N", 0, "Ranks of the job (default: 1)", 4 },
	{ "rank", OPT_RANK, "N", 0, "Which of them, from 0", 4 },
	{ "workers", OPT_WORKERS, "N", 0, "Workers of a rank (default: 1)", 4 },
	{ "worker", OPT_WORKER, "N", 0, "Which of them, from 0", 4 },
	{ "uneven", OPT_UNEVEN, NULL, 0,
	  "Ranks need not divide the runs of a step; batches then differ by a "
	  "run",
	  4 },
	{ NULL, 0, NULL, 0, "Samples (those that pass all of these):", 5 },
	{ "label", OPT_LABEL, "CLASS", 0,
	  "Of this class, by name or number; may be repeated", 5 },
	{ "include", OPT_INCLUDE, "GLOB", 0,
	  "With a member whose path matches; may be repeated", 5 },
	{ "exclude", OPT_EXCLUDE, "GLOB", 0,
	  "Without such a member; may be repeated", 5 },
	{ "samples", OPT_SAMPLES, "FILE", 0,
	  "Whose numbers are in FILE, one a line (-: standard input)", 5 },
	{ "split", OPT_SPLIT, "FROM:TO[:SEED]", 0,
	  "A random share of all: 0:0.9 for training, 0.9:1 to validate", 5 },
	{ "balanced", OPT_BALANCED, NULL, 0,
	  "Each class equally often, as many samples in all", 5 },
	{ 0 }
};

static int number_from(const char *name, const char *arg, uint32_t least,
		       uint32_t *ret, struct cmd_why *why)
{
	uint64_t n;

	if (cmd_parse_count(arg, &n) < 0 || n < least || n > UINT32_MAX)
		return cmd_refuse(why, "%s: '%s' is no number from %u to %u",
				  name, arg, least, UINT32_MAX);
	*ret = (uint32_t)n;
	return 0;
}

static int set_end(struct cmd_order *o, const char *arg, struct cmd_why *why)
{
	const char *const names[] = { "mask", "repeat", "drop" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(arg, names[i]) == 0) {
			o->end = (enum hpdsl_end)i;
			return 0;
		}
	}
	return cmd_refuse(why, "end: '%s' is none of mask, repeat and drop",
			  arg);
}

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

static int set_split(struct hpdsl_choice_options *c, const char *arg,
		     struct cmd_why *why)
{
	const char *s = read_share(arg, &c->split_from);

	if (s && *s == ':')
		s = read_share(s + 1, &c->split_to);
	else
		s = NULL;
	if (s && *s == ':' && cmd_parse_count(s + 1, &c->split_seed) == 0)
		s = "";
	if (!s || *s || c->split_from >= c->split_to)
		return cmd_refuse(why,
				  "split: '%s' is not FROM:TO[:SEED] with "
				  "0 <= FROM < TO <= 1 and at most nine digits",
				  arg);
	return 0;
}

static int set_order(struct cmd_order *o, int key, const char *arg,
		     struct cmd_why *why)
{
	struct hpdsl_order *r = &o->order;

	switch (key) {
	case OPT_SEED:
		return cmd_value_count("seed", arg, 0, &r->seed, why);
	case OPT_EPOCH:
		return cmd_value_count("epoch", arg, 0, &r->epoch, why);
	case OPT_FROM_STEP:
		return cmd_value_count("from-step", arg, 0, &r->step, why);
	case OPT_WINDOW:
		return number_from("window", arg, 1, &r->window, why);
	case OPT_LANES:
		return number_from("lanes", arg, 1, &r->lanes, why);
	case OPT_RUN:
		return number_from("run", arg, 1, &r->run, why);
	case OPT_STEP_RUNS:
		return number_from("step-runs", arg, 1, &r->step_runs, why);
	case OPT_PARTS:
		return number_from("parts", arg, 1, &r->parts, why);
	default:
		return set_end(o, arg, why);
	}
}

static int set_share(struct hpdsl_share *s, int key, const char *arg,
		     struct cmd_why *why)
{
	switch (key) {
	case OPT_RANKS:
		return number_from("ranks", arg, 1, &s->ranks, why);
	case OPT_RANK:
		return number_from("rank", arg, 0, &s->rank, why);
	case OPT_WORKERS:
		return number_from("workers", arg, 1, &s->workers, why);
	case OPT_WORKER:
		return number_from("worker", arg, 0, &s->worker, why);
	default: /* OPT_UNEVEN */
		s->uneven = true;
		return 0;
	}
}

static int set_choice(struct cmd_order *o, int key, const char *arg,
		      struct cmd_why *why)
{
	switch (key) {
	case OPT_LABEL:
		cmd_strings_add(&o->labels, arg);
		return 0;
	case OPT_INCLUDE:
		cmd_strings_add(&o->include, arg);
		return 0;
	case OPT_EXCLUDE:
		cmd_strings_add(&o->exclude, arg);
		return 0;
	case OPT_SAMPLES:
		o->samples = arg;
		return 0;
	case OPT_SPLIT:
		return set_split(&o->choice, arg, why);
	default: /* OPT_BALANCED */
		o->choice.balanced = true;
		return 0;
	}
}

static int set(struct cmd_order *o, int key, const char *arg,
	       struct cmd_why *why)
{
	if (key >= OPT_SEED && key <= OPT_END) {
		o->given |= 1U << (key - OPT_SEED);
		return set_order(o, key, arg, why);
	}
	if (key >= OPT_RANKS && key <= OPT_UNEVEN)
		return set_share(&o->share, key, arg, why);
	if (key >= OPT_LABEL && key <= OPT_BALANCED)
		return set_choice(o, key, arg, why);
	if (key != OPT_STATE)
		return ARGP_ERR_UNKNOWN;
	o->state = arg;
	return 0;
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
	struct cmd_order *o = state->input;
	struct cmd_why why;
	int ret;

	if (key == ARGP_KEY_END) {
		check(o, state);
		return 0;
	}
	ret = set(o, key, arg, &why);
	if (ret < 0)
		argp_error(state, "--%s", why.text);
	return ret;
}

const struct argp cmd_order_argp = { options, parse, NULL, NULL,
				     NULL,    NULL,  NULL };

const struct argp_child cmd_order_children[] = {
	{ &cmd_order_argp, 0, NULL, 0 },
	{ &cmd_common_argp, 0, NULL, 9 },
	{ 0 },
};
