/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-read: its command line. */
#include "read.h"

#include <string.h>

enum {
	OPT_EPOCHS = CMD_OPT_OWN,
	OPT_STEPS,
	OPT_COMPUTE,
	OPT_PACE,
	OPT_MEMORY,
	OPT_CACHE,
	OPT_SUFFIX,
	OPT_UNCHECKED,
	OPT_SKIP_BAD,
	OPT_SAVE,
	OPT_DEADLINE,
};

static const struct argp_option options[] = {
	{ "epochs", OPT_EPOCHS, "N", 0, "Epochs to read (default: 1)", 1 },
	{ "steps", OPT_STEPS, "N", 0,
	  "Stop after N steps of this share, in whatever epoch", 1 },
	{ "compute", OPT_COMPUTE, "SECONDS", 0,
	  "Time that a step takes once its batch is there (default: 0)", 1 },
	{ "pace", OPT_PACE, "SAMPLES", 0, "At most so many samples a second",
	  1 },
	{ "suffix", OPT_SUFFIX, "SUFFIX", 0,
	  "Read only members with it, as jpg; may be repeated (default: all)",
	  1 },
	{ "memory", OPT_MEMORY, "SIZE", 0,
	  "For what was read (default: 4G); too little for the windows, and "
	  "samples are read one by one",
	  1 },
	{ "cache", OPT_CACHE, "HOW", 0,
	  "auto: read past the page cache what is not in it; keep: fill it "
	  "(default: auto)",
	  1 },
	{ "unchecked", OPT_UNCHECKED, NULL, 0, "Do not compare checksums", 1 },
	{ "skip-bad", OPT_SKIP_BAD, NULL, 0,
	  "Name bad samples and go on; the exit status is then 1", 1 },
	{ "save", OPT_SAVE, "FILE", 0,
	  "In the end, write the state to go on from (see --state)", 1 },
	{ "deadline", OPT_DEADLINE, "TIME", 0,
	  "Stop with status 75 before TIME has passed: seconds or "
	  "[D-]HH:MM:SS",
	  1 },
	{ 0 }
};

/* What a person writes as 0.25: not negative, and no more than years. */
static int real(const char *name, const char *arg, double *ret,
		struct cmd_why *why)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !(v >= 0 && v <= 1e9))
		return cmd_refuse(why, "%s: '%s' is no number from 0", name,
				  arg);
	*ret = v;
	return 0;
}

static int set_memory(struct read *r, const char *arg, struct cmd_why *why)
{
	if (cmd_parse_size(arg, &r->opt.memory) < 0 ||
	    r->opt.memory < HPDSL_LOADER_MEMORY_LEAST)
		return cmd_refuse(why, "memory: '%s' is no size from 16M", arg);
	return 0;
}

static int set_cache(struct read *r, const char *arg, struct cmd_why *why)
{
	if (strcmp(arg, "auto") == 0)
		r->opt.cache = HPDSL_CACHE_AUTO;
	else if (strcmp(arg, "keep") == 0)
		r->opt.cache = HPDSL_CACHE_KEEP;
	else
		return cmd_refuse(why, "cache: '%s' is neither auto nor keep",
				  arg);
	return 0;
}

static int set_number(struct read *r, int key, const char *arg,
		      struct cmd_why *why)
{
	switch (key) {
	case OPT_EPOCHS:
		return cmd_value_count("epochs", arg, 1, &r->opt.epochs, why);
	case OPT_STEPS:
		return cmd_value_count("steps", arg, 1, &r->steps, why);
	case OPT_COMPUTE:
		return real("compute", arg, &r->compute, why);
	case OPT_PACE:
		return real("pace", arg, &r->pace, why);
	case OPT_MEMORY:
		return set_memory(r, arg, why);
	case OPT_CACHE:
		return set_cache(r, arg, why);
	default: /* OPT_DEADLINE */
		return cmd_value_deadline(arg, &r->deadline, why);
	}
}

static int set(struct read *r, int key, char *arg, struct cmd_why *why)
{
	switch (key) {
	case OPT_SUFFIX:
		cmd_strings_add(&r->suffixes, arg);
		return 0;
	case OPT_UNCHECKED:
		r->opt.unchecked = true;
		return 0;
	case OPT_SKIP_BAD:
		r->opt.skip_bad = true;
		return 0;
	case OPT_SAVE:
		r->save = arg;
		return 0;
	case OPT_EPOCHS:
	case OPT_STEPS:
	case OPT_COMPUTE:
	case OPT_PACE:
	case OPT_MEMORY:
	case OPT_CACHE:
	case OPT_DEADLINE:
		return set_number(r, key, arg, why);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct read *r = state->input;
	struct cmd_why why;
	int ret;

	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = &r->order;
		state->child_inputs[1] = &r->common;
		return 0;
	}
	ret = set(r, key, arg, &why);
	if (ret < 0)
		argp_error(state, "--%s", why.text);
	return ret == ARGP_ERR_UNKNOWN ?
		       cmd_take_dataset(key, arg, state, &r->dataset) :
		       ret;
}

const struct argp read_argp = {
	options,
	parse,
	"DATASET",
	"Read epochs of a dataset, or of a stage directory, as a training job "
	"would.\v"
	"Says how fast that went, how long a job would have waited for its "
	"data, and where the bytes came from. Exit status: 0 all was read, 1 "
	"a sample is damaged, 3 trouble, 75 stopped early.",
	cmd_order_children,
	NULL,
	NULL
};
