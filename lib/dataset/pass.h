/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a file, front to back, hashed as it is read.  Pieces are small
 * enough to stay in a core's second-level cache, so whoever looks at the bytes
 * after the hash finds them near.
 *
 * A compressed chunk is decoded on the way: what lies at hand is the plain tar,
 * hashed too; a frame that shares samples is handed out only when all of it is
 * right.  The seek table is checked when the last frame has been taken.
 */
#ifndef HP_PASS_H
#define HP_PASS_H

#include "base/hash.h"
#include "dataset/source.h"
#include "index/index.h"
#include "index/write.h"
#include "sys/io.h"

#define HP_PASS_PIECE (256 * 1024)

struct hp_pass_zst;

struct hp_pass {
	const struct hp_io *io;
	int fd; /* -1: it is read of this, borrowed */
	const struct hp_source *source;
	uint64_t size;	   /* of the file when it was opened */
	uint64_t offset;   /* of the next byte to be taken; of the plain tar */
	const uint8_t *at; /* that byte */
	size_t have;	   /* bytes there */
	uint8_t *buf;
	uint64_t read;		 /* bytes of the file read and hashed so far */
	struct hp_pass_zst *zst; /* NULL: it is not compressed */
	XXH3_state_t hash;
	struct hp_sha256 *sha256; /* gets all of these, too; NULL at first */
};

/* Before anything else, where hp_pass_end may come before hp_pass_begin. */
static inline void hp_pass_init(struct hp_pass *p)
{
	p->fd = -1;
	p->buf = NULL;
	p->zst = NULL;
}

/*
 * Opens the regular file name of dir.  Anything else there is HPDSL_ECORRUPT;
 * -errno.  The pass must be ended in every case.
 */
int hp_pass_begin(struct hp_pass *p, const struct hp_io *io, int dir,
		  const char *name, struct hpdsl_error *err);

/*
 * The same for a compressed chunk.  With an index its rows say where frames
 * are, and a damaged one can be passed over; index may be NULL.  Both are
 * borrowed.
 */
int hp_pass_begin_zst(struct hp_pass *p, const struct hp_io *io, int dir,
		      const char *name, const struct hp_index *index,
		      const struct hpdsl_chunk *row, struct hpdsl_error *err);

/*
 * The same of a chunk at a source, in the form that this has; index is of one
 * with frames.
 */
int hp_pass_begin_at(struct hp_pass *p, const struct hp_source *source,
		     const struct hp_index *index,
		     const struct hpdsl_chunk *row, struct hpdsl_error *err);

/*
 * Makes n bytes (at most HP_PASS_PIECE / 2) lie at p->at, or fewer at the end
 * of the file: 0 or -errno.  HPDSL_ECORRUPT: a frame or the seek table is
 * damaged, see hp_pass_why; then again until that frame is passed over.
 */
int hp_pass_need(struct hp_pass *p, size_t n);

/* Goes on behind n of them; n is at most p->have. */
static inline void hp_pass_take(struct hp_pass *p, size_t n)
{
	p->at += n;
	p->have -= n;
	p->offset += n;
}

/* "frame 7: checksum differs", after HPDSL_ECORRUPT. */
const char *hp_pass_why(const struct hp_pass *p);
/* The damaged frame: false if it is the seek table, or without an index. */
bool hp_pass_damaged_frame(const struct hp_pass *p, struct hp_frame *ret);
/* Drops what is at hand and goes on behind that frame: 0 or -errno. */
int hp_pass_skip_frame(struct hp_pass *p);

/* XXH3-128 of all bytes so far: of the plain tar, of the file as stored. */
void hp_pass_digest(const struct hp_pass *p, uint8_t ret[16]);
void hp_pass_stored_digest(const struct hp_pass *p, uint8_t ret[16]);

/* At the end of a chunk: sizes, checksums, frames; or -ENOMEM. */
int hp_pass_made(const struct hp_pass *p, struct hp_chunk_made *ret);

void hp_pass_end(struct hp_pass *p);

/* For the two: bytes behind those that were read. */
static inline ssize_t hp_pass_pread(const struct hp_pass *p, void *buf,
				    size_t n)
{
	uint64_t left = p->size - p->read;

	if (p->fd >= 0)
		return p->io->pread(p->io, p->fd, buf, n, p->read);
	return left ? hp_source_read(p->source, buf, n < left ? n : left,
				     p->read) :
		      0;
}

/* For pass.c: pass_zst.c */

int hp_pass_zst_new(struct hp_pass *p, const struct hp_index *index,
		    const struct hpdsl_chunk *row, struct hpdsl_error *err);
/* 1: more is at hand; 0: the end; HPDSL_ECORRUPT, -errno. */
int hp_pass_zst_fill(struct hp_pass *p);
/* Frames met so far, if none was passed over: malloc'ed; or -ENOMEM. */
int hp_pass_zst_frames(const struct hp_pass *p, struct hp_chunk_made *ret);
void hp_pass_zst_digest(const struct hp_pass *p, uint8_t ret[16]);
void hp_pass_zst_end(struct hp_pass *p);

#endif
