/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry by its path: the hash of the whole path leads to a slot, that to an
 * entry, and then the names up to the top are compared, the last one first.
 * Each of the three is somewhere else in memory.  With many paths at once,
 * these waits overlap: a group of them goes through it step by step, each step
 * asking for the memory of the next one.
 */
#include "snap/private.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>

struct query {
	const char *path;
	size_t len;
	uint64_t hash;
};

HP_COLD static int not_found(const struct query *q, struct hpdsl_error *err)
{
	char buf[HP_PRINTABLE];

	if (!err)
		return -ENOENT;
	return hp_fail(err, -ENOENT, "no entry '%s'",
		       hp_printable(q->path, q->len, buf));
}

HP_COLD static int no_such_entry(const struct hpdsl_snapshot *s,
				 uint64_t number, struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ECORRUPT,
		       "%s: lookup table: no entry %" PRIu64, s->file.name,
		       number);
}

/* ---- Comparing -------------------------------------------------------- */

/*
 * Ends the first *len bytes of path with a name of n bytes?  Then they lose
 * that many, and the slash before it.
 */
static inline bool take_name(const char *path, size_t *len, size_t n)
{
	if (n > *len)
		return false;
	*len -= n;
	return !*len || (*len > 1 && path[--*len] == '/');
}

/* Is folder number the first len bytes of path?  1, 0 or HPDSL_ECORRUPT. */
static inline int is_folder(const struct hpdsl_snapshot *s, uint64_t number,
			    const char *path, size_t len,
			    struct hpdsl_error *err)
{
	while (number && len) {
		struct hp_snap_row row;
		const char *name = NULL;
		size_t n;

		if (hp_snap_any_row(s, number, &row, err))
			name = hp_snap_raw_name(s, number, &row, err);
		if (!name)
			return HPDSL_ECORRUPT;
		if (!S_ISDIR(row.mode) || row.parent >= number || !row.name_len)
			return hp_snap_bad_entry(
				s, number, "is no folder, but holds others",
				err);
		/* There is no slash in a name. */
		n = row.name_len;
		if (!take_name(path, &len, n) ||
		    !hp_same_bytes(path + len + (len > 0), name, n))
			return 0;
		number = row.parent;
	}
	return !number && !len;
}

/* Is it entry number?  1 (and *ret is filled), 0 or HPDSL_ECORRUPT. */
static inline int is_entry(const struct hpdsl_snapshot *s, uint64_t number,
			   const struct query *q, struct hpdsl_entry *ret,
			   struct hpdsl_error *err)
{
	const struct hp_section *names = hp_snap_section(s, HP_SNAP_NAMES);
	struct hp_snap_row row;
	const char *name;
	size_t len = q->len, n;
	int r;

	if (number - 1 >= s->info.entries - 1)
		return no_such_entry(s, number, err);
	if (!hp_snap_row(s, number, &row, err))
		return HPDSL_ECORRUPT;
	/* Folders are likelier in the caches; meanwhile the name comes.  And
	 * when it is waited for last, the next lookup begins before it ends. */
	__builtin_prefetch((const void *)((uintptr_t)names->data + row.name));
	n = row.name_len;
	if (!take_name(q->path, &len, n))
		return 0;
	r = is_folder(s, row.parent, q->path, len, err);
	if (r <= 0)
		return r;
	name = hp_snap_raw_name(s, number, &row, err);
	if (!name)
		return HPDSL_ECORRUPT;
	if (!hp_same_bytes(q->path + q->len - n, name, n))
		return 0;
	hp_snap_fill(number, &row, name, ret);
	return 1;
}

bool hp_snap_is_at(const struct hpdsl_snapshot *s, uint64_t number,
		   const struct hpdsl_path *path, struct hpdsl_entry *ret)
{
	const struct query q = { path->path, path->len, 0 };

	return q.len && number < s->info.entries &&
	       is_entry(s, number, &q, ret, NULL) > 0;
}

/* ---- One by one ------------------------------------------------------- */

/*
 * The number in the first slot from *at on that has the tag of hash; *at is
 * behind it then.  1, 0 at the end of the used ones, or HPDSL_ECORRUPT.
 */
