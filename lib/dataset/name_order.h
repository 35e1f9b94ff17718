/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of one folder in the order of their names: sorted by eight bytes of
 * them, from where the first two differ, and where these are the same by those
 * behind them.  Names stay in the index.
 */
#ifndef HP_NAME_ORDER_H
#define HP_NAME_ORDER_H

#include "format/lookup.h"
#include "index/look.h"

#include <endian.h>
#include <string.h>

#define HP_REPEATED UINT64_MAX

enum { HP_NAMES_ROOM = 8192 };

/* Of some names: same bytes begin all of them. */
struct hp_names {
	const char *name; /* one of them */
	uint64_t n;
	uint64_t stale; /* the first of them, when same was more */
	uint16_t same;
};

/* Bytes of the name begin behind the slash, if there is one. */
static inline const char *hp_name_of(const struct hp_index_look *m,
				     size_t *ret_len)
{
	const char *slash = memrchr(m->path, '/', m->path_len);
	const char *name = slash ? slash + 1 : m->path;

	*ret_len = m->path_len - (size_t)(name - m->path);
	return name;
}

/* name stays where it is for as long as s is needed. */
static inline void hp_names_add(struct hp_names *s, const char *name,
				size_t len)
{
	size_t same = 0, most = s->n ? s->same : len;

	if (!s->n)
		s->name = name;
	if (most > len)
		most = len;
	while (same < most && s->name[same] == name[same])
		same++;
	if (same != s->same)
		s->stale = s->n;
	s->same = (uint16_t)same;
	s->n++;
}

/* Eight bytes from at as a number, in the order of bytes; what ends before is
 * padded with 0. */
static inline uint64_t hp_name_key(const char *name, size_t len, size_t at)
{
	uint64_t key = 0;

	if (at < len)
		memcpy(&key, name + at, len - at < 8 ? len - at : 8);
	return be64toh(key);
}

/* The same of a member. */
int hp_name_key_of(const struct hp_index *ix, uint64_t member, size_t at,
		   uint64_t *ret, struct hpdsl_error *err);

/*
 * Rows of members of one folder, in the order of their numbers; the hash of
 * each is its name's key from at, and all names are the same before.  Become
 * sorted; of members of one name the first has it, and the others' numbers
 * become HP_REPEATED.  room has HP_NAMES_ROOM rows.
 */
int hp_sort_names(const struct hp_index *ix, struct hp_hashed *v, uint64_t n,
		  size_t at, struct hp_hashed *room, struct hpdsl_error *err);

#endif
