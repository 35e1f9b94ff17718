/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the snapshot's reader share: the open snapshot, and its
 * rows, each of which is copied and the copy checked whenever it is read.
 */
#ifndef HP_SNAP_PRIVATE_H
#define HP_SNAP_PRIVATE_H

#include "format/lookup.h"
#include "format/sections.h"
#include "snap/snap.h"
#include "sys/view.h"

#include <sys/stat.h>

struct hpdsl_snapshot {
	struct hp_view view; /* of the file; none: the bytes are somebody's */
	struct hp_sections file;
	struct hpdsl_snapshot_info info;
	uint64_t members; /* rows of CHECKSUMS */
	uint64_t homes, slots;
};

static inline const struct hp_section *hp_snap_section(
	const struct hpdsl_snapshot *s, enum hp_snap_section kind)
{
	return hp_section_firm(&s->file, kind);
}

static inline const uint8_t *hp_snap_bytes(const struct hpdsl_snapshot *s,
					   enum hp_snap_section kind,
					   uint64_t off, uint64_t len,
					   struct hpdsl_error *err)
{
	return hp_section_bytes(&s->file, hp_snap_section(s, kind), off, len,
				err);
}

/* "no entry 7, there are 5": -ERANGE. */
int hp_snap_out_of_range(const struct hpdsl_snapshot *s, uint64_t number,
			 struct hpdsl_error *err);

/* ---- Rows of ENTRIES -------------------------------------------------- */

/* A row, copied: the one in the file may be changed meanwhile. */
struct hp_snap_row {
	uint64_t size, name, parent, link;
	int64_t mtime;
	uint32_t nsec;
	uint16_t mode, name_len;
};

/* As hp_once64, but one that nobody wants is not loaded: a row may lie in two
 * lines of the cache. */
static inline uint64_t hp_snap_word(const uint8_t *p)
{
	uint64_t v = hp_get64(p);

	__asm__("" : "+r"(v));
	return v;
}

static inline void hp_snap_copy_row(const uint8_t *p, struct hp_snap_row *ret)
{
	uint64_t times = hp_snap_word(p + 16), name = hp_snap_word(p + 24),
		 last = hp_snap_word(p + 32);

	ret->size = hp_snap_word(p);
	ret->mtime = (int64_t)hp_snap_word(p + 8);
	ret->nsec = (uint32_t)times;
	ret->mode = (uint16_t)(times >> 32);
	ret->name_len = (uint16_t)(times >> 48);
	ret->name = name & ((UINT64_C(1) << 48) - 1);
	ret->parent = name >> 48 | (last & 0xffffff) << 16;
	ret->link = last >> 24;
}

/* "entry 7: .." for what is wrong with its row: HPDSL_ECORRUPT. */
int hp_snap_bad_row(const struct hpdsl_snapshot *s, uint64_t number,
		    const struct hp_snap_row *row, struct hpdsl_error *err);

/* Bits of the types that there are, by mode >> 12. */
enum {
	HP_SNAP_TYPES = 1 << (S_IFIFO >> 12) | 1 << (S_IFCHR >> 12) |
			1 << (S_IFDIR >> 12) | 1 << (S_IFBLK >> 12) |
			1 << (S_IFREG >> 12) | 1 << (S_IFLNK >> 12) |
			1 << (S_IFSOCK >> 12)
};

/* Is what a row says possible?  Its name is another matter. */
static inline bool hp_row_possible(const struct hpdsl_snapshot *s,
				   uint64_t number,
				   const struct hp_snap_row *row)
{
	uint64_t below = UINT64_MAX;

	if (S_ISREG(row->mode))
		below = s->members + 1;
	else if (S_ISDIR(row->mode))
		below = s->info.folders;
	/* The top is the only one without a name, and in itself. */
	return HP_SNAP_TYPES >> (row->mode >> 12) & 1 &&
	       row->nsec < 1000000000 && row->link < below &&
	       (number ? row->parent < number &&
				 (unsigned)row->name_len - 1 < HPDSL_PATH_MAX :
			 !row->parent && !row->name_len && S_ISDIR(row->mode));
}

/* The row of an entry that is known to exist, as it is; false: told. */
static inline bool hp_snap_any_row(const struct hpdsl_snapshot *s,
				   uint64_t number, struct hp_snap_row *ret,
				   struct hpdsl_error *err)
{
	const uint8_t *p = hp_section_inside(
		&s->file, hp_snap_section(s, HP_SNAP_ENTRIES),
		number * HP_SNAP_ENTRY_ROW, HP_SNAP_ENTRY_ROW, err);

	if (p)
		hp_snap_copy_row(p, ret);
	return p;
}

/* The same once it is known to be possible. */
static inline bool hp_snap_row(const struct hpdsl_snapshot *s, uint64_t number,
			       struct hp_snap_row *ret, struct hpdsl_error *err)
{
	if (!hp_snap_any_row(s, number, ret, err))
		return false;
	if (hp_row_possible(s, number, ret))
		return true;
	hp_snap_bad_row(s, number, ret, err);
	return false;
}

