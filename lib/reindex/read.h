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

/*
 * One chunk: parse() reads it to its end, then it is known what it is as a
 * whole.
 */
typedef int hp_reading_fn(struct hp_reading *r, struct hpdsl_error *err);
int hp_reading_run(struct hp_reading *r, struct hp_reindex *x, uint64_t number,
		   hp_reading_fn *parse, struct hpdsl_error *err);

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
