/* SPDX-License-Identifier: Apache-2.0 */
/* A choice of samples: made of its parts, and known by its digest. */
#include "order/choice.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "dataset/dataset.h"

#include <inttypes.h>
#include <string.h>

/* Over numbers as they would be in a file, whatever the machine's order. */
static void digest(struct hpdsl_choice *c)
{
	XXH3_state_t state;
	uint8_t le[8];

	XXH3_INITSTATE(&state);
	XXH3_128bits_reset(&state);
	hp_put64(le, c->n);
	XXH3_128bits_update(&state, le, 8);
	for (uint64_t s = 0; s < c->n; s += 64) {
		uint64_t bytes = (c->n - s + 7) / 8;

		hp_put64(le, c->bits[s / 64]);
		XXH3_128bits_update(&state, le, bytes < 8 ? bytes : 8);
	}
	for (uint64_t s = 0; hp_choice_weighted(c) && s < c->n; s++) {
		hp_put64(le, hp_choice_weight(c, s));
		XXH3_128bits_update(&state, le, 8);
	}
	hp_hash_canonical(XXH3_128bits_digest(&state), c->digest);
}

static int make(struct hpdsl_choice *c, const struct hp_index *ix,
		const struct hpdsl_choice_options *opt, struct hpdsl_error *err)
{
	struct hpdsl_counts counts;
	uint64_t words;
	int r;

	hp_index_count(ix, &counts);
	c->n = counts.samples;
	c->classes = (uint32_t)counts.classes;
	words = hp_choice_words(c->n);
	c->bits = hp_array(words, sizeof *c->bits);
	if (!c->bits)
		return hp_fail_nomem(err);
	r = hp_choice_pick(c, ix, opt, err);
	if (r < 0)
		return r;
	for (uint64_t i = 0; i < words; i++)
		c->chosen += (uint64_t)__builtin_popcountll(c->bits[i]);
	if (!c->chosen)
		return hp_fail(err, HPDSL_EUSAGE,
			       "not one sample of %" PRIu64 " is chosen", c->n);
	r = hp_choice_weigh(c, ix, opt, err);
	if (r == 0)
		digest(c);
	return r;
}

int hp_choose(const struct hp_index *ix, const struct hpdsl_choice_options *opt,
	      struct hpdsl_choice **ret, struct hpdsl_error *err)
{
	struct hpdsl_choice *c = calloc(1, sizeof *c);
	int r;

	if (!c)
		return hp_fail_nomem(err);
	r = make(c, ix, opt, err);
	if (r < 0) {
		hpdsl_choice_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

int hpdsl_choose(const struct hpdsl_dataset *ds,
		 const struct hpdsl_choice_options *opt,
		 struct hpdsl_choice **ret, struct hpdsl_error *err)
{
	return hp_choose(ds->index, opt, ret, err);
}

void hpdsl_choice_free(struct hpdsl_choice *c)
{
	if (!c)
		return;
	free(c->bits);
	free(c->by_class);
	free(c->label);
	free(c->by_sample);
	free(c);
}

uint64_t hpdsl_choice_samples(const struct hpdsl_choice *c)
{
	return c->chosen;
}

void hpdsl_choice_digest(const struct hpdsl_choice *c, uint8_t ret[16])
{
	memcpy(ret, c->digest, 16);
}
