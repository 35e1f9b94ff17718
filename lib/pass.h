/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a file, front to back, hashed as it is read.  Pieces are small
 * enough to stay in a core's second-level cache, so whoever looks at the bytes
 * after the hash finds them near.
 */
#ifndef HP_PASS_H
#define HP_PASS_H

#include "hash.h"
#include "io.h"

#define HP_PASS_PIECE (256 * 1024)

struct hp_pass {
	const struct hp_io *io;
	int fd;
	uint64_t size;	   /* of the file when it was opened */
	uint64_t offset;   /* of the next byte to be taken */
	const uint8_t *at; /* that byte */
	size_t have;	   /* bytes there */
	uint8_t *buf;
	uint64_t read; /* bytes read and hashed so far */
	XXH3_state_t hash;
	struct hp_sha256 *sha256; /* gets all bytes too; NULL at first */
};

/*
 * Opens the regular file name of dir.  Anything else there is HPDSL_ECORRUPT;
 * -errno.  The pass must be ended in every case.
 */
int hp_pass_begin(struct hp_pass *p, const struct hp_io *io, int dir,
		  const char *name, struct hpdsl_error *err);

/*
 * Makes n bytes (at most HP_PASS_PIECE / 2) lie at p->at, or fewer at the end
 * of the file: 0 or -errno.
 */
int hp_pass_need(struct hp_pass *p, size_t n);

/* Goes on behind n of them; n is at most p->have. */
static inline void hp_pass_take(struct hp_pass *p, size_t n)
{
	p->at += n;
	p->have -= n;
	p->offset += n;
}

/* XXH3-128 of all bytes read so far. */
void hp_pass_digest(const struct hp_pass *p, uint8_t ret[16]);

void hp_pass_end(struct hp_pass *p);

#endif
