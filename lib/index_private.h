/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the index share: its layout in numbers, the open index,
 * and the one way to its bytes, which checks bounds and block checksums.
 */
#ifndef HP_INDEX_PRIVATE_H
#define HP_INDEX_PRIVATE_H

#include "bytes.h"
#include "index.h"

#include <stdatomic.h>

enum {
	HP_INDEX_FIXED = 80, /* bytes of the header before the table */
	HP_INDEX_ENTRY = 32, /* bytes of a row of the section table */
	HP_INDEX_FIRM = 8,   /* sections that are always there, kinds 1 .. */
	HP_INDEX_KINDS = 13, /* kinds of version 1 */
	HP_INDEX_TABLE = 64, /* most sections */
	HP_SAMPLE_ROW = 16,
	HP_MEMBER_ROW = 52,
	HP_SLOT_ROW = 8,
	HP_CHUNK_ROW = 88,
	HP_CLASS_ROW = 8,
	HP_STORED_ROW = 16,
	HP_SHA256_ROW = 32,
	HP_FRAME_ROW = 16,
	HP_CHUNK_COMPRESSED = 1, /* flag of a chunk's row */
	HP_INDEX_CHUNKS = 1000000,
};

#define HP_INDEX_MEMBERS ((UINT64_C(1) << 40) - 2) /* most members */
#define HP_SLOT_NUMBER ((UINT64_C(1) << 40) - 1)   /* bits of a slot */
#define HP_SLOT_TAG (UINT64_C(0xffffff))	   /* bits of a hash */

struct hp_section {
	const uint8_t *data, *sums;
	uint64_t length, padded; /* bytes without and with the padding */
	uint64_t blocks;
	uint64_t first_bit; /* of its blocks in hp_index.seen */
	uint32_t kind;
};

struct hp_index {
	char *name;
	struct hpdsl_counts count;
	uint32_t flags;
	uint32_t n_sections;
	uint64_t slots, homes;
	_Atomic uint64_t *seen; /* one bit for each verified block */
	/* Those of the kinds behind the first eight; empty if not there. */
	const struct hp_section *extra[HP_INDEX_KINDS - HP_INDEX_FIRM];
	struct hp_section sections[]; /* the first eight: kinds 1 .. 8 */
};

static inline uint64_t hp_index_padded(uint64_t length)
{
	return (length + 7) & ~UINT64_C(7);
}

static inline uint64_t hp_index_blocks(uint64_t padded)
{
	return padded / HP_INDEX_BLOCK + (padded % HP_INDEX_BLOCK != 0);
}

/* Bytes of a row of a section; 0: the section holds bytes. */
uint32_t hp_index_row_size(uint32_t kind);
/* Flags of a section's row in the table. */
uint32_t hp_index_kind_flags(uint32_t kind);
/* "MEMBERS"; "11" for a kind not known, in buf. */
#define HP_SECTION_NAME 16
const char *hp_index_section_name(uint32_t kind, char buf[HP_SECTION_NAME]);

static inline const struct hp_section *hp_index_section(
	const struct hp_index *ix, enum hp_index_section kind)
{
	if ((unsigned)kind <= HP_INDEX_FIRM)
		return &ix->sections[kind - 1];
	return ix->extra[kind - HP_INDEX_FIRM - 1];
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
	return hp_index_section(ix, kind)->length / hp_index_row_size(kind);
}

/* Compares one block with its checksum: 0 or HPDSL_ECORRUPT. */
int hp_index_verify(const struct hp_index *ix, const struct hp_section *s,
		    uint64_t block, struct hpdsl_error *err);

/* The slow ways of hp_index_bytes. */
const uint8_t *hp_index_touch(const struct hp_index *ix,
			      enum hp_index_section kind, uint64_t off,
			      uint64_t len, struct hpdsl_error *err);

/*
 * len > 0 bytes at off of a section, once they are known to lie in it and
 * their blocks to be sound; NULL: HPDSL_ECORRUPT, told in *err.
 */
static inline const uint8_t *hp_index_bytes(const struct hp_index *ix,
					    enum hp_index_section kind,
					    uint64_t off, uint64_t len,
					    struct hpdsl_error *err)
{
	const struct hp_section *s = hp_index_section(ix, kind);
	uint64_t block = off / HP_INDEX_BLOCK;
	uint64_t bit = s->first_bit + block;

	/* Bits are set after the bytes were checked; the bytes never change,
	 * so no order is needed between the two. */
	if (hp_within(off, len, s->length) &&
	    block == (off + len - 1) / HP_INDEX_BLOCK &&
	    (atomic_load_explicit(&ix->seen[bit / 64], memory_order_relaxed) >>
		     bit % 64 &
	     1))
		return s->data + off;
	return hp_index_touch(ix, kind, off, len, err);
}

/* "no member 7, there are 5": -ERANGE. */
int hp_index_out_of_range(const struct hp_index *ix, const char *what,
			  uint64_t number, uint64_t count,
			  struct hpdsl_error *err);
/* "member 7: has an impossible time": HPDSL_ECORRUPT. */
int hp_index_bad_row(const struct hp_index *ix, const char *what,
		     uint64_t number, const char *why, struct hpdsl_error *err);
/* A name of len bytes and its NUL, without a NUL inside; NULL: told. */
const char *hp_index_name(const struct hp_index *ix, enum hp_index_section kind,
			  uint64_t off, uint64_t len, struct hpdsl_error *err);

/* A sample's row, checked. */
struct hp_sample_row {
	uint64_t first, end; /* members */
	uint32_t chunk, label;
};

int hp_index_sample_row(const struct hp_index *ix, uint64_t number,
			struct hp_sample_row *ret, struct hpdsl_error *err);

/* ---- The lookup table ------------------------------------------------- */

/* Slots that are some hash's home: seven members in ten of them. */
static inline uint64_t hp_lookup_homes(uint64_t members)
{
	return members + members * 3 / 7 + 1;
}

static inline uint64_t hp_lookup_home(uint64_t hash, uint64_t homes)
{
	return (uint64_t)((unsigned __int128)hash * homes >> 64);
}

static inline uint64_t hp_lookup_slot(uint64_t hash, uint64_t number)
{
	return (hash & HP_SLOT_TAG) << 40 | (number + 1);
}

struct hp_hashed {
	uint64_t hash, number;
};

/* Orders by (hash, number), in place. */
void hp_lookup_sort(struct hp_hashed *v, uint64_t n);

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
