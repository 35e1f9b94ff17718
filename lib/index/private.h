/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the index share: its layout in numbers, the open index,
 * and the one way to its bytes, which checks bounds and block checksums, and
 * gives copies of them: somebody may be writing to the file.
 */
#ifndef HP_INDEX_PRIVATE_H
#define HP_INDEX_PRIVATE_H

#include "format/lookup.h"
#include "format/names.h"
#include "format/sections.h"
#include "index/index.h"

enum {
	HP_INDEX_FIXED = 80, /* bytes of the header before the table */
	HP_INDEX_FIRM = 8,   /* sections that are always there, kinds 1 .. */
	HP_INDEX_KINDS = 14, /* kinds of version 1 */
	HP_SAMPLE_ROW = 16,
	HP_MEMBER_ROW = 52,
	HP_CHUNK_ROW = 88,
	HP_CLASS_ROW = 8,
	HP_STORED_ROW = 16,
	HP_SHA256_ROW = 32,
	HP_FRAME_ROW = 16,
	HP_CHUNK_COMPRESSED = 1, /* flag of a chunk's row */
	HP_INDEX_CHUNKS = HP_CHUNKS_MAX,
};

#define HP_INDEX_MEMBERS ((UINT64_C(1) << 40) - 2) /* most members */

extern const struct hp_layout hp_index_layout;

struct hp_index_copy;

struct hp_index {
	struct hp_sections *sections;
	/* NULL, or where rows are taken from instead: copy.h. */
	struct hp_index_copy *copy;
	const char *name; /* that of sections */
	struct hpdsl_counts count;
	uint32_t flags;
	uint64_t slots, homes;
	struct hp_key_rule key;
	const char **doubles; /* key's, into the section that is kept */
};

static inline const struct hp_section *hp_index_section(
	const struct hp_index *ix, enum hp_index_section kind)
{
	if ((unsigned)kind <= HP_INDEX_FIRM)
		return hp_section_firm(ix->sections, kind);
	return ix->sections->extra[kind];
}

/* Is there such a section?  It may be empty. */
static inline bool hp_index_has(const struct hp_index *ix,
				enum hp_index_section kind)
{
	return hp_index_section(ix, kind)->kind != 0;
}

/* Rows of one of the kinds behind the first eight. */
static inline uint64_t hp_index_rows(const struct hp_index *ix,
				     enum hp_index_section kind)
{
	return hp_index_section(ix, kind)->length /
	       hp_section_row(&hp_index_layout, kind);
}

/* The same as hp_index_take of one that has a copy: copy.c. */
int hp_index_copy_take(struct hp_index_copy *c, const struct hp_section *s,
		       uint64_t off, void *to, uint64_t len,
		       struct hpdsl_error *err);

/*
 * Copies len > 0 bytes at off of a section, whose blocks are sound: 0,
 * HPDSL_ECORRUPT, -errno.  What is in the copy is looked at, nothing else.
 */
static inline __attribute__((always_inline)) int hp_index_take(
	const struct hp_index *ix, enum hp_index_section kind, uint64_t off,
	void *to, uint64_t len, struct hpdsl_error *err)
{
	const struct hp_section *s = hp_index_section(ix, kind);
	int r;

	if (__builtin_expect(ix->copy && !s->own, 0))
		return hp_index_copy_take(ix->copy, s, off, to, len, err);
	if (!hp_within(off, len, s->length) ||
	    !hp_section_seen(ix->sections, s, off, len)) {
		r = hp_section_touch(ix->sections, s, off, len, err);
		if (r < 0)
			return r;
	}
	hp_copy_once(to, s->data + off, len);
	return 0;
}

/*
 * The same where they lie: for sections that are kept, and for strings, which
 * are looked at within their length only.
 */
static inline int hp_index_bytes(const struct hp_index *ix,
				 enum hp_index_section kind, uint64_t off,
				 uint64_t len, const uint8_t **ret,
				 struct hpdsl_error *err)
{
	const struct hp_section *s = hp_index_section(ix, kind);
	int r;

	if (!hp_within(off, len, s->length) ||
	    !hp_section_seen(ix->sections, s, off, len)) {
		r = hp_section_touch(ix->sections, s, off, len, err);
		if (r < 0)
			return r;
	}
	*ret = s->data + off;
	return 0;
}

/* "no member 7, there are 5": -ERANGE. */
int hp_index_out_of_range(const struct hp_index *ix, const char *what,
			  uint64_t number, uint64_t count,
			  struct hpdsl_error *err);
/* A name of len bytes and its NUL, without a NUL inside, when it was looked at.
 */
int hp_index_name(const struct hp_index *ix, enum hp_index_section kind,
		  uint64_t off, uint16_t len, const char **ret,
		  struct hpdsl_error *err);

/* ---- Before writing --------------------------------------------------- */

struct hp_index_source;

struct hp_index_sizes {
	uint64_t length[HP_INDEX_KINDS + 1]; /* of sections, not padded */
	bool has[HP_INDEX_KINDS + 1];
	uint32_t header;   /* bytes */
	uint32_t sections; /* that there are */
	uint64_t blocks;   /* of the largest section */
	uint64_t size;	   /* of the file */
};

/*
 * Walks src once: checks it, finds the sizes, and fills hashed (as many as
 * members) in the order of the lookup table.
 */
int hp_index_measure(const struct hp_index_source *src,
		     struct hp_hashed *hashed, struct hp_index_sizes *ret,
		     struct hpdsl_error *err);

#endif
