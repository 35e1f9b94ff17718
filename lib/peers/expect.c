/* SPDX-License-Identifier: Apache-2.0 */
/* What fetching from each other can be expected to reach. */
#include "hpdsl/peers.h"

#include <stddef.h>

/*
 * A fluid simulation of links that fetches share equally: whole chunks, eight
 * under way a node; tests/unit/peers/test_all_to_all.c has it.
 */
static const struct {
	unsigned log2_nodes;
	double one, more; /* copies; of two the less loaded is asked */
} simulated[] = { { 4, 0.81, 0.92 }, { 6, 0.71, 0.91 } };

static double log2_of(uint32_t n)
{
	unsigned k = 31 - (unsigned)__builtin_clz(n);

	/* Between two powers on a straight line, too. */
	return k + ((double)n / (double)(UINT32_C(1) << k) - 1);
}

static double efficiency(size_t i, uint32_t copies)
{
	return copies > 1 ? simulated[i].more : simulated[i].one;
}

double hpdsl_peer_efficiency(uint32_t nodes, uint32_t copies)
{
	double x = log2_of(nodes ? nodes : 1), at;

	if (x <= simulated[0].log2_nodes)
		return efficiency(0, copies);
	if (x >= simulated[1].log2_nodes)
		return efficiency(1, copies);
	at = (x - simulated[0].log2_nodes) /
	     (simulated[1].log2_nodes - simulated[0].log2_nodes);
	return (1 - at) * efficiency(0, copies) + at * efficiency(1, copies);
}
