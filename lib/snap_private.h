/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the snapshot's reader share: the open snapshot, and its
 * rows, each of which is checked whenever it is read.
 */
#ifndef HP_SNAP_PRIVATE_H
#define HP_SNAP_PRIVATE_H

#include "lookup.h"
#include "sections.h"
#include "snap.h"

#include <sys/stat.h>

struct hp_snap {
	struct hp_sections file;
	struct hpdsl_snapshot_info info;
	uint64_t members; /* rows of CHECKSUMS */
	uint64_t homes, slots;
};

static inline const struct hp_section *hp_snap_section(
	const struct hp_snap *s, enum hp_snap_section kind)
{
	return hp_section_firm(&s->file, kind);
}

static inline const uint8_t *hp_snap_bytes(const struct hp_snap *s,
					   enum hp_snap_section kind,
					   uint64_t off, uint64_t len,
					   struct hpdsl_error *err)
{
	return hp_section_bytes(&s->file, hp_snap_section(s, kind), off, len,
				err);
}

/* "no entry 7, there are 5": -ERANGE. */
int hp_snap_out_of_range(const struct hp_snap *s, uint64_t number,
			 struct hpdsl_error *err);
/* "entry 7: why": HPDSL_ECORRUPT. */
int hp_snap_bad_entry(const struct hp_snap *s, uint64_t number, const char *why,
		      struct hpdsl_error *err);
/* The same for what is wrong with its row; says what that is. */
int hp_snap_bad_row(const struct hp_snap *s, uint64_t number,
		    const uint8_t *row, struct hpdsl_error *err);

/* ---- Rows of ENTRIES -------------------------------------------------- */

static inline uint16_t hp_row_mode(const uint8_t *row)
{
	return hp_get16(row + 20);
}

static inline uint16_t hp_row_name_len(const uint8_t *row)
{
	return hp_get16(row + 22);
}

static inline uint64_t hp_row_name(const uint8_t *row)
{
	return hp_get48(row + 24);
}

static inline uint64_t hp_row_parent(const uint8_t *row)
{
	return hp_get40(row + 30);
}

static inline uint64_t hp_row_link(const uint8_t *row)
{
	return hp_get64(row + 32) >> 24;
}

/* Bits of the types that there are, by mode >> 12. */
enum {
	HP_SNAP_TYPES = 1 << (S_IFIFO >> 12) | 1 << (S_IFCHR >> 12) |
			1 << (S_IFDIR >> 12) | 1 << (S_IFBLK >> 12) |
			1 << (S_IFREG >> 12) | 1 << (S_IFLNK >> 12) |
			1 << (S_IFSOCK >> 12)
};

/* Is what a row says possible?  Its name is another matter. */
static inline bool hp_row_possible(const struct hp_snap *s, uint64_t number,
				   const uint8_t *row)
{
	uint16_t mode = hp_row_mode(row), len = hp_row_name_len(row);
	uint64_t link = hp_row_link(row), below = UINT64_MAX;

	if (S_ISREG(mode))
		below = s->members + 1;
	else if (S_ISDIR(mode))
		below = s->info.folders;
	/* The top is the only one without a name, and in itself. */
	return HP_SNAP_TYPES >> (mode >> 12) & 1 &&
	       hp_get32(row + 16) < 1000000000 && link < below &&
	       (number ? hp_row_parent(row) < number &&
				 (unsigned)len - 1 < HPDSL_PATH_MAX :
			 !hp_row_parent(row) && !len && S_ISDIR(mode));
}

/* The row of an entry that is known to exist, as it is; NULL: told. */
static inline const uint8_t *hp_snap_any_row(const struct hp_snap *s,
					     uint64_t number,
					     struct hpdsl_error *err)
{
	return hp_section_inside(&s->file, hp_snap_section(s, HP_SNAP_ENTRIES),
				 number * HP_SNAP_ENTRY_ROW, HP_SNAP_ENTRY_ROW,
				 err);
}

/* The same once it is known to be possible. */
static inline const uint8_t *hp_snap_row(const struct hp_snap *s,
					 uint64_t number,
					 struct hpdsl_error *err)
{
	const uint8_t *row = hp_snap_any_row(s, number, err);

	if (row && !hp_row_possible(s, number, row)) {
		hp_snap_bad_row(s, number, row, err);
		return NULL;
	}
	return row;
}

/* ---- Rows of FOLDERS -------------------------------------------------- */

struct hp_folder_row {
	uint64_t first; /* entry: the first of those that are in it */
	uint64_t end;	/* folder: the first that is not below it */
};

/* The row of folder number <= folders, as it is. */
int hp_snap_folder_row(const struct hp_snap *s, uint64_t number,
		       struct hp_folder_row *ret, struct hpdsl_error *err);

/* ---- Names ------------------------------------------------------------ */

/* The name in a row, as it stands there, NUL-terminated; NULL: told. */
static inline const char *hp_snap_raw_name(const struct hp_snap *s,
					   uint64_t number, const uint8_t *row,
					   struct hpdsl_error *err)
{
	uint16_t len = hp_row_name_len(row);
	const char *name = (const char *)hp_snap_bytes(
		s, HP_SNAP_NAMES, hp_row_name(row), (uint64_t)len + 1, err);

	if (name && name[len]) {
		hp_snap_bad_entry(s, number, "its name has no end", err);
		return NULL;
	}
	return name;
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
static inline const char *hp_snap_name(const struct hp_snap *s, uint64_t number,
				       const uint8_t *row,
				       struct hpdsl_error *err)
{
	const char *name = hp_snap_raw_name(s, number, row, err);

	if (name && !hp_name_valid(name, hp_row_name_len(row))) {
		hp_snap_bad_entry(s, number, "its name is impossible", err);
		return NULL;
	}
	return name;
}

/* ---- Entries ---------------------------------------------------------- */

/* What row and name of an entry, both checked, say. */
static inline void hp_snap_fill(uint64_t number, const uint8_t *row,
				const char *name, struct hpdsl_entry *ret)
{
	uint16_t mode = hp_row_mode(row);

	ret->number = number;
	ret->parent = hp_row_parent(row);
	ret->size = hp_get64(row);
	ret->mtime = (int64_t)hp_get64(row + 8);
	ret->mtime_nsec = hp_get32(row + 16);
	ret->mode = mode;
	/* 0 - 1 is HPDSL_NO_MEMBER. */
	ret->member = S_ISREG(mode) ? hp_row_link(row) - 1 : HPDSL_NO_MEMBER;
	ret->name = name;
	ret->name_len = hp_row_name_len(row);
}

#endif
