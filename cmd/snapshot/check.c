/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-snapshot check: is a snapshot still true, and if not, how stale? */
#include "snapshot.h"

#include <sys/stat.h>

struct check {
	struct snapshot_walk walk;
	struct snapshot_differences found;
	struct hpdsl_check_options opt;
	const char *args[2]; /* FILE, SOURCE */
	struct hpdsl_snapshot *s;
	struct stat file;
	bool keep_litter;
};

static int take_since(const struct cmd_option *o, void *to, const char *arg,
		      struct cmd_why *why)
{
	struct hpdsl_check_options *opt = &((struct check *)to)->opt;

	opt->has_since = true;
	if (cmd_parse_time(arg, &opt->since, &opt->since_nsec) < 0)
		return cmd_refuse(why,
				  "%s: '%s' is no time such as 2026-11-20 or "
				  "\"2026-11-20 10:00\" or @1700000000, and no "
				  "file",
				  o->name, arg);
	return 0;
}

const struct cmd_option snapshot_check_options[] = {
	{ "since", "TIME",
	  "Do not list folders again that have not changed since TIME: a date "
	  "and time in UTC, @SECONDS, or a file whose time it is",
	  .take = take_since },
	{ "keep-litter", NULL,
	  "Of a packed dataset's snapshot: tell of what hpdsl-pack leaves out "
	  "as litter, too",
	  CMD_FLAG(struct check, keep_litter) },
	{ "null", NULL, "End lines with a NUL byte and do not escape names",
	  CMD_FLAG(struct check, found.null), .letter = '0' },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const names[] = { "FILE", "SOURCE" };
	struct check *c = state->input;

	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = &c->walk;
	if (key == ARGP_KEY_SUCCESS && c->walk.common.json && c->found.null)
		argp_error(state, "--json does not go with -0");
	return cmd_options_parse(snapshot_check_options, key, arg, state) ?
		       cmd_take_arguments(key, arg, state, names, c->args, 2) :
		       0;
}

const struct argp snapshot_check_argp = {
	NULL,
	parse,
	"FILE SOURCE",
	"Print what is different in SOURCE now from its snapshot FILE.\v"
	"Lines and exit status are those of 'hpdsl-snapshot diff'. The "
	"--exclude options have to be those that FILE was made with. With "
	"--since files that were changed in place are not found.",
	snapshot_walk_children,
	NULL,
	NULL
};

static void print_json(const struct check *c, struct cmd_json *j,
		       const struct hpdsl_diff_report *r, uint64_t n)
{
	snapshot_json_diff(j, r, n);
	cmd_json_i64(j, "written", c->file.st_mtim.tv_sec);
	cmd_json_u64(j, "excluded", r->walk.excluded);
	cmd_json_u64(j, "mounts", r->walk.mounts);
	cmd_json_u64(j, "litter", r->litter);
	if (c->opt.has_since)
		cmd_json_u64(j, "folders_kept", r->walk.folders_kept);
	cmd_json_real(j, "walk_seconds", r->walk.walk_seconds);
	cmd_json_real(j, "seconds", r->walk.seconds);
	cmd_json_line(j);
}

static void tell_summary(const struct check *c,
			 const struct hpdsl_diff_report *r, uint64_t n)
{
	cmd_message("%s; snapshot written %s", snapshot_diff_counts(r, n).s,
		    cmd_time(c->file.st_mtim.tv_sec).s);
	if (c->opt.has_since)
		cmd_message("not listed again: %s",
			    cmd_many(r->walk.folders_kept, "folder").s);
	snapshot_tell_passed(&r->walk);
	if (r->litter)
		cmd_message("passed over as litter: %s",
			    cmd_many(r->litter, "name").s);
}

static int compare(struct check *c)
{
	struct hpdsl_diff_report r = { 0 };
	struct hpdsl_snapshot_info info;
	struct hpdsl_error err;
	struct cmd_json *j;
	int code = hpdsl_snapshot_check(c->s, c->args[0], c->args[1], &c->opt,
					&r, &err);

	cmd_progress_end();
	if (code < 0 && code != HPDSL_EDIFFERS) {
		snapshot_differences_end(&c->found, &err);
		return cmd_tell(&err);
	}
	hpdsl_snapshot_info(c->s, &info);
	j = snapshot_differences_end(&c->found, NULL);
	if (j)
		print_json(c, j, &r, info.entries);
	else if (!c->walk.common.quiet)
		tell_summary(c, &r, info.entries);
	return code ? CMD_NO : CMD_DONE;
}

int snapshot_check(int argc, char **argv)
{
	struct check c = { 0 };
	int status;

	snapshot_walk_parse(snapshot_check_options, &snapshot_check_argp, argc,
			    argv, &c);
	c.found.json = c.walk.common.json;
	snapshot_walk_begin(&c.walk);
	c.opt.walk = c.walk.opt;
	c.opt.diff.watch = c.walk.opt.watch;
	c.opt.diff.difference = snapshot_difference;
	c.opt.diff.arg = &c.found;
	c.opt.diff.pass_litter = !c.keep_litter;
	status = snapshot_open(c.args[0], &c.s);
	if (status == CMD_DONE) {
		if (stat(c.args[0], &c.file) < 0)
			c.file = (struct stat){ 0 };
		/* what is mapped besides is the index of SOURCE */
		cmd_signals(c.args[1], "");
		status = compare(&c);
	}
	snapshot_close(c.s);
	free(c.walk.exclude.v);
	return status;
}