static inline int next_number(const struct hpdsl_snapshot *s, uint64_t hash,
			      uint64_t *at, uint64_t *ret,
			      struct hpdsl_error *err)
{
	const uint64_t block = HP_BLOCK / HP_SLOT_ROW;
	uint64_t i = *at;

	while (i < s->slots) {
		uint64_t end = (i / block + 1) * block;
		const uint8_t *p = hp_snap_bytes(
			s, HP_SNAP_LOOKUP, i * HP_SLOT_ROW, HP_SLOT_ROW, err);

		if (!p)
			return HPDSL_ECORRUPT;
		for (; i < end && i < s->slots; i++, p += HP_SLOT_ROW) {
			uint64_t slot = hp_once64(p);

			if (!slot)
				return 0;
			if (slot >> 40 != (hash & HP_SLOT_TAG))
				continue;
			/* With a tag and no number it wraps, and is too
			 * large. */
			*ret = (slot & HP_SLOT_NUMBER) - 1;
			*at = i + 1;
			return 1;
		}
	}
	return hp_fail(err, HPDSL_ECORRUPT, "%s: the lookup table has no end",
		       s->file.name);
}

/* By all slots that may have it. */
static int find(const struct hpdsl_snapshot *s, const struct query *q,
		struct hpdsl_entry *ret, struct hpdsl_error *err)
{
	uint64_t at = hp_lookup_home(q->hash, s->homes), number = 0;
	int r;

	while ((r = next_number(s, q->hash, &at, &number, err)) > 0) {
		r = is_entry(s, number, q, ret, err);
		if (r)
			return r < 0 ? r : 0;
	}
	return r < 0 ? r : not_found(q, err);
}

enum { NEAR = 4 /* slots; nearly all are as near to their homes */ };

/*
 * The number that has the tag of hash in a slot near its home; 0: none has, or
 * what it says is impossible.  Without a branch on what the slots hold: how far
 * to go is not to be predicted, and what comes next could not begin before.
 */
static inline uint64_t near_number(const struct hpdsl_snapshot *s,
				   uint64_t hash)
{
	uint64_t home = hp_lookup_home(hash, s->homes), number, slot = 0;
	const uint8_t *p;

	if (home + NEAR > s->slots)
		return 0;
	p = hp_section_inside(&s->file, hp_snap_section(s, HP_SNAP_LOOKUP),
			      home * HP_SLOT_ROW, NEAR * HP_SLOT_ROW, NULL);
	if (!p)
		return 0;
	for (int i = NEAR - 1; i >= 0; i--) {
		uint64_t other = hp_once64(p + i * HP_SLOT_ROW);

		slot = other >> 40 == (hash & HP_SLOT_TAG) ? other : slot;
	}
	number = (slot & HP_SLOT_NUMBER) - 1;
	return number < s->info.entries ? number : 0;
}

/* The entry may be number, if that is not 0. */
static inline int look(const struct hpdsl_snapshot *s, const struct query *q,
		       uint64_t number, struct hpdsl_entry *ret,
		       struct hpdsl_error *err)
{
	int r = number ? is_entry(s, number, q, ret, err) : 0;

	if (r)
		return r < 0 ? r : 0;
	return find(s, q, ret, err);
}

static inline bool may_exist(size_t path_len)
{
	return path_len - 1 < HPDSL_PATH_MAX;
}

/* The paths that have no hash: that of the top, and what is too long. */
static int look_short(const struct hpdsl_snapshot *s, const struct query *q,
		      struct hpdsl_entry *ret, struct hpdsl_error *err)
{
	return q->len ? not_found(q, err) : hpdsl_snapshot_stat(s, 0, ret, err);
}

int hpdsl_snapshot_lookup(const struct hpdsl_snapshot *s, const char *path,
			  size_t path_len, struct hpdsl_entry *ret,
			  struct hpdsl_error *err)
{
	struct query q = { path, path_len, 0 };

	if (!may_exist(path_len))
		return look_short(s, &q, ret, err);
	q.hash = hp_hash64(path, path_len);
	return look(s, &q, near_number(s, q.hash), ret, err);
}

/* ---- Many at once ----------------------------------------------------- */

enum { GROUP = 32 };

/* A path on its way. */
struct step {
	struct query q;
	uint64_t number; /* that it may be, or 0 */
};

