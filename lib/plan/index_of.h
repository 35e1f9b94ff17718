/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What index and manifest say of a list and of the chunks that hold it: the
 * same, whether they were packed just now or found.
 */
#ifndef HP_INDEX_OF_H
#define HP_INDEX_OF_H

#include "format/manifest.h"
#include "index/write.h"
#include "plan/list.h"

/*
 * Fills in what the list knows, how keys end too, and the chunks, which are
 * borrowed.  Bytes,
 * dataset id, flags, stored and the functions for members are the caller's.
 */
void hp_index_of_list(const struct hp_list *list, struct hp_chunk_made *chunks,
		      uint32_t n_chunks, struct hp_index_source *ret);

/* A file of the list's sample, all but its place: offset and sample. */
void hp_index_of_file(const struct hp_list *list, uint64_t file,
		      uint64_t sample, struct hp_index_member *ret);

/*
 * Fills in what the index has of the same dataset, and of the index file.  The
 * rows of chunks are malloc'ed.
 */
int hp_manifest_of(const struct hp_index_source *src,
		   const struct hp_manifest_file *index,
		   const uint8_t id_sha256[32], struct hp_manifest *m,
		   struct hpdsl_error *err);

#endif
