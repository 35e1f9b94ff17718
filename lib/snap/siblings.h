/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of one folder of a snapshot, one by one, each proved to be in
 * it, with names that ascend: so who descends from folder to folder comes by
 * every entry at most once, whatever the bytes are.
 */
#ifndef HP_SIBLINGS_H
#define HP_SIBLINGS_H

#include "snap/private.h"
#include "tree/tree.h"

struct hp_siblings {
	uint64_t folder;    /* entry */
	uint64_t next, end; /* entries */
	const char *name;   /* of the one before next; NULL: there is none */
	size_t name_len;
};

/* An empty range is all zero. */
static inline int hp_siblings_open(struct hp_siblings *r,
				   const struct hpdsl_snapshot *s,
				   uint64_t folder, struct hpdsl_error *err)
{
	uint64_t n, end;
	int code;

	*r = (struct hp_siblings){ .folder = folder };
	code = hpdsl_snapshot_folder(s, folder, &r->next, &n, &end, err);
	if (code < 0)
		return code;
	r->end = r->next + n;
	return 0;
}

/* The entry at next, which must be below end. */
static inline int hp_siblings_get(const struct hp_siblings *r,
				  const struct hpdsl_snapshot *s,
				  struct hpdsl_entry *ret,
				  struct hpdsl_error *err)
{
	int code = hpdsl_snapshot_stat(s, r->next, ret, err);

	if (code < 0)
		return code;
	if (ret->parent != r->folder || r->next <= r->folder)
		return hp_snap_bad_entry(
			s, r->next, "is in another folder than it says", err);
	if (!ret->name_len ||
	    (r->name && hp_name_compare(r->name, r->name_len, ret->name,
					ret->name_len) >= 0))
		return hp_snap_bad_entry(s, r->next, "has a name out of order",
					 err);
	return 0;
}

/* Goes on behind the entry that get gave. */
static inline void hp_siblings_skip(struct hp_siblings *r,
				    const struct hpdsl_entry *e)
{
	r->next++;
	r->name = e->name;
	r->name_len = e->name_len;
}

#endif
