/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often each sample of a choice comes in an epoch.  A sample's times depend
 * on nothing but seed, epoch, its number and its weight; sums of them, one for
 * each word of the bitmap, find any occurrence.
 */
#include "order/choice.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/perm.h"

bool hpdsl_choice_has(const struct hpdsl_choice *c, uint64_t sample)
{
	return sample < c->n && c->bits[sample / 64] >> sample % 64 & 1;
}

uint64_t hp_choice_weight(const struct hpdsl_choice *c, uint64_t sample)
{
	if (!hpdsl_choice_has(c, sample))
		return 0;
	if (c->by_class)
		return c->by_class[c->label[sample]];
	return c->by_sample ? c->by_sample[sample] : HPDSL_WEIGHT_ONE;
}

uint64_t hp_draw_times(const struct hp_draw *d, uint64_t sample)
{
	uint64_t w = hp_choice_weight(d->choice, sample), key;
	uint32_t fraction = (uint32_t)w;

	if (!fraction)
		return w >> 32;
	key = hp_perm_key(d->seed, "weight", (uint64_t[]){ d->epoch, sample },
			  2);
	return (w >> 32) + (key >> 32 < fraction);
}

/* Of the samples of these bits of a word. */
static uint64_t word_times(const struct hp_draw *d, uint64_t word,
			   uint64_t bits)
{
	uint64_t sum = 0;

	if (!hp_choice_weighted(d->choice))
		return (uint64_t)__builtin_popcountll(bits);
	for (; bits; bits &= bits - 1)
		sum += hp_draw_times(
			d, word * 64 + (uint64_t)__builtin_ctzll(bits));
	return sum;
}

int hp_draw_init(struct hp_draw *d, const struct hpdsl_choice *choice,
		 uint64_t seed, uint64_t epoch, struct hpdsl_error *err)
{
	struct hp_draw new = { .choice = choice, .seed = seed, .epoch = epoch };
	uint64_t words, sum = 0;

	if (choice) {
		words = hp_choice_words(choice->n);
		new.before = hp_array(words + 1, sizeof *new.before);
		if (!new.before)
			return hp_fail_nomem(err);
		for (uint64_t i = 0; i <= words; i++) {
			new.before[i] = sum;
			/* 64 weights are below 2^38 */
			if (sum > INT64_MAX - (UINT64_C(1) << 38)) {
				free(new.before);
				return hp_fail(err, HPDSL_EUSAGE,
					       "too many samples for an order");
			}
			if (i < words)
				sum += word_times(&new, i, choice->bits[i]);
		}
	}
	*d = new;
	return 0;
}

void hp_draw_release(struct hp_draw *d)
{
	free(d->before);
}

uint64_t hp_draw_before(const struct hp_draw *d, uint64_t sample)
{
	uint64_t word = sample / 64, low;

	if (!d->choice)
		return sample;
	if (sample % 64 == 0)
		return d->before[word];
	low = d->choice->bits[word] & ((UINT64_C(1) << sample % 64) - 1);
	return d->before[word] + word_times(d, word, low);
}

/* The word that holds the occurrence: the last that begins not behind it. */
static uint64_t find_word(const struct hp_draw *d, uint64_t occurrence)
{
	uint64_t low = 0, high = hp_choice_words(d->choice->n);

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (d->before[middle] <= occurrence)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void hp_draw_list(const struct hp_draw *d, uint64_t first, uint64_t n,
		  uint64_t *ret)
{
	uint64_t word, at, skip;

	if (!d->choice) {
		for (uint64_t i = 0; i < n; i++)
			ret[i] = first + i;
		return;
	}
	word = find_word(d, first);
	skip = first - d->before[word];
	for (; n; word++) {
		for (uint64_t bits = d->choice->bits[word]; n && bits;
		     bits &= bits - 1) {
			uint64_t t;

			at = word * 64 + (uint64_t)__builtin_ctzll(bits);
			t = hp_choice_weighted(d->choice) ?
				    hp_draw_times(d, at) :
				    1;
			if (skip >= t) {
				skip -= t;
				continue;
			}
			for (t -= skip, skip = 0; n && t; n--, t--)
				*ret++ = at;
		}
	}
}
