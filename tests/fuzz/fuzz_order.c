/* SPDX-License-Identifier: Apache-2.0 */
/* A loader's state and a stager's report, which other programs may write. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hpdsl.h"
#include "order/first_use.h"
#include "order/private.h"

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

enum { CHUNKS = 7, SAMPLES = 184, MOST = 100000 };

/* Each sample is where it is said to be, and each chunk comes once. */
static void check_epoch(const struct hpdsl_epoch *e, uint64_t step)
{
	bool seen[SAMPLES] = { false };
	uint32_t use[CHUNKS], chunks = 0;
	struct hpdsl_error err;

	for (uint64_t p = 0; p < SAMPLES; p++) {
		uint64_t sample, at;

		if (hpdsl_epoch_at(e, p, &sample, &err) < 0 ||
		    sample >= SAMPLES || seen[sample] ||
		    hpdsl_epoch_where(e, sample, 0, &at, &err) < 0 || at != p)
			abort();
		seen[sample] = true;
	}
	if (hp_seq_first_use(e->seq, &e->lists, step, use, &err) < 0)
		abort();
	for (int i = 0; i < CHUNKS; i++)
		chunks |= 1u << use[i];
	if (chunks != (1u << CHUNKS) - 1)
		abort();
}

/* What was taken for a state is an order, with what it lacks filled in, and a
 * state again. */
static void check_order(struct hpdsl_state *s)
{
	struct hpdsl_order *is = &s->order;
	static const uint64_t first[] = { 0, 3, 3, 73, 78, 83, 183, SAMPLES };
	const struct hp_seq_set set = {
		SAMPLES, SAMPLES * 100000, CHUNKS, true, 3, 2, 1
	};
	struct hp_seq_order o = { .batch = is->batch,
				  .lanes = is->lanes,
				  .piece = is->piece,
				  .windows = is->windows,
				  .parts = is->parts,
				  .plain = is->plain };
	struct hpdsl_epoch *e;
	struct hpdsl_error err;

	if (hp_seq_fill(&set, &o, &err) < 0)
		abort();
	is->batch = o.batch;
	is->lanes = o.lanes;
	is->piece = o.piece;
	is->windows = o.windows;
	is->parts = o.parts;
	/* Lanes may be given that do not go with the batch of this start. */
	if (o.lanes % o.batch && o.batch % o.lanes) {
		if (hp_epoch_make(is, first, CHUNKS, NULL, &e, &err) !=
		    HPDSL_EUSAGE)
			abort();
		return;
	}
	check_format(s);
	/* Each of them takes time, or memory. */
	if (o.lanes > MOST || o.parts > MOST)
		return;
	if (hp_epoch_make(is, first, CHUNKS, NULL, &e, &err) < 0)
		abort();
	check_epoch(e, is->step);
	hpdsl_epoch_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct hpdsl_stage_rates rates;
	struct hpdsl_error err;
	struct hpdsl_state s;

	(void)hpdsl_stage_rates_parse(text, size, "report", &rates, &err);
	if (hpdsl_state_parse(text, size, "state", &s, &err) < 0)
		return 0;
	check_order(&s);
	return 0;
}
