/* SPDX-License-Identifier: Apache-2.0 */
#include "peers/holders.h"

/*
 * Node n has the parts floor(n D / N) to ceil((n + 1) D / N) - 1.  So part p is
 * on the first n for which (n + 1) D / N is more than p, and on the last n for
 * which n D / N is less than p + 1.
 */
void hp_holders(const struct hp_book_head *b, uint32_t chunk,
		uint32_t *ret_first, uint32_t *ret_last)
{
	const uint64_t part = chunk % b->parts;

	*ret_first = (uint32_t)(part * b->nodes / b->parts);
	*ret_last =
		(uint32_t)(((part + 1) * b->nodes + b->parts - 1) / b->parts -
			   1);
}

void hp_holds(const struct hp_book_head *b, uint32_t node, uint32_t *ret_first,
	      uint32_t *ret_last)
{
	const uint64_t n = node;

	*ret_first = (uint32_t)(n * b->parts / b->nodes);
	*ret_last =
		(uint32_t)(((n + 1) * b->parts + b->nodes - 1) / b->nodes - 1);
}