/* The cache lines of n > 0 bytes, two at most. */
static inline void expect(const uint8_t *p, size_t n)
{
	__builtin_prefetch(p);
	__builtin_prefetch(p + n - 1);
}

static inline void expect_slot(const struct hpdsl_snapshot *s,
			       const struct hpdsl_path *p, struct step *t)
{
	t->q = (struct query){ p->path, p->len, 0 };
	t->number = 0;
	if (!may_exist(p->len))
		return;
	t->q.hash = hp_hash64(p->path, p->len);
	__builtin_prefetch(hp_snap_section(s, HP_SNAP_LOOKUP)->data +
			   hp_lookup_home(t->q.hash, s->homes) * HP_SLOT_ROW);
}

/* What is wrong here, and further on, is told when it is looked at. */
static inline void expect_row(const struct hpdsl_snapshot *s, struct step *t)
{
	uint64_t at = hp_lookup_home(t->q.hash, s->homes), number = 0;

	if (!may_exist(t->q.len) ||
	    next_number(s, t->q.hash, &at, &number, NULL) <= 0 ||
	    number >= s->info.entries)
		return;
	t->number = number;
	expect(hp_snap_section(s, HP_SNAP_ENTRIES)->data +
		       number * HP_SNAP_ENTRY_ROW,
	       HP_SNAP_ENTRY_ROW);
}

/* And the folder's row. */
static inline void expect_name(const struct hpdsl_snapshot *s,
			       const struct step *t)
{
	const struct hp_section *names = hp_snap_section(s, HP_SNAP_NAMES);
	struct hp_snap_row row;

	if (!t->number || !hp_snap_row(s, t->number, &row, NULL) ||
	    !hp_within(row.name, row.name_len + 1u, names->length))
		return;
	expect(names->data + row.name, row.name_len + 1u);
	expect(hp_snap_section(s, HP_SNAP_ENTRIES)->data +
		       row.parent * HP_SNAP_ENTRY_ROW,
	       HP_SNAP_ENTRY_ROW);
}

/* The folder's name; in a large snapshot that is somewhere else, too. */
static inline void expect_folder(const struct hpdsl_snapshot *s,
				 const struct step *t)
{
	const struct hp_section *names = hp_snap_section(s, HP_SNAP_NAMES);
	struct hp_snap_row row;

	if (t->number && hp_snap_row(s, t->number, &row, NULL) &&
	    hp_snap_any_row(s, row.parent, &row, NULL) &&
	    row.name < names->length)
		__builtin_prefetch(names->data + row.name);
}

static inline int finish(const struct hpdsl_snapshot *s, const struct step *t,
			 struct hpdsl_entry *ret, struct hpdsl_error *err)
{
	if (!may_exist(t->q.len))
		return look_short(s, &t->q, ret, err);
	return look(s, &t->q, t->number, ret, err);
}

int64_t hpdsl_snapshot_lookup_many(const struct hpdsl_snapshot *s,
				   const struct hpdsl_path *paths, size_t n,
				   struct hpdsl_entry *ret, int *codes,
				   struct hpdsl_error *err)
{
	int64_t found = 0;
	bool corrupt = false;

	for (size_t first = 0; first < n; first += GROUP) {
		size_t k = n - first < GROUP ? n - first : GROUP;
		struct step steps[GROUP];

		for (size_t i = 0; i < k; i++)
			expect_slot(s, &paths[first + i], &steps[i]);
		for (size_t i = 0; i < k; i++)
			expect_row(s, &steps[i]);
		for (size_t i = 0; i < k; i++)
			expect_name(s, &steps[i]);
		for (size_t i = 0; i < k; i++)
			expect_folder(s, &steps[i]);
		for (size_t i = 0; i < k; i++) {
			int r = finish(s, &steps[i], &ret[first + i], NULL);

			codes[first + i] = r;
			found += r == 0;
			if (r == HPDSL_ECORRUPT && !corrupt)
				/* Once more, for the text. */
				finish(s, &steps[i], &ret[first + i], err);
			corrupt |= r == HPDSL_ECORRUPT;
		}
	}
	return corrupt ? HPDSL_ECORRUPT : found;
}
