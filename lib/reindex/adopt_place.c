/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where index and manifest of adopted tars go: beside them, or into a
 * directory of their own.
 */
#include "reindex/adopt.h"

#include "base/error.h"
#include "format/names.h"
#include "sys/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that both begin with, up to the end of a component in both. */
static size_t shared(const char *a, const char *b)
{
	size_t good = 0;

	for (size_t i = 0;; i++) {
		if ((!a[i] || a[i] == '/') && (!b[i] || b[i] == '/'))
			good = i;
		if (!a[i] || a[i] != b[i])
			return good;
	}
}

int hp_adopt_relative(const char *from, const char *to, char *out)
{
	size_t n, at = 0, len;

	/* The root is the empty path with a slash behind. */
	from = strcmp(from, "/") ? from : "";
	to = strcmp(to, "/") ? to : "";
	n = shared(from, to);
	for (const char *p = from + n; *p; p++) {
		if (*p != '/')
			continue;
		if (at + 3 > HPDSL_PATH_MAX)
			return -ENAMETOOLONG;
		memcpy(out + at, "../", 3);
		at += 3;
	}
	to += n + (to[n] == '/');
	len = strlen(to);
	if (at + len + 1 > HPDSL_PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(out + at, to, len);
	at += len;
	if (len)
		out[at++] = '/';
	out[at] = '\0';
	return (int)at;
}

const char *hp_adopt_folder(struct hp_reindex *x, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return ".";
	return hp_arena_add(x->names, path,
			    slash == path ? 1 : (size_t)(slash - path));
}

/* No two tars of a dataset have one base name. */
const char *hp_adopt_given(const struct hp_reindex *x, const char *name,
			   char *ret)
{
	const struct hpdsl_reindex_options *opt = x->opt;
	const char *dir = x->adoption->source, *base = hp_adopt_base(name);
	char path[2 * HPDSL_PATH_MAX + 2];
	int n;

	for (size_t i = 0; i < opt->n_tars; i++)
		if (strcmp(hp_adopt_base(opt->tars[i]), base) == 0)
			return hp_printable(opt->tars[i], strlen(opt->tars[i]),
					    ret);
	if (!dir)
		dir = name[0] == '/' ? NULL : x->path;
	else
		name = base;
	n = snprintf(path, sizeof path, "%s%s%s", dir ? dir : "",
		     dir ? "/" : "", name);
	return hp_printable(path, (size_t)n < sizeof path ? (size_t)n : 0, ret);
}

static bool same_folder(const struct hp_reindex *x, const char *a,
			const char *b)
{
	struct stat one, two;

	return !strcmp(a, b) ||
	       (x->io->stat(x->io, AT_FDCWD, a, &one, 0) == 0 &&
		x->io->stat(x->io, AT_FDCWD, b, &two, 0) == 0 &&
		one.st_dev == two.st_dev && one.st_ino == two.st_ino);
}

/* The one directory that all tars lie in. */
static int common_folder(struct hp_reindex *x, const char **ret,
			 struct hpdsl_error *err)
{
	const char *const *tars = x->opt->tars;
	const char *first = hp_adopt_folder(x, tars[0]), *other;

	if (!first)
		return hp_fail_nomem(err);
	for (size_t i = 1; i < x->opt->n_tars; i++) {
		other = hp_adopt_folder(x, tars[i]);
		if (!other)
			return hp_fail_nomem(err);
		if (!same_folder(x, first, other))
			return hp_fail(err, HPDSL_EUSAGE,
				       "%s and %s lie in different "
				       "directories: -o DIR says where the "
				       "index goes",
				       tars[0], tars[i]);
	}
	*ret = first;
	return 0;
}

static int make_output(struct hp_reindex *x, struct hpdsl_error *err)
{
	int r = x->io->mkdir(x->io, AT_FDCWD, x->opt->output, 0777);

	x->adoption->made = r == 0;
	return r < 0 && r != -EEXIST ?
		       hp_fail_errno(err, r, "%s", x->opt->output) :
		       0;
}

int hp_adopt_open(struct hp_reindex *x, const char *path,
		  struct hpdsl_error *err)
{
	const struct hpdsl_reindex_options *opt = x->opt;
	const char *dir = opt->output;
	int r = 0;

	if (!path == !opt->n_tars)
		return hp_fail(err, HPDSL_EUSAGE,
			       "either a directory or tar files are adopted");
	x->adoption = calloc(1, sizeof *x->adoption);
	x->names = hp_arena_new();
	if (!x->adoption || !x->names)
		return hp_fail_nomem(err);
	x->adoption->source = path;
	r = dir ? make_output(x, err) : common_folder(x, &dir, err);
	if (r < 0)
		return r;
	x->dir = x->io->open(x->io, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	if (x->dir < 0)
		return hp_fail_errno(err, x->dir, "%s", dir);
	x->path = strcmp(dir, ".") ? dir : NULL;
	return 0;
}

int hp_adopt_probe(const struct hp_reindex *x, struct hpdsl_error *err)
{
	struct hp_outfile f;
	struct hpdsl_error why;
	int r;

	if (x->index_bytes)
		return 0;
	r = hp_outfile_open(&f, x->io, x->dir, HP_INDEX_NAME, 0, false, &why);
	if (r == 0)
		hp_outfile_abandon(&f);
	if (r < 0 && x->adoption->in_place &&
	    (r == -EACCES || r == -EPERM || r == -EROFS))
		return hp_fail(err, r, "%s; -o DIR puts the index elsewhere",
			       why.msg);
	return r < 0 ? hp_fail(err, r, "%s", why.msg) : 0;
}

void hp_adopt_release(struct hp_reindex *x, bool failed)
{
	if (!x->adoption)
		return;
	/* A directory that is still empty. */
	if (failed && x->adoption->made)
		x->io->unlink(x->io, AT_FDCWD, x->opt->output, AT_REMOVEDIR);
	hp_labels_file_release(&x->adoption->labels);
	free(x->adoption);
}
