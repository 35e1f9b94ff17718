/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting the nodes of a folder by their names.
 *
 * Names in a folder are alike: all begin with the same bytes, and what differs
 * behind these are some digits.  So eight bytes of each name are taken from
 * where they differ first, as a big-endian word; of these, the first 32 bits
 * that are not the same in all words are the key of a radix sort from the
 * lowest digit on, which has no branches to guess.  Runs of equal keys go on in
 * the same way, with bits further behind.  Only then do the nodes move, once
 * each.
 *
 * Any name is read once for each word it shares with another one, so there is
 * nothing to make this quadratic.
 */
#include "tree/tree.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <errno.h>

enum { WORD = 8, FEW = 24, DIGIT = 8, KEY = 32 };

struct sorter {
	const struct hp_node *nodes;
	/* Of the same length: keys in the high half and numbers of nodes in the
	 * low half, or words; and room for another such. */
	uint64_t *v, *w;
};

/* The bytes of the name from depth on, zeros behind its end: no name has one.
 */
static uint64_t word_at(const struct hp_node *node, size_t depth)
{
	const char *p = node->name + depth;
	uint64_t v = 0;

	if (depth + WORD <= node->name_len) {
		memcpy(&v, p, WORD);
		return be64toh(v);
	}
	for (size_t i = depth; i < depth + WORD; i++)
		v = v << 8 | (i < node->name_len ? (unsigned char)*p++ : 0);
	return v;
}

static uint32_t number(uint64_t element)
{
	return (uint32_t)element;
}

/* Brings the words at depth to v, the nodes' numbers are in w; returns the bits
 * that differ. */
static uint64_t load(const struct sorter *s, uint64_t n, size_t depth)
{
	uint64_t first = word_at(&s->nodes[s->w[0]], depth), differ = 0;

	for (uint64_t i = 0; i < n; i++) {
		s->v[i] = word_at(&s->nodes[s->w[i]], depth);
		differ |= s->v[i] ^ first;
	}
	return differ;
}

/* ---- Few -------------------------------------------------------------- */

/* By words in v, numbers in w with them. */
static void sort_few(uint64_t *v, uint64_t *w, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++) {
		uint64_t word = v[i], node = w[i], k = i;

		for (; k > 0 && v[k - 1] > word; k--) {
			v[k] = v[k - 1];
			w[k] = w[k - 1];
		}
		v[k] = word;
		w[k] = node;
	}
}

/* ---- Many ------------------------------------------------------------- */

/* Bits of a word that are next to each other, and differ. */
struct bits {
	unsigned shift, count;
};

/* The first of them, KEY at most in all; returns how many pieces. */
static unsigned choose_bits(uint64_t differ, struct bits piece[KEY],
			    unsigned *ret_count)
{
	unsigned n = 0, left = KEY;

	while (differ && left) {
		unsigned high = 63 - (unsigned)__builtin_clzll(differ);
		uint64_t same = ~differ & (UINT64_MAX >> (63 - high));
		unsigned low = same ? 64 - (unsigned)__builtin_clzll(same) : 0;

		if (high - low + 1 > left)
			low = high + 1 - left;
		piece[n++] = (struct bits){ low, high - low + 1 };
		left -= high - low + 1;
		differ &= (UINT64_C(1) << low) - 1;
	}
	*ret_count = KEY - left;
	return n;
}

/* Words in v and numbers in w become elements in v. */
static unsigned make_keys(const struct sorter *s, uint64_t n, uint64_t differ)
{
	struct bits piece[KEY];
	unsigned count, pieces = choose_bits(differ, piece, &count);

	for (uint64_t i = 0; i < n; i++) {
		uint64_t word = s->v[i], key = 0;

		for (unsigned k = 0; k < pieces; k++)
			key = key << piece[k].count |
			      (word >> piece[k].shift &
			       ((UINT64_C(1) << piece[k].count) - 1));
		s->v[i] = key << 32 | s->w[i];
	}
	return count;
}

/* By one digit, from v to w. */
static void sort_digit(const uint64_t *v, uint64_t *w, uint64_t n,
		       unsigned shift, unsigned bits)
{
	uint64_t at[1 << DIGIT] = { 0 }, sum = 0;
	uint64_t mask = (1u << bits) - 1;

	for (uint64_t i = 0; i < n; i++)
		at[v[i] >> shift & mask]++;
	for (uint64_t d = 0; d <= mask; d++) {
		uint64_t count = at[d];

		at[d] = sum;
		sum += count;
	}
	for (uint64_t i = 0; i < n; i++)
		w[at[v[i] >> shift & mask]++] = v[i];
}

