/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Litter in an archive: as in a tree that was unpacked from it.  That X is
 * there, beside ._X, is known only at the end.
 */
#include "scan/archive.h"

#include "base/key_set.h"
#include "base/litter.h"

#include <stdlib.h>
#include <string.h>

enum { TWINS_FIRST = 256 };

/* The file at w->path is about to be put among the files. */
static void note_twin(struct hp_archive_walk *k)
{
	uint64_t *v = k->twins;

	if (k->n_twins % TWINS_FIRST == 0)
		v = reallocarray(v, k->n_twins + TWINS_FIRST, sizeof *v);
	if (!v) {
		hp_crew_no_memory(&k->w->s->crew);
		return;
	}
	k->twins = v;
	v[k->n_twins++] = k->w->n;
}

bool hp_archive_is_litter(struct hp_archive_walk *k,
			  const struct hp_archive_entry *e, size_t prefix)
{
	struct hp_scan_worker *w = k->w;
	bool folder = e->type == HP_ARCHIVE_FOLDER;
	int row = hp_scan_leaves_litter(w) ?
			  hp_litter_path(w->path + prefix, w->len - prefix,
					 folder) :
			  -1;

	if (row < 0)
		return false;
	if (folder)
		return !w->s->opt->n_include;
	if (row != HPDSL_LITTER_TWIN)
		return hp_scan_count_litter(
			w, row, e->type == HP_ARCHIVE_FILE ? e->size : 0);
	if (e->type == HP_ARCHIVE_FILE)
		note_twin(k);
	return false;
}

/* ---- Is X there? ------------------------------------------------------ */

/* Hashes of names: of each X that is asked for, and of those that are there. */
struct names {
	struct hp_key_set asked, there;
	const char *last; /* whose folders were seen last, .. */
	size_t last_len;  /* .. so many bytes of it */
	bool failed;
};

static uint64_t twin_hash(const struct hp_file *f)
{
	const char *slash = memrchr(f->path, '/', f->path_len);
	size_t base = slash ? (size_t)(slash - f->path) + 1 : 0;
	char twin[HPDSL_PATH_MAX + 1];

	memcpy(twin, f->path, base);
	memcpy(twin + base, f->path + base + 2, f->path_len - base - 2u);
	return hp_key_hash(twin, f->path_len - 2u);
}

static void see_name(struct names *n, const char *path, size_t len)
{
	uint64_t hash = hp_key_hash(path, len);

	if (hp_key_set_has(&n->asked, hash) &&
	    hp_key_set_add(&n->there, hash) < 0)
		n->failed = true;
}

/* Folders above it, too: an archive need not have them. */
static void see(struct names *n, const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	size_t in = slash ? (size_t)(slash - path) : 0;

	see_name(n, path, len);
	if (n->last && n->last_len == in && !memcmp(n->last, path, in))
		return;
	n->last = path;
	n->last_len = in;
	for (size_t i = 1; i <= in; i++)
		if (i == in || path[i] == '/')
			see_name(n, path, i);
}

static void see_all(const struct hp_archive_walk *k, struct names *n)
{
	const struct hp_archive_names *left[] = { &k->files, &k->folders };

	for (uint64_t i = k->first; i < k->w->n; i++)
		see(n, k->w->files[i].path, k->w->files[i].path_len);
	for (int s = 0; s < 2; s++)
		for (uint64_t i = 0; i < left[s]->n; i++)
			see(n, left[s]->v[i].path, left[s]->v[i].path_len);
	for (uint64_t i = 0; i < k->n_links; i++)
		see(n, k->links[i].path, k->links[i].path_len);
}

/* ---- What comes of it ------------------------------------------------- */

static bool is_left_out(struct hp_archive_walk *k, const struct names *n,
			const struct hp_file *f)
{
	size_t prefix = k->w->s->list->roots[k->root].prefix_len;

	return hp_key_set_has(&n->there, twin_hash(f)) &&
	       hp_scan_count_litter(k->w,
				    hp_litter_path(f->path + prefix,
						   f->path_len - prefix, false),
				    f->size);
}

static void take_out(struct hp_archive_walk *k, const struct names *n)
{
	struct hp_scan_worker *w = k->w;
	uint64_t to = k->first, next = 0;

	for (uint64_t i = k->first; i < w->n; i++) {
		const struct hp_file *f = &w->files[i];

		if (next < k->n_twins && k->twins[next] == i) {
			next++;
			if (is_left_out(k, n, f))
				continue;
		}
		w->files[to++] = *f;
	}
	w->n = to;
	if (w->told > w->n)
		w->told = w->n;
}

void hp_archive_drop_twins(struct hp_archive_walk *k)
{
	struct names n = { .failed = false };

	for (uint64_t i = 0; i < k->n_twins && !n.failed; i++)
		n.failed = hp_key_set_add(
				   &n.asked,
				   twin_hash(&k->w->files[k->twins[i]])) < 0;
	if (k->n_twins && !n.failed)
		see_all(k, &n);
	if (n.failed)
		hp_crew_no_memory(&k->w->s->crew);
	else if (k->n_twins)
		take_out(k, &n);
	hp_key_set_release(&n.asked);
	hp_key_set_release(&n.there);
}
