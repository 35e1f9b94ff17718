/* SPDX-License-Identifier: Apache-2.0 */
/* From a packed plan to index and manifest. */
#include "pack/pack.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/names.h"
#include "format/sha256sums.h"
#include "index/index.h"
#include "index/write.h"
#include "plan/index_of.h"
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
	const struct hp_plan *plan = &s->p->w.plan;

	s->chunk = c;
	hp_plan_walk_chunk(&s->walk, plan, c);
}

static void source_begin(void *arg)
{
	begin_chunk(arg, 0);
}

static int source_next(void *arg, struct hp_index_member *ret,
		       struct hpdsl_error *err)
{
	struct source *s = arg;
	const struct hp_plan *plan = &s->p->w.plan;
	struct hp_plan_place place;

	(void)err;
	while (!hp_plan_walk_next(&s->walk, &place)) {
		if (s->chunk + 1 >= plan->n_chunks)
			return 0;
		begin_chunk(s, s->chunk + 1);
	}
	hp_index_of_file(&s->p->w.list, place.file,
			 hp_plan_sample(plan, place.sample), ret);
	ret->mode &= 0777u | HP_MEMBER_GENERATED;
	ret->offset = place.data;
	ret->sample = place.sample;
	return 1;
}

/* What of the chunks the plan knows. */
static int name_chunks(struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hp_plan *plan = &p->w.plan;
	uint64_t member = 0;

	for (uint32_t c = 0; c < plan->n_chunks; c++) {
		struct hp_chunk_made *k = &p->w.done[c];
		char name[HP_CHUNK_NAME];

		hp_chunk_name_of(c, k->compressed, name);
		k->name = hp_arena_add(p->w.list.arena, name, strlen(name));
		if (!k->name)
			return hp_fail_nomem(err);
		k->first_sample = hp_plan_first(plan, c);
		k->first_member = member;
		k->plain_bytes = hp_plan_chunk_bytes(plan, c);
		member += hp_plan_members(plan, c);
	}
	return 0;
}

static int write_manifest(struct hp_pack *p, const struct hp_index_source *src,
			  const struct hp_manifest_file *index,
			  struct hpdsl_error *err)
{
	hp_auto_free struct hp_manifest_file *files = NULL, *chunks = NULL;
	hp_auto_free char *text = NULL;
	struct hp_manifest m = { .has_seed = true,
				 .seed = p->w.opt->seed,
				 .options = p->options,
				 .files = p->files,
				 .n_files = p->n_files };
	size_t len;
	int r;

	r = hp_manifest_of(src, index, p->w.report->dataset_id_sha256, &m, err);
	chunks = m.chunks;
	if (r == 0)
		r = hp_meta_pairs(p->w.opt, &m.meta, err);
	if (r == 0 && m.has_sha256)
		r = hp_sha256sums_write(p->w.io, p->target.dir, &m, &files,
					err);
	if (r == 0)
		r = hp_manifest_format(&m, &text, &len, err);
	if (r == 0)
		r = hp_sync_dir(p->w.io, p->target.dir, err);
	if (r == 0)
		r = hp_outfile_put(p->w.io, p->target.dir, HP_MANIFEST_NAME,
				   text, len, err);
	hp_pairs_release(&m.meta);
	return r;
}

static uint32_t flags_of(const struct hpdsl_pack_options *opt)
{
	return (opt->group == HPDSL_GROUP_NONE ? HP_INDEX_GROUP_NONE : 0) |
	       (opt->shuffle == HPDSL_SHUFFLE_NONE ? 0 : HP_INDEX_SHUFFLED);
}

int hp_write_index(struct hp_pack *p, struct hpdsl_error *err)
{
	struct hp_manifest_file file = { .name = HP_INDEX_NAME };
	struct source s = { .p = p };
	struct hp_index_source src = {
		.bytes = p->w.plan.bytes,
		.flags = flags_of(p->w.opt),
		.stored = hp_list_renamed(&p->w.list) > 0,
		.arg = &s,
		.begin = source_begin,
		.next = source_next,
	};
	int r;

	hp_index_of_list(&p->w.list, p->w.done, p->w.plan.n_chunks, &src);
	r = hp_list_id(&p->w.list, src.dataset_id,
		       p->w.report->dataset_id_sha256, err);
	memcpy(p->w.report->dataset_id, src.dataset_id, sizeof src.dataset_id);
	p->w.report->has_sha256 = file.has_sha256 = src.sha256;
	if (r == 0)
		r = name_chunks(p, err);
	if (r == 0)
		r = hp_index_save(&src, p->w.io, p->target.dir, &file.bytes,
				  file.checksum,
				  src.sha256 ? file.sha256 : NULL, err);
	p->w.report->index_bytes = file.bytes;
	return r < 0 ? r : write_manifest(p, &src, &file, err);
}
