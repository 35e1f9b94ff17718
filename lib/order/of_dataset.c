/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which an epoch wants the chunks of a dataset. */
#include "order/order.h"

#include "base/error.h"
#include "base/mem.h"
#include "hpdsl/dataset.h"

int hpdsl_order_first_use(const struct hpdsl_dataset *ds,
			  const struct hpdsl_order *order, uint32_t *ret,
			  struct hpdsl_error *err)
{
	hp_auto_free uint64_t *samples = NULL;
	struct hpdsl_counts counts;
	struct hpdsl_chunk chunk;

	hpdsl_count(ds, &counts);
	samples = hp_array(counts.chunks, sizeof *samples);
	if (!samples)
		return hp_fail_nomem(err);
	for (uint32_t c = 0; c < counts.chunks; c++) {
		int r = hpdsl_chunk_get(ds, c, &chunk, err);

		if (r < 0)
			return r;
		samples[c] = chunk.samples;
	}
	return hp_order_first_use(order, samples, (uint32_t)counts.chunks, ret,
				  err);
}
