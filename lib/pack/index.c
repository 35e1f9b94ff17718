/* SPDX-License-Identifier: Apache-2.0 */
/* From a packed plan to index and manifest. */
#include "pack/pack.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/names.h"
#include "format/sha256sums.h"
#include "index/index.h"
#include "index/write.h"
#include "plan/portable.h"
#include "sys/outfile.h"

#include <string.h>

/* The plan's members in packed order, chunk after chunk. */
struct source {
	const struct hp_pack *p;
	struct hp_plan_walk walk;
	uint32_t chunk;
};

static void begin_chunk(struct source *s, uint32_t c)
{
	const struct hp_plan *plan = &s->p->plan;

	s->chunk = c;
	hp_plan_walk_begin(&s->walk, plan, hp_plan_first(plan, c),
			   hp_plan_first(plan, c + 1));
}

static void source_begin(void *arg)
{
	begin_chunk(arg, 0);
}

static int source_next(void *arg, struct hp_index_member *ret,
		       struct hpdsl_error *err)
{
	struct source *s = arg;
	const struct hp_list *list = &s->p->list;
	const struct hp_plan *plan = &s->p->plan;
	struct hp_plan_place place;
	const struct hp_file *f;
	const char *stored;

	(void)err;
	while (!hp_plan_walk_next(&s->walk, &place)) {
		if (s->chunk + 1 >= plan->n_chunks)
			return 0;
		begin_chunk(s, s->chunk + 1);
	}
	f = &list->files[place.file];
	stored = list->stored ? list->stored[place.file] : NULL;
	*ret = (struct hp_index_member){
		.path = f->path,
		.path_len = f->path_len,
		.offset = place.data,
		.size = f->size,
		.checksum = f->low64,
		.mtime = f->mtime,
		.nsec = f->nsec,
		.mode = (f->mode & 0777u) |
			(f->flags & HP_FILE_GENERATED ? HP_MEMBER_GENERATED :
							0),
		.stored = stored,
		.stored_len = stored ? strlen(stored) : 0,
		.sha256 = list->sha256 ? list->sha256[place.file] : NULL,
		.sample = place.sample,
		.label = list->labels ? list->labels[hp_plan_sample(
						plan, place.sample)] :
					HPDSL_NO_LABEL,
	};
	return 1;
}

/* Chunk rows for index and manifest; their names are in one block. */
struct rows {
	struct hp_index_chunk *index;
	struct hp_manifest_file *manifest;
	char (*names)[HP_CHUNK_NAME];
};

static void rows_release(struct rows *rows)
{
	free(rows->index);
	free(rows->manifest);
	free(rows->names);
}

/* What became of a chunk, for both. */
static void fill_row(const struct hp_pack *p, uint32_t c,
		     struct hp_index_chunk *x, struct hp_manifest_file *m)
{
	const struct hp_done *done = &p->done[c];

	x->bytes = m->bytes = done->bytes;
	memcpy(x->checksum, done->checksum, sizeof x->checksum);
	memcpy(m->checksum, done->checksum, sizeof m->checksum);
	if (p->list.sha256) {
		x->sha256 = done->sha256;
		memcpy(m->sha256, done->sha256, sizeof m->sha256);
		m->has_sha256 = true;
	}
	if (!done->compressed)
		return;
	x->compressed = m->compressed = true;
	x->plain_bytes = m->plain_bytes = hp_plan_chunk_bytes(&p->plan, c);
	memcpy(x->plain_checksum, done->plain_checksum,
	       sizeof x->plain_checksum);
	memcpy(m->plain_checksum, done->plain_checksum,
	       sizeof m->plain_checksum);
	x->frames = done->frames;
	x->n_frames = done->n_frames;
}

static int make_rows(const struct hp_pack *p, struct rows *rows,
		     struct hpdsl_error *err)
{
	const struct hp_plan *plan = &p->plan;
	uint64_t member = 0;

