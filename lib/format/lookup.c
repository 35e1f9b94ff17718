/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting hashes for the lookup table: in place (the table's 16 bytes a member
 * are all the memory there is), by one byte of the hash after the other from
 * the top: P. M. McIlroy, K. Bostic, M. D. McIlroy, "Engineering Radix Sort",
 * Computing Systems 6(1), 1993.
 */
#include "format/lookup.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 32, AHEAD = 128 /* bytes */ };

static int compare(const void *a, const void *b)
{
	const struct hp_hashed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static bool before(struct hp_hashed a, struct hp_hashed b)
{
	return a.hash < b.hash || (a.hash == b.hash && a.number < b.number);
}

static void insertion_sort(struct hp_hashed *v, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++) {
		struct hp_hashed x = v[i];
		uint64_t k = i;

		for (; k > 0 && before(x, v[k - 1]); k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

/* Puts each value into its bucket; at[b] becomes the end of bucket b. */
static void distribute(struct hp_hashed *v, unsigned shift, uint64_t at[256],
		       const uint64_t end[256])
{
	for (unsigned b = 0; b < 256; b++) {
		while (at[b] < end[b]) {
			struct hp_hashed x = v[at[b]];
			unsigned to = x.hash >> shift & 255;

			while (to != b) {
				struct hp_hashed other = v[at[to]];

				/* Too many places for the hardware to guess. */
				__builtin_prefetch(
					(const void *)((uintptr_t)&v[at[to]] +
						       AHEAD),
					1);
				v[at[to]++] = x;
				x = other;
				to = x.hash >> shift & 255;
			}
			v[at[b]++] = x;
		}
	}
}

/* Where the buckets of the byte at shift begin. */
static void find_buckets(const struct hp_hashed *v, uint64_t n, unsigned shift,
			 uint64_t at[256])
{
	uint64_t sum = 0;

	memset(at, 0, 256 * sizeof *at);
	for (uint64_t i = 0; i < n; i++)
		at[v[i].hash >> shift & 255]++;
	for (unsigned b = 0; b < 256; b++) {
		uint64_t count = at[b];

		at[b] = sum;
		sum += count;
	}
}

/* By the byte at shift; ends of the buckets. */
static void split(struct hp_hashed *v, uint64_t n, unsigned shift,
		  uint64_t end[256])
{
	uint64_t at[256];

	find_buckets(v, n, shift, at);
	memcpy(end, at + 1, 255 * sizeof *end);
	end[255] = n;
	distribute(v, shift, at, end);
}

static void sort_byte(struct hp_hashed *v, uint64_t n, unsigned shift)
{
	uint64_t end[256];

	split(v, n, shift, end);
	for (unsigned b = 0; b < 256; b++) {
		uint64_t first = b ? end[b - 1] : 0, count = end[b] - first;

		if (count <= FEW)
			insertion_sort(v + first, count);
		else if (shift)
			sort_byte(v + first, count, shift - 8);
		else /* equal hashes, which nobody meets but who made them */
			qsort(v + first, count, sizeof *v, compare);
	}
}

static void sort_from(struct hp_hashed *v, uint64_t n, unsigned shift)
{
	if (n <= FEW)
		insertion_sort(v, n);
	else
		sort_byte(v, n, shift);
}

void hp_lookup_sort(struct hp_hashed *v, uint64_t n)
{
	sort_from(v, n, 56);
}

/* By each byte in which some differ, the last one first, into the room and
 * back, which keeps the order of those that are the same. */
void hp_lookup_sort_room(struct hp_hashed *v, uint64_t n,
			 struct hp_hashed *room, uint64_t n_room)
{
	struct hp_hashed *from = v, *to = room;
	uint64_t differ = 0;

	if (n <= FEW || n > n_room) {
		hp_lookup_sort(v, n);
		return;
	}
	for (uint64_t i = 1; i < n; i++)
		differ |= v[i].hash ^ v[0].hash;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct hp_hashed *other = from;
		uint64_t at[256];

		if (!(differ >> shift & 255))
			continue;
		find_buckets(from, n, shift, at);
		for (uint64_t i = 0; i < n; i++)
			to[at[from[i].hash >> shift & 255]++] = from[i];
		from = to;
		to = other;
	}
	if (from != v)
		memcpy(v, from, n * sizeof *v);
}

void hp_lookup_sort_split(struct hp_hashed *v, uint64_t n)
{
	sort_from(v, n, 48);
}

void hp_lookup_split(struct hp_hashed *v, uint64_t n, uint64_t ret_count[256])
{
	split(v, n, 56, ret_count);
	for (unsigned b = 255; b > 0; b--)
		ret_count[b] -= ret_count[b - 1];
}
