/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of an archive that are kept until the end of its walk: those that links
 * may lead to, folders, and what the user's list asks for.
 */
#include "scan/archive.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_FIRST = 256 };

static void no_memory(struct hp_archive_walk *k)
{
	hp_crew_no_memory(&k->w->s->crew);
}

void hp_scan_archive_path(struct hp_archive_walk *k, const char *path,
			  size_t len)
{
	struct hp_scan_worker *w = k->w;
	size_t n = w->s->list->roots[k->root].prefix_len;

	memcpy(w->path, w->s->more[k->root].prefix, n);
	if (len > sizeof w->path - 1 - n)
		len = sizeof w->path - 1 - n;
	memmove(w->path + n, path, len);
	w->len = n + len;
	w->path[w->len] = '\0';
}

static const char *keep_text(struct hp_archive_walk *k, const char *s, size_t n)
{
	const char *kept = NULL;

	if (!k->arena)
		k->arena = hp_arena_new();
	if (k->arena)
		kept = hp_arena_add(k->arena, s, n);
	if (!kept)
		no_memory(k);
	return kept;
}

void hp_archive_keep_name(struct hp_archive_walk *k,
			  struct hp_archive_names *names,
			  const struct hp_file *f)
{
	const char *path = keep_text(k, k->w->path, k->w->len);

	if (path && names->n == names->cap) {
		uint64_t cap = names->cap ? names->cap * 2 : NAMES_FIRST;
		struct hp_file *v =
			reallocarray(names->v, cap, sizeof *names->v);

		if (!v) {
			no_memory(k);
			return;
		}
		names->v = v;
		names->cap = cap;
	}
	if (!path)
		return;
	names->v[names->n] = *f;
	names->v[names->n].path = path;
	names->v[names->n++].path_len = (uint16_t)k->w->len;
}

void hp_archive_keep_link(struct hp_archive_walk *k,
			  const struct hp_archive_entry *e, size_t inner,
			  bool wanted)
{
	struct hp_archive_link *l = k->links;
	/* Of one that is too long no more than shows that it is. */
	size_t len = e->target_len > HPDSL_PATH_MAX ? HPDSL_PATH_MAX + 1 :
						      e->target_len;

	if (k->n_links % NAMES_FIRST == 0)
		l = reallocarray(l, k->n_links + NAMES_FIRST, sizeof *l);
	if (!l) {
		no_memory(k);
		return;
	}
	k->links = l;
	l += k->n_links;
	*l = (struct hp_archive_link){
		.path = keep_text(k, k->w->path, k->w->len),
		.target = keep_text(k, e->target ? e->target : "", len),
		.path_len = k->w->len,
		.target_len = len,
		.inner_len = inner,
		.hard = e->type == HP_ARCHIVE_HARDLINK,
		.before = { k->w->n, k->files.n },
		.wanted = wanted,
	};
	if (l->path && l->target)
		k->n_links++;
}

/* ---- Empty folders ---------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	const struct hp_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static struct hp_file *find_name(const struct hp_archive_names *names,
				 const char *path, size_t len)
{
	uint64_t low = 0, high = names->n;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		struct hp_file *f = &names->v[mid];
		int c = strncmp(f->path, path, len);

		if (c == 0 && f->path_len == len)
			return f;
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* Folders above a name are not empty.  *last: the one the last name was in. */
static void mark_above(struct hp_archive_names *folders, const char *path,
		       const char **last)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;

	if (*last && !strncmp(*last, path, n) && !strchr(*last + n, '/'))
		return;
	*last = path;
	for (size_t i = 0; i < n; i++) {
		struct hp_file *f =
			path[i] == '/' ? find_name(folders, path, i) : NULL;

		if (f)
			f->flags = 1;
	}
}

void hp_archive_count_empty(struct hp_archive_walk *k)
{
	struct hp_archive_names *d = &k->folders;
	struct hp_scan_worker *w = k->w;
	const char *last = NULL;

	if (!d->n)
		return;
	qsort(d->v, d->n, sizeof *d->v, compare_names);
	for (uint64_t i = k->first; i < k->end; i++)
		mark_above(d, w->files[i].path, &last);
	for (uint64_t i = 0; i < k->files.n; i++)
		mark_above(d, k->files.v[i].path, &last);
	for (uint64_t i = 0; i < d->n; i++)
		mark_above(d, d->v[i].path, &last);
	for (uint64_t i = 0; i < k->n_links; i++)
		mark_above(d, k->links[i].path, &last);
	for (uint64_t i = 0; i < d->n; i++)
		w->counts.empty_dirs += d->v[i].size && !d->v[i].flags;
}

/* ---- The user's list -------------------------------------------------- */

static bool take_wish(struct hp_scan *s, const char *path, size_t n)
{
	uint64_t low = 0, high = s->n_wishes;
	bool found = false;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		int c = strncmp(s->wishes[mid].path, path, n);

		if (c < 0 || (c == 0 && s->wishes[mid].len < n))
			low = mid + 1;
		else
			high = mid;
	}
	/* A path may be in the list more than once. */
	for (; low < s->n_wishes && s->wishes[low].len == n &&
	       !memcmp(s->wishes[low].path, path, n);
	     low++)
		found = s->wishes[low].found = true;
	return found;
}

/* Is w->path in the user's list, or a folder above it? */
bool hp_archive_is_listed(struct hp_archive_walk *k, size_t prefix)
{
	struct hp_scan *s = k->w->s;
	const char *path = k->w->path + prefix;
	size_t len = k->w->len - prefix;
	bool found = false;

	if (!s->opt->list || !len)
		return true;
	for (size_t i = 1; i <= len; i++)
		if (i == len || path[i] == '/')
			found |= take_wish(s, path, i);
	return found || s->wish_all;
}

void hp_archive_tell_absent(struct hp_archive_walk *k)
{
	struct hp_scan *s = k->w->s;

	for (uint64_t i = 0; s->opt->list && i < s->n_wishes; i++) {
		const struct hp_scan_wish *w = &s->wishes[i];

		if (w->found)
			continue;
		hp_scan_archive_path(k, w->path, w->len);
		hp_scan_problem(k->w, k->root, -ENOENT,
				"is not in the archive");
	}
}
