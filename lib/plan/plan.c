/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: how many chunks, which sample goes where, how large all that gets.
 * Depends on nothing but the list, the options and the seed.
 */
#include "plan/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/perm.h"
#include "format/names.h"

/* Chunks nobody asked for: about so many, of at least and at most so much. */
#define CHUNKS_USUAL 32768
#define CHUNK_SIZE_MIN (UINT64_C(64) << 20)
#define CHUNK_SIZE_MAX (UINT64_C(1) << 30)

/* ---- Walking ---------------------------------------------------------- */

void hp_plan_header(const struct hp_list *list, uint64_t file,
		    struct hp_tar_member *ret)
{
	const struct hp_file *f = &list->files[file];
	const char *name = hp_stored_name(list, file);

	*ret = (struct hp_tar_member){
		.path = name,
		.path_len = name == f->path ? f->path_len : strlen(name),
		.size = f->size,
		.mtime = f->mtime,
		.mode = f->mode & 0777,
	};
}

static uint64_t header_size(const struct hp_list *list, uint64_t file)
{
	struct hp_tar_member m;

	hp_plan_header(list, file, &m);
	return hp_tar_header_size(&m);
}

/* Points w at the files of the sample it is at. */
static void walk_enter(struct hp_plan_walk *w)
{
	const uint64_t *first = w->plan->list->samples;
	uint64_t s = hp_plan_sample(w->plan, w->sample);

	w->file = first[s];
	w->file_end = first[s + 1];
}

void hp_plan_walk_begin(struct hp_plan_walk *w, const struct hp_plan *plan,
			uint64_t first, uint64_t end)
{
	*w = (struct hp_plan_walk){ .plan = plan, .sample = first, .end = end };
	if (first < end)
		walk_enter(w);
}

void hp_plan_walk_chunk(struct hp_plan_walk *w, const struct hp_plan *plan,
			uint32_t c)
{
	hp_plan_walk_begin(w, plan, hp_plan_first(plan, c),
			   hp_plan_first(plan, c + 1));
}

int hp_plan_walk_next(struct hp_plan_walk *w, struct hp_plan_place *ret)
{
	const struct hp_list *list = w->plan->list;

	if (w->sample >= w->end)
		return 0;
	ret->file = w->file;
	ret->sample = w->sample;
	ret->header = w->offset;
	ret->data = ret->header + header_size(list, w->file);
	ret->next = ret->data + hp_tar_padded(list->files[w->file].size);
	w->offset = ret->next;
	if (++w->file == w->file_end && ++w->sample < w->end)
		walk_enter(w);
	return 1;
}

uint64_t hp_plan_members(const struct hp_plan *plan, uint32_t c)
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

static uint64_t chunk_bytes(const struct hp_plan *plan, uint32_t c)
{
	struct hp_plan_place at = { 0 };
	struct hp_plan_walk w;

	hp_plan_walk_chunk(&w, plan, c);
	while (hp_plan_walk_next(&w, &at) > 0)
		;
	return hp_tar_total(at.next);
}

/* ---- Making ----------------------------------------------------------- */

/*
 * Bytes of all contents, and of all members with headers and padding.  Neither
 * is above half of what 63 bits hold, so that no sum over parts of them, ends
 * of chunks included, overflows later.
 */
static int add_up(const struct hp_list *list, uint64_t *ret_bytes,
		  uint64_t *ret_members, struct hpdsl_error *err)
{
	const uint64_t limit = INT64_MAX / 2;
	uint64_t bytes = 0, members = 0;

	for (uint64_t i = 0; i < list->n_files; i++) {
		const struct hp_file *f = &list->files[i];

		if (f->size > limit)
			return hp_fail(err, -EFBIG, "the input is too large");
		bytes += f->size;
		members += header_size(list, i) + hp_tar_padded(f->size);
		if (members > limit)
			return hp_fail(err, -EFBIG, "the input is too large");
	}
	*ret_bytes = bytes;
	*ret_members = members;
	return 0;
}

static uint64_t round_div(uint64_t a, uint64_t b)
{
	return a / b + (a % b >= b - b / 2);
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return a / b + (a % b > 0);
}

static uint64_t automatic_size(uint64_t members)
{
	uint64_t size = members / CHUNKS_USUAL;

	if (size < CHUNK_SIZE_MIN)
		return CHUNK_SIZE_MIN;
	return size < CHUNK_SIZE_MAX ? size : CHUNK_SIZE_MAX;
}

