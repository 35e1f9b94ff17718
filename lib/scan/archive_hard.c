/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hard links of hard links in an archive: any number of them in a row, as tar
 * makes them one by one.  Only those that come back to themselves are a loop.
 */
#include "scan/archive.h"

#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int hp_archive_compare(const char *a, size_t n, const char *b, size_t m)
{
	int c = memcmp(a, b, n < m ? n : m);

	return c ? c : (n > m) - (n < m);
}

static int by_path(const void *a, const void *b)
{
	const struct hp_archive_link *x = a, *y = b;

	return hp_archive_compare(x->path, x->path_len, y->path, y->path_len);
}

void hp_archive_sort_links(struct hp_archive_walk *k)
{
	if (k->n_links)
		qsort(k->links, k->n_links, sizeof *k->links, by_path);
}

struct hp_archive_link *hp_archive_find_link(const struct hp_archive_walk *k,
					     const char *path, size_t len)
{
	struct hp_archive_link key = { .path = path, .path_len = len };

	return k->n_links ? bsearch(&key, k->links, k->n_links, sizeof key,
				    by_path) :
			    NULL;
}

int hp_archive_hard_target(const struct hp_archive_link *l,
			   struct hp_archive_target *ret)
{
	int n;

	if (l->target_len > HPDSL_PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(ret->path, l->path, l->inner_len);
	n = hp_path_clean(l->target, l->target_len, ret->path + l->inner_len);
	if (n < 0)
		return n == -EINVAL ? -EXDEV : n;
	ret->len = l->inner_len + (size_t)n;
	return ret->len > HPDSL_PATH_MAX ? -ENAMETOOLONG : 0;
}

static bool is_self(const struct hp_archive_link *l,
		    struct hp_archive_target *at)
{
	return l->hard && hp_archive_hard_target(l, at) == 0 &&
	       !hp_archive_compare(at->path, at->len, l->path, l->path_len);
}

/* The file is number i of its kind: links to itself behind it say nothing. */
static void drop_selves_of(struct hp_archive_walk *k, const struct hp_file *f,
			   uint64_t i, int kind)
{
	struct hp_archive_link *l =
		hp_archive_find_link(k, f->path, f->path_len);

	/* Another file of this path was there before: it has said it all. */
	if (!l || !l->before[kind])
		return;
	while (l > k->links && !by_path(l - 1, l))
		l--;
	for (; l < k->links + k->n_links &&
	       !hp_archive_compare(l->path, l->path_len, f->path, f->path_len);
	     l++) {
		l->drop |= l->self && i < l->before[kind];
		l->before[kind] = 0;
	}
}

void hp_archive_drop_selves(struct hp_archive_walk *k,
			    struct hp_archive_target *scratch)
{
	uint64_t n = 0;
	bool any = false;

	for (uint64_t i = 0; i < k->n_links; i++)
		any |= k->links[i].self = is_self(&k->links[i], scratch);
	if (!any)
		return;
	for (uint64_t i = k->first; i < k->end; i++)
		drop_selves_of(k, &k->w->files[i], i, 0);
	for (uint64_t i = 0; i < k->files.n; i++)
		drop_selves_of(k, &k->files.v[i], i, 1);
	for (uint64_t i = 0; i < k->n_links; i++)
		if (!k->links[i].drop)
			k->links[n++] = k->links[i];
	k->n_links = n;
}

/* From first on, until it is known how the row ends; marks what it passes. */
static void walk_row(const struct hp_archive_walk *k,
		     struct hp_archive_link *first,
		     struct hp_archive_target *at)
{
	struct hp_archive_link *l, *last = NULL;
	int fault = 0;

	for (l = first; l && !fault && !last; l = l->next) {
		l->passed = first;
		fault = hp_archive_hard_target(l, at);
		l->next = fault ? NULL :
				  hp_archive_find_link(k, at->path, at->len);
		if (!l->next || !l->next->hard)
			last = l;
		else if (l->next->last || l->next->row_fault) {
			last = l->next->last;
			fault = l->next->row_fault;
		} else if (l->next->passed == first) {
			fault = -ELOOP;
		}
	}
	for (l = first; l && l->passed == first && !l->last && !l->row_fault;
	     l = l->next) {
		l->last = fault ? NULL : last;
		l->row_fault = fault;
	}
}

void hp_archive_end_rows(struct hp_archive_walk *k,
			 struct hp_archive_target *scratch)
{
	for (uint64_t i = 0; i < k->n_links; i++) {
		struct hp_archive_link *l = &k->links[i];

		if (l->hard && !l->last && !l->row_fault)
			walk_row(k, l, scratch);
	}
}
