/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The swap-or-not shuffle in 64-bit arithmetic.  Round r pairs x with
 * shift[r] - x (mod n), and one bit drawn for the pair says whether the two
 * change places: a round undoes itself, so the inverse runs them backwards.
 */
#include "base/perm.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/perm_wide.h"

/* Values carried through the rounds at a time, so that their chains of
 * multiplications overlap. */
#define LANES 8

static uint64_t splitmix_next(uint64_t *state)
{
	uint64_t z;

	*state += 0x9E3779B97F4A7C15u;
	z = *state;
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

/*
 * Bit 63 of the mix, as 0 or 1.  The mix ends in v ^ v >> 32, which leaves the
 * upper half alone and is left out here.
 */
static inline uint64_t mix_bit(uint64_t v)
{
	v = (v ^ v >> 32) * 0xD6E8FEB86659FD93u;
	v = (v ^ v >> 32) * 0xD6E8FEB86659FD93u;
	return v >> 63;
}

/*
 * All ones if bit is 1, zero if it is 0.  The empty asm hides the value from
 * compilers that would turn it back into a branch, mispredicted half of the
 * time and so five times as slow.
 */
static inline uint64_t mask(uint64_t bit)
{
	bit = -bit;
	__asm__("" : "+r"(bit));
	return bit;
}

static inline uint64_t swap_or_not(uint64_t x, uint64_t n, uint64_t shift,
				   uint64_t salt)
{
	uint64_t y = shift - x + (n & mask(shift < x));
	uint64_t max = x > y ? x : y;

	return x ^ ((x ^ y) & mask(mix_bit(max ^ salt)));
}

void hp_perm_init(struct hp_perm *p, uint64_t n, uint64_t key)
{
	assert(n > 0);
	p->n = n;
	for (int r = 0; r < HP_PERM_ROUNDS; r++) {
		unsigned __int128 wide = splitmix_next(&key);

		p->shift[r] = (uint64_t)(wide * n >> 64);
		p->salt[r] = splitmix_next(&key);
	}
}

uint64_t hp_perm_at(const struct hp_perm *p, uint64_t i)
{
	assert(i < p->n);
	for (int r = 0; r < HP_PERM_ROUNDS; r++)
		i = swap_or_not(i, p->n, p->shift[r], p->salt[r]);
	return i;
}

uint64_t hp_perm_inverse(const struct hp_perm *p, uint64_t i)
{
	assert(i < p->n);
	for (int r = HP_PERM_ROUNDS - 1; r >= 0; r--)
		i = swap_or_not(i, p->n, p->shift[r], p->salt[r]);
	return i;
}

static void lanes_at(const struct hp_perm *p, uint64_t first, uint64_t *ret)
{
	uint64_t x[LANES];

	for (unsigned k = 0; k < LANES; k++)
		x[k] = first + k;
	for (int r = 0; r < HP_PERM_ROUNDS; r++) {
		for (unsigned k = 0; k < LANES; k++)
			x[k] = swap_or_not(x[k], p->n, p->shift[r], p->salt[r]);
	}
	memcpy(ret, x, sizeof x);
}

void hp_perm_range_plain(const struct hp_perm *p, uint64_t first, size_t count,
			 uint64_t *ret)
{
	assert(first <= p->n && count <= p->n - first);
	for (; count >= LANES; count -= LANES) {
		lanes_at(p, first, ret);
		first += LANES;
		ret += LANES;
	}
	for (; count; count--)
		*ret++ = hp_perm_at(p, first++);
}

void hp_perm_range(const struct hp_perm *p, uint64_t first, size_t count,
		   uint64_t *ret)
{
	assert(first <= p->n && count <= p->n - first);
	/* Vectors take as long for one as for all that they hold. */
	if (count < 2 || !hp_perm_wide(p, first, count, ret))
		hp_perm_range_plain(p, first, count, ret);
}

/* All at once: a state takes ten times as long for bytes as few as these. */
uint64_t hp_perm_key(uint64_t seed, const char *purpose,
		     const uint64_t *numbers, size_t n_numbers)
{
	uint8_t bytes[512], *p = bytes;
	size_t n = strlen(purpose) + 1;

	assert(8 + n + 8 * n_numbers <= sizeof bytes);
	hp_put64(p, seed);
	memcpy(p + 8, purpose, n);
	p += 8 + n;
	for (size_t i = 0; i < n_numbers; i++, p += 8)
		hp_put64(p, numbers[i]);
	return hp_hash64(bytes, (size_t)(p - bytes));
}
