/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is a header, a table of sections, and these: what index and
 * snapshot have in common.  Opening looks at the header alone, whatever the
 * size; each section is made of 64 KiB blocks, which are compared with their
 * checksums at first touch.  hpdsl-format(5), "Index".
 */
#ifndef HP_SECTIONS_H
#define HP_SECTIONS_H

#include "bytes.h"
#include "hpdsl.h"

#include <stdatomic.h>

enum {
	HP_BLOCK = 65536,
	HP_TABLE_ROW = 32, /* bytes of a row of the section table */
	HP_TABLE_MAX = 64, /* most sections */
	HP_KINDS_MAX = 13, /* most kinds that a layout names */
	/* Flag of a section: refuse the file if its kind is unknown. */
	HP_SECTION_REQUIRED = 1,
};

/* A kind of section. */
struct hp_kind {
	const char *name;
	uint32_t row;  /* bytes of a row; 0: it holds bytes */
	bool optional; /* whoever does not know it may pass it over */
	char without;  /* a byte that it cannot hold, or 0 */
};

/* A kind of file. */
struct hp_layout {
	const char *what;  /* "index": the file in messages */
	const char *magic; /* 8 bytes */
	uint32_t version;
	uint32_t fixed;		     /* bytes of the header before the table */
	uint32_t flags;		     /* of the header, that are known */
	uint32_t firm;		     /* kinds 1 .. firm are always there */
	uint32_t n_kinds;	     /* that are known, at most HP_KINDS_MAX */
	const struct hp_kind *kinds; /* from kind 1 on */
};

struct hp_section {
	const uint8_t *data, *sums;
	uint64_t length, padded; /* bytes without and with the padding */
	uint64_t blocks;
	uint64_t first_bit; /* of its blocks in hp_sections.seen */
	uint32_t kind;
};

struct hp_sections {
	const struct hp_layout *layout;
	char *name;
	const uint8_t *header;
	uint32_t flags, n;
	_Atomic uint64_t *seen; /* one bit for each verified block */
	struct hp_section all[HP_TABLE_MAX]; /* the first: kinds 1 .. firm */
	/* By kind, those behind the firm ones; empty if not there. */
	const struct hp_section *extra[HP_KINDS_MAX + 1];
};

/*
 * Opens size bytes at p, which must stay and not change.  name is for messages
 * and is copied.  Checks all of the header that index and snapshot share.  *s
 * need not be released after a failure.  HPDSL_ENOTOURS, HPDSL_ETOONEW,
 * HPDSL_ECORRUPT, -ENOMEM.
 */
int hp_sections_open(struct hp_sections *s, const struct hp_layout *layout,
		     const void *p, uint64_t size, const char *name,
		     struct hpdsl_error *err);
/* May be asked for one that is zero. */
void hp_sections_release(struct hp_sections *s);

/* "NAME: header: what": HPDSL_ECORRUPT. */
int hp_sections_bad_header(const struct hp_sections *s, const char *what,
			   struct hpdsl_error *err);

static inline uint64_t hp_section_padded(uint64_t length)
{
	return (length + 7) & ~UINT64_C(7);
}

static inline uint64_t hp_section_blocks(uint64_t padded)
{
	return padded / HP_BLOCK + (padded % HP_BLOCK != 0);
}

static inline uint32_t hp_section_row(const struct hp_layout *layout,
				      uint32_t kind)
{
	return layout->kinds[kind - 1].row;
}

/* Flags of a section's row in the table. */
static inline uint32_t hp_section_flags(const struct hp_layout *layout,
					uint32_t kind)
{
	return layout->kinds[kind - 1].optional ? 0 : HP_SECTION_REQUIRED;
}

/* "MEMBERS"; "11" for a kind not known, in buf. */
#define HP_SECTION_NAME 16
const char *hp_section_name(const struct hp_layout *layout, uint32_t kind,
			    char buf[HP_SECTION_NAME]);

/* One of the kinds that are always there. */
static inline const struct hp_section *hp_section_firm(
	const struct hp_sections *s, uint32_t kind)
{
	return &s->all[kind - 1];
}

/* Has the section just so many rows? */
bool hp_section_has_rows(const struct hp_sections *s,
			 const struct hp_section *section, uint64_t rows);

/*
 * Compares one block with its checksum, and looks for what it cannot hold: 0
 * or HPDSL_ECORRUPT.
 */
int hp_section_verify(const struct hp_sections *s,
		      const struct hp_section *section, uint64_t block,
		      struct hpdsl_error *err);

struct hp_findings;

/* All blocks of all sections, and that padding is zero. */
void hp_sections_check(const struct hp_sections *s, struct hp_findings *f);

/* The slow ways of hp_section_bytes and hp_section_inside. */
const uint8_t *hp_section_touch(const struct hp_sections *s,
				const struct hp_section *section, uint64_t off,
				uint64_t len, struct hpdsl_error *err);

/*
 * len > 0 bytes at off of a section, which lie in it, once their blocks are
 * known to be sound; NULL: HPDSL_ECORRUPT, told in *err.
 */
static inline const uint8_t *hp_section_inside(const struct hp_sections *s,
					       const struct hp_section *section,
					       uint64_t off, uint64_t len,
					       struct hpdsl_error *err)
{
	uint64_t bit = section->first_bit + off / HP_BLOCK;

	/* Bits are set after the bytes were checked; the bytes never change,
	 * so no order is needed between the two. */
	if (__builtin_expect(
		    off % HP_BLOCK + len <= HP_BLOCK &&
			    (atomic_load_explicit(&s->seen[bit / 64],
						  memory_order_relaxed) >>
				     bit % 64 &
			     1),
		    1))
		return section->data + off;
	return hp_section_touch(s, section, off, len, err);
}

/* The same if they may lie outside, which is HPDSL_ECORRUPT. */
static inline const uint8_t *hp_section_bytes(const struct hp_sections *s,
					      const struct hp_section *section,
					      uint64_t off, uint64_t len,
					      struct hpdsl_error *err)
{
	if (!hp_within(off, len, section->length))
		return hp_section_touch(s, section, off, len, err);
	return hp_section_inside(s, section, off, len, err);
}

#endif
