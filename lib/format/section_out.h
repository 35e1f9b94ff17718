/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a section, or whole blocks out of its midst: bytes are put one behind
 * the other and leave in blocks of 64 KiB, the checksums of these behind the
 * section.  All of it has a place that is known before, so that parts of a file
 * can be written by many threads.
 */
#ifndef HP_SECTION_OUT_H
#define HP_SECTION_OUT_H

#include "format/sections.h"

/* Where the bytes go; write is called by many threads, for separate places. */
struct hp_sink_at {
	int (*write)(void *arg, const void *buf, size_t n, uint64_t off,
		     struct hpdsl_error *err);
	void *arg;
};

/* Where a section is. */
struct hp_section_place {
	uint64_t offset; /* in the file */
	uint64_t length; /* without padding */
};

/* Where its checksums are, and where these end. */
static inline uint64_t hp_section_sums(const struct hp_section_place *s)
{
	return s->offset + hp_section_padded(s->length);
}

static inline uint64_t hp_section_end(const struct hp_section_place *s)
{
	return hp_section_sums(s) +
	       hp_section_blocks(hp_section_padded(s->length)) * 8;
}

struct hp_section_out {
	const struct hp_sink_at *sink;
	struct hpdsl_error *err;
	struct hp_section_place place;
	uint64_t at;	 /* in the section: of the block that fills up */
	uint64_t end;	 /* where this part ends */
	uint64_t block0; /* the first block of this part */
	uint64_t n_sums; /* blocks that left */
	size_t used;	 /* bytes in block */
	uint8_t *block;	 /* of HP_BLOCK bytes, borrowed */
	uint64_t *sums;	 /* one for each block of this part, borrowed */
};

/*
 * The part of a section from byte from on, a multiple of HP_BLOCK, up to end,
 * which is one too or the section's length.  block has HP_BLOCK bytes, sums
 * room for as many checksums as the part has blocks.
 */
void hp_section_begin(struct hp_section_out *o,
		      const struct hp_section_place *place, uint64_t from,
		      uint64_t end);

/* More than hp_section_begin was told: -EINVAL. */
int hp_section_put_slow(struct hp_section_out *o, const void *p, size_t n);

static inline int hp_section_put(struct hp_section_out *o, const void *p,
				 size_t n)
{
	if (n >= HP_BLOCK - o->used)
		return hp_section_put_slow(o, p, n);
	hp_copy_short(o->block + o->used, p, n);
	o->used += n;
	return 0;
}

/* Padding, the last block, the checksums.  -EINVAL: too few bytes came. */
int hp_section_finish(struct hp_section_out *o);

/* A row of the section table; returns where the next section begins. */
uint64_t hp_section_put_row(uint32_t kind, uint32_t flags, uint32_t row_size,
			    const struct hp_section_place *place, uint8_t *row);

#endif
