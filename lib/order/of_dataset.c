/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of datasets: what is not said of one, and which chunks it wants first.
 */
#include "order/first_use.h"
#include "order/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"

#include <inttypes.h>

static uint32_t of(uint32_t n)
{
	return n ? n : 1;
}

/* Of the chosen samples, each once; bytes by the mean of all. */
static int look(const struct hpdsl_dataset *ds,
		const struct hpdsl_order_start *start, struct hp_seq_set *ret,
		struct hpdsl_error *err)
{
	unsigned __int128 bytes = 0;
	struct hpdsl_counts n;
	struct hpdsl_chunk chunk;

	hpdsl_count(ds, &n);
	if (start->choice && start->choice->n != n.samples)
		return hp_fail(err, HPDSL_EUSAGE,
			       "the choice is of another dataset: of %" PRIu64
			       " samples, and not %" PRIu64,
			       start->choice->n, n.samples);
	if (!n.samples)
		return hp_fail(err, HPDSL_EUSAGE,
			       "an order of no samples: there are none");
	for (uint32_t c = 0; c < n.chunks; c++) {
		int r = hpdsl_chunk_get(ds, c, &chunk, err);

		if (r < 0)
			return r;
		bytes += chunk.plain_bytes;
	}
	ret->samples = start->choice ? start->choice->chosen : n.samples;
	bytes = bytes * ret->samples / n.samples;
	ret->bytes = bytes > INT64_MAX ? INT64_MAX : (uint64_t)bytes;
	if (!ret->bytes)
		ret->bytes = 1;
	ret->chunks = (uint32_t)n.chunks;
	ret->shuffled = n.shuffled;
	return 0;
}

/* The batch that is given, or what a rank is to have, or the usual one. */
static int batch_size(const struct hpdsl_order_start *start,
		      const struct hpdsl_order *order, struct hp_seq_set *set,
		      struct hpdsl_error *err)
{
	uint32_t size = start->batch_size, ranks = of(start->ranks);
	uint64_t most = ((uint64_t)order->batch + ranks - 1) / ranks;

	set->ranks = ranks;
	set->workers = of(start->workers);
	set->batch_size = size ? size : HPDSL_BATCH_SIZE;
	if (!order->batch)
		return 0;
	/* Of ranks that are uneven it is the most that one of them has. */
	if (size && size != most)
		return hp_fail(err, HPDSL_EUSAGE,
			       "a batch of %" PRIu32 " is not %" PRIu32
			       " samples on each of %" PRIu32 " ranks",
			       order->batch, size, ranks);
	set->batch_size = (uint32_t)most;
	return 0;
}

int hpdsl_order_fill(const struct hpdsl_dataset *ds,
		     const struct hpdsl_order_start *start,
		     struct hpdsl_order *order, struct hpdsl_error *err)
{
	static const struct hpdsl_order_start alone;
	struct hp_seq_order o = {
		.batch = order->batch,
		.lanes = order->lanes,
		.piece = order->piece,
		.windows = order->windows,
		.parts = order->parts,
		.plain = order->plain,
	};
	struct hp_seq_set set;
	int r;

	if (!start)
		start = &alone;
	r = look(ds, start, &set, err);
	if (r == 0)
		r = batch_size(start, order, &set, err);
	if (r == 0)
		r = hp_seq_fill(&set, &o, err);
	if (r < 0)
		return r;
	order->batch = o.batch;
	order->lanes = o.lanes;
	order->piece = o.piece;
	order->windows = o.windows;
	order->parts = o.parts;
	return 0;
}

int hpdsl_order_first_use(const struct hpdsl_dataset *ds,
			  const struct hpdsl_order *order, uint32_t *ret,
			  struct hpdsl_error *err)
{
	struct hpdsl_epoch *e;
	int r = hpdsl_epoch_new(ds, NULL, order, &e, err);

	if (r < 0)
		return r;
	r = hp_seq_first_use(e->seq, &e->lists, order->step, ret, err);
	hpdsl_epoch_free(e);
	return r;
}
