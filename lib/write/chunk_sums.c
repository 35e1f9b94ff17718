/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk file compared with the plan, and hashed, in one pass. */
#include "write/chunk_sums.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "dataset/chunk_walk.h"
#include "format/names.h"

#include <errno.h>
#include <string.h>

struct reading {
	struct hp_pass pass;
	struct hp_chunk_walk walk;
	const struct hp_writing *w;
	struct hp_chunk_sums *sums;
	struct hp_sha256 *of_file; /* with the list's */
};

static int fill(void *arg, size_t n, struct hpdsl_error *err)
{
	struct reading *k = arg;

	(void)err;
	return hp_pass_need(&k->pass, n);
}

/* Why, nobody asks. */
static int is_another(void *arg, struct hpdsl_error *err)
{
	(void)arg;
	(void)err;
	return HPDSL_ECORRUPT;
}

static const struct hp_chunk_walk_ops ops = { fill, is_another, is_another };

static int check_header(struct reading *k, uint64_t file)
{
	uint8_t header[HP_TAR_HEADER_MAX];
	struct hp_tar_member m;
	bool same;
	size_t n;
	int r;

	hp_plan_header(&k->w->list, file, &m);
	n = hp_tar_header_write(&m, header);
	r = hp_chunk_walk_same(&k->walk, header, n, &same, NULL);
	return r == 0 && !same ? HPDSL_ECORRUPT : r;
}

static int check_members(struct reading *k, uint32_t c)
{
	const struct hp_plan *plan = &k->w->plan;
	struct hp_chunk_walk *walk = &k->walk;
	struct hp_plan_place place;
	struct hp_plan_walk w;
	uint64_t i = 0;
	int r = 0;

	hp_plan_walk_chunk(&w, plan, c);
	while (r == 0 && hp_plan_walk_next(&w, &place)) {
		uint64_t size = plan->list->files[place.file].size;

		r = check_header(k, place.file);
		if (r == 0)
			r = hp_chunk_walk_content(walk, size,
						  &k->sums->hashes[i++], NULL);
		if (r == 0)
			r = hp_chunk_walk_zeros(
				walk, place.next - k->pass.offset, NULL, NULL);
	}
	if (r < 0)
		return r;
	return hp_chunk_walk_zeros(
		walk, hp_plan_chunk_bytes(plan, c) - k->pass.offset, NULL,
		NULL);
}

static int open_chunk(struct reading *k, uint32_t c, const char *name,
		      struct hpdsl_error *err)
{
	const struct hp_writing *p = k->w;
	int r;

	if (hp_chunk_name_is_zst(name))
		return hp_pass_begin_zst(&k->pass, p->io, p->dir, name, NULL,
					 NULL, err);
	r = hp_pass_begin(&k->pass, p->io, p->dir, name, err);
	if (r == 0 && k->pass.size != hp_plan_chunk_bytes(&p->plan, c))
		r = hp_fail(err, HPDSL_ECORRUPT, "%s: is not what was written",
			    name);
	return r;
}

/* Nothing may be left; of a compressed chunk the seek table is checked. */
static int check_end(struct reading *k)
{
	int r = k->pass.zst ? hp_pass_need(&k->pass, 1) : 0;

	return r == 0 && k->pass.have ? HPDSL_ECORRUPT : r;
}

static int read_chunk(struct reading *k, uint32_t c, const char *name,
		      struct hpdsl_error *err)
{
	struct hp_chunk_sums *sums = k->sums;
	int r = open_chunk(k, c, name, err);

	if (r < 0)
		return r;
	k->pass.sha256 = k->of_file;
	if (k->of_file)
		hp_sha256_begin(k->of_file);
	r = check_members(k, c);
	if (r == 0)
		r = check_end(k);
	if (r == 0)
		r = hp_pass_made(&k->pass, &sums->made);
	if (r == HPDSL_ECORRUPT)
		return hp_fail(err, r, "%s: is not what was written", name);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	if (k->of_file)
		hp_sha256_end(k->of_file, sums->made.sha256);
	r = hp_sha256_check(k->of_file, err);
	return r < 0 ? r : hp_sha256_check(k->walk.sha256, err);
}

int hp_chunk_sums_take(const struct hp_writing *p, uint32_t c, const char *name,
		       struct hp_chunk_sums *ret, struct hpdsl_error *err)
{
	struct hp_chunk_sums sums = { .n = hp_plan_members(&p->plan, c) };
	hp_auto_free struct reading *k = hp_aligned(sizeof *k);
	hp_auto_sha256 struct hp_sha256 *of_file = NULL, *of_content = NULL;
	bool sha256 = p->list.sha256 != NULL;
	int r;

	sums.hashes = hp_array(sums.n, sizeof *sums.hashes);
	if (sha256) {
		of_file = hp_sha256_new();
		of_content = hp_sha256_new();
	}
	if (!k || !sums.hashes || (sha256 && (!of_file || !of_content))) {
		hp_chunk_sums_release(&sums);
		return hp_fail_nomem(err);
	}
	hp_pass_init(&k->pass);
	k->w = p;
	k->sums = &sums;
	k->of_file = of_file;
	hp_chunk_walk_begin(&k->walk, &k->pass, &ops, k);
	k->walk.sha256 = of_content;
	r = read_chunk(k, c, name, err);
	hp_pass_end(&k->pass);
	if (r == 0)
		*ret = sums;
	else
		hp_chunk_sums_release(&sums);
	return r;
}

void hp_chunk_sums_keep(struct hp_chunk_sums *sums, struct hp_writing *p,
			uint32_t c)
{
	struct hp_plan_place place;
	struct hp_plan_walk w;

	hp_plan_walk_chunk(&w, &p->plan, c);
	for (uint64_t i = 0; hp_plan_walk_next(&w, &place); i++)
		hp_list_set_hash(&p->list, &p->list.files[place.file],
				 &sums->hashes[i]);
	p->done[c] = sums->made;
	p->done[c].done = true;
	sums->made.frames = NULL;
}

void hp_chunk_sums_release(struct hp_chunk_sums *sums)
{
	free(sums->hashes);
	free(sums->made.frames);
	sums->hashes = NULL;
	sums->made.frames = NULL;
}
