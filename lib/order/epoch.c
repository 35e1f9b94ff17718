/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs: made of a dataset's chunks, and asked for samples and positions. */
#include "order/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "format/names.h"

#include <errno.h>
#include <inttypes.h>

static int make_sequence(struct hpdsl_epoch *e, struct hpdsl_error *err)
{
	const struct hp_seq_order o = {
		.seed = e->o.seed,
		.epoch = e->o.epoch,
		.batch = e->o.batch,
		.lanes = e->o.lanes,
		.piece = e->o.piece,
		.windows = e->o.windows,
		.parts = e->o.parts,
		.plain = e->o.plain,
	};

	return hp_seq_new(&o, e->lists.v, e->lists.n, &e->seq, err);
}

int hp_epoch_make(const struct hpdsl_order *o, const uint64_t *first,
		  uint32_t n, const struct hpdsl_choice *choice,
		  struct hpdsl_epoch **ret, struct hpdsl_error *err)
{
	struct hpdsl_epoch *e;
	int r;

	if (o->lanes > UINT32_MAX)
		return hp_fail(err, HPDSL_EUSAGE,
			       "order: %" PRIu64 " lanes are too many: they "
			       "have to be below 2^32",
			       o->lanes);
	e = calloc(1, sizeof *e);
	if (!e)
		return hp_fail_nomem(err);
	e->o = *o;
	r = hp_lists_init(&e->lists, first, n, choice, o->seed, o->epoch, err);
	if (r == 0)
		r = make_sequence(e, err);
	if (r < 0) {
		hpdsl_epoch_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

int hp_epoch_chunks(const struct hpdsl_dataset *ds, uint64_t **ret_first,
		    uint32_t *ret_n, struct hpdsl_error *err)
{
	hp_auto_free uint64_t *first = NULL;
	struct hpdsl_counts counts;
	struct hpdsl_chunk chunk;

	hpdsl_count(ds, &counts);
	first = hp_array(counts.chunks + 1, sizeof *first);
	if (!first)
		return hp_fail_nomem(err);
	for (uint32_t c = 0; c < counts.chunks; c++) {
		int r = hpdsl_chunk_get(ds, c, &chunk, err);

		if (r < 0)
			return r;
		first[c] = chunk.first_sample;
	}
	first[counts.chunks] = counts.samples;
	if (first[0] != 0)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s/%s: sample 0 is in no chunk", ds->path,
			       HP_INDEX_NAME);
	*ret_n = (uint32_t)counts.chunks;
	*ret_first = hp_take(first);
	return 0;
}

int hpdsl_epoch_new(const struct hpdsl_dataset *ds,
		    const struct hpdsl_choice *choice,
		    const struct hpdsl_order *order, struct hpdsl_epoch **ret,
		    struct hpdsl_error *err)
{
	hp_auto_free uint64_t *first = NULL;
	uint32_t n;
	int r = hp_epoch_chunks(ds, &first, &n, err);

	return r < 0 ? r : hp_epoch_make(order, first, n, choice, ret, err);
}

void hpdsl_epoch_free(struct hpdsl_epoch *e)
{
	if (!e)
		return;
	hp_seq_free(e->seq);
	hp_lists_release(&e->lists);
	free(e);
}

void hpdsl_epoch_info(const struct hpdsl_epoch *e, struct hpdsl_epoch_info *ret)
{
	uint64_t chunks = 0;

	for (size_t i = 0; i < e->lists.n; i++)
		chunks += !i || e->lists.v[i].chunk != e->lists.v[i - 1].chunk;
	*ret = (struct hpdsl_epoch_info){
		.order = e->o,
		.samples = hp_seq_deal(e->seq)->samples,
		.chunks = chunks,
	};
}

/* ---- Positions -------------------------------------------------------- */

int hpdsl_epoch_at(const struct hpdsl_epoch *e, uint64_t position,
		   uint64_t *ret_sample, struct hpdsl_error *err)
{
	uint64_t n = hp_seq_deal(e->seq)->samples;
	struct hp_seq_memo memo;
	struct hp_seq_spot at;

	if (position >= n)
		return hp_fail(err, -ERANGE,
			       "no position %" PRIu64
			       ", the epoch has %" PRIu64,
			       position, n);
	hp_seq_memo_init(&memo);
	at = hp_seq_at(e->seq, &memo, position);
	hp_lists_samples(&e->lists, at.list, at.index, 1, ret_sample);
	return 0;
}

int hpdsl_epoch_where(const struct hpdsl_epoch *e, uint64_t sample,
		      uint64_t nth, uint64_t *ret_position,
		      struct hpdsl_error *err)
{
	struct hp_seq_memo memo;
	struct hp_seq_spot at;
	int r = hp_lists_find(&e->lists, sample, nth, &at);

	if (r == -ERANGE)
		return hp_fail(err, r,
			       "no sample %" PRIu64 ", there are %" PRIu64,
			       sample, e->lists.first[e->lists.n_chunks]);
	if (r < 0)
		return hp_fail(err, r,
			       "sample %" PRIu64 " does not come %" PRIu64
			       " times in the epoch",
			       sample, nth + 1);
	hp_seq_memo_init(&memo);
	*ret_position = hp_seq_where(e->seq, &memo, at);
	return 0;
}

/* ---- For who reads ---------------------------------------------------- */

const struct hp_seq *hp_epoch_seq(const struct hpdsl_epoch *e)
{
	return e->seq;
}

const struct hpdsl_choice *hp_epoch_choice(const struct hpdsl_epoch *e)
{
	return e->lists.draw.choice;
}

uint64_t hp_epoch_longest(const struct hpdsl_epoch *e)
{
	uint64_t most = 0;

	for (size_t i = 0; i < e->lists.n; i++)
		if (e->lists.v[i].samples > most)
			most = e->lists.v[i].samples;
	return most;
}

uint32_t hp_epoch_list_chunk(const struct hpdsl_epoch *e, uint32_t list)
{
	return e->lists.v[list].chunk;
}

void hp_epoch_list_samples(const struct hpdsl_epoch *e, uint32_t list,
			   uint64_t index, uint64_t n, uint64_t *ret)
{
	hp_lists_samples(&e->lists, list, index, n, ret);
}

int hp_epoch_mixing(const struct hpdsl_epoch *e, uint64_t first, uint64_t steps,
		    struct hp_mixing *ret, struct hpdsl_error *err)
{
	return hp_seq_mixing(e->seq, &e->lists, first, steps, ret, err);
}
