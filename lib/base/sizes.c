/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sizes.h"

static unsigned class_of(uint64_t bytes)
{
	unsigned power = 63 - (unsigned)__builtin_clzll(bytes | 1);

	if (power < 5)
		return (unsigned)bytes;
	return power * HP_SIZES_FINE +
	       (unsigned)(bytes >> (power - 5)) % HP_SIZES_FINE;
}

static void add(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static uint64_t get(const uint64_t *of)
{
	return __atomic_load_n(of, __ATOMIC_RELAXED);
}

void hp_sizes_add(struct hp_sizes *s, uint64_t bytes)
{
	unsigned i = class_of(bytes);

	add(&s->n[i], 1);
	add(&s->bytes[i], bytes);
}

/* The mean of the class in which half of the bytes are reached. */
uint64_t hp_sizes_median(const struct hp_sizes *s)
{
	uint64_t all = 0, sum = 0;

	for (unsigned i = 0; i < HP_SIZES_CLASSES; i++)
		all += get(&s->bytes[i]);
	for (unsigned i = 0; i < HP_SIZES_CLASSES; i++) {
		uint64_t n = get(&s->n[i]), bytes = get(&s->bytes[i]);

		sum += bytes;
		/* Others may be adding: it need not all be there. */
		if (n && bytes && sum >= all / 2 + all % 2)
			return bytes / n;
	}
	return 0;
}
