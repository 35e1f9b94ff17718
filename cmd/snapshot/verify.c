/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-snapshot verify: is all of a snapshot what was written?  Damage is
 * data: it goes to standard output, a line each.
 */
#include "snapshot.h"

struct verify {
	struct cmd_common common;
	const char *file;
	struct hpdsl_snapshot *s;
	struct cmd_json j; /* with --json: the object, once begun */
	bool begun;
	uint64_t told;
};

const struct cmd_option snapshot_verify_options[] = {
	{ "quiet", NULL, "No summary", CMD_FLAG(struct verify, common.quiet),
	  .letter = 'q', .group = 9 },
	{ "json", NULL, "The damage and the summary as one JSON object",
	  CMD_FLAG(struct verify, common.json), .group = 9 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const names[] = { "FILE" };
	struct verify *v = state->input;

	return cmd_options_parse(snapshot_verify_options, key, arg, state) ?
		       cmd_take_arguments(key, arg, state, names, &v->file, 1) :
		       0;
}

const struct argp snapshot_verify_argp = {
	NULL,
	parse,
	"FILE",
	"Verify every byte of a snapshot.\v"
	"What is damaged goes to standard output, one line each. Exit status: "
	"0 it is sound, 1 something is damaged, 3 it could not be verified.",
	NULL,
	NULL,
	NULL
};

static void begin_json(struct verify *v)
{
	if (v->begun)
		return;
	v->begun = true;
	v->j.out = stdout;
	cmd_json_open(&v->j, NULL, '{');
	cmd_json_open(&v->j, "damage", '[');
}

static void print_damage(void *arg, const char *reason)
{
	struct verify *v = arg;

	v->told++;
	if (!v->common.json) {
		cmd_print("%s\n", reason);
		return;
	}
	begin_json(v);
	cmd_json_string(&v->j, NULL, reason);
}

static void tell_summary(const struct verify *v)
{
	struct hpdsl_snapshot_info info;

	if (v->told) {
		cmd_message("damaged: %s", v->file);
		return;
	}
	hpdsl_snapshot_info(v->s, &info);
	cmd_message("sound: %s", snapshot_counts(&info).s);
	snapshot_tell_info(&info);
}

static void end_json(struct verify *v)
{
	struct hpdsl_snapshot_info info;

	begin_json(v);
	cmd_json_close(&v->j, ']');
	cmd_json_bool(&v->j, "sound", !v->told);
	if (v->s) {
		hpdsl_snapshot_info(v->s, &info);
		snapshot_json_info(&v->j, &info);
	}
	cmd_json_line(&v->j);
}

/* Opens it; a header that is damaged is damage like any other. */
static int prove(struct verify *v, struct hpdsl_error *err)
{
	int code = hpdsl_snapshot_open(v->file, 0, NULL, &v->s, err);

	if (code == HPDSL_ECORRUPT)
		print_damage(v, err->msg);
	if (code < 0)
		return code;
	cmd_bus_snapshot(v->s, v->file);
	code = hpdsl_snapshot_verify(v->s, print_damage, v, err);
	if (code == HPDSL_ECORRUPT && !v->told)
		print_damage(v, err->msg);
	return code;
}

int snapshot_verify(int argc, char **argv)
{
	struct verify v = { 0 };
	struct hpdsl_error err;
	int code, status = CMD_DONE;

	cmd_parse(snapshot_verify_options, &snapshot_verify_argp, argc, argv, 0,
		  &v);
	cmd_signals(v.file, "");
	code = prove(&v, &err);
	if (v.common.json && (v.begun || !code))
		end_json(&v);
	else if (!v.common.quiet && (v.told || !code))
		tell_summary(&v);
	if (code < 0 && code != HPDSL_ECORRUPT)
		status = cmd_worse(status, cmd_tell(&err));
	snapshot_close(v.s);
	return v.told ? cmd_worse(status, CMD_NO) : status;
}
