/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking samples by folder.  The members of a sample share its key, which is a
 * path: all of them are in one folder, and the first one tells in which.
 */
#include "order/choice.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "index/beside.h"
#include "index/look.h"

#include <errno.h>

/* One that was asked for; its path has a slash at the end. */
struct folder {
	char *path;
	size_t len;
	struct folder *around; /* of those asked for; NULL: none */
	bool found;	       /* there is a sample in it */
};

/* By path, so that one comes behind those around it. */
struct folders {
	struct folder *v;
	size_t n;
};

static void release(struct folders *f)
{
	for (size_t i = 0; f->v && i < f->n; i++)
		free(f->v[i].path);
	free(f->v);
}

/* ---- What was asked for ----------------------------------------------- */

static int clean(const char *given, struct folder *ret, struct hpdsl_error *err)
{
	char shown[HP_PRINTABLE];
	size_t len = strlen(given);
	int n;

	ret->path = malloc(len + 2);
	if (!ret->path)
		return hp_fail_nomem(err);
	n = hp_path_clean(given, len, ret->path);
	if (n < 0)
		return hp_fail(err, HPDSL_EUSAGE, "'%s' names no folder",
			       hp_printable(given, len, shown));
	ret->path[n] = '/';
	ret->path[n + 1] = '\0';
	ret->len = (size_t)n + 1;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct folder *)a)->path,
		      ((const struct folder *)b)->path);
}

static bool is_in(const struct folder *f, const char *path, size_t len)
{
	return len > f->len && memcmp(path, f->path, f->len) == 0;
}

/* In order, a folder comes right behind one around it, or others in that. */
static void nest(struct folders *f)
{
	qsort(f->v, f->n, sizeof *f->v, compare);
	for (size_t i = 1; i < f->n; i++) {
		struct folder *at = &f->v[i - 1];

		while (at && strncmp(f->v[i].path, at->path, at->len))
			at = at->around;
		f->v[i].around = at;
	}
}

static int take(struct folders *f, const struct hpdsl_choice_options *opt,
		struct hpdsl_error *err)
{
	int r = 0;

	f->v = calloc(opt->n_folders, sizeof *f->v);
	if (!f->v)
		return hp_fail_nomem(err);
	f->n = opt->n_folders;
	for (size_t i = 0; r == 0 && i < f->n; i++)
		r = clean(opt->folders[i], &f->v[i], err);
	if (r == 0)
		nest(f);
	return r;
}

/* ---- Samples in them -------------------------------------------------- */

static int first_path(const struct hp_index *ix, uint64_t sample,
		      struct hp_index_look *ret, struct hpdsl_error *err)
{
	struct hp_sample_row row;
	int r = hp_index_sample_row(ix, sample, &row, err);

	return r < 0 ? r : hp_index_look(ix, row.first, ret, err);
}

/* As strcmp() of the folder's path and a path of so many bytes. */
static int beside(const struct folder *f, const char *path, size_t len)
{
	int d = memcmp(f->path, path, f->len < len ? f->len : len);

	return d ? d : (f->len > len) - (f->len < len);
}

/*
 * The innermost that the path is in, or NULL: the last one that is not behind
 * the path, or one around that.
 */
static struct folder *find(const struct folders *f, const char *path,
			   size_t len)
{
	size_t from = 0, to = f->n;
	struct folder *at;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (beside(&f->v[mid], path, len) <= 0)
			from = mid + 1;
		else
			to = mid;
	}
	at = from ? &f->v[from - 1] : NULL;
	while (at && !is_in(at, path, len))
		at = at->around;
	return at;
}

/* Those around it have a sample, too. */
static void tick(struct folder *at)
{
	for (; at && !at->found; at = at->around)
		at->found = true;
}

/* Takes out what is in none of them; ticks those that have one. */
static int drop_others(struct hpdsl_choice *c, const struct hp_index *ix,
		       const struct folders *f, struct hpdsl_error *err)
{
	struct hp_index_look m;

	for (uint64_t s = 0; s < c->n; s++) {
		struct folder *at;
		int r;

		if (!hpdsl_choice_has(c, s))
			continue;
		r = first_path(ix, s, &m, err);
		if (r < 0)
			return r;
		at = find(f, m.path, m.path_len);
		if (!at)
			hp_choice_drop(c, s);
		else
			tick(at);
	}
	return 0;
}

/* ---- One that is not there -------------------------------------------- */

HP_COLD static int absent(const struct hp_index *ix, const struct folder *f,
			  struct hpdsl_error *err)
{
	char shown[HP_PRINTABLE], beside[HP_BESIDE];

	return hp_fail(err, HPDSL_EUSAGE, "no sample is in folder '%s', %s",
		       hp_printable(f->path, f->len - 1, shown),
		       hp_index_beside(ix, f->path, f->len - 1, beside));
}

/* What is left has none of them: has the dataset? */
static int tell_absent(const struct hp_index *ix, uint64_t n,
		       const struct folders *f, struct hpdsl_error *err)
{
	struct hp_index_look m;
	size_t i = 0;

	while (i < f->n && f->v[i].found)
		i++;
	for (uint64_t s = 0; i < f->n && s < n; s++) {
		int r = first_path(ix, s, &m, err);

		if (r < 0)
			return r;
		tick(find(f, m.path, m.path_len));
		while (i < f->n && f->v[i].found)
			i++;
	}
	return i < f->n ? absent(ix, &f->v[i], err) : 0;
}

int hp_choice_drop_folders(struct hpdsl_choice *c, const struct hp_index *ix,
			   const struct hpdsl_choice_options *opt,
			   struct hpdsl_error *err)
{
	struct folders f = { .n = 0 };
	int r = take(&f, opt, err);

	if (r == 0)
		r = drop_others(c, ix, &f, err);
	if (r == 0)
		r = tell_absent(ix, c->n, &f, err);
	release(&f);
	return r;
}
