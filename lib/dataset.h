/* SPDX-License-Identifier: Apache-2.0 */
/* An open dataset: its directory, its index, descriptors of its chunks. */
#ifndef HP_DATASET_H
#define HP_DATASET_H

#include "fd_cache.h"
#include "frame_cache.h"
#include "index.h"
#include "view.h"

struct hpdsl_dataset {
	const struct hp_io *io;
	char *path; /* as given, for messages */
	int dir;
	struct hp_view view; /* of the index */
	struct hp_index *index;
	struct hp_fd_cache *files;
	struct hp_frame_cache *frames;
};

/* ---- Chunk files, open: chunk_files.c --------------------------------- */

enum { HP_CHUNK_FILES = 256 }; /* at most */

/* Any number of threads.  What is not a regular file is HPDSL_ECORRUPT. */
int hp_chunk_file_get(const struct hpdsl_dataset *ds,
		      const struct hpdsl_chunk *c, struct hp_cached_fd *ret,
		      struct hpdsl_error *err);
void hp_chunk_file_put(const struct hpdsl_dataset *ds,
		       const struct hp_cached_fd *f);

#endif
