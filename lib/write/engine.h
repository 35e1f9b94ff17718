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
 * Of a chunk to be compressed, the segment's frames are then made by the same
 * writer, besides those of other segments, and written in the chunk's order;
 * see frames.h.
 *
 * One lock guards all that is not said to belong to somebody.  With no threads
 * the calling thread plays all parts in turn.
 */
#ifndef HP_ENGINE_H
#define HP_ENGINE_H

#include "base/file_digest.h"
#include "sys/outfile.h"
#include "write/run.h"
#include "write/zst_file.h"

#include <pthread.h>

/* A member's content that does not lie in one segment: its part in this one. */
struct hp_segment_part {
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
	struct hp_segment_part front, back;

	/* With compression. */
	bool squeezed; /* may be written as soon as those before it are */
	struct hp_stretch stretch;
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
	struct hp_file_digest digest; /* of the plain chunk */
	struct hp_content_state content;
	uint32_t crc;		      /* of it, in a zip */
	struct hp_sha256 *of_content; /* with SHA-256, once needed: owned */

	struct hp_squeeze *zst; /* with compression, or NULL */
	struct hp_outfile out;
	size_t tail_len; /* the last bytes, too few for O_DIRECT */
	uint8_t tail_buf[4096];
};

/* An open chunk that is compressed. */
struct hp_squeeze {
	struct hp_zst_file file;	 /* of whoever is writing */
	struct hp_frames frames;	 /* of whoever is hashing */
	struct hp_segment *head, **tail; /* hashed, not written, in order */
	bool writing;			 /* a writer is at it */
};

/* Contexts that are lent out, under the lock. */
struct hp_zstds {
	struct hp_zstd **v;
	uint32_t n, idle; /* v[0 .. idle) are there to be had */
};

/* What is put where by one reader at a time. */
struct hp_claim_piece {
	struct hp_segment *segment;
	struct hp_plan_place place;
};

enum { HP_RUN = 8 };

struct hp_run {
	struct hp_claim_piece piece[HP_RUN];
	unsigned n;
	uint64_t bytes;
};

/* Where the plan is being cut into pieces, by claim.c. */
struct hp_cut {
	uint32_t next_chunk;
	struct hp_open_chunk *chunk; /* the one that is cut, or NULL */
	struct hp_segment *filling;
	struct hp_plan_walk walk;
	struct hp_plan_place place;
	bool have_place;
	uint64_t at; /* in the chunk */
	bool all;    /* nothing is left to claim */
};

struct hp_engine {
	struct hp_writing *w;
	const struct hp_io *io;
	pthread_mutex_t lock;
	pthread_cond_t freed; /* a segment is free, or the end */
	pthread_cond_t ready; /* a segment can be hashed, or the end */
	pthread_cond_t ended; /* all is written, or failed */
	/* Held for what takes a chunk's space twice: one at a time may. */
	pthread_mutex_t expand_lock;

	uint32_t segment_size, n_segments;
	uint8_t *memory;
	uint64_t stride; /* bytes from segment to segment */
	struct hp_segment *segments, *free;
	struct hp_seek_entry *rows; /* of all segments */

	/*
	 * Work in progress, one for each thread; and frames that cross the
	 * border of two segments.  One of the latter is kept for the first
	 * chunk: the others wait for segments that wait for it.
	 */
	struct hp_zstds zstds, streams;

	struct hp_open_chunk *chunks, **chunks_tail;

	struct hp_cut cut;

	uint64_t bytes_done, bytes_total; /* contents */
	bool stopped;			  /* asked to, chunks are left */
	int failed;
	struct hpdsl_error err;
};

int hp_engine_init(struct hp_engine *e, struct hp_writing *p, uint32_t threads,
		   struct hpdsl_error *err);
void hp_engine_release(struct hp_engine *e);

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
/* The same for chunks that are compressed. */
bool hp_squeeze_one(struct hp_engine *e);

/* ---- Open chunks: open_chunk.c ---------------------------------------- */

/* Under the lock: notes the first failure and wakes everybody. */
void hp_engine_fail(struct hp_engine *e, int code,
		    const struct hpdsl_error *err);

/* Counts a full segment: contents that span segments, and the plain digest. */
int hp_hash_segment(const struct hp_writing *p, const struct hp_segment *s,
		    struct hpdsl_error *err);
/* Takes the first segment that is not hashed. */
struct hp_segment *hp_pop_segment(struct hp_open_chunk *c);
void hp_free_segment(struct hp_engine *e, struct hp_segment *s);
/* Syncs the file, notes the chunk as it is in *done, gives it its name. */
int hp_publish_chunk(struct hp_engine *e, struct hp_open_chunk *c,
		     struct hp_outfile *out, const struct hp_chunk_made *done,
		     struct hpdsl_error *err);
/* Frees what the chunk holds, and the chunk. */
void hp_free_chunk(struct hp_engine *e, struct hp_open_chunk *c);
/* Under the lock: the chunk is finished. */
void hp_remove_chunk(struct hp_engine *e, struct hp_open_chunk *c);

/* ---- What compressing takes: zstds.c ---------------------------------- */

/* threads of them work at a time; no more than that many contexts are used. */
int hp_squeeze_init(struct hp_engine *e, uint32_t threads,
		    struct hpdsl_error *err);
void hp_squeeze_release(struct hp_engine *e);
int hp_squeeze_begin(struct hp_open_chunk *c, const struct hp_plan *plan);
void hp_squeeze_end(struct hp_engine *e, struct hp_open_chunk *c);
/* Under the lock: one that is idle, until it comes back. */
struct hp_zstd *hp_zstds_borrow(struct hp_zstds *z);
void hp_zstds_give_back(struct hp_zstds *z, struct hp_zstd *zstd);

#endif
