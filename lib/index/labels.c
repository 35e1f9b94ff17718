/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of many samples at a time: for those who draw, count or weigh by class
 * and have no use for keys and members.
 */
#include "index/private.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>

int hp_index_labels(const struct hp_index *ix, uint64_t first, uint64_t n,
		    uint32_t *ret, struct hpdsl_error *err)
{
	uint64_t all = ix->count.samples;
	struct hp_sample_row row;
	int r;

	if (first > all || n > all - first)
		return hp_fail(err, -ERANGE,
			       "%s: no samples %" PRIu64 " to %" PRIu64
			       ", there are %" PRIu64,
			       ix->name, first, first + n - 1, all);
	for (uint64_t i = 0; i < n; i++) {
		r = hp_index_sample_row(ix, first + i, &row, err);
		if (r < 0)
			return r;
		ret[i] = row.label;
	}
	return 0;
}
