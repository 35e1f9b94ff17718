/* SPDX-License-Identifier: Apache-2.0 */
/* A loader's state and a stager's report, which other programs may write. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hpdsl.h"
#include "order/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read is written so that it is read again as the same. */
static void check_format(const struct hpdsl_state *s)
{
	char text[HPDSL_STATE_MAX], again[HPDSL_STATE_MAX];
	struct hpdsl_state t;
	struct hpdsl_error err;
	size_t n = hpdsl_state_format(s, text);

	if (n >= sizeof text || strlen(text) != n ||
	    hpdsl_state_parse(text, n, "text", &t, &err) < 0 ||
	    hpdsl_state_format(&t, again) != n || strcmp(text, again) != 0 ||
	    t.order.step != s->order.step || t.end != s->end ||
	    t.has_choice != s->has_choice ||
	    memcmp(t.pack, s->pack, sizeof t.pack) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t samples[] = { 3, 0, 70, 5, 5, 100, 1 };
	enum { CHUNKS = sizeof samples / sizeof *samples };
	const char *text = (const char *)data;
	uint32_t use[CHUNKS], seen = 0;
	struct hpdsl_stage_rates rates;
	struct hpdsl_error err;
	struct hpdsl_state s;

	(void)hpdsl_stage_rates_parse(text, size, "report", &rates, &err);
	if (hpdsl_state_parse(text, size, "state", &s, &err) < 0)
		return 0;
	check_format(&s);
	/* what was taken for a state gives an order of all chunks */
	if (hp_order_first_use(&s.order, samples, CHUNKS, use, &err) < 0)
		abort();
	for (int i = 0; i < CHUNKS; i++)
		seen |= 1u << use[i];
	if (seen != (1u << CHUNKS) - 1)
		abort();
	return 0;
}
