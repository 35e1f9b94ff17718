/* SPDX-License-Identifier: Apache-2.0 */
#include "dataset/member_behind.h"

int hp_member_behind(const struct hp_index *ix, const struct hpdsl_chunk *c,
		     uint64_t offset, uint64_t *ret, struct hpdsl_error *err)
{
	uint64_t low = c->first_member, high = low + c->members;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		struct hpdsl_member m;
		int r = hp_index_place(ix, mid, &m, err);

		if (r < 0)
			return r;
		if (m.offset + m.size <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = low;
	return 0;
}
