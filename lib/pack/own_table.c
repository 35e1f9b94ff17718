/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of labels that lies in an input is no sample: it is left out, as if a
 * pattern had said so, which the manifest notes for whoever compares.
 */
#include "base/error.h"
#include "base/mem.h"
#include "pack/pack.h"

#include <stdio.h>
#include <string.h>

/* Where it really is; NULL: nowhere that can be told. */
static char *real_of(const struct hp_io *io, const char *name)
{
	hp_auto_fd f = { io, io->open(io, AT_FDCWD, name, O_PATH, 0) };
	char *real = NULL;

	return f.fd >= 0 && hp_io_real_path(io, f.fd, &real) == 0 ? real : NULL;
}

/* What of a path lies below a folder; NULL: nothing. */
static const char *below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	n -= n && folder[n - 1] == '/';
	return strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1 :
								 NULL;
}

/* The pattern of this path of a member alone; with a prefix, of the same path
 * in any input. */
static char *pattern_of(const char *path, bool prefix)
{
	char *text = hp_array(2 * strlen(path) + 4, 1), *to = text;

	if (!text)
		return NULL;
	to = stpcpy(to, prefix ? "/*/" : "/");
	for (const char *s = path; *s; s++) {
		if (strchr("\\*?[", *s))
			*to++ = '\\';
		*to++ = *s;
	}
	*to = '\0';
	return text;
}

static bool was_left_out(const struct hp_pack *p, const char *pattern)
{
	const struct hpdsl_pairs *was = &p->was.options;

	for (size_t i = 0; i < was->n; i++)
		if (!strcmp(was->v[i].key, "exclude") &&
		    !strcmp(was->v[i].value, pattern))
			return true;
	return false;
}

static int exclude(struct hp_pack *p, char *pattern, struct hpdsl_error *err)
{
	struct hpdsl_pack_options *opt = &p->opt;
	const char **all = hp_array(opt->n_exclude + 1, sizeof *all);

	if (!all)
		return hp_fail_nomem(err);
	if (opt->n_exclude)
		memcpy(all, opt->exclude, opt->n_exclude * sizeof *all);
	all[opt->n_exclude] = p->own_table = pattern;
	opt->exclude = p->excludes = all;
	opt->n_exclude++;
	return 0;
}

static void tell(const struct hp_pack *p)
{
	const struct hpdsl_watch *watch = &p->opt.watch;
	const char *name = p->opt.label_file;
	char text[HP_PRINTABLE + 128], buf[HP_PRINTABLE];

	if (!watch->warn)
		return;
	snprintf(text, sizeof text,
		 "%s: lies in the input and has the labels, so it is left out",
		 hp_printable(name, strlen(name), buf));
	watch->warn(watch->arg, text);
}

int hp_pack_own_table(struct hp_pack *p, bool goes_on, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *opt = &p->opt;
	hp_auto_free char *table = NULL;

	/* Who names what is packed means it. */
	if (opt->labels != HPDSL_LABELS_FILE || opt->n_include || opt->list)
		return 0;
	table = real_of(p->w.io, opt->label_file);
	for (size_t i = 0; table && i < opt->n_inputs; i++) {
		hp_auto_free char *input = real_of(p->w.io, opt->inputs[i]);
		const char *path = input ? below(table, input) : NULL;
		hp_auto_free char *pattern =
			path ? pattern_of(path, opt->prefix_input) : NULL;

		if (!path)
			continue;
		if (!pattern)
			return hp_fail_nomem(err);
		/* An older version began, which packed it. */
		if (goes_on && !was_left_out(p, pattern))
			return 0;
		tell(p);
		return exclude(p, hp_take(pattern), err);
	}
	return 0;
}
