/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lookup table of a snapshot.  Hashes are split by their first byte, each
 * such bucket is sorted by itself, and where a bucket's slots end is a simple
 * function of where those of the bucket before it do; so blocks of slots can be
 * made independently of each other too.
 */
#include "snap/writer.h"

#include "base/hash.h"

#include <string.h>

/* ---- The first pass --------------------------------------------------- */

struct measure {
	struct hp_snap_range sum;
	const struct hp_folder *folder; /* whose path this is: */
	size_t prefix_len;
	char path[HPDSL_PATH_MAX + 2];
};

static void measure_node(struct hp_snap_writer *w, struct measure *m,
			 const struct hp_node *node)
{
	m->sum.names += node->name_len + 1u;
	if (S_ISLNK(node->mode))
		m->sum.targets += node->size + 1;
	if (S_ISREG(node->mode) && node->member != HPDSL_NO_MEMBER)
		hp_put64(w->checksums + node->member * 8, node->checksum);
}

int hp_snap_measure_range(struct hp_snap_writer *w, uint64_t range,
			  struct hpdsl_error *err)
{
	uint64_t i = range * HP_SNAP_RANGE, end = hp_snap_range_end(w, range);
	struct measure m = { .folder = NULL };
	struct hp_tree_cursor c;

	(void)err;
	if (i == 0) {
		measure_node(w, &m, &w->t->top);
		i++;
	}
	if (i < end)
		hp_tree_seek(w->t, i, &c);
	for (; i < end; i++) {
		const struct hp_node *node = hp_tree_next(&c);

		if (c.folder != m.folder)
			hp_folder_path(c.folder, m.path, &m.prefix_len);
		m.folder = c.folder;
		hp_copy_short(m.path + m.prefix_len, node->name,
			      node->name_len);
		w->hashed[i - 1].hash =
			hp_hash64(m.path, m.prefix_len + node->name_len);
		w->hashed[i - 1].number = i;
		measure_node(w, &m, node);
	}
	w->ranges[range] = m.sum;
	return 0;
}

/* ---- Buckets ---------------------------------------------------------- */

int hp_snap_split_lookup(struct hp_snap_writer *w, uint64_t number,
			 struct hpdsl_error *err)
{
	uint64_t count[HP_SNAP_BUCKETS], at = 0;

	(void)number;
	(void)err;
	hp_lookup_split(w->hashed, w->t->entries - 1, count);
	for (unsigned b = 0; b < HP_SNAP_BUCKETS; b++) {
		w->buckets[b].first = at;
		at += count[b];
		w->buckets[b].end = at;
	}
	return 0;
}

int hp_snap_sort_lookup(struct hp_snap_writer *w, uint64_t number,
			struct hpdsl_error *err)
{
	struct hp_snap_bucket *b = &w->buckets[number];
	uint64_t homes = hp_lookup_homes(w->t->entries - 1);

	(void)err;
	hp_lookup_sort_split(w->hashed + b->first, b->end - b->first);
	b->most = 0;
	for (uint64_t i = b->first; i < b->end; i++) {
		uint64_t end =
			hp_lookup_home(w->hashed[i].hash, homes) + (b->end - i);

		if (end > b->most)
			b->most = end;
	}
	return 0;
}

/* A bucket's slots have no gaps from some point on: either from next, or from
 * one of its homes. */
uint64_t hp_snap_place_lookup(struct hp_snap_writer *w)
{
	uint64_t homes = hp_lookup_homes(w->t->entries - 1), next = 0;

	for (unsigned i = 0; i < HP_SNAP_BUCKETS; i++) {
		struct hp_snap_bucket *b = &w->buckets[i];

		b->next = next;
		next += b->end - b->first;
		if (b->first == b->end)
			continue;
		if (b->most > next)
			next = b->most;
	}
	return next + 1 > homes ? next + 1 : homes;
}

/* ---- Slots ------------------------------------------------------------ */

/* The last bucket whose slots may begin at or before slot at. */
static const struct hp_snap_bucket *find_bucket(const struct hp_snap_writer *w,
						uint64_t at)
{
	unsigned i = HP_SNAP_BUCKETS - 1;

	while (i > 0 && w->buckets[i].next > at)
		i--;
	return &w->buckets[i];
}

int hp_snap_write_lookup(struct hp_snap_writer *w, uint64_t part,
			 struct hpdsl_error *err)
{
	uint64_t n = w->t->entries - 1, homes = hp_lookup_homes(n);
	hp_auto_part struct hp_section_out o;
	uint64_t at, end, next, i;
	int r = hp_snap_part_begin(w, HP_SNAP_LOOKUP, part, HP_SNAP_PART, &o,
				   err);

	if (r < 0)
		return r;
	at = o.at / HP_SLOT_ROW;
	end = o.end / HP_SLOT_ROW;
	i = find_bucket(w, at)->first;
	next = find_bucket(w, at)->next;
	for (; r == 0 && at < end; i++) {
		uint64_t slot = end;

		if (i < n) {
			uint64_t home =
				hp_lookup_home(w->hashed[i].hash, homes);

			slot = home > next ? home : next;
			next = slot + 1;
		}
		for (; r == 0 && at < slot && at < end; at++)
			r = hp_section_put(&o, "\0\0\0\0\0\0\0", HP_SLOT_ROW);
		if (r == 0 && at == slot && at < end) {
			uint8_t row[HP_SLOT_ROW];

			hp_put64(row, hp_lookup_slot(w->hashed[i].hash,
						     w->hashed[i].number));
			r = hp_section_put(&o, row, sizeof row);
			at++;
		}
	}
	return r < 0 ? r : hp_section_finish(&o);
}
