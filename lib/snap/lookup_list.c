/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths that lie in one buffer.  Who has many has them sorted, as a rule: so
 * each is first compared with the neighbour of the one before, which takes no
 * hash and no memory that is far away.  Where that fails twice, they are looked
 * up in groups.
 */
#include "snap/private.h"

#include "base/error.h"

#include <errno.h>

enum { GROUP = 32 };

struct list {
	const struct hpdsl_snapshot *s;
	const char *p, *end; /* what is left of the paths */
	const struct hpdsl_found *ret;
	size_t i, n; /* paths gone by, and all */
	int64_t found;
	/* The one before, in the buffer: its folder is that many bytes of it,
	 * the slash too.  number 0: nothing is known. */
	const char *path;
	size_t folder_len;
	uint64_t number, parent;
};

static inline void give(struct list *l, uint64_t number, uint64_t size,
			uint32_t mode)
{
	if (l->ret->number)
		l->ret->number[l->i] = number;
	if (l->ret->size)
		l->ret->size[l->i] = size;
	if (l->ret->mode)
		l->ret->mode[l->i] = mode;
	l->i++;
	l->found += number != HPDSL_NO_ENTRY;
}

/* Is the next path that of the next entry?  What is wrong with that one is
 * told when it is asked for. */
static inline bool neighbour(struct list *l)
{
	const uint64_t number = l->number + 1;
	size_t left = (size_t)(l->end - l->p), len = l->folder_len;
	struct hp_snap_row row;
	const char *name;

	if (!l->number || number >= l->s->info.entries ||
	    !hp_snap_row(l->s, number, &row, NULL) || row.parent != l->parent ||
	    left <= len + row.name_len || !hp_same_bytes(l->p, l->path, len))
		return false;
	name = hp_snap_raw_name(l->s, number, &row, NULL);
	if (!name || !hp_same_bytes(l->p + len, name, row.name_len) ||
	    l->p[len + row.name_len] ||
	    !hp_name_valid(l->p + len, row.name_len))
		return false;
	l->path = l->p;
	l->number = number;
	l->p += len + row.name_len + 1;
	give(l, number, row.size, row.mode);
	return true;
}

static int not_so_many(const struct list *l, struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_EUSAGE,
		       "%s: %zu paths are not %zu with a NUL behind each",
		       l->s->file.name, l->i, l->n);
}

/* The path at p; false: it has no end. */
static bool get_path(struct list *l, struct hpdsl_path *ret)
{
	const char *nul = memchr(l->p, '\0', (size_t)(l->end - l->p));

	if (!nul)
		return false;
	*ret = (struct hpdsl_path){ l->p, (size_t)(nul - l->p) };
	l->p = nul + 1;
	return true;
}

static void give_entry(struct list *l, const struct hpdsl_path *path,
		       const struct hpdsl_entry *e)
{
	l->path = path->path;
	l->folder_len = path->len - e->name_len;
	l->number = e->number;
	l->parent = e->parent;
	give(l, e->number, e->size, e->mode);
}

static int group(struct list *l, size_t most, struct hpdsl_error *err)
{
	struct hpdsl_path paths[GROUP];
	struct hpdsl_entry e[GROUP];
	int codes[GROUP];
	size_t k = 0;

	for (; k < most && l->i + k < l->n; k++)
		if (!get_path(l, &paths[k]))
			return not_so_many(l, err);
	/* The first of what is in the next folder? */
	if (k == 1 && l->number &&
	    hp_snap_is_at(l->s, l->number + 1, paths, e)) {
		give_entry(l, paths, e);
		return 0;
	}
	if (hpdsl_snapshot_lookup_many(l->s, paths, k, e, codes, err) < 0)
		return HPDSL_ECORRUPT;
	for (size_t i = 0; i < k; i++) {
		if (codes[i] == 0) {
			give_entry(l, &paths[i], &e[i]);
			continue;
		}
		l->number = 0;
		give(l, HPDSL_NO_ENTRY, UINT64_MAX, 0);
	}
	return 0;
}

int64_t hpdsl_snapshot_lookup_list(const struct hpdsl_snapshot *s,
				   const char *paths, size_t size, size_t n,
				   const struct hpdsl_found *ret,
				   struct hpdsl_error *err)
{
	struct list l = {
		.s = s, .p = paths, .end = paths + size, .ret = ret, .n = n
	};
	unsigned misses = 0;
	int r = 0;

	while (r == 0 && l.i < n) {
		if (neighbour(&l)) {
			misses = 0;
			continue;
		}
		r = group(&l, misses < 2 ? 1 : GROUP, err);
		misses++;
	}
	if (r < 0)
		return r;
	return l.p < l.end ? not_so_many(&l, err) : l.found;
}
