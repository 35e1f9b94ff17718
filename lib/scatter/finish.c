/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scattered chunk that has all its members: synced, read back, noted in the
 * journal, named.
 */
#include "scatter/private.h"

#include "base/error.h"
#include "format/names.h"
#include "sys/pool.h"
#include "write/chunk_sums.h"

#include <string.h>

/* Threads that mostly wait for the disk. */
enum { EXTRA = 2 };

/* What was read back must be what was put there. */
static int compare_hashes(const struct hp_scatter *s, uint32_t c,
			  const struct hp_chunk_sums *sums,
			  struct hpdsl_error *err)
{
	const struct hp_plan *plan = &s->w->plan;
	char name[HP_CHUNK_NAME], path[HP_PRINTABLE];
	struct hp_plan_place place;
	struct hp_plan_walk w;

	hp_plan_walk_chunk(&w, plan, c);
	for (uint64_t i = 0; hp_plan_walk_next(&w, &place); i++) {
		const struct hp_file *f = &plan->list->files[place.file];

		if (f->low64 == sums->hashes[i].low64)
			continue;
		hp_chunk_name(c, name);
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: member '%s' is not what was written", name,
			       hp_printable(f->path, f->path_len, path));
	}
	return 0;
}

/* The file is complete, and right: it gets its name. */
static int name_chunk(struct hp_scatter *s, uint32_t c, struct hp_outfile *f,
		      struct hp_chunk_sums *sums, struct hpdsl_error *err)
{
	int r = hp_journal_add_made(s->w->journal, c, &sums->made, err);

	if (r == 0)
		r = hp_outfile_commit(f, err);
	if (r < 0)
		return r;
	hp_chunk_sums_keep(sums, s->w, c);
	return 0;
}

static int finish_file(struct hp_scatter *s, uint32_t c, struct hp_outfile *f,
		       struct hpdsl_error *err)
{
	struct hp_chunk_sums sums;
	int r = hp_outfile_sync(f, err);

	if (r == 0)
		r = hp_chunk_sums_take(s->w, c, f->temp, &sums, err);
	if (r < 0)
		return r;
	r = compare_hashes(s, c, &sums, err);
	if (r == 0)
		r = name_chunk(s, c, f, &sums, err);
	hp_chunk_sums_release(&sums);
	return r;
}

static int finish_one(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct hp_scatter *s = arg;
	uint32_t c = s->chunks[number];
	struct hp_outfile f;
	int r = hp_parts_take(&s->parts, c, &f, err);

	if (r < 0)
		return r;
	r = finish_file(s, c, &f, err);
	if (r == 0)
		hp_meter_add(&s->meter, hp_plan_chunk_bytes(&s->w->plan, c));
	/* Of a file that is not right nothing is to be used. */
	hp_outfile_abandon(&f);
	return r;
}

int hp_scatter_finish(struct hp_scatter *s, struct hpdsl_error *err)
{
	uint32_t threads = hp_threads(s->w->opt->threads);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < s->n_chunks; i++)
		bytes += hp_plan_chunk_bytes(&s->w->plan, s->chunks[i]);
	hp_meter_phase(&s->meter, "checking", bytes, true);
	if (threads != HPDSL_SERIAL)
		threads += EXTRA;
	return hp_pool_run(threads, s->n_chunks, finish_one, s,
			   s->w->opt->watch.stop, err);
}