/* By keys of so many bits. */
static void sort_many(struct sorter s, uint64_t n, unsigned bits)
{
	unsigned digits = (bits + DIGIT - 1) / DIGIT;
	unsigned each = (bits + digits - 1) / digits;
	uint64_t *to = s.v;

	for (unsigned d = 0; d < digits; d++) {
		uint64_t *other = s.v;

		sort_digit(s.v, s.w, n, 32 + d * each, each);
		s.v = s.w;
		s.w = other;
	}
	if (s.v != to)
		memcpy(to, s.v, n * sizeof *to);
}

/* ---- Runs ------------------------------------------------------------- */

static void sort_run(struct sorter s, uint64_t n, size_t depth);

/* Goes on with what the first word left equal. */
static void sort_ties(struct sorter s, uint64_t n, size_t depth, uint64_t same)
{
	for (uint64_t i = 0, end; i < n; i = end) {
		struct sorter run = { s.nodes, s.v + i, s.w + i };

		for (end = i + 1; end < n && !((s.v[end] ^ s.v[i]) & same);)
			end++;
		if (end - i > 1)
			sort_run(run, end - i, depth);
	}
}

/* v has the numbers of n > 1 nodes, whose names agree in depth bytes. */
static void sort_run(struct sorter s, uint64_t n, size_t depth)
{
	const uint64_t high = ~UINT64_C(0) << 32;
	uint64_t differ;

	for (uint64_t i = 0; i < n; i++)
		s.w[i] = number(s.v[i]);
	while ((differ = load(&s, n, depth)) == 0 && s.v[0] & 255)
		depth += WORD;
	if (differ >> 56 == 0 && differ) {
		depth += (unsigned)__builtin_clzll(differ) / 8;
		differ = load(&s, n, depth);
	}
	if (n > FEW && differ) {
		sort_many(s, n, make_keys(&s, n, differ));
		/* Those with one key may have words that differ yet. */
		sort_ties(s, n, depth, high);
		return;
	}
	sort_few(s.v, s.w, n);
	for (uint64_t i = 0, end; i < n; i = end) {
		struct sorter run = { s.nodes, s.v + i, s.w + i };
		uint64_t word = s.v[i];

		for (end = i; end < n && s.v[end] == word; end++)
			s.v[end] = s.w[end];
		/* A word with an end in it is all of the name. */
		if (end - i > 1 && word & 255)
			sort_run(run, end - i, depth + WORD);
	}
}

/* ---- Nodes ------------------------------------------------------------ */

/* Node number(v[i]) goes to i, cycle by cycle; uses v up. */
static void permute(struct hp_node *nodes, uint64_t *v, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		struct hp_node first = nodes[i];
		uint64_t at = i, next;

		if (number(v[i]) == i)
			continue;
		while ((next = number(v[at])) != i) {
			nodes[at] = nodes[next];
			v[at] = at;
			at = next;
		}
		nodes[at] = first;
		v[at] = at;
	}
}

static int compare(const void *a, const void *b)
{
	const struct hp_node *x = a, *y = b;

	return hp_name_compare(x->name, x->name_len, y->name, y->name_len);
}

static bool is_sorted(const struct hp_node *nodes, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++)
		if (compare(&nodes[i - 1], &nodes[i]) > 0)
			return false;
	return true;
}

int hp_nodes_sort(struct hp_node *nodes, uint64_t n)
{
	hp_auto_free uint64_t *v = NULL;
	struct sorter s = { .nodes = nodes };

	if (is_sorted(nodes, n))
		return 0;
	if (n > UINT32_MAX) {
		qsort(nodes, n, sizeof *nodes, compare);
		return 0;
	}
	v = hp_array(n, 2 * sizeof *v);
	if (!v)
		return -ENOMEM;
	s.v = v;
	s.w = v + n;
	for (uint64_t i = 0; i < n; i++)
		v[i] = i;
	sort_run(s, n, 0);
	permute(nodes, v, n);
	return 0;
}
