/* SPDX-License-Identifier: Apache-2.0 */
#include "load/extent.h"

static const struct hp_extent nowhere;

/* NULL: the index is damaged there. */
static const struct hpdsl_chunk *chunk_of(struct hp_load_extents *x,
					  uint32_t list)
{
	uint32_t c = hp_epoch_list_chunk(x->e, list);

	if (x->known == c + UINT64_C(1))
		return &x->chunk;
	x->known = 0;
	if (hp_index_chunk(x->index, c, &x->chunk, NULL) < 0)
		return NULL;
	x->known = c + UINT64_C(1);
	return &x->chunk;
}

/* ---- A sample --------------------------------------------------------- */

/* From its first member to its last one. */
static struct hp_extent all_of(const struct hp_load_extents *x,
			       const struct hp_sample_row *row)
{
	struct hpdsl_member first, last;

	if (row->first == row->end ||
	    hp_index_place(x->index, row->first, &first, NULL) < 0)
		return nowhere;
	last = first;
	if (row->end - row->first > 1 &&
	    hp_index_place(x->index, row->end - 1, &last, NULL) < 0)
		return nowhere;
	return (struct hp_extent){ first.offset, last.offset + last.size };
}

static bool is_wanted(const struct hp_load_extents *x,
		      const struct hpdsl_member *m)
{
	for (uint32_t i = 0; i < x->wanted.n_suffixes; i++)
		if (hp_load_has_suffix(x->index, m, x->wanted.suffixes[i]))
			return true;
	return false;
}

/* From the first one that is wanted to the last. */
static struct hp_extent wanted_of(const struct hp_load_extents *x,
				  const struct hp_sample_row *row)
{
	struct hp_extent at = nowhere;

	for (uint64_t i = row->first; i < row->end; i++) {
		struct hpdsl_member m;

		if (hp_index_member(x->index, i, &m, NULL) < 0)
			return nowhere;
		if (!is_wanted(x, &m) || !m.size)
			continue;
		if (!at.end)
			at.begin = m.offset;
		at.end = m.offset + m.size;
	}
	return at;
}

/* ---- Frames ----------------------------------------------------------- */

static bool frames_of(const struct hp_load_extents *x,
		      const struct hpdsl_chunk *c, struct hp_extent at,
		      struct hp_frame *ret_first, struct hp_frame *ret_last)
{
	uint32_t a, b;

	return hp_index_frame_find(x->index, c, at.begin, &a, NULL) == 0 &&
	       hp_index_frame_find(x->index, c, at.end - 1, &b, NULL) == 0 &&
	       hp_index_frame(x->index, c, a, ret_first, NULL) == 0 &&
	       hp_index_frame(x->index, c, b, ret_last, NULL) == 0;
}

/* What has to be expanded for it. */
static struct hp_extent whole_frames(const struct hp_load_extents *x,
				     const struct hpdsl_chunk *c,
				     struct hp_extent at)
{
	struct hp_frame first, last;

	if (!frames_of(x, c, at, &first, &last))
		return at;
	return (struct hp_extent){ first.plain, last.plain_end };
}

/* ---- For shares ------------------------------------------------------- */

/* In the plain chunk, which is *ret_chunk. */
static struct hp_extent plain_of(struct hp_load_extents *x, uint32_t list,
				 uint64_t index,
				 const struct hpdsl_chunk **ret_chunk)
{
	const struct hpdsl_chunk *c = chunk_of(x, list);
	struct hp_sample_row row;
	struct hp_extent at;
	uint64_t number;

	hp_epoch_list_samples(x->e, list, index, 1, &number);
	if (!c || hp_index_sample_row(x->index, number, &row, NULL) < 0)
		return nowhere;
	x->members += row.end - row.first;
	at = x->wanted.n_suffixes ? wanted_of(x, &row) : all_of(x, &row);
	if (at.end <= at.begin || at.end > c->plain_bytes)
		return nowhere;
	*ret_chunk = c;
	return at;
}

struct hp_extent hp_load_extent(void *arg, uint32_t list, uint64_t index)
{
	const struct hpdsl_chunk *c;
	struct hp_extent at = plain_of(arg, list, index, &c);

	return at.end && c->compressed ? whole_frames(arg, c, at) : at;
}

struct hp_extent hp_load_kept(void *arg, const struct hp_share *share)
{
	const struct hpdsl_chunk *c;
	struct hp_extent first = plain_of(arg, share->list, share->index, &c);
	struct hp_extent last = plain_of(arg, share->list,
					 share->index + share->samples - 1, &c);

	if (!first.end || last.end < first.begin || !c->compressed)
		return share->at;
	return (struct hp_extent){ first.begin, last.end };
}

bool hp_load_dense(void *arg, uint32_t list, uint64_t index, uint64_t n)
{
	struct hp_load_extents *x = arg;
	const struct hpdsl_chunk *c = chunk_of(x, list);
	uint64_t first, last;

	if (!c || c->compressed || x->wanted.n_suffixes)
		return false;
	hp_epoch_list_samples(x->e, list, index, 1, &first);
	hp_epoch_list_samples(x->e, list, index + n - 1, 1, &last);
	return last - first == n - 1;
}

struct hp_extent hp_load_stored(void *arg, uint32_t list, struct hp_extent at)
{
	const struct hp_load_extents *x = arg;
	const struct hpdsl_chunk *c = chunk_of(arg, list);
	struct hp_frame first, last;

	if (!c || !c->compressed || at.end <= at.begin ||
	    !frames_of(x, c, at, &first, &last))
		return at;
	return (struct hp_extent){ first.stored, last.stored_end };
}

uint64_t hp_load_members(const struct hp_load_extents *x,
			 const struct hp_share *s)
{
	struct hp_sample_row first, last;
	uint64_t a, b;

	hp_epoch_list_samples(x->e, s->list, s->index, 1, &a);
	hp_epoch_list_samples(x->e, s->list, s->index + s->samples - 1, 1, &b);
	/* Of neighbours not all were asked for, but members are, too. */
	if (b - a != s->samples - 1 ||
	    hp_index_sample_row(x->index, a, &first, NULL) < 0 ||
	    hp_index_sample_row(x->index, b, &last, NULL) < 0 ||
	    last.end < first.first)
		return x->members;
	return last.end - first.first;
}
