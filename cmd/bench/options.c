/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-bench: its command line. */
#include "bench.h"

#include "common/option_table.h"

/* What a person writes as 0.25: not negative, and no more than years. */
static int take_real(const struct cmd_option *o, void *to, const char *arg,
		     struct cmd_why *why)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !(v >= 0 && v <= 1e9))
		return cmd_refuse(why, "%s: '%s' is no number from 0", o->name,
				  arg);
	*(double *)to = v;
	return 0;
}

#define FLAG(member) CMD_FLAG(struct bench, member)
#define COUNT(member) CMD_COUNT(struct bench, member, 1)
#define REAL(member) \
	.take = take_real, .place = CMD_AT(struct bench, member, double)

static const struct cmd_option options[] = {
	{ "epochs", "N", "Epochs to read (default: 1)", COUNT(opt.epochs) },
	{ "steps", "N", "Stop after N steps of this share, in whatever epoch",
	  COUNT(steps) },
	{ "compute", "SECONDS",
	  "Time that a step takes once its batch is there (default: 0)",
	  REAL(compute) },
	{ "pace", "SAMPLES", "At most so many samples a second", REAL(pace) },
	{ "suffix", "SUFFIX",
	  "Read only members with it, as jpg; may be repeated (default: all)",
	  CMD_STRINGS(struct bench, suffixes) },
	{ "memory", "SIZE",
	  "For what was read (default: 1G); with less, reads are smaller",
	  CMD_MEMORY(struct bench, opt.memory) },
	{ "cache", "HOW",
	  "auto: read past the page cache what is not in it; keep: fill it "
	  "(default: auto)",
	  CMD_WORD(struct bench, opt.cache, "auto keep",
		   "neither auto nor keep") },
	{ "unchecked", NULL, "Do not compare checksums", FLAG(opt.unchecked) },
	{ "skip-bad", NULL,
	  "Name bad samples and go on; the exit status is then 1",
	  FLAG(opt.skip_bad) },
	{ "save", "FILE",
	  "In the end, write the state to go on from (see --state)",
	  CMD_STRING(struct bench, save) },
	{ "deadline", "TIME",
	  "Stop with status 75 before TIME has passed: seconds or [D-]HH:MM:SS",
	  CMD_DEADLINE(struct bench, deadline) },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct bench *r = state->input;
	error_t ret;

	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = &r->order;
		state->child_inputs[1] = &r->order;
		state->child_inputs[2] = &r->common;
		return 0;
	}
	ret = cmd_options_parse(options, key, arg, state);
	return ret == ARGP_ERR_UNKNOWN ?
		       cmd_take_dataset(key, arg, state, &r->dataset) :
		       ret;
}

static const struct argp argp = {
	NULL,
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

void bench_parse(int argc, char **argv, struct bench *r)
{
	cmd_order_show();
	cmd_share_show();
	cmd_parse(options, &argp, argc, argv, 0, r);
}
