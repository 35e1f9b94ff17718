/* SPDX-License-Identifier: Apache-2.0 */
/* What index and manifest say of a list and of the chunks that hold it. */
#include "plan/index_of.h"

#include "base/mem.h"
#include "index/index.h"

#include <string.h>

void hp_index_of_list(const struct hp_list *list, struct hp_chunk_made *chunks,
		      uint32_t n_chunks, struct hp_index_source *ret)
{
	ret->samples = list->n_samples;
	ret->members = list->n_files;
	ret->classes = list->classes;
	ret->n_classes = list->n_classes;
	ret->sha256 = list->sha256 != NULL;
	ret->key = list->key;
	ret->chunks = chunks;
	ret->n_chunks = n_chunks;
	for (uint32_t c = 0; c < n_chunks; c++)
		chunks[c].has_sha256 = ret->sha256;
}

void hp_index_of_file(const struct hp_list *list, uint64_t file,
		      uint64_t sample, struct hp_index_member *ret)
{
	const struct hp_file *f = &list->files[file];
	const char *stored = list->stored ? list->stored[file] : NULL;
	bool generated = f->flags & HP_FILE_GENERATED;

	*ret = (struct hp_index_member){
		.path = f->path,
		.path_len = f->path_len,
		.size = f->size,
		.checksum = f->low64,
		.mtime = f->mtime,
		.nsec = f->nsec,
		.mode = f->mode | (generated ? HP_MEMBER_GENERATED : 0u),
		.stored = stored,
		.stored_len = stored ? strlen(stored) : 0,
		.sha256 = list->sha256 ? list->sha256[file] : NULL,
		.label = list->labels ? list->labels[sample] : HPDSL_NO_LABEL,
	};
}

static void fill_chunk(const struct hp_chunk_made *c, uint64_t end,
		       struct hp_manifest_file *ret)
{
	*ret = (struct hp_manifest_file){ .name = c->name,
					  .bytes = c->bytes,
					  .samples = end - c->first_sample,
					  .compressed = c->compressed,
					  .plain_bytes = c->plain_bytes,
					  .has_sha256 = c->has_sha256 };
	memcpy(ret->checksum, c->checksum, sizeof ret->checksum);
	memcpy(ret->plain_checksum, c->plain_checksum,
	       sizeof ret->plain_checksum);
	memcpy(ret->sha256, c->sha256, sizeof ret->sha256);
}

int hp_manifest_of(const struct hp_index_source *src,
		   const struct hp_manifest_file *index,
		   const uint8_t id_sha256[32], struct hp_manifest *m,
		   struct hpdsl_error *err)
{
	uint64_t end = src->samples;

	memcpy(m->dataset_id, src->dataset_id, sizeof m->dataset_id);
	m->has_sha256 = src->sha256;
	memcpy(m->dataset_id_sha256, id_sha256, sizeof m->dataset_id_sha256);
	m->samples = src->samples;
	m->members = src->members;
	m->bytes = src->bytes;
	m->classes = src->classes;
	m->n_classes = src->n_classes;
	m->index = *index;
	m->n_chunks = src->n_chunks;
	m->chunks = hp_array(src->n_chunks, sizeof *m->chunks);
	if (!m->chunks)
		return hp_fail_nomem(err);
	for (uint32_t c = src->n_chunks; c-- > 0;) {
		fill_chunk(&src->chunks[c], end, &m->chunks[c]);
		end = src->chunks[c].first_sample;
	}
	return 0;
}
