/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a chunk file front to back, hashed whole and content by content. */
#ifndef HP_REINDEX_READ_H
#define HP_REINDEX_READ_H

#include "chunk/tar.h"
#include "dataset/chunk_walk.h"
#include "reindex/reindex.h"

struct hp_reading {
	struct hp_reindex *x;
	struct hp_found *chunk;
	struct hp_pass pass;
	uint64_t reported; /* bytes that the meter knows of */
	struct hp_chunk_walk walk;
	uint64_t header;  /* where the member at hand begins .. */
	const char *ends; /* .. and what is said of it if the file ends; or
			     NULL: that it does, and where */
	/* With hp_reindex.sha256: of the file, of the content at hand. */
	struct hp_sha256 *of_file, *of_content;
};

/* The reading must be ended in every case. */
int hp_reading_begin(struct hp_reading *r, struct hp_reindex *x,
		     struct hp_found *chunk, struct hpdsl_error *err);
/* At the end of the file: what the chunk is as a whole. */
int hp_reading_done(struct hp_reading *r, struct hpdsl_error *err);
void hp_reading_end(struct hp_reading *r);

/* "chunk-000017.tar: at offset 512: why": HPDSL_ECORRUPT. */
int hp_reading_damaged(const struct hp_reading *r, uint64_t offset,
		       const char *reason, struct hpdsl_error *err);

/* Up to n bytes at hand; fewer at the end of the file. */
int hp_reading_need(struct hp_reading *r, size_t n, struct hpdsl_error *err);

/* One file more of the chunk.  NULL: no memory. */
struct hp_file *hp_reading_add(struct hp_reading *r,
			       const struct hp_tar_member *t,
			       const struct hp_content_hash *hash,
			       struct hpdsl_error *err);

#endif
