/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Litter in an archive: as in a tree that was unpacked from it.  That X is
 * there, beside ._X, is known only at the end.
 */
#include "scan/archive.h"

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

/* Is it litter, if its twin is there? */
static bool is_twin(const struct hp_archive_walk *k, const char *path,
		    size_t len)
{
	size_t prefix = k->w->s->list->roots[k->root].prefix_len;

	return hp_scan_leaves_litter(k->w) &&
	       hp_litter_path(path + prefix, len - prefix, false) ==
		       HPDSL_LITTER_TWIN;
}

void hp_archive_note_link(struct hp_archive_walk *k)
{
	if (is_twin(k, k->w->path, k->w->len))
		note_twin(k);
}

/* ---- Is X there? ------------------------------------------------------ */

static int ask_all(const struct hp_archive_walk *k, struct hp_twins *t)
{
	int r = 0;

	for (uint64_t i = 0; i < k->n_twins && r == 0; i++) {
		const struct hp_file *f = &k->w->files[k->twins[i]];

		r = hp_twins_ask(t, f->path, f->path_len);
	}
	return r;
}

/* An archive need not have the folders of what is in it. */
static int see_all(const struct hp_archive_walk *k, struct hp_twins *t)
{
	const struct hp_archive_names *left[] = { &k->files, &k->folders };
	int r = 0;

	for (uint64_t i = k->first; i < k->w->n && r == 0; i++)
		r = hp_twins_see(t, k->w->files[i].path,
				 k->w->files[i].path_len);
	for (int s = 0; s < 2; s++)
		for (uint64_t i = 0; i < left[s]->n && r == 0; i++)
			r = hp_twins_see(t, left[s]->v[i].path,
					 left[s]->v[i].path_len);
	for (uint64_t i = 0; i < k->n_links && r == 0; i++)
		r = hp_twins_see(t, k->links[i].path, k->links[i].path_len);
	return r;
}

int hp_archive_see_lost(const struct hp_archive_walk *k, struct hp_twins *t)
{
	int r = 0;

	for (uint64_t i = 0; i < k->n_links && r == 0; i++) {
		const struct hp_archive_link *l = &k->links[i];

		if (l->wanted && hp_archive_is_lost(l) &&
		    is_twin(k, l->path, l->path_len))
			r = hp_twins_ask(t, l->path, l->path_len);
	}
	return r < 0 || !t->asked.n ? r : see_all(k, t);
}

bool hp_archive_is_lost_litter(struct hp_archive_walk *k,
			       const struct hp_twins *t,
			       const struct hp_archive_link *l)
{
	return is_twin(k, l->path, l->path_len) &&
	       hp_twins_has(t, l->path, l->path_len) &&
	       hp_scan_count_litter(k->w, HPDSL_LITTER_TWIN, 0);
}

/* ---- What comes of it ------------------------------------------------- */

static bool is_left_out(struct hp_archive_walk *k, const struct hp_twins *t,
			const struct hp_file *f)
{
	size_t prefix = k->w->s->list->roots[k->root].prefix_len;

	return hp_twins_has(t, f->path, f->path_len) &&
	       hp_scan_count_litter(k->w,
				    hp_litter_path(f->path + prefix,
						   f->path_len - prefix, false),
				    f->size);
}

static void take_out(struct hp_archive_walk *k, const struct hp_twins *t)
{
	struct hp_scan_worker *w = k->w;
	uint64_t to = k->first, next = 0;

	for (uint64_t i = k->first; i < w->n; i++) {
		const struct hp_file *f = &w->files[i];

		if (next < k->n_twins && k->twins[next] == i) {
			next++;
			if (is_left_out(k, t, f))
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
	struct hp_twins t = { .last = NULL };
	int r;

	if (!k->n_twins)
		return;
	r = ask_all(k, &t);
	if (r == 0)
		r = see_all(k, &t);
	if (r < 0)
		hp_crew_no_memory(&k->w->s->crew);
	else
		take_out(k, &t);
	hp_twins_release(&t);
}
