/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk file compared with the plan, and hashed, in one pass. */
#include "write/chunk_sums.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "dataset/pass.h"
#include "format/names.h"

#include <errno.h>
#include <string.h>

struct reading {
	struct hp_pass pass;
	struct hp_content_state content;
	const struct hp_pack *pack;
	struct hp_chunk_sums *sums;
	/* With the list's: of the file, of the content at hand. */
	struct hp_sha256 *of_file, *of_content;
};

/* HPDSL_ECORRUPT, or the code of a read that failed. */
static int need(struct hp_pass *p, size_t n)
{
	int r = hp_pass_need(p, n);

	return r < 0 ? r : p->have < n ? HPDSL_ECORRUPT : 0;
}

/* Goes over padding: it counts in the checksum of the chunk. */
static int skip_zeros(struct hp_pass *p, uint64_t n)
{
	while (n) {
		int r = need(p, 1);
		size_t k = n < p->have ? (size_t)n : p->have;

		if (r < 0)
			return r;
		if (p->at[0] || memcmp(p->at, p->at + 1, k - 1) != 0)
			return HPDSL_ECORRUPT;
		hp_pass_take(p, k);
		n -= k;
	}
	return 0;
}

static int check_header(struct reading *k, uint64_t file)
{
	uint8_t header[HP_TAR_HEADER_MAX];
	struct hp_tar_member m;
	size_t n;
	int r;

	hp_plan_header(&k->pack->list, file, &m);
	n = hp_tar_header_write(&m, header);
	r = need(&k->pass, n);
	if (r == 0 && memcmp(k->pass.at, header, n) != 0)
		r = HPDSL_ECORRUPT;
	if (r == 0)
		hp_pass_take(&k->pass, n);
	return r;
}

static int take_content(struct reading *k, uint64_t left,
			struct hp_content_hash *ret)
{
	hp_content_begin_sha256(&k->content, k->of_content);
	while (left) {
		size_t n;
		int r = need(&k->pass, 1);

		if (r < 0)
			return r;
		n = left < k->pass.have ? (size_t)left : k->pass.have;
		hp_content_update(&k->content, k->pass.at, n);
		hp_pass_take(&k->pass, n);
		left -= n;
	}
	hp_content_end(&k->content, ret);
	return 0;
}

static void walk_chunk(struct hp_plan_walk *w, const struct hp_plan *plan,
		       uint32_t c)
{
	hp_plan_walk_begin(w, plan, hp_plan_first(plan, c),
			   hp_plan_first(plan, c + 1));
}

static int check_members(struct reading *k, uint32_t c)
{
	const struct hp_plan *plan = &k->pack->plan;
	struct hp_pass *pass = &k->pass;
	struct hp_plan_place place;
	struct hp_plan_walk w;
	uint64_t i = 0;
	int r = 0;

	walk_chunk(&w, plan, c);
	while (r == 0 && hp_plan_walk_next(&w, &place)) {
		uint64_t size = plan->list->files[place.file].size;

		r = check_header(k, place.file);
		if (r == 0)
			r = take_content(k, size, &k->sums->hashes[i++]);
		if (r == 0)
			r = skip_zeros(pass, place.next - pass->offset);
	}
	return r < 0 ? r :
		       skip_zeros(pass,
				  hp_plan_chunk_bytes(plan, c) - pass->offset);
}

static uint64_t count_members(const struct hp_plan *plan, uint32_t c)
{
	const uint64_t *first = plan->list->samples;
	uint64_t n = 0;

	for (uint64_t s = hp_plan_first(plan, c);
	     s < hp_plan_first(plan, c + 1); s++) {
		uint64_t l = hp_plan_sample(plan, s);

		n += first[l + 1] - first[l];
	}
	return n;
}

static int open_chunk(struct reading *k, uint32_t c, const char *name,
		      struct hpdsl_error *err)
{
	const struct hp_pack *p = k->pack;
	int r;

	if (hp_chunk_name_is_zst(name))
		return hp_pass_begin_zst(&k->pass, p->io, p->target.dir, name,
					 NULL, NULL, err);
	r = hp_pass_begin(&k->pass, p->io, p->target.dir, name, err);
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
	if (r == 0 && k->pass.zst)
		r = hp_pass_frames(&k->pass, &sums->frames, &sums->n_frames);
	if (r == HPDSL_ECORRUPT)
		return hp_fail(err, r, "%s: is not what was written", name);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	sums->bytes = k->pass.read;
	hp_pass_stored_digest(&k->pass, sums->digest);
	hp_pass_digest(&k->pass, sums->plain_digest);
	if (k->of_file)
		hp_sha256_end(k->of_file, sums->sha256);
	r = hp_sha256_check(k->of_file, err);
	return r < 0 ? r : hp_sha256_check(k->of_content, err);
}

int hp_chunk_sums_take(const struct hp_pack *p, uint32_t c, const char *name,
		       struct hp_chunk_sums *ret, struct hpdsl_error *err)
{
	struct hp_chunk_sums sums = { .n = count_members(&p->plan, c) };
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
	k->pack = p;
	k->sums = &sums;
	k->of_file = of_file;
	k->of_content = of_content;
	r = read_chunk(k, c, name, err);
	hp_pass_end(&k->pass);
	if (r == 0)
		*ret = sums;
	else
		hp_chunk_sums_release(&sums);
	return r;
}

void hp_chunk_sums_keep(const struct hp_chunk_sums *sums, struct hp_pack *p,
			uint32_t c)
{
	struct hp_plan_place place;
	struct hp_plan_walk w;

	walk_chunk(&w, &p->plan, c);
	for (uint64_t i = 0; hp_plan_walk_next(&w, &place); i++) {
		struct hp_file *f = &p->list.files[place.file];

		f->low64 = sums->hashes[i].low64;
		memcpy(f->full, sums->hashes[i].full, sizeof f->full);
		hp_list_set_sha256(&p->list, f, sums->hashes[i].sha256);
	}
	if (!p->done[c].compressed)
		memcpy(p->done[c].sha256, sums->sha256, sizeof sums->sha256);
}

void hp_chunk_sums_release(struct hp_chunk_sums *sums)
{
	free(sums->hashes);
	free(sums->frames);
	sums->hashes = NULL;
	sums->frames = NULL;
}
