/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes after tar files of others: they are adopted where all are plain,
 * have files in them, and hpdsl-index takes their names; else they are packed.
 */
#include "tars.h"

#include <string.h>
#include <unistd.h>

enum {
	FEW = 64,   /* archives that are looked into for paths that clash */
	NAMES = 64, /* first ones of each */
	BYTES = 1 << 20, /* to be decompressed for that */
	ENDINGS = 8,	 /* of names in a directory, as they are there */
};

/* ---- Would files clash in one dataset? -------------------------------- */

struct path {
	char *name;
	size_t tar;
};

struct paths {
	struct path *v;
	size_t n, tar, left;
};

static bool take_name(void *arg, const char *name, size_t len, uint64_t size)
{
	struct paths *p = arg;

	(void)size;
	while (len > 2 && name[0] == '.' && name[1] == '/') {
		name += 2;
		len -= 2;
	}
	p->v = cmd_grow(p->v, p->n, sizeof(*p->v));
	p->v[p->n] = (struct path){ strndup(name, len), p->tar };
	if (!p->v[p->n++].name)
		cmd_no_memory();
	return --p->left == 0;
}

static int by_path(const void *a, const void *b)
{
	const struct path *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Without its ending: what --prefix-input puts in front. */
static bool same_stem(const char *a, const char *b)
{
	const char *x = base_of(a), *y = base_of(b);
	const char *end_x = tars_ending(x), *end_y = tars_ending(y);
	size_t n = end_x ? (size_t)(end_x - x) : strlen(x);

	return n == (end_y ? (size_t)(end_y - y) : strlen(y)) &&
	       !strncmp(x, y, n);
}

enum clash { NO_CLASH, PREFIX, CLASH };

/* By the first names of the first ones. */
static enum clash clash(const struct tars *t)
{
	struct paths p = { 0 };
	enum clash found = NO_CLASH;

	for (size_t k = 0; t->n > 1 && k < t->n && k < FEW; k++) {
		cmd_auto_free char *path = tars_path(t, k);
		struct hpdsl_error err;

		p.tar = k;
		p.left = NAMES;
		if (t->v[k].form != HPDSL_TAR_NONE)
			hpdsl_tar_names(path, BYTES, take_name, &p, &err);
	}
	if (p.n)
		qsort(p.v, p.n, sizeof(*p.v), by_path);
	for (size_t k = 1; k < p.n; k++) {
		const struct path *x = &p.v[k - 1], *y = &p.v[k];

		if (x->tar == y->tar || strcmp(x->name, y->name) != 0)
			continue;
		found = found == CLASH || same_stem(t->v[x->tar].name,
						    t->v[y->tar].name) ?
				CLASH :
				PREFIX;
	}
	for (size_t k = 0; k < p.n; k++)
		free(p.v[k].name);
	free(p.v);
	return found;
}

/* ---- A pack of them --------------------------------------------------- */

/* DIR/ *.tar and so on: an ending each; false: there are more of them. */
static bool add_globs(struct info *i, const struct tars *t)
{
	const char *ends[ENDINGS];
	size_t n = 0, k;

	for (size_t j = 0; j < t->n; j++) {
		const char *end = tars_ending(t->v[j].name);

		for (k = 0; k < n && strcmp(ends[k], end) != 0; k++)
			;
		if (k == ENDINGS)
			return false;
		if (k == n)
			ends[n++] = end;
	}
	for (k = 0; k < n; k++) {
		info_next_path(i, t->dir);
		/* endings of archives need no quoting */
		info_next_more(i, "/*");
		info_next_more(i, ends[k]);
	}
	return true;
}

static bool has_cls(const struct tars *t, bool last)
{
	if (!last)
		return info_counts_of(&t->suffixes, "cls");
	for (size_t k = 0; k < t->paths.n; k++) {
		const char *dot = strrchr(t->paths.v[k], '.');

		if (dot && !strcmp(dot, ".cls"))
			return true;
	}
	return false;
}

/* What a sample is, and its class, as WebDataset has it: so in all tars, if in
 * the first one. */
static void next_samples(struct info *i, const struct tars *t)
{
	bool other = t->look.verdict == HPDSL_LOOK_REFUSE;

	if (other)
		info_next_more(i, t->look.last ? " --group=last" :
						 " --group=none");
	if ((!other || t->look.last) && has_cls(t, other))
		info_next_more(i, " --labels=cls");
}

static void next_pack(struct info *i, const struct tars *t)
{
	enum clash c = clash(t);

	if (c == CLASH) {
		info_row(i, "clash",
			 "two have the same name and the same "
			 "files: no dataset can hold both");
		return;
	}
	info_next(i, c == PREFIX ? "hpdsl-pack --prefix-input" : "hpdsl-pack");
	next_samples(i, t);
	/* hpdsl-pack takes no archive that is none */
	if (!t->dir || t->none || !add_globs(i, t))
		for (size_t k = 0; k < t->n; k++) {
			cmd_auto_free char *path = tars_path(t, k);

			if (t->v[k].form != HPDSL_TAR_NONE)
				info_next_path(i, path);
		}
	info_next_output(i, i->path);
}

/* ---- An index of them ------------------------------------------------- */

/* In a directory hpdsl-index takes what ends so; of those given, no two of a
 * name. */
static bool has_names(const struct tars *t)
{
	for (size_t k = 0; k < t->n; k++) {
		const char *end = tars_ending(t->v[k].name);

		if (t->dir && (!end || strcmp(end, ".tar") != 0))
			return false;
		for (size_t j = 0; !t->dir && j < k && k < TARS_FEW; j++)
			if (!strcmp(base_of(t->v[j].name),
				    base_of(t->v[k].name)))
				return false;
	}
	return true;
}

static void next_index(struct info *i, const struct tars *t)
{
	info_next(i, "hpdsl-index");
	next_samples(i, t);
	if (!t->dir || access(t->dir, W_OK) < 0) {
		info_next_more(i, " -o");
		info_next_output(i, i->path);
	}
	if (t->dir)
		info_next_path(i, t->dir);
	for (size_t k = 0; !t->dir && k < t->n; k++)
		info_next_path(i, t->v[k].name);
}

/* All that is wrong, where there are headers to look at. */
static void next_verify(struct info *i, const struct tars *t)
{
	if (t->dir ? !t->looked : t->packed == t->n)
		return;
	info_next(i, "hpdsl-verify --compat=all");
	for (size_t k = 0; k < i->paths.n; k++)
		info_next_path(i, i->paths.v[k]);
}

void tars_next(struct info *i, const struct tars *t)
{
	cmd_auto_free char *folder = NULL;

	if (i->wrong) {
		next_verify(i, t);
	} else if (i->kind == HPDSL_KIND_CHUNK) {
		folder = info_folder(i->path);
		info_next_chunks(i, folder ? folder : ".", false);
	} else if (!t->first || i->unread) {
		return;
	} else if (!t->packed && has_names(t)) {
		next_index(i, t);
	} else {
		next_pack(i, t);
	}
}
