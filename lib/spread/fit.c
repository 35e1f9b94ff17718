/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With nodes of different room, D parts may fit where D + 1 do not, so each D
 * is tried, from the first for which the D roomiest nodes could hold the
 * dataset.  A D is refused by its tightest part, once that is found: the parts
 * with the chunk and the node that refused the last D are looked at first.
 */
#include "spread/fit.h"

#include "base/mem.h"

#include <errno.h>

struct fit {
	const struct hpdsl_stage_wish *w;
	uint64_t total;
	uint64_t *room; /* of each part, its smallest node's */
	/* Who refused the last D. */
	uint64_t chunk;
	uint32_t node;
};

uint64_t hp_fit_part(const struct hpdsl_stage_wish *w, uint32_t parts,
		     uint32_t part)
{
	uint64_t sum = 0;

	for (uint64_t c = part; c < w->chunks; c += parts)
		sum = hp_fit_add(sum, w->weight[c]);
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
		f->room[n] = f->w->capacity[n];
	qsort(f->room, f->w->nodes, sizeof *f->room, descending);
	while (d < f->w->nodes && (!d || sum < f->total))
		sum = hp_fit_add(sum, f->room[d++]);
	return sum < f->total ? f->w->nodes + 1 : d;
}

/* The smallest rooms; do they hold the dataset, taken together? */
static bool rooms(struct fit *f, uint32_t parts)
{
	uint64_t sum = 0;

	for (uint32_t p = 0; p < parts; p++)
		f->room[p] = f->w->capacity[p];
	for (uint32_t n = parts, p = 0; n < f->w->nodes; n++) {
		if (f->w->capacity[n] < f->room[p])
			f->room[p] = f->w->capacity[n];
		if (++p == parts)
			p = 0;
	}
	for (uint32_t p = 0; p < parts; p++)
		sum = hp_fit_add(sum, f->room[p]);
	return sum >= f->total;
}

static void remember(struct fit *f, uint32_t parts, uint32_t part)
{
	const struct hpdsl_stage_wish *w = f->w;

	f->chunk = part;
	for (uint64_t c = part; c < w->chunks; c += parts)
		if (w->weight[c] > w->weight[f->chunk])
			f->chunk = c;
	f->node = part;
	for (uint64_t n = part; n < w->nodes; n += parts)
		if (w->capacity[n] < w->capacity[f->node])
			f->node = (uint32_t)n;
}

static bool part_fits(struct fit *f, uint32_t parts, uint32_t part,
		      uint64_t room)
{
	if (hp_fit_part(f->w, parts, part) <= room)
		return true;
	remember(f, parts, part);
	return false;
}

/* One that refused the last D: its part alone, without a look at all nodes. */
static bool suspect_fits(struct fit *f, uint32_t parts, uint32_t part)
{
	uint64_t room = UINT64_MAX;

	for (uint64_t n = part; n < f->w->nodes; n += parts)
		if (f->w->capacity[n] < room)
			room = f->w->capacity[n];
	return part_fits(f, parts, part, room);
}

static bool fits(struct fit *f, uint32_t parts)
{
	if (!suspect_fits(f, parts, (uint32_t)(f->chunk % parts)) ||
	    !suspect_fits(f, parts, f->node % parts) || !rooms(f, parts))
		return false;
	for (uint32_t p = 0; p < parts; p++)
		if (!part_fits(f, parts, p, f->room[p]))
			return false;
	return true;
}

int64_t hp_fit_parts(const struct hpdsl_stage_wish *w)
{
	hp_auto_free uint64_t *room = hp_array(w->nodes, sizeof *room);
	struct fit f = { .w = w, .room = room };

	if (!room)
		return -ENOMEM;
	f.total = hp_fit_part(w, 1, 0);
	for (uint32_t d = first_parts(&f); d <= w->nodes; d++)
		if (fits(&f, d))
			return d;
	return 0;
}
