/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the check of one chunk share. */
#ifndef HP_VERIFY_CHUNK_H
#define HP_VERIFY_CHUNK_H

#include "chunk/tar.h"
#include "dataset/chunk_walk.h"
#include "verify/sha256.h"
#include "verify/verify.h"

#include <string.h>

/* "node 3 (nid000007)", who sent, as hp_sent says: false, not known. */
#define HP_CHECKING_SENDER 300
typedef bool hp_checking_sender(const struct hp_verify *v, uint32_t sent,
				char ret[HP_CHECKING_SENDER]);

struct hp_checking {
	struct hp_verify *v;
	const struct hpdsl_chunk *row;
	const struct hp_source *source; /* of other nodes; NULL: it is here */
	hp_checking_sender *sender;	/* with a source */
	struct hp_pass pass;
	struct hp_chunk_walk walk;
	uint64_t sample;       /* the first that lacks what is read now */
	struct hp_frame frame; /* the damaged one, after HP_FRAME_LOST */
	bool damaged;
	uint64_t last;	   /* sample that was told last */
	uint64_t reported; /* bytes that the meter knows of */
	uint8_t header[HP_TAR_HEADER_MAX];
	struct hp_check_sha256 sha256;
};

/*
 * What the functions below return besides 0 and errors: the rest of the chunk
 * is no use, or that of a frame is.
 */
enum { HP_HOPELESS = 1, HP_FRAME_LOST = 2 };

/* Bytes of the tar. */
static inline uint64_t hp_checking_plain_bytes(const struct hpdsl_chunk *row)
{
	return row->compressed ? row->plain_bytes : row->bytes;
}

/* Is the chunk an adopted tar? */
bool hp_checking_is_foreign(const struct hp_checking *k);

/* All of it, in k->v, k->row and k->source; the rest is zero, and last
 * UINT64_MAX. */
int hp_checking_run(struct hp_checking *k, struct hpdsl_error *err);

/* What is damaged: damage.c */

/* Each sample is told once, with its first reason; members come in order. */
void hp_checking_member(struct hp_checking *k, const struct hpdsl_member *m,
			const char *reason);
/* Damage that is in no particular sample. */
void hp_checking_damage(struct hp_checking *k, const char *reason);
/* One line for the chunk's samples from first on: they are lost. */
int hp_checking_lost(struct hp_checking *k, uint64_t first, const char *reason);
/* There are only got bytes; sample is the first that lacks something. */
int hp_checking_cut_off(struct hp_checking *k, uint64_t got, uint64_t sample);
void hp_checking_too_long(struct hp_checking *k);
/* An index row that cannot be had; only where the index was not checked. */
int hp_checking_bad_row(struct hp_checking *k,
			const struct hpdsl_error *row_err,
			struct hpdsl_error *err);

/* Reading: damage.c */

/* What k->walk goes by. */
extern const struct hp_chunk_walk_ops hp_checking_walk;
/* n bytes at hand or fewer at the end, unless it cannot be read. */
int hp_checking_fill(struct hp_checking *k, size_t n, struct hpdsl_error *err);
/* To the end, or to where the next content begins: for the checksum alone. */
int hp_checking_read_to(struct hp_checking *k, uint64_t end, uint64_t sample,
			struct hpdsl_error *err);
/* After HP_FRAME_LOST: on to the next frame. */
int hp_checking_skip_frame(struct hp_checking *k, struct hpdsl_error *err);

/* Members: member.c */

int hp_checking_header(struct hp_checking *k, const struct hpdsl_member *m,
		       struct hpdsl_error *err);
/* All of the chunk; those in damaged frames are passed over. */
int hp_checking_members(struct hp_checking *k, struct hpdsl_error *err);

#endif
