/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-unpack: restores the tree that was packed, or a part of it. */
#include "common/option_table.h"

struct unpack {
	struct cmd_common common;
	const char *dataset, *output, *files_from;
	char **patterns;
	size_t n_patterns;
	bool null;
	uint64_t *samples;
	size_t n_samples;
	struct hpdsl_dataset *ds;
	struct cmd_selection sel;
};

static int take_sample(const struct cmd_option *o, void *to, const char *arg,
		       struct cmd_why *why)
{
	struct unpack *u = to;
	uint64_t number;

	if (cmd_parse_count(arg, &number) < 0)
		return cmd_refuse(why, "%s: '%s' is no number", o->name, arg);
	u->samples = cmd_grow(u->samples, u->n_samples, sizeof(*u->samples));
	u->samples[u->n_samples++] = number;
	return 0;
}

static const struct cmd_option options[] = {
	{ "files-from", "FILE",
	  "Paths from FILE (-: standard input), one a line, as hpdsl-ls "
	  "prints them",
	  CMD_STRING(struct unpack, files_from) },
	{ "null", NULL, "Paths in FILE end with a NUL byte",
	  CMD_FLAG(struct unpack, null), .letter = '0' },
	{ "sample", "N", "Every member of sample N; may be repeated",
	  .take = take_sample },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct unpack *u = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &u->common;
		return 0;
	case ARGP_KEY_ARGS:
		if (state->argc - state->next < 2)
			cmd_missing(state, "OUTPUT");
		u->dataset = state->argv[state->next];
		u->output = state->argv[state->next + 1];
		u->patterns = state->argv + state->next + 2;
		u->n_patterns = (size_t)(state->argc - state->next - 2);
		return 0;
	case ARGP_KEY_NO_ARGS:
		cmd_missing(state, "DATASET");
		return 0;
	case ARGP_KEY_END:
		if (u->null && !u->files_from)
			argp_error(state, "--null goes with --files-from");
		return 0;
	default:
		return cmd_options_parse(options, key, arg, state);
	}
}

static const struct argp argp = {
	NULL,
	parse,
	"DATASET OUTPUT [PATTERN...]",
	"Restore the files of a packed dataset below the new or empty folder "
	"OUTPUT.\v"
	"A PATTERN is a path, or a glob that is matched against the whole "
	"path if it has a slash, else against the base name; FOLDER/ is "
	"everything below. Without PATTERN, --sample and --files-from "
	"everything is restored. If "
	"something that is asked for is absent or damaged, the rest is still "
	"restored and the exit status is 1.",
	cmd_common_children,
	NULL,
	NULL
};

static bool wants_all(const struct unpack *u)
{
	return !u->n_patterns && !u->n_samples && !u->files_from;
}

static int choose(struct unpack *u)
{
	int status = CMD_DONE, ret;

	for (size_t i = 0; i < u->n_samples; i++) {
		ret = cmd_select_sample(&u->sel, u->ds, u->samples[i]);
		status = cmd_worse(status, ret);
	}
	if (u->n_patterns) {
		ret = cmd_select_patterns(&u->sel, u->ds, u->patterns,
					  u->n_patterns);
		status = cmd_worse(status, ret);
	}
	if (u->files_from) {
		ret = cmd_select_list(&u->sel, u->ds, u->files_from, u->null);
		status = cmd_worse(status, ret);
	}
	cmd_select_sort(&u->sel);
	return status;
}

static void print_json(const struct unpack *u,
		       const struct hpdsl_unpack_report *r)
{
	struct cmd_json j = { .out = stdout };
	struct hpdsl_counts count;

	hpdsl_count(u->ds, &count);
	cmd_json_open(&j, NULL, '{');
	cmd_json_u64(&j, "members", r->members);
	cmd_json_u64(&j, "bytes", r->bytes);
	cmd_json_u64(&j, "failed", r->failed);
	cmd_json_u64(&j, "generated", r->generated);
	cmd_json_real(&j, "seconds", r->seconds);
	cmd_json_hex(&j, "dataset_id", count.dataset_id,
		     sizeof(count.dataset_id));
	cmd_json_line(&j);
}

static void summary(const struct unpack *u, const struct hpdsl_unpack_report *r)
{
	if (u->common.json)
		print_json(u, r);
	else if (!u->common.quiet)
		cmd_message("%s, %s, %s, %s", cmd_many(r->members, "file").s,
			    cmd_bytes(r->bytes).s, cmd_seconds(r->seconds).s,
			    cmd_speed(r->members, r->bytes, r->seconds).s);
	if (r->generated && !u->common.json && !u->common.quiet)
		cmd_message("left out: %s of class numbers (hpdsl-pack --cls)",
			    cmd_many(r->generated, "member").s);
}

static int restore(struct unpack *u)
{
	struct hpdsl_unpack_options opt = {
		.threads = u->common.threads,
		.foreign_owner = u->common.foreign_owner,
	};
	struct hpdsl_unpack_report r = { 0 };
	struct hpdsl_error err;
	uint64_t none = 0;
	int status = CMD_DONE;
	bool done;

	if (!wants_all(u)) {
		/* NULL would be everything */
		opt.members = u->sel.members ? u->sel.members : &none;
		opt.n_members = u->sel.n;
	}
	cmd_watch(&opt.watch, u->common.quiet);
	done = hpdsl_unpack(u->ds, u->output, &opt, &r, &err) == 0;
	cmd_progress_end();
	if (!done)
		status = cmd_tell(&err);
	if (done || r.failed) /* the others were restored */
		summary(u, &r);
	return status;
}

int main(int argc, char **argv)
{
	struct unpack u = { 0 };
	struct hpdsl_error err;
	int status;

	cmd_start(argv);
	cmd_parse(options, &argp, argc, argv, 0, &u);
	cmd_signals(u.dataset, "");
	if (cmd_open(u.dataset, u.common.foreign_owner, &u.ds, &err) < 0) {
		status = cmd_tell(&err);
	} else {
		status = choose(&u);
		if (status == CMD_DONE || (status == CMD_NO && u.sel.n))
			status = cmd_worse(status, restore(&u));
	}
	free(u.samples);
	free(u.sel.members);
	cmd_close(u.ds);
	return status;
}
