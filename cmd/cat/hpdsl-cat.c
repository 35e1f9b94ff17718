/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-cat: members' contents on standard output, in the order they are asked
 * for.  Every checksum is verified; bytes of a damaged member may have been
 * written by then, so the exit status tells.
 */
#include "common/option_table.h"

#include <errno.h>
#include <string.h>

struct cat {
	const char *dataset, *files_from;
	bool null, foreign_owner;
	/* What was asked for, in order: 's' or 'm' with a number, or a path. */
	struct wish {
		char kind;
		uint64_t number;
		const char *path;
	} * wishes;
	size_t n;
	struct hpdsl_dataset *ds;
	struct cmd_selection sel;
};

static void add_wish(struct cat *c, struct wish wish)
{
	c->wishes = cmd_grow(c->wishes, c->n, sizeof(*c->wishes));
	c->wishes[c->n++] = wish;
}

/* By the option's name: s or m. */
static int take_number(const struct cmd_option *o, void *to, const char *arg,
		       struct cmd_why *why)
{
	struct wish wish = { .kind = *o->name };

	if (cmd_parse_count(arg, &wish.number) < 0)
		return cmd_refuse(why, "%s: '%s' is no number", o->name, arg);
	add_wish(to, wish);
	return 0;
}

static const struct cmd_option options[] = {
	{ "sample", "N", "Every member of sample N; may be repeated",
	  .take = take_number },
	{ "member", "N", "Member N; may be repeated", .take = take_number },
	{ "files-from", "FILE",
	  "Paths from FILE (-: standard input), one a line, as hpdsl-ls "
	  "prints them; after all others",
	  CMD_STRING(struct cat, files_from) },
	{ "null", NULL, "Paths in FILE end with a NUL byte",
	  CMD_FLAG(struct cat, null), .letter = '0' },
	{ "foreign-owner", NULL, CMD_FOREIGN_OWNER_TEXT,
	  CMD_FLAG(struct cat, foreign_owner) },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cat *c = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (c->dataset)
			add_wish(c, (struct wish){ .path = arg });
		else
			c->dataset = arg;
		return 0;
	case ARGP_KEY_END:
		if (!c->dataset)
			cmd_missing(state, "DATASET");
		if (!c->n && !c->files_from)
			cmd_missing(state,
				    "PATH, --sample, --member or --files-from");
		if (c->null && !c->files_from)
			argp_error(state, "--null goes with --files-from");
		return 0;
	default:
		return cmd_options_parse(options, key, arg, state);
	}
}

static const struct argp argp = {
	NULL,
	parse,
	"DATASET [PATH...]",
	"Print members of a packed dataset to standard output.\v"
	"PATH is a member's path as it is, not escaped. If something that is "
	"asked for is absent or damaged, the rest is still printed and the "
	"exit status is 1.",
	NULL,
	NULL,
	NULL
};

static int choose(struct cat *c)
{
	int status = CMD_DONE, ret;

	for (size_t i = 0; i < c->n; i++) {
		struct wish *w = &c->wishes[i];

		if (w->kind == 's')
			ret = cmd_select_sample(&c->sel, c->ds, w->number);
		else if (w->kind == 'm')
			ret = cmd_select_member(&c->sel, c->ds, w->number);
		else
			ret = cmd_select_path(&c->sel, c->ds, w->path);
		status = cmd_worse(status, ret);
	}
	if (c->files_from) {
		ret = cmd_select_list(&c->sel, c->ds, c->files_from, c->null);
		status = cmd_worse(status, ret);
	}
	return status;
}

static int sink(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	(void)arg;
	(void)err;
	cmd_write(buf, n);
	return 0;
}

/* A chunk that is gone, or cannot be read, is damage like any other. */
static int tell(const struct hpdsl_error *err)
{
	int status = cmd_tell(err);

	return err->code == -ENOENT || err->code == -EIO ? CMD_NO : status;
}

/* Members of one damaged chunk say the same: it is told once. */
static int print_all(struct cat *c)
{
	struct hpdsl_error err, told = { 0 };
	struct hpdsl_member m;
	int status = CMD_DONE;

	for (size_t i = 0; i < c->sel.n; i++) {
		if (hpdsl_member_get(c->ds, c->sel.members[i], &m, &err) == 0 &&
		    hpdsl_member_stream(c->ds, &m, sink, NULL, &err) == 0)
			continue;
		if (strcmp(told.msg, err.msg) == 0)
			continue;
		told = err;
		status = cmd_worse(status, tell(&err));
	}
	return status;
}

int main(int argc, char **argv)
{
	struct cat c = { 0 };
	struct hpdsl_error err;
	int status;

	cmd_start(argv);
	/* in order: samples, members and paths may be mixed */
	cmd_parse(options, &argp, argc, argv, ARGP_IN_ORDER, &c);
	cmd_signals(c.dataset, "");
	if (cmd_open(c.dataset, c.foreign_owner, &c.ds, &err) < 0) {
		status = cmd_tell(&err);
	} else {
		status = choose(&c);
		if (status <= CMD_NO)
			status = cmd_worse(status, print_all(&c));
	}
	free(c.wishes);
	free(c.sel.members);
	cmd_close(c.ds);
	return status;
}
