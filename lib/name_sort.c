/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting the nodes of a folder by their names: eight bytes behind what all
 * names begin with, as a big-endian word, and the node's number are sorted in
 * place of the nodes, with the radix sort of the lookup table, which does not
 * mind what the words are; runs of equal words go on with the bytes behind what
 * they have in common.  Only then do nodes move, each once.
 */
#include "tree.h"

#include "bytes.h"
#include "lookup.h"
#include "mem.h"

#include <errno.h>

enum { WORD = 8 };

/* Bytes that two names have in common, of which from are known. */
static size_t common(const struct hp_node *a, const struct hp_node *b,
		     size_t from, size_t to)
{
	size_t n = a->name_len < b->name_len ? a->name_len : b->name_len;

	if (n > to)
		n = to;
	while (from < n && a->name[from] == b->name[from])
		from++;
	return from;
}

/* The bytes of the name from depth on, zeros behind its end: no name has one.
 */
static uint64_t word_at(const struct hp_node *node, size_t depth)
{
	const char *p = node->name + depth;
	size_t n = node->name_len - depth;
	uint64_t v = 0;

	if (n >= WORD) {
		memcpy(&v, p, WORD);
		return be64toh(v);
	}
	for (size_t i = 0; i < n; i++)
		v = v << 8 | (unsigned char)p[i];
	return n ? v << 8 * (WORD - n) : 0;
}

/* Where the names of a run differ first; from is known. */
static size_t common_of(const struct hp_node *nodes, const struct hp_hashed *v,
			uint64_t n, size_t from)
{
	const struct hp_node *first = &nodes[v[0].number];
	size_t depth = first->name_len;

	for (uint64_t i = 1; i < n && depth > from; i++)
		depth = common(first, &nodes[v[i].number], from, depth);
	return depth;
}

/* Sorts a run of which the names agree in depth bytes. */
static void sort_run(const struct hp_node *nodes, struct hp_hashed *v,
		     uint64_t n, size_t depth)
{
	depth = common_of(nodes, v, n, depth);
	for (uint64_t i = 0; i < n; i++)
		v[i].hash = word_at(&nodes[v[i].number], depth);
	hp_lookup_sort(v, n);
	for (uint64_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && v[end].hash == v[i].hash;)
			end++;
		/* A word with an end in it is all of the name. */
		if (end - i > 1 && (v[i].hash & 255))
			sort_run(nodes, v + i, end - i, depth + WORD);
	}
}

/* Node v[i].number goes to i, cycle by cycle; uses v up. */
static void permute(struct hp_node *nodes, struct hp_hashed *v, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		struct hp_node first = nodes[i];
		uint64_t at = i, next;

		while ((next = v[at].number) != i) {
			nodes[at] = nodes[next];
			v[at].number = at;
			at = next;
		}
		nodes[at] = first;
		v[at].number = at;
	}
}

static bool is_sorted(const struct hp_node *nodes, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++) {
		const struct hp_node *a = &nodes[i - 1], *b = &nodes[i];

		if (hp_name_compare(a->name, a->name_len, b->name,
				    b->name_len) > 0)
			return false;
	}
	return true;
}

int hp_nodes_sort(struct hp_node *nodes, uint64_t n)
{
	hp_auto_free struct hp_hashed *v = NULL;

	if (is_sorted(nodes, n))
		return 0;
	v = hp_array(n, sizeof *v);
	if (!v)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++)
		v[i].number = i;
	sort_run(nodes, v, n, 0);
	permute(nodes, v, n);
	return 0;
}