/* The number of chunks nobody asked for: by the mean size wanted. */
static uint64_t automatic_chunks(uint64_t members, uint64_t n_samples,
				 uint64_t chunk_size)
{
	uint64_t c = round_div(members, chunk_size ? chunk_size :
						     automatic_size(members));

	if (c > HP_CHUNKS_MAX)
		c = HP_CHUNKS_MAX;
	if (c > n_samples)
		c = n_samples;
	return c ? c : 1;
}

static int count_chunks(const struct hpdsl_pack_options *opt, uint64_t members,
			uint64_t n, uint32_t *ret, struct hpdsl_error *err)
{
	uint64_t c, multiple = opt->multiple_of ? opt->multiple_of : 1;

	if (opt->chunks)
		c = opt->chunks;
	else if (opt->samples_per_chunk)
		c = ceil_div(n, opt->samples_per_chunk);
	else
		c = automatic_chunks(members, n, opt->chunk_size);
	if (__builtin_mul_overflow(ceil_div(c, multiple), multiple, &c))
		c = UINT64_MAX;
	if (c > n)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%" PRIu64 " sample%s cannot fill %" PRIu64
			       " chunks",
			       n, n == 1 ? "" : "s", c);
	if (c > HP_CHUNKS_MAX)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%" PRIu64 " chunks are more than %d", c,
			       HP_CHUNKS_MAX);
	*ret = (uint32_t)c;
	return 0;
}

static int check_options(const struct hp_list *list,
			 const struct hpdsl_pack_options *opt,
			 struct hpdsl_error *err)
{
	int ways = !!opt->chunk_size + !!opt->chunks + !!opt->samples_per_chunk;

	if (ways > 1)
		return hp_fail(err, HPDSL_EUSAGE,
			       "only one of chunk size, number of chunks and "
			       "samples per chunk can be given");
	if (list->n_samples == 0)
		return hp_fail(err, HPDSL_EUSAGE, "no samples");
	return 0;
}

static int make_order(struct hp_plan *plan, uint64_t seed,
		      struct hpdsl_error *err)
{
	struct hp_perm perm;

	plan->order = hp_array(plan->n_samples, sizeof *plan->order);
	if (!plan->order)
		return hp_fail_nomem(err);
	hp_perm_init(&perm, plan->n_samples,
		     hp_perm_key(seed, "pack", NULL, 0));
	hp_perm_range(&perm, 0, (size_t)plan->n_samples, plan->order);
	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The sizes of the chunks: each, in all, and how they spread. */
static int measure(struct hp_plan *plan, struct hpdsl_error *err)
{
	uint32_t n = plan->n_chunks;
	hp_auto_free uint64_t *sorted = hp_array(n, sizeof *sorted);

	plan->sizes = hp_array(n, sizeof *plan->sizes);
	if (!sorted || !plan->sizes)
		return hp_fail_nomem(err);
	for (uint32_t c = 0; c < n; c++) {
		plan->sizes[c] = chunk_bytes(plan, c);
		plan->tar_bytes += plan->sizes[c];
	}
	memcpy(sorted, plan->sizes, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, compare_u64);
	plan->chunk_min = sorted[0];
	plan->chunk_median = sorted[n / 2];
	plan->chunk_max = sorted[n - 1];
	return 0;
}

int hp_plan_make(struct hp_plan *plan, const struct hp_list *list,
		 const struct hpdsl_pack_options *opt, struct hpdsl_error *err)
{
	struct hp_plan p = { .list = list, .n_samples = list->n_samples };
	uint64_t members = 0;
	int rc = check_options(list, opt, err);

	if (rc == 0)
		rc = add_up(list, &p.bytes, &members, err);
	if (rc == 0)
		rc = count_chunks(opt, members, p.n_samples, &p.n_chunks, err);
	if (rc == 0 && opt->shuffle == HPDSL_SHUFFLE_GLOBAL)
		rc = make_order(&p, opt->seed, err);
	if (rc == 0)
		rc = measure(&p, err);
	if (rc == 0)
		*plan = p;
	else
		hp_plan_release(&p);
	return rc;
}

void hp_plan_release(struct hp_plan *plan)
{
	free(plan->order);
	free(plan->sizes);
	memset(plan, 0, sizeof *plan);
}
