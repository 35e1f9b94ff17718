/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side files of a pack, once its chunks are there: index files of other
 * readers, from the plan alone.
 */
#include "pack/pack.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "format/emit.h"
#include "format/names.h"
#include "sys/outfile.h"
#include "sys/pool.h"

#include <errno.h>
#include <string.h>

static bool wanted(const struct hp_pack *p, enum hp_side_file side)
{
	return (p->w.opt->emit & hp_side_emit(side)) != 0;
}

/* The row of the manifest of the first file of this kind. */
static uint64_t first_row(const struct hp_pack *p, enum hp_side_file side)
{
	uint64_t row = 0;

	for (enum hp_side_file k = 0; k < side; k++)
		if (wanted(p, k))
			row += hp_side_of_chunk(k) ? p->w.plan.n_chunks : 1;
	return row;
}

uint64_t hp_emit_bound(const struct hp_pack *p, uint64_t *ret_files)
{
	uint64_t bytes = 0;
	struct hp_tar_member m;

	*ret_files = first_row(p, HP_SIDES);
	for (enum hp_side_file side = 0; side < HP_SIDES; side++)
		if (wanted(p, side))
			bytes += 128 + 160 * (uint64_t)p->w.plan.n_chunks;
	if (wanted(p, HP_SIDE_ENERGON))
		bytes += 8 * p->w.plan.n_samples;
	for (uint64_t i = 0; wanted(p, HP_SIDE_DALI) && i < p->w.list.n_files;
	     i++) {
		hp_plan_header(&p->w.list, i, &m);
		bytes += 2 * m.path_len + 48;
	}
	return bytes;
}

struct emit {
	struct hp_pack *p;
	struct hp_emit_chunk *chunks;
};

/* Writes a file; its row is number i of the manifest's. */
static int put(struct hp_pack *p, int dir, uint64_t i, struct hp_text *t,
	       struct hpdsl_error *err)
{
	struct hp_manifest_file *row = &p->files[i];
	const char *slash = strchr(row->name, '/');
	struct hp_outfile f;
	int r;

	if (t->failed)
		return hp_fail_nomem(err);
	row->bytes = t->n;
	hp_hash128(t->p, t->n, row->checksum);
	row->has_sha256 = p->w.list.sha256 != NULL;
	r = row->has_sha256 ? hp_sha256(t->p, t->n, row->sha256, err) : 0;
	if (r < 0)
		return r;
	r = hp_outfile_open(&f, p->w.io, dir, slash ? slash + 1 : row->name, 0,
			    false, err);
	if (r < 0)
		return r;
	r = hp_outfile_pwrite(&f, t->p, t->n, 0, err);
	if (r == 0)
		r = hp_outfile_sync(&f, err);
	if (r == 0)
		r = hp_outfile_commit(&f, err);
	hp_outfile_abandon(&f);
	return r;
}

static int next_member(struct hp_plan_walk *w, uint64_t *sample,
		       struct hp_emit_member *ret, uint64_t *ret_end)
{
	const struct hp_list *list = w->plan->list;
	struct hp_tar_member m;
	struct hp_plan_place at;

	if (!hp_plan_walk_next(w, &at))
		return 0;
	hp_plan_header(list, at.file, &m);
	*ret = (struct hp_emit_member){ .name = m.path,
					.name_len = m.path_len,
					.header = at.header,
					.data = at.data,
					.size = m.size,
					.first = at.sample != *sample };
	*sample = at.sample;
	*ret_end = at.next;
	return 1;
}

static void walk(struct hp_plan_walk *w, const struct hp_plan *plan, uint32_t c)
{
	hp_plan_walk_chunk(w, plan, c);
}

static void format_dali(const struct hp_plan *plan, uint32_t c,
			struct hp_text *t)
{
	uint64_t sample = UINT64_MAX, end;
	struct hp_emit_member m;
	bool names = true;
	struct hp_plan_walk w;

	walk(&w, plan, c);
	while (names && next_member(&w, &sample, &m, &end))
		names = !hp_emit_dali_blank(m.name, m.name_len);
	hp_emit_dali_begin(
		t, hp_plan_first(plan, c + 1) - hp_plan_first(plan, c), names);
	walk(&w, plan, c);
	for (sample = UINT64_MAX; next_member(&w, &sample, &m, &end);)
		hp_emit_dali_member(t, &m, names);
	hp_emit_dali_end(t);
}

static void format_energon(const struct hp_plan *plan, uint32_t c,
			   struct hp_text *t)
{
	uint64_t sample = UINT64_MAX, end = 0;
	struct hp_emit_member m;
	struct hp_plan_walk w;

	walk(&w, plan, c);
	while (next_member(&w, &sample, &m, &end))
		hp_emit_energon_member(t, &m);
	hp_emit_energon_end(t, end);
}

