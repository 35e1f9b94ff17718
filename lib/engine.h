/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's machine.  Chunks are cut into segments, buffers of a fixed size
 * that are filled, hashed and written as wholes.  Readers claim runs of pieces
 * (a member's part in one segment) in plan order and read each file straight
 * into its place; when a segment has all its pieces, a writer hashes it, in
 * the chunk's order, and writes it, in any order.  So memory is bounded by the
 * number of segments, whatever the sizes of chunks and members, and the bytes
 * depend on the plan alone.
 *
 * One lock guards all that is not said to belong to somebody.  With no threads
 * the calling thread plays all parts in turn.
 */
#ifndef HP_ENGINE_H
#define HP_ENGINE_H

#include "hash.h"
#include "outfile.h"
#include "pack.h"

#include <pthread.h>

/* A member's content that does not lie in one segment: its part in this one. */
struct hp_part {
	struct hp_file *file; /* NULL: none */
	uint32_t start, len;  /* in the segment */
	bool first, last;     /* begins, ends the content */
};

struct hp_segment {
	struct hp_segment *next; /* in its chunk's queue, or in the free list */
	struct hp_open_chunk *chunk;
	uint8_t *buf;	 /* aligned for O_DIRECT */
	uint64_t offset; /* in the chunk */
	uint32_t len;
	uint32_t pending; /* pieces not read yet, and one while it is filled */
	struct hp_part front, back;
};

struct hp_open_chunk {
	struct hp_open_chunk *next; /* in order of number */
	uint32_t number;
	uint64_t bytes;
	struct hp_segment *head, **tail; /* not hashed yet, in order */
	uint64_t unwritten;		 /* bytes */
	bool hashing;			 /* a writer is at it */

	/* Belong to the writer that is hashing. */
	bool opened;
	XXH3_state_t hash;
	struct hp_content_state content;
	uint32_t crc; /* of it, in a zip */

	struct hp_outfile out;
	size_t tail_len; /* the last bytes, too few for O_DIRECT */
	uint8_t tail_buf[4096];
};

/* What is put where by one reader at a time. */
struct hp_piece {
	struct hp_segment *segment;
	struct hp_place place;
};

enum { HP_RUN = 8 };

struct hp_run {
	struct hp_piece piece[HP_RUN];
	unsigned n;
	uint64_t bytes;
};

struct hp_engine {
	struct hp_pack *pack;
	const struct hp_io *io;
	pthread_mutex_t lock;
	pthread_cond_t freed; /* a segment is free, or the end */
	pthread_cond_t ready; /* a segment can be hashed, or the end */
	pthread_cond_t ended; /* all is written, or failed */
	pthread_mutex_t journal_lock;

	uint32_t segment_size, n_segments;
	uint8_t *memory;
	struct hp_segment *segments, *free;

	struct hp_open_chunk *chunks, **chunks_tail;

	/* The claim: where the plan is being cut into pieces. */
	uint32_t next_chunk;
	struct hp_open_chunk *cutting;
	struct hp_segment *filling;
	struct hp_walk walk;
	struct hp_place place;
	bool have_place;
	uint64_t at;  /* in the chunk that is cut */
	bool cut_all; /* nothing is left to claim */

	uint64_t bytes_done, bytes_total; /* contents */
	bool stopped;			  /* asked to, chunks are left */
	int failed;
	struct hpdsl_error err;
};

int hp_engine_init(struct hp_engine *e, struct hp_pack *p,
		   struct hpdsl_error *err);
void hp_engine_release(struct hp_engine *e);

/* Under the lock: notes the first failure and wakes everybody. */
void hp_engine_fail(struct hp_engine *e, int code,
		    const struct hpdsl_error *err);

/*
 * Under the lock: takes the next pieces.  wait: until there is a segment to
 * fill.  An empty run: the end, or (without wait) no segment is free.
 */
void hp_claim(struct hp_engine *e, struct hp_run *run, bool wait);
/* Under the lock: the run's pieces are in their places. */
void hp_claim_done(struct hp_engine *e, const struct hp_run *run);

/* Without the lock: reads the run's files into their segments. */
int hp_read_run(const struct hp_engine *e, const struct hp_run *run,
		struct hpdsl_error *err);

/*
 * Under the lock, which it gives up meanwhile: hashes and writes one segment
 * if one is ready.  Returns whether it did.
 */
bool hp_write_one(struct hp_engine *e);

#endif
