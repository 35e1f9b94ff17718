/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of chunks into memory, many at a time: neighbours in one read, past
 * the page cache where it does not have them, compressed chunks expanded in
 * place, contents compared with their checksums.  Moves bytes, and decides
 * nothing of which or when.  Of a stage directory it reads what is here, waits
 * for what is coming, and goes to the origin where that is of no use.
 */
#ifndef HP_FETCH_H
#define HP_FETCH_H

#include "hpdsl/loader.h"

enum {
	HP_FETCH_READ = 4 << 20, /* bytes of one read, or half as many again */
	HP_FETCH_GAP = 64 << 10, /* read through, rather than read twice */
	HP_FETCH_PAGE = 4096,
};

/*
 * Where a read from at ends, of a file's bytes to end: such a read's whole
 * pages on, but what would be left is read with it if that is no more than
 * half.
 */
static inline uint64_t hp_fetch_read_end(uint64_t at, uint64_t end)
{
	uint64_t to = at / HP_FETCH_PAGE * HP_FETCH_PAGE + HP_FETCH_READ;

	return end > to && end - to > HP_FETCH_READ / 2 ? to : end;
}

struct hp_fetch;

struct hp_fetch_options {
	enum hpdsl_cache cache;
	bool unchecked; /* checksums are not compared */
	/*
	 * NULL, or told once of each chunk whose file here was found to be bad;
	 * by any thread that fetches.
	 */
	void (*warn)(void *arg, const char *text);
	void *arg;
};

/* ds is borrowed.  NULL: no memory. */
struct hp_fetch *hp_fetch_new(const struct hpdsl_dataset *ds,
			      const struct hp_fetch_options *opt);
/* Who is waiting for a chunk that is coming gives up: HPDSL_ESTOPPED.  NULL is
 * harmless. */
void hp_fetch_quit(struct hp_fetch *f);
/* Nobody may be fetching any more.  NULL is harmless. */
void hp_fetch_free(struct hp_fetch *f);

/*
 * A member that is wanted: as hpdsl_member_get() has it.  There are very many,
 * and whoever has fetched them looks at those in any order: what is of interest
 * then stands together.
 */
struct hp_block_member {
	uint64_t checksum, offset;
	uint32_t chunk;
	int code;	  /* set: 0, HPDSL_ECORRUPT, -errno */
	const void *data; /* set: in the block's buf; NULL if code < 0 */
	uint64_t size, number;
};

/*
 * Members that are read together: those of one chunk in a row, and by offset;
 * chunks in any order.
 */
struct hp_block {
	struct hp_block_member *member;
	uint32_t n;
	void *buf;   /* aligned to HP_FETCH_PAGE */
	size_t room; /* hp_fetch_room() or more */
	bool cached; /* set: the page cache had most of it; of what is
			expanded that is not said */
	/* Set if one is bad: of the first, naming chunk, sample and path. */
	struct hpdsl_error why;
};

/*
 * Bytes of buf that members take, with what is read between them, in whole
 * pages; never less than SIZE_MAX once that is reached.  For one member after
 * the other, in the block's order: begin with zero everywhere; a member's room
 * may be looked at with a copy before it is decided that it still fits.
 */
struct hp_fetch_room {
	size_t bytes;
	/* The last stretch that is read: nothing of the caller's. */
	uint32_t chunk;
	bool any;
	uint64_t begin, end;
	size_t before; /* bytes of those before it */
};
void hp_fetch_room_add(struct hp_fetch_room *r,
		       const struct hp_block_member *m);
/* The same for all of them at once. */
size_t hp_fetch_room(const struct hp_block_member *m, uint32_t n);

/*
 * Reads, expands, verifies.  0, or the code of the first member that is bad;
 * the others are good all the same.  Any number of threads, a block each.
 */
int hp_fetch(struct hp_fetch *f, struct hp_block *b);

/*
 * Since it was made, without what was bad and read again member by member.
 * (hpdsl_sources() has all of it.)
 */
struct hp_fetch_counts {
	uint64_t reads, read_bytes; /* of chunk files */
	uint64_t direct_bytes;	    /* of these past the page cache */
	uint64_t read_sizes[40];    /* reads of 2^i to 2^(i+1) - 1 bytes */
	uint64_t median_read;	    /* half of the bytes are in reads of no
				       more, within 3 % */
};
void hp_fetch_count(const struct hp_fetch *f, struct hp_fetch_counts *ret);

/* For a while, in place of what the options say: for whoever measures. */
enum hp_fetch_from {
	HP_FETCH_AS_IT_IS,
	HP_FETCH_FROM_MEMORY, /* what was read so before; the rest is kept */
	HP_FETCH_PAST_ALL,    /* what the page cache has is dropped first */
};
/* By one thread.  -ENOMEM: it is as before. */
int hp_fetch_from(struct hp_fetch *f, enum hp_fetch_from from);
/* Of the bytes that were to be read, since it was made, those that the page
 * cache or memory had, and those of which that cannot be known. */
struct hp_fetch_cached {
	uint64_t asked, there, unknown;
};
void hp_fetch_was_cached(const struct hp_fetch *f, struct hp_fetch_cached *ret);

#endif
