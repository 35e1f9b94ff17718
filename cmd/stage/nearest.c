/* SPDX-License-Identifier: Apache-2.0 */
/* The nearest one in a ring that has something, found by doubling. */
#include "nearest.h"

uint32_t nearest_step(uint32_t reach, uint32_t members)
{
	return reach + 1 < members ? reach + 1 : 0;
}

void nearest_tell(const uint32_t *near, const bool *mine, uint32_t me, size_t n,
		  uint32_t *ret)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = mine[i] ? me : near[i];
}

/* What was known already is nearer. */
void nearest_hear(uint32_t *near, const uint32_t *heard, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (near[i] == NEAREST_NONE)
			near[i] = heard[i];
}
