/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With nodes of different room, D parts may fit where D + 1 do not, so each D
 * is tried, from the first for which the D roomiest nodes could hold the
 * dataset.  A D is refused by its tightest node, once that is found: the parts
 * with the chunk and the node that refused the last D are looked at first.
 * Where a D does not divide the nodes, those at borders need room for two
 * parts, so of nodes that are alike it is mostly a divisor that fits.
 */
#include "spread/fit.h"

#include "base/mem.h"

#include <errno.h>

struct fit {
	const struct hpdsl_stage_wish *w;
	uint64_t total;
	uint64_t *bytes; /* of each part */
	/* Who refused the last D. */
	uint64_t chunk;
	uint32_t node;
};

uint64_t hp_fit_part(const struct hpdsl_stage_wish *w, uint32_t parts,
		     uint32_t part)
{
	uint64_t sum = parts == 1 ? w->whole : 0;

	for (uint64_t c = part; c < w->chunks; c += parts)
		sum = hp_fit_add(sum, w->weight[c]);
	return sum;
}

uint64_t hp_fit_need(const uint64_t *part_bytes, uint32_t nodes, uint32_t parts,
		     uint32_t node)
{
	struct hpdsl_stage_span s = hpdsl_stage_parts_of(nodes, parts, node);
	uint64_t sum = 0;

	for (uint32_t p = s.first; p <= s.last; p++)
		sum = hp_fit_add(sum, part_bytes[p]);
	return sum;
}

static int descending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/*
 * No fewer parts than this: each group has a node no roomier than its part, and
 * the D smallest nodes of D groups are no roomier than the D roomiest.
 */
static uint32_t first_parts(struct fit *f)
{
	uint64_t sum = 0;
	uint32_t d = 0;

	for (uint32_t n = 0; n < f->w->nodes; n++)
		f->bytes[n] = f->w->capacity[n];
	qsort(f->bytes, f->w->nodes, sizeof *f->bytes, descending);
	while (d < f->w->nodes && (!d || sum < f->total))
		sum = hp_fit_add(sum, f->bytes[d++]);
	return sum < f->total ? f->w->nodes + 1 : d;
}

/* The smallest room of a group's nodes. */
static uint64_t group_room(const struct fit *f, struct hpdsl_stage_span group)
{
	uint64_t room = UINT64_MAX;

	for (uint32_t n = group.first; n <= group.last; n++)
		if (f->w->capacity[n] < room)
			room = f->w->capacity[n];
	return room;
}

/*
 * Could rooms hold the dataset, taken together?  Each part goes into the least
 * room of its group, or with the one before into that of the node at their
 * border, whichever is less in all: an upper bound, found along the parts.
 */
static bool rooms(const struct fit *f, uint32_t parts)
{
	uint64_t before = 0, sum = 0;

	for (uint32_t p = 0; p < parts; p++) {
		struct hpdsl_stage_span g =
			hpdsl_stage_group_of(f->w->nodes, parts, p);
		uint64_t most = hp_fit_add(sum, group_room(f, g)), pair;

		if ((uint64_t)p * f->w->nodes % parts) {
			pair = hp_fit_add(before, f->w->capacity[g.first]);
			if (pair < most)
				most = pair;
		}
		before = sum;
		sum = most;
	}
	return sum >= f->total;
}

/* The node that refuses, and the largest chunk that it would have to hold. */
static void remember(struct fit *f, uint32_t parts, uint32_t node)
{
	const struct hpdsl_stage_wish *w = f->w;
	struct hpdsl_stage_span s = hpdsl_stage_parts_of(w->nodes, parts, node);

	f->node = node;
	f->chunk = s.first;
	for (uint64_t p = s.first; p <= s.last; p++)
		for (uint64_t c = p; c < w->chunks; c += parts)
			if (w->weight[c] > w->weight[f->chunk])
				f->chunk = c;
}

/* One that refused the last D: its parts alone, without a look at all nodes. */
static bool suspect_fits(struct fit *f, uint32_t parts, uint32_t node)
{
	struct hpdsl_stage_span s =
		hpdsl_stage_parts_of(f->w->nodes, parts, node);
	uint64_t need = 0;

	for (uint32_t p = s.first; p <= s.last; p++)
		need = hp_fit_add(need, hp_fit_part(f->w, parts, p));
	if (need <= f->w->capacity[node])
		return true;
	remember(f, parts, node);
	return false;
}

/* The node of the group that has the least room for the chunk's part. */
static uint32_t tightest(const struct fit *f, uint32_t parts)
{
	struct hpdsl_stage_span g = hpdsl_stage_group_of(
		f->w->nodes, parts, (uint32_t)(f->chunk % parts));
	uint32_t least = g.first;

	for (uint32_t n = g.first; n <= g.last; n++)
		if (f->w->capacity[n] < f->w->capacity[least])
			least = n;
	return least;
}

static bool fits(struct fit *f, uint32_t parts)
{
	if (!suspect_fits(f, parts, tightest(f, parts)) ||
	    !suspect_fits(f, parts, f->node) || !rooms(f, parts))
		return false;
	for (uint32_t p = 0; p < parts; p++)
		f->bytes[p] = hp_fit_part(f->w, parts, p);
	for (uint32_t n = 0; n < f->w->nodes; n++)
		if (hp_fit_need(f->bytes, f->w->nodes, parts, n) >
		    f->w->capacity[n]) {
			remember(f, parts, n);
			return false;
		}
	return true;
}

/* With more parts than chunks some would be of none. */
uint32_t hp_fit_wanted(const struct hpdsl_stage_wish *w)
{
	return w->parts > 1 && w->parts <= w->chunks ? w->parts : 0;
}

int64_t hp_fit_parts(const struct hpdsl_stage_wish *w)
{
	uint32_t wanted = hp_fit_wanted(w);
	uint32_t most = wanted > w->nodes ? wanted : w->nodes;
	hp_auto_free uint64_t *bytes = hp_array(most, sizeof *bytes);
	struct fit f = { .w = w, .bytes = bytes };

	if (!bytes)
		return -ENOMEM;
	for (uint64_t c = 0; c < w->chunks; c++)
		f.total = hp_fit_add(f.total, w->weight[c]);
	if (wanted && fits(&f, 1))
		return 1;
	if (wanted && fits(&f, wanted))
		return wanted;
	for (uint32_t d = first_parts(&f); d <= w->nodes; d++)
		if (fits(&f, d))
			return d;
	return 0;
}
