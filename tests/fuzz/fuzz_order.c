/* SPDX-License-Identifier: Apache-2.0 */
/* A loader's state and a stager's report, which other programs may write. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t pack[16];
	static const uint64_t samples[] = { 3, 0, 70, 5, 5, 100, 1 };
	enum { CHUNKS = sizeof samples / sizeof *samples };
	const char *text = (const char *)data;
	uint32_t use[CHUNKS], seen = 0;
	struct hpdsl_stage_rates rates;
	struct hpdsl_error err;
	struct hpdsl_order o;

	(void)hpdsl_stage_rates_parse(text, size, "report", &rates, &err);
	if (hpdsl_order_parse(text, size, "state", pack, &o, &err) < 0)
		return 0;
	/* what was taken for a state gives an order of all chunks */
	if (hp_order_first_use(&o, samples, CHUNKS, use, &err) < 0)
		abort();
	for (int i = 0; i < CHUNKS; i++)
		seen |= 1u << use[i];
	if (seen != (1u << CHUNKS) - 1)
		abort();
	return 0;
}
