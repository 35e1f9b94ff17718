/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-index: rebuilds the index and the manifest of a dataset. */
#include "common.h"

struct index {
	struct cmd_common common;
	const char *dataset;
	struct hpdsl_reindex_options opt;
};

#define OPT_FORCE CMD_OPT_OWN

static const struct argp_option options[] = {
	{ "force", OPT_FORCE, NULL, 0,
	  "Replace an index that a chunk contradicts", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct index *x = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &x->common;
		return 0;
	case OPT_FORCE:
		x->opt.force = true;
		return 0;
	default:
		return cmd_take_dataset(key, arg, state, &x->dataset);
	}
}

static const struct argp argp = {
	options,
	parse,
	"DATASET",
	"Rebuild the index and the manifest of a dataset from its chunks.\v"
	"What only the index or the manifest knew is taken from what is left "
	"of them, or listed as lost. Exit status 1: a chunk contradicts the "
	"index that is there.",
	cmd_common_children,
	NULL,
	NULL
};

static void print_json(const struct hpdsl_reindex_report *r)
{
	struct cmd_json j = { .out = stdout };

	cmd_json_open(&j, NULL, '{');
	cmd_json_u64(&j, "chunks", r->chunks);
	cmd_json_u64(&j, "samples", r->samples);
	cmd_json_u64(&j, "members", r->members);
	cmd_json_u64(&j, "bytes", r->bytes);
	cmd_json_bool(&j, "unchanged", r->unchanged);
	cmd_json_string(&j, "lost", r->lost ? r->lost : "");
	cmd_json_real(&j, "seconds", r->seconds);
	cmd_json_hex(&j, "dataset_id", r->dataset_id, sizeof(r->dataset_id));
	cmd_json_line(&j);
}

static void print_summary(const struct hpdsl_reindex_report *r)
{
	cmd_message("%s: %s, %s, %s in %s, %s",
		    r->unchanged ? "sound, nothing to rebuild" : "rebuilt",
		    cmd_many(r->samples, "sample").s,
		    cmd_many(r->members, "member").s, cmd_bytes(r->bytes).s,
		    cmd_many(r->chunks, "chunk").s, cmd_seconds(r->seconds).s);
	if (r->lost && *r->lost)
		cmd_message("lost: %s", r->lost);
}

int main(int argc, char **argv)
{
	struct index x = { 0 };
	struct hpdsl_reindex_report report = { 0 };
	struct hpdsl_error err;
	int ret;

	cmd_start(argv);
	argp_parse(&argp, argc, argv, 0, NULL, &x);
	cmd_signals(x.dataset, "");
	x.opt.threads = x.common.threads;
	cmd_watch(&x.opt.watch, x.common.quiet);
	ret = hpdsl_reindex(x.dataset, &x.opt, &report, &err);
	cmd_progress_end();
	if (ret < 0)
		return cmd_tell(&err);
	if (x.common.json)
		print_json(&report);
	else if (!x.common.quiet)
		print_summary(&report);
	return CMD_DONE;
}
