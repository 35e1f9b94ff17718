/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-ls: lists the members, samples or chunks of a dataset, from its index
 * alone.  What it prints, hpdsl-cat and hpdsl-unpack take.
 */
#include "ls.h"

#include "common/option_table.h"

#include <string.h>

static int take_unit(const struct cmd_option *o, void *to, const char *arg,
		     struct cmd_why *why)
{
	struct ls *l = to;

	(void)arg;
	if (l->unit != MEMBERS)
		return cmd_refuse(why, "samples or --chunks, once");
	l->unit = *o->name == 's' ? SAMPLES : CHUNKS;
	return 0;
}

#define FLAG(member) CMD_FLAG(struct ls, member)

static const struct cmd_option options[] = {
	{ "long", NULL,
	  "One line each: mode, size, time (UTC), chunk, offset in its tar, "
	  "sample, class, path",
	  FLAG(long_form), .letter = 'l' },
	{ "json", NULL, "One JSON object a line", FLAG(json) },
	{ "null", NULL, "End names with a NUL byte and do not escape them",
	  FLAG(null), .letter = '0' },
	{ "samples", NULL,
	  "List samples, by their keys; with -l: number, chunk, first member, "
	  "members, bytes, class, key",
	  .take = take_unit },
	{ "chunks", NULL,
	  "List chunks, by their file names; with -l: first sample, samples, "
	  "members, bytes, checksum, name",
	  .take = take_unit },
	{ "label", "CLASS", "Only samples of this class",
	  CMD_STRING(struct ls, label) },
	{ "stored", NULL,
	  "Print the members' names in the chunks instead of their paths",
	  FLAG(stored) },
	{ "foreign-owner", NULL, CMD_FOREIGN_OWNER_TEXT, FLAG(foreign_owner) },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ls *l = state->input;

	switch (key) {
	case ARGP_KEY_ARGS:
		l->dataset = state->argv[state->next];
		l->patterns = state->argv + state->next + 1;
		l->n_patterns = (size_t)(state->argc - state->next - 1);
		return 0;
	case ARGP_KEY_NO_ARGS:
		cmd_missing(state, "DATASET");
		return 0;
	case ARGP_KEY_END:
		if (l->json && (l->null || l->long_form))
			argp_error(state, "--json goes with neither -0 nor -l");
		if (l->stored && l->unit != MEMBERS)
			argp_error(state, "--stored is for members");
		return 0;
	default:
		return cmd_options_parse(options, key, arg, state);
	}
}

static const struct argp argp = {
	NULL,
	parse,
	"DATASET [PATTERN...]",
	"List what is in a packed dataset.\v"
	"A PATTERN is a path, or a glob that is matched against the whole "
	"path if it has a slash, else against the base name; * does not "
	"match a slash; FOLDER/ is everything below. A PATTERN that matches "
	"nothing makes the exit status 1. A newline in a name is printed as "
	"\\n, a backslash as \\\\.",
	NULL,
	NULL,
	NULL
};

/* The next member that is wanted by number; false at the end. */
static bool next_member(struct ls *l, uint64_t *ret)
{
	if (!l->n_patterns) {
		*ret = l->next;
		return l->next < l->count.members;
	}
	while (l->at < l->sel.n && l->sel.members[l->at] < l->next)
		l->at++;
	if (l->at == l->sel.n)
		return false;
	*ret = l->sel.members[l->at];
	return true;
}

/* Lists the sample or chunk that member m stands for, and skips the rest. */
static int list_unit(struct ls *l, const struct hpdsl_member *m)
{
	struct hpdsl_sample s;
	struct hpdsl_chunk c;

	if (l->unit == CHUNKS) {
		if (hpdsl_chunk_get(l->ds, m->chunk, &c, &l->err) < 0)
			return l->err.code;
		l->next = c.first_member + c.members;
		return ls_print_chunk(l, &c);
	}
	if (hpdsl_sample_get(l->ds, m->sample, &s, &l->err) < 0)
		return l->err.code;
	l->next = s.first_member + s.members;
	return ls_print_sample(l, &s);
}

/* 1: has the label that is asked for; 0: not, and its sample is skipped. */
static int has_label(struct ls *l, const struct hpdsl_member *m)
{
	struct hpdsl_sample s;

	if (!l->label)
		return 1;
	if (hpdsl_sample_get(l->ds, m->sample, &s, &l->err) < 0)
		return l->err.code;
	if (s.label == l->label_number)
		return 1;
	l->next = s.first_member + s.members;
	return 0;
}

static int list_one(struct ls *l, uint64_t number)
{
	struct hpdsl_member m;
	int ret = hpdsl_member_get(l->ds, number, &m, &l->err);

	if (ret == 0)
		ret = has_label(l, &m);
	if (ret <= 0)
		return ret;
	if (l->unit != MEMBERS)
		return list_unit(l, &m);
	return ls_print_member(l, &m);
}

/*
 * Damage costs what lies in it; members of one damaged block say the same.  It
 * goes forward, whatever a hostile index says of where a chunk ends.
 */
static int list(struct ls *l)
{
	struct hpdsl_error told = { 0 };
	int status = CMD_DONE;
	uint64_t number;

	while (next_member(l, &number)) {
		int ret = list_one(l, number);

		if (l->next <= number)
			l->next = number + 1;
		if (ret < 0 && strcmp(told.msg, l->err.msg) != 0) {
			told = l->err;
			status = cmd_worse(status, cmd_tell(&l->err));
		}
	}
	return status;
}

/* Looks up --label, and how wide the columns of -l must be. */
static int look_at_classes(struct ls *l)
{
	for (uint32_t i = 0; i < l->count.classes; i++) {
		const char *name;
		int len;

		if (hpdsl_class_name(l->ds, i, &name, &l->err) < 0)
			return cmd_tell(&l->err);
		len = (int)strnlen(name, 24);
		if (len > l->label_width)
			l->label_width = len;
	}
	if (!l->label ||
	    hpdsl_class_find(l->ds, l->label, &l->label_number, &l->err) == 0)
		return CMD_DONE;
	cmd_tell(&l->err);
	return CMD_NO;
}

static int prepare(struct ls *l)
{
	if (cmd_open(l->dataset, l->foreign_owner, &l->ds, &l->err) < 0)
		return cmd_tell(&l->err);
	hpdsl_count(l->ds, &l->count);
	l->size_width = 10;
	l->sample_width =
		snprintf(NULL, 0, "%llu", (unsigned long long)l->count.members);
	l->label_width = 1;
	return look_at_classes(l);
}

int main(int argc, char **argv)
{
	struct ls l = { 0 };
	int status;

	cmd_start(argv);
	cmd_parse(options, &argp, argc, argv, 0, &l);
	cmd_signals(l.dataset, "");
	status = prepare(&l);
	if (status == CMD_DONE) {
		status = cmd_select_patterns(&l.sel, l.ds, l.patterns,
					     l.n_patterns);
		cmd_select_sort(&l.sel);
		status = cmd_worse(status, list(&l));
	}
	free(l.sel.members);
	hpdsl_close(l.ds);
	return status;
}
