/* SPDX-License-Identifier: Apache-2.0 */
/* An open dataset: its directory, its index, descriptors of its chunks. */
#ifndef HP_DATASET_H
#define HP_DATASET_H

#include "frame_cache.h"
#include "index.h"
#include "view.h"

struct hp_chunk_files;

struct hpdsl_dataset {
	const struct hp_io *io;
	char *path; /* as given, for messages */
	int dir;
	struct hp_view view; /* of the index */
	struct hp_index *index;
	struct hp_chunk_files *files;
	struct hp_frame_cache *frames;
};

/* ---- Chunk files, open: chunk_files.c --------------------------------- */

/* A descriptor that stays open until it is given back. */
struct hp_chunk_file {
	int fd;
	int place; /* in the cache, or -1: closed when given back */
};

struct hp_chunk_files *hp_chunk_files_new(void);
/* Nobody may hold one any more. */
void hp_chunk_files_free(struct hp_chunk_files *files, const struct hp_io *io);

/* Any number of threads.  What is not a regular file is HPDSL_ECORRUPT. */
int hp_chunk_file_get(const struct hpdsl_dataset *ds,
		      const struct hpdsl_chunk *c, struct hp_chunk_file *ret,
		      struct hpdsl_error *err);
void hp_chunk_file_put(const struct hpdsl_dataset *ds,
		       const struct hp_chunk_file *f);

#endif