	rows->index = calloc(plan->n_chunks, sizeof *rows->index);
	rows->manifest = calloc(plan->n_chunks, sizeof *rows->manifest);
	rows->names = calloc(plan->n_chunks, sizeof *rows->names);
	if (!rows->index || !rows->manifest || !rows->names)
		return hp_fail_nomem(err);
	for (uint32_t c = 0; c < plan->n_chunks; c++) {
		uint64_t first = hp_plan_first(plan, c);
		uint64_t end = hp_plan_first(plan, c + 1);
		struct hp_index_chunk *x = &rows->index[c];
		struct hp_manifest_file *m = &rows->manifest[c];

		hp_chunk_name(c, rows->names[c]);
		if (p->done[c].compressed)
			strcat(rows->names[c], ".zst");
		x->name = m->name = rows->names[c];
		x->first_sample = first;
		x->first_member = member;
		m->samples = end - first;
		fill_row(p, c, x, m);
		for (uint64_t s = first; s < end; s++) {
			uint64_t l = hp_plan_sample(plan, s);

			member += p->list.samples[l + 1] - p->list.samples[l];
		}
	}
	return 0;
}

static int write_manifest(struct hp_pack *p, const struct rows *rows,
			  const struct hp_manifest_file *index,
			  struct hpdsl_error *err)
{
	hp_auto_free struct hp_manifest_file *files = NULL;
	hp_auto_free char *text = NULL;
	struct hp_manifest m = {
		.samples = p->plan.n_samples,
		.members = p->list.n_files,
		.bytes = p->plan.bytes,
		.has_seed = true,
		.seed = p->opt->seed,
		.options = p->options,
		.classes = p->list.classes,
		.n_classes = p->list.n_classes,
		.index = *index,
		.chunks = rows->manifest,
		.n_chunks = p->plan.n_chunks,
		.files = p->files,
		.n_files = p->n_files,
	};
	size_t len;
	int r;

	memcpy(m.dataset_id, p->report->dataset_id, sizeof m.dataset_id);
	m.has_sha256 = p->report->has_sha256;
	memcpy(m.dataset_id_sha256, p->report->dataset_id_sha256,
	       sizeof m.dataset_id_sha256);
	r = hp_meta_pairs(p->opt, &m.meta, err);
	if (r == 0 && m.has_sha256)
		r = hp_sha256sums_write(p->io, p->target.dir, &m, &files, err);
	if (r == 0)
		r = hp_manifest_format(&m, &text, &len, err);
	if (r == 0)
		r = hp_sync_dir(p->io, p->target.dir, err);
	if (r == 0)
		r = hp_outfile_put(p->io, p->target.dir, HP_MANIFEST_NAME, text,
				   len, err);
	hp_pairs_release(&m.meta);
	return r;
}

int hp_write_index(struct hp_pack *p, struct hpdsl_error *err)
{
	struct hp_manifest_file file = { .name = HP_INDEX_NAME };
	struct source s = { .p = p };
	struct rows rows = { 0 };
	struct hp_index_source src = {
		.samples = p->plan.n_samples,
		.members = p->list.n_files,
		.bytes = p->plan.bytes,
		.flags = p->opt->group == HPDSL_GROUP_NONE ?
				 HP_INDEX_GROUP_NONE :
				 0,
		.stored = hp_list_renamed(&p->list) > 0,
		.n_chunks = p->plan.n_chunks,
		.classes = p->list.classes,
		.n_classes = p->list.n_classes,
		.sha256 = p->list.sha256 != NULL,
		.arg = &s,
		.begin = source_begin,
		.next = source_next,
	};
	int r;

	r = hp_list_id(&p->list, p->report->dataset_id,
		       p->report->dataset_id_sha256, err);
	p->report->has_sha256 = file.has_sha256 = src.sha256;
	if (r == 0)
		r = make_rows(p, &rows, err);
	if (r == 0) {
		memcpy(src.dataset_id, p->report->dataset_id, 16);
		src.chunks = rows.index;
		r = hp_index_save(&src, p->io, p->target.dir, &file.bytes,
				  file.checksum,
				  src.sha256 ? file.sha256 : NULL, err);
	}
	if (r == 0) {
		p->report->index_bytes = file.bytes;
		r = write_manifest(p, &rows, &file, err);
	}
	rows_release(&rows);
	return r;
}
