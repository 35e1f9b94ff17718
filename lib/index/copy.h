/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for whoever hands out contents: private copies of what was written when
 * the index was opened, held against the checksums of then, whatever has become
 * of the file.  They are read, so that a file which was cut short is an error.
 * An index in memory of our own is used as it is.
 */
#ifndef HP_INDEX_COPY_H
#define HP_INDEX_COPY_H

#include "index/private.h"

#include <string.h>

enum {
	HP_COPY_WINDOW = 2048, /* bytes that are read at once, of rows */
	HP_COPY_ALONE = 256,   /* of rows that no others were read before */
	HP_COPY_KINDS = 6,
};

/* A stretch of a section, in private memory. */
struct hp_copy_window {
	uint64_t off, end; /* end stays when n becomes 0 */
	uint32_t n;
	const uint8_t *p; /* few or block */
	uint8_t *block;	  /* HP_BLOCK bytes; NULL: not needed so far */
	uint8_t few[HP_COPY_WINDOW];
};

/* One thread's, and not for long: 17 KiB, on its stack. */
struct hp_index_copy {
	/*
	 * For all that takes an index.  Members' paths point into the copy,
	 * until the next one is asked for.
	 */
	struct hp_index ix;
	/* Whole blocks are read and hashed, as many as are looked at: for
	 * whoever walks the rows.  Else rows alone are read, and their blocks
	 * hashed only if the file's size, mtime or ctime is not what it was
	 * when that was last done. */
	bool whole;
	/* The stat is not asked after every read, but when all is done:
	 * hp_index_copy_again().  Until then stat is what it has to be, and
	 * trusted: somebody relies on it.  stale: it was not. */
	bool later, trusted, stale;
	uint64_t stat; /* the last one, as a number; 0: none so far */
	/* The sample whose row was taken last, for its members ask again; of
	 * none: UINT64_MAX. */
	uint64_t sample;
	struct hp_sample_row row;
	struct hp_copy_window window[HP_COPY_KINDS];
	char path[HPDSL_PATH_MAX + 1];
};

void hp_index_copy_begin(struct hp_index_copy *c, const struct hp_index *ix,
			 bool whole);
void hp_index_copy_end(struct hp_index_copy *c);

/*
 * The same for a few rows, or many, with one stat for all of them: what was
 * taken is not to be used before it was asked,
 *
 *	hp_index_copy_begin_later(&c, ix);
 *	do
 *		r = take them all, from the beginning;
 *	while (hp_index_copy_again(&c, &r, err));
 *
 * which is true at most once: the file had changed, and r may be wrong, too.
 */
void hp_index_copy_begin_later(struct hp_index_copy *c,
			       const struct hp_index *ix);
bool hp_index_copy_again(struct hp_index_copy *c, int *r,
			 struct hpdsl_error *err);

#define hp_auto_index_copy \
	__attribute__((cleanup(hp_index_copy_end))) struct hp_index_copy

static inline unsigned hp_copy_window_number(enum hp_index_section kind)
{
	switch (kind) {
	case HP_SECTION_SAMPLES:
		return 1;
	case HP_SECTION_MEMBERS:
		return 2;
	case HP_SECTION_PATHS:
		return 3;
	case HP_SECTION_FRAMES:
		return 4;
	case HP_SECTION_LOOKUP:
		return 5;
	default:
		return 0;
	}
}

/* len bytes at off of a kind with a window of its own, if they are in there:
 * until others are. */
static inline __attribute__((always_inline)) const uint8_t *hp_copy_here(
	const struct hp_index *ix, enum hp_index_section kind, uint64_t off,
	uint64_t len)
{
	const struct hp_copy_window *w =
		&ix->copy->window[hp_copy_window_number(kind)];

	/* Less than w->off wraps, and is too far. */
	return hp_within(off - w->off, len, w->n) &&
			       hp_within(off, len,
					 hp_index_section(ix, kind)->length) ?
		       w->p + (off - w->off) :
		       NULL;
}

/* hp_index_take of such a kind: fast, if they are. */
static inline __attribute__((always_inline)) int hp_index_take_row(
	const struct hp_index *ix, enum hp_index_section kind, uint64_t off,
	void *to, uint64_t len, struct hpdsl_error *err)
{
	const uint8_t *p = ix->copy ? hp_copy_here(ix, kind, off, len) : NULL;

	if (!p)
		return hp_index_take(ix, kind, off, to, len, err);
	memcpy(to, p, len);
	return 0;
}

/*
 * Is this, which somebody has asked for before, the index's member?  As far as
 * its content goes, and its path is of a sound block.  0; HPDSL_ECORRUPT;
 * -errno. Of all indexes, one in memory too.
 */
int hp_index_copy_same(struct hp_index_copy *c, const struct hpdsl_member *m,
		       struct hpdsl_error *err);

/* Blocks of a path: hashed again only if the file has changed. */
int hp_index_copy_prove(struct hp_index_copy *c, uint64_t off, uint64_t len,
			struct hpdsl_error *err);

/*
 * The member's path, made fit to print: of a copy, or "?" if it cannot be had.
 */
const char *hp_index_path_text(const struct hp_index *ix, uint64_t member,
			       char buf[320]);

#endif