/* A job of the pool: the files of one chunk. */
static int emit_chunk(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct emit *e = arg;
	struct hp_pack *p = e->p;
	uint32_t c = (uint32_t)number;
	int r = 0;

	for (enum hp_side_file side = 0; r == 0 && hp_side_of_chunk(side);
	     side++) {
		struct hp_text t = { 0 };

		if (!wanted(p, side))
			continue;
		if (side == HP_SIDE_DALI)
			format_dali(&p->w.plan, c, &t);
		else
			format_energon(&p->w.plan, c, &t);
		r = put(p, p->target.dir, first_row(p, side) + c, &t, err);
		hp_text_release(&t);
	}
	return r;
}

static void format_one(const struct emit *e, enum hp_side_file side,
		       struct hp_text *t)
{
	uint32_t n = e->p->w.plan.n_chunks;

	if (side == HP_SIDE_ENERGON_INFO)
		hp_emit_energon_info(t, e->chunks, n);
	else if (side == HP_SIDE_ENERGON_SPLIT)
		hp_emit_energon_split(t, e->chunks, n);
	else if (side == HP_SIDE_ENERGON_DATASET)
		hp_emit_energon_dataset(t);
	else
		hp_emit_wids(t, e->chunks, n);
}

static int open_folder(const struct hp_pack *p, struct hpdsl_error *err)
{
	int r = p->w.io->mkdir(p->w.io, p->target.dir, HP_SIDE_FOLDER, 0777);

	if (r == 0 || r == -EEXIST)
		r = p->w.io->open(p->w.io, p->target.dir, HP_SIDE_FOLDER,
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	return r < 0 ? hp_fail_errno(err, r, "%s", HP_SIDE_FOLDER) : r;
}

/* The files that there is one each of. */
static int emit_others(const struct emit *e, int folder,
		       struct hpdsl_error *err)
{
	struct hp_pack *p = e->p;
	int r = 0;

	for (enum hp_side_file k = HP_SIDE_ENERGON_INFO; r == 0 && k < HP_SIDES;
	     k++) {
		struct hp_text t = { 0 };

		if (!wanted(p, k))
			continue;
		format_one(e, k, &t);
		r = put(p, k == HP_SIDE_WIDS ? p->target.dir : folder,
			first_row(p, k), &t, err);
		hp_text_release(&t);
	}
	return r;
}

/* Names of all files, in the order of the manifest. */
static int name_files(struct hp_pack *p, struct hpdsl_error *err)
{
	size_t n = (size_t)first_row(p, HP_SIDES), i = 0;

	p->files = calloc(n, sizeof *p->files);
	p->file_names = calloc(n, HP_SIDE_NAME);
	if (!p->files || !p->file_names)
		return hp_fail_nomem(err);
	for (enum hp_side_file k = 0; k < HP_SIDES; k++) {
		size_t end = (size_t)first_row(p, k + 1);

		for (uint32_t c = 0; i < end; c++, i++) {
			char *name = p->file_names + i * HP_SIDE_NAME;

			hp_side_name(k, c, name);
			p->files[i].name = name;
		}
	}
	p->n_files = n;
	return 0;
}

static int describe_chunks(struct emit *e, struct hpdsl_error *err)
{
	const struct hp_pack *p = e->p;

	e->chunks = calloc(p->w.plan.n_chunks, sizeof *e->chunks);
	if (!e->chunks)
		return hp_fail_nomem(err);
	for (uint32_t c = 0; c < p->w.plan.n_chunks; c++) {
		struct hp_emit_chunk *x = &e->chunks[c];

		hp_chunk_name(c, x->name);
		x->samples = hp_plan_first(&p->w.plan, c + 1) -
			     hp_plan_first(&p->w.plan, c);
		x->bytes = hp_plan_chunk_bytes(&p->w.plan, c);
		memcpy(x->checksum, p->w.done[c].plain_checksum,
		       sizeof x->checksum);
	}
	return 0;
}

static int emit_all(struct emit *e, struct hpdsl_error *err)
{
	struct hp_pack *p = e->p;
	hp_auto_fd folder = { p->w.io, -1 };
	int r = name_files(p, err);

	if (r == 0)
		r = describe_chunks(e, err);
	if (r == 0)
		r = hp_pool_run(hp_threads(p->w.opt->threads),
				p->w.plan.n_chunks, emit_chunk, e, NULL, err);
	if (r == 0 && wanted(p, HP_SIDE_ENERGON_INFO))
		r = folder.fd = open_folder(p, err);
	if (r >= 0)
		r = emit_others(e, folder.fd, err);
	if (r == 0 && folder.fd >= 0)
		r = hp_sync_dir(p->w.io, folder.fd, err);
	return r == 0 ? hp_sync_dir(p->w.io, p->target.dir, err) : r;
}

int hp_emit_write(struct hp_pack *p, struct hpdsl_error *err)
{
	struct emit e = { .p = p };
	int r = p->w.opt->emit ? emit_all(&e, err) : 0;

	free(e.chunks);
	return r;
}
