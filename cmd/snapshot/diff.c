/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-snapshot diff: what is different between two snapshots. */
#include "snapshot.h"

struct diff {
	bool quiet;
	struct snapshot_differences found;
	const char *files[2];
	struct hpdsl_snapshot *s[2];
};

const struct cmd_option snapshot_diff_options[] = {
	{ "null", NULL, "End lines with a NUL byte and do not escape names",
	  CMD_FLAG(struct diff, found.null), .letter = '0' },
	{ "quiet", NULL, "No progress and no summary",
	  CMD_FLAG(struct diff, quiet), .letter = 'q', .group = 9 },
	{ "json", NULL, "The differences and the summary as one JSON object",
	  CMD_FLAG(struct diff, found.json), .group = 9 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const names[] = { "A", "B" };
	struct diff *d = state->input;

	if (key == ARGP_KEY_SUCCESS && d->found.json && d->found.null)
		argp_error(state, "--json does not go with -0");
	return cmd_options_parse(snapshot_diff_options, key, arg, state) ?
		       cmd_take_arguments(key, arg, state, names, d->files, 2) :
		       0;
}

const struct argp snapshot_diff_argp = {
	NULL,
	parse,
	"A B",
	"Print what is different in snapshot B from snapshot A.\v"
	"A line each: + PATH was added, - PATH removed, ~ PATH changed, with a "
	"tab and what changed behind it. Exit status 0: they are equal, 1: "
	"they differ. Size and time of a folder are no difference.",
	NULL,
	NULL,
	NULL
};

static int compare(struct diff *d)
{
	struct hpdsl_diff_options opt = { .difference = snapshot_difference,
					  .arg = &d->found };
	struct hpdsl_diff_report r = { 0 };
	struct hpdsl_snapshot_info info;
	struct hpdsl_error err;
	struct cmd_json *j;
	int code;

	cmd_watch(&opt.watch, d->quiet);
	code = hpdsl_snapshot_diff(d->s[0], d->s[1], &opt, &r, &err);
	cmd_progress_end();
	if (code < 0 && code != HPDSL_EDIFFERS) {
		snapshot_differences_end(&d->found, &err);
		return cmd_tell(&err);
	}
	hpdsl_snapshot_info(d->s[0], &info);
	j = snapshot_differences_end(&d->found, NULL);
	if (j) {
		snapshot_json_diff(j, &r, info.entries);
		cmd_json_line(j);
	} else if (!d->quiet) {
		cmd_message("%s", snapshot_diff_counts(&r, info.entries).s);
	}
	return code ? CMD_NO : CMD_DONE;
}

int snapshot_diff(int argc, char **argv)
{
	struct diff d = { 0 };
	int status;

	cmd_parse(snapshot_diff_options, &snapshot_diff_argp, argc, argv, 0,
		  &d);
	status = snapshot_open(d.files[0], &d.s[0]);
	if (status == CMD_DONE)
		status = snapshot_open(d.files[1], &d.s[1]);
	if (status == CMD_DONE)
		status = compare(&d);
	snapshot_close(d.s[0]);
	snapshot_close(d.s[1]);
	return status;
}
