/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a compressed chunk, written front to back: stretches, then the
 * seek table.  A chunk that saves too little goes back to a plain file.
 */
#ifndef HP_ZST_FILE_H
#define HP_ZST_FILE_H

#include "base/file_digest.h"
#include "sys/outfile.h"
#include "write/frames.h"
#include "write/run.h"

struct hp_zst_file {
	struct hp_file_digest digest; /* of the file */
	struct hp_outfile out;
	bool opened;
	uint32_t chunk;
	uint64_t bytes;
	struct hp_seek_entry *frames; /* n of them: owned */
	uint32_t n, room;
};

/* f must be 64-byte aligned.  It is released in every case. */
int hp_zst_open(struct hp_zst_file *f, const struct hp_io *io, int dir,
		uint32_t chunk, struct hpdsl_error *err);
/* The frames of a stretch; called in order. */
int hp_zst_add(struct hp_zst_file *f, const struct hp_stretch *s,
	       struct hpdsl_error *err);
/* Would the whole file, seek table included, save 5 % of the plain bytes? */
bool hp_zst_saves(const struct hp_zst_file *f, uint64_t plain);
/*
 * Writes the seek table; what is known of the file goes to *done, which owns
 * the frames then.  The file is neither synced nor committed.
 */
int hp_zst_finish(struct hp_zst_file *f, struct hp_chunk_made *done,
		  struct hpdsl_error *err);
/*
 * Without the table: writes its plain bytes to out, a new plain part of the
 * chunk.  What comes out must have this digest: HPDSL_ECORRUPT.
 */
int hp_zst_expand(struct hp_zst_file *f, uint64_t plain,
		  const uint8_t checksum[16], struct hp_outfile *out,
		  struct hp_chunk_made *done, struct hpdsl_error *err);
/* It is not wanted: the part is removed, or that is an error. */
int hp_zst_discard(struct hp_zst_file *f, struct hpdsl_error *err);
/* Removes the part, if it can, unless it was committed. */
void hp_zst_release(struct hp_zst_file *f);

#endif
