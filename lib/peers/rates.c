/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of nodes by their logarithms, so that the middle one is found at once.
 */
#include "peers/rates.h"

#include "peers/health.h"

enum { LEVELS = 16 /* of a bucket */ };

/* ---- Logarithms ------------------------------------------------------- */

/* By the highest bit and the two behind it. */
static uint32_t bucket_of(uint64_t rate)
{
	const unsigned high = 63 - (unsigned)__builtin_clzll(rate | 4);

	return high << 2 | (unsigned)(rate >> (high - 2) & 3);
}

/* The least rate of a bucket. */
static uint64_t rate_of(uint32_t bucket)
{
	return (uint64_t)(4 | (bucket & 3)) << (bucket >> 2) >> 2;
}

static uint64_t a_second(uint64_t bytes, uint64_t took)
{
	const double rate = (double)bytes * 1e9 / (double)(took ? took : 1);

	return rate < 1e18 ? (uint64_t)rate : UINT64_C(1000000000000000000);
}

/* ---- What came -------------------------------------------------------- */

static void count(struct hp_rates *all, const struct hp_rate *r, bool is)
{
	const uint32_t one = is ? 1 : UINT32_MAX;

	if (!r->n)
		return;
	all->nodes += one;
	all->of[r->level / LEVELS] += one;
}

void hp_rates_came(struct hp_rates *all, struct hp_rate *r, uint64_t bytes,
		   uint64_t took, uint64_t now)
{
	const bool is_clear = took >= HP_LATE_AFTER;
	uint32_t level;

	count(all, r, false);
	if (now >= r->at + HP_RATE_AGE)
		r->n = 0;
	if (!is_clear)
		bytes += HP_RATE_WAY;
	level = bucket_of(a_second(bytes, took)) * LEVELS + LEVELS / 2;
	if (is_clear || !r->n)
		r->level = level;
	else
		r->level = (3 * r->level + level) / 4;
	if (is_clear)
		r->n = HP_RATE_ENOUGH;
	else if (r->n < HP_RATE_ENOUGH)
		r->n++;
	r->at = now;
	count(all, r, true);
}

/* ---- One beside the others -------------------------------------------- */

/* The middle one, the lower of two. */
static uint64_t middle(const struct hp_rates *all, const struct hp_rate *r,
		       uint32_t others)
{
	uint32_t left = (others - 1) / 2;

	for (uint32_t i = 0;; i++) {
		const bool its = r->n && r->level / LEVELS == i;
		const uint32_t n = all->of[i] - its;

		if (left < n)
			return rate_of(i);
		left -= n;
	}
}

/* Less is slow, but for who is the only one. */
static uint64_t least(const struct hp_rates *all, const struct hp_rate *r,
		      uint64_t only)
{
	const uint32_t others = all->nodes - (r->n > 0);
	uint64_t part;

	if (!others)
		return only;
	part = middle(all, r, others) / HP_RATE_PART;
	return others < HP_RATE_OTHERS && part > HP_RATE_LEAST ? HP_RATE_LEAST :
								 part;
}

bool hp_rates_is_slow(const struct hp_rates *all, const struct hp_rate *r,
		      bool owes, uint64_t now)
{
	if (r->n < HP_RATE_ENOUGH || (!owes && now >= r->at + HP_RATE_AGE))
		return false;
	return rate_of(r->level / LEVELS) <
	       least(all, r, HP_RATE_LEAST / HP_RATE_PART);
}

uint64_t hp_rates_due(const struct hp_rates *all, const struct hp_rate *r,
		      uint64_t bytes)
{
	const uint64_t rate = least(all, r, HP_RATE_LEAST);
	const double takes = (double)bytes * 1e9 / (double)(rate ? rate : 1);

	/* A day is as good as for ever. */
	return HP_LATE_AFTER + (uint64_t)(takes < 86400e9 ? takes : 86400e9);
}
