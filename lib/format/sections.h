/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is a header, a table of sections, and these: what index and
 * snapshot have in common.  Opening looks at the header alone, whatever the
 * size, and at the checksums of the blocks of 64 KiB that each section is made
 * of; blocks are compared with these at first touch.  hpdsl-format(5), "Index".
 *
 * The file may be mapped, and somebody may write to it.  Header and table are
 * private copies, made when it is opened; so are the checksums of a file that
 * stays open.  So are the sections that a layout wants to be kept, block by
 * block at first touch: their bytes are those that were written, for good.  Of
 * all others the bytes are what the mapping has now, whatever their checksum
 * was found to be: a number is copied, and then looked at.
 */
#ifndef HP_SECTIONS_H
#define HP_SECTIONS_H

#include "base/bytes.h"
#include "sys/io.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	HP_BLOCK = 65536,
	HP_TABLE_ROW = 32, /* bytes of a row of the section table */
	HP_TABLE_MAX = 64, /* most sections */
	HP_KINDS_MAX = 14, /* most kinds that a layout names */
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
	uint32_t kept;		     /* a bit for each kind that is kept */
};

struct hp_section {
	const uint8_t *data;	 /* the mapping's, or own */
	uint8_t *own;		 /* of one that is kept; NULL: it is not */
	uint64_t offset;	 /* in the file */
	uint64_t length, padded; /* bytes without and with the padding */
	uint64_t blocks;
	uint64_t first_bit; /* of its blocks in hp_sections.seen and .sums */
	uint32_t kind;
};

struct hp_sections {
	const struct hp_layout *layout;
	/* Set before it is opened: where the bytes are to be read when they
	 * have to be right, or that they are there.  io NULL: in memory. */
	const struct hp_io *io;
	int fd;
	const uint8_t *bytes; /* the file, mapped or in memory */
	char *name;
	uint8_t *header; /* private, with the section table */
	uint32_t header_bytes;
	uint32_t flags, n;
	uint64_t size, blocks;
	uint64_t *sums;		/* with io: of each block */
	_Atomic uint64_t *seen; /* one bit for each verified block */
	/* With io: what the file's stat was when the block was last read and
	 * found to be sound, as a number; 0: it was not. */
	_Atomic uint64_t *proved;
	pthread_mutex_t lock;		     /* of who fills what is kept */
	struct hp_section all[HP_TABLE_MAX]; /* the first: kinds 1 .. firm */
	/* By kind, those behind the firm ones; empty if not there. */
	const struct hp_section *extra[HP_KINDS_MAX + 1];
};

/*
 * Opens size bytes at p, which must stay.  *s is zero, but for io and fd.  name
 * is for messages and is copied.  Checks all of the header that index and
 * snapshot share.  *s need not be released after a failure.  HPDSL_ENOTOURS,
 * HPDSL_ETOONEW, HPDSL_ECORRUPT, -errno.
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

/*
 * Copies a block, all of it, to where there is room for HP_BLOCK bytes, and
 * then does the same with the copy.  0, HPDSL_ECORRUPT,
 * -errno.
 */
int hp_section_get(const struct hp_sections *s,
		   const struct hp_section *section, uint64_t block,
		   uint8_t *to, struct hpdsl_error *err);

/* The checksum that a block has to have. */
static inline uint64_t hp_section_sum(const struct hp_sections *s,
				      const struct hp_section *section,
				      uint64_t block)
{
	if (s->sums)
		return s->sums[section->first_bit + block];
	return hp_once64(s->bytes + section->offset + section->padded +
			 block * 8);
}

static inline uint32_t hp_section_block_bytes(const struct hp_section *section,
					      uint64_t block)
{
	uint64_t left = section->padded - block * HP_BLOCK;

	return left < HP_BLOCK ? (uint32_t)left : HP_BLOCK;
}

/*
 * n bytes of the file, which need not be there, into private memory: what is
 * there now, unchecked.  HPDSL_ECORRUPT: it ends before; -errno.
 */
int hp_sections_bytes(const struct hp_sections *s, uint64_t off, void *to,
		      uint64_t n);

struct hp_findings;

/* All blocks of all sections, and that padding is zero. */
void hp_sections_check(const struct hp_sections *s, struct hp_findings *f);

/*
 * The slow way of what follows: 0, if these bytes lie in the section and all
 * their blocks are known to be sound; HPDSL_ECORRUPT, -errno.
 */
int hp_section_touch(const struct hp_sections *s,
		     const struct hp_section *section, uint64_t off,
		     uint64_t len, struct hpdsl_error *err);

/* Are len > 0 bytes at off, which lie in it, known to be sound? */
static inline bool hp_section_seen(const struct hp_sections *s,
				   const struct hp_section *section,
				   uint64_t off, uint64_t len)
{
	uint64_t bit = section->first_bit + off / HP_BLOCK;

	/* Bits are set after what is kept was filled. */
	return __builtin_expect(
		off % HP_BLOCK + len <= HP_BLOCK &&
			(atomic_load_explicit(&s->seen[bit / 64],
					      memory_order_acquire) >>
				 bit % 64 &
			 1),
		1);
}

/*
 * len > 0 bytes at off of a section, which lie in it, once their blocks are
 * known to be sound; NULL: told in *err.  They may change all the same, unless
 * the section is kept.
 */
static inline const uint8_t *hp_section_inside(const struct hp_sections *s,
					       const struct hp_section *section,
					       uint64_t off, uint64_t len,
					       struct hpdsl_error *err)
{
	if (hp_section_seen(s, section, off, len) ||
	    hp_section_touch(s, section, off, len, err) == 0)
		return section->data + off;
	return NULL;
}

/* The same if they may lie outside, which is HPDSL_ECORRUPT. */
static inline const uint8_t *hp_section_bytes(const struct hp_sections *s,
					      const struct hp_section *section,
					      uint64_t off, uint64_t len,
					      struct hpdsl_error *err)
{
	if (!hp_within(off, len, section->length)) {
		hp_section_touch(s, section, off, len, err);
		return NULL;
	}
	return hp_section_inside(s, section, off, len, err);
}

#endif
