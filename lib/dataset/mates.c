/* SPDX-License-Identifier: Apache-2.0 */
/* Members that are decoded together. */
#include "dataset/dataset.h"
#include "dataset/member_behind.h"

#include "base/error.h"

/* The frames that hold it, as one: 1; 0: it is large, or has large ones. */
static int find_frames(const struct hp_index *ix, const struct hpdsl_chunk *c,
		       const struct hpdsl_member *m, struct hp_frame *ret,
		       struct hpdsl_error *err)
{
	struct hp_frame last;
	uint32_t a, b;
	int r = hp_index_frame_find(ix, c, m->offset, &a, err);

	if (r == 0)
		r = hp_index_frame_find(ix, c, m->offset + m->size - 1, &b,
					err);
	if (r == 0)
		r = hp_index_frame(ix, c, a, ret, err);
	if (r == 0)
		r = hp_index_frame(ix, c, b, &last, err);
	if (r < 0)
		return r;
	if (m->size > HP_FRAME_WHOLE ||
	    ret->plain_end - ret->plain > HP_FRAME_WHOLE ||
	    last.plain_end - last.plain > HP_FRAME_WHOLE)
		return 0;
	ret->plain_end = last.plain_end;
	return 1;
}

int hpdsl_member_mates(const struct hpdsl_dataset *ds, uint64_t number,
		       uint64_t *ret_first, uint64_t *ret_n,
		       struct hpdsl_error *err)
{
	struct hp_frame f;
	struct hpdsl_chunk c;
	struct hpdsl_member m;
	uint64_t first, end;
	int r = hpdsl_member_get(ds, number, &m, err);

	if (r == 0)
		r = hpdsl_chunk_get(ds, m.chunk, &c, err);
	if (r < 0)
		return r;
	*ret_first = number;
	*ret_n = 1;
	if (!c.compressed || !m.size)
		return 0;
	r = find_frames(ds->index, &c, &m, &f, err);
	if (r <= 0)
		return r;
	r = hp_member_behind(ds->index, &c, f.plain, &first, err);
	if (r == 0)
		r = hp_member_behind(ds->index, &c, f.plain_end, &end, err);
	if (r < 0)
		return r;
	r = hpdsl_member_get(ds, first, &m, err);
	if (r < 0)
		return r;
	/* The first of them may have begun before. */
	first += first < number && m.offset < f.plain;
	if (first > number || end <= number)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "members of %s are in no order", c.name);
	*ret_first = first;
	*ret_n = end - first;
	return 0;
}