/* ---- Rows of FOLDERS -------------------------------------------------- */

struct hp_folder_row {
	uint64_t first; /* entry: the first of those that are in it */
	uint64_t end;	/* folder: the first that is not below it */
};

/* The row of folder number <= folders, as it is. */
int hp_snap_folder_row(const struct hpdsl_snapshot *s, uint64_t number,
		       struct hp_folder_row *ret, struct hpdsl_error *err);

/* ---- Names ------------------------------------------------------------ */

/*
 * The name in a row, as it stands there, row->name_len bytes and a NUL; NULL:
 * told.  It may be another one at the next look: who makes something of it
 * copies it first.
 */
static inline const char *hp_snap_raw_name(const struct hpdsl_snapshot *s,
					   uint64_t number,
					   const struct hp_snap_row *row,
					   struct hpdsl_error *err)
{
	uint16_t len = row->name_len;
	const char *name = (const char *)hp_snap_bytes(
		s, HP_SNAP_NAMES, row->name, (uint64_t)len + 1, err);

	if (name && name[len]) {
		hp_snap_bad_entry(s, number, "its name has no end", err);
		return NULL;
	}
	return name;
}

/* memcmp(a, b, n) == 0, without a call: names are short. */
static inline bool hp_same_bytes(const char *a, const char *b, size_t n)
{
	uint64_t other = 0;
	size_t i = 0;

	for (; i + 8 <= n; i += 8)
		if (hp_get64(a + i) != hp_get64(b + i))
			return false;
	if (i)
		return hp_get64(a + n - 8) == hp_get64(b + n - 8);
	for (; i < n; i++)
		other |= (uint8_t)(a[i] ^ b[i]);
	return !other;
}

/* Is one of the eight bytes NUL? */
static inline bool hp_name_word_bad(uint64_t v)
{
	return (v - UINT64_C(0x0101010101010101)) & ~v &
	       UINT64_C(0x8080808080808080);
}

/*
 * May an entry be called so?  No NUL, neither "." nor ".."; that there is no
 * slash was seen when its block was checked.
 */
static inline bool hp_name_valid(const char *name, size_t len)
{
	size_t i = 0;

	for (; i + 8 <= len; i += 8)
		if (hp_name_word_bad(hp_get64(name + i)))
			return false;
	if (i)
		return !hp_name_word_bad(hp_get64(name + len - 8));
	for (; i < len; i++)
		if (!name[i])
			return false;
	return !(len && len <= 2 && name[0] == '.' && name[len - 1] == '.');
}

/* The name in a row, which is one that an entry may have; NULL: told. */
static inline const char *hp_snap_name(const struct hpdsl_snapshot *s,
				       uint64_t number,
				       const struct hp_snap_row *row,
				       struct hpdsl_error *err)
{
	const char *name = hp_snap_raw_name(s, number, row, err);

	if (name && !hp_name_valid(name, row->name_len)) {
		hp_snap_bad_entry(s, number, "its name is impossible", err);
		return NULL;
	}
	return name;
}

/*
 * The same, copied with its NUL to where there is room for HPDSL_PATH_MAX + 1
 * bytes; the copy is what was looked at.  false: told.
 */
static inline bool hp_snap_copy_name(const struct hpdsl_snapshot *s,
				     uint64_t number,
				     const struct hp_snap_row *row, char *to,
				     struct hpdsl_error *err)
{
	const char *name = hp_snap_raw_name(s, number, row, err);
	size_t len = row->name_len;

	if (!name)
		return false;
	hp_copy_once(to, name, len);
	to[len] = '\0';
	if (hp_name_valid(to, len) && !memchr(to, '/', len))
		return true;
	hp_snap_bad_entry(s, number, "its name is impossible", err);
	return false;
}

/* ---- Entries ---------------------------------------------------------- */

/* What row and name of an entry, both checked, say. */
static inline void hp_snap_fill(uint64_t number, const struct hp_snap_row *row,
				const char *name, struct hpdsl_entry *ret)
{
	ret->number = number;
	ret->parent = row->parent;
	ret->size = row->size;
	ret->mtime = row->mtime;
	ret->mtime_nsec = row->nsec;
	ret->mode = row->mode;
	/* 0 - 1 is HPDSL_NO_MEMBER. */
	ret->member = S_ISREG(row->mode) ? row->link - 1 : HPDSL_NO_MEMBER;
	ret->name = name;
	ret->name_len = row->name_len;
}

/*
 * Is that the path of entry number?  Then *ret is it.  What is wrong with it is
 * not told: no.
 */
bool hp_snap_is_at(const struct hpdsl_snapshot *s, uint64_t number,
		   const struct hpdsl_path *path, struct hpdsl_entry *ret);

#endif
