/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a block's members lie in its memory.  Members near each other make a
 * stretch, which is read from its first page to its last; stretches lie one
 * behind the other.
 */
#include "dataset/fetch_private.h"

uint64_t hp_fetch_pages(uint64_t begin, uint64_t end)
{
	return begin < end ? hp_fetch_page(end + HP_FETCH_PAGE - 1) -
				     hp_fetch_page(begin) :
			     0;
}

bool hp_fetch_joins(uint64_t begin, uint64_t end,
		    const struct hp_block_member *m)
{
	return m->offset >= begin && m->offset <= end + HP_FETCH_GAP;
}

void hp_fetch_room_add(struct hp_fetch_room *r, const struct hp_block_member *m)
{
	uint64_t end = m->offset + m->size;
	size_t more;

	if (!m->size) {
		/* It is read with those beside it, wherever it lies. */
		r->any = r->any && r->chunk == m->chunk;
		return;
	}
	if (r->any && r->chunk == m->chunk &&
	    hp_fetch_joins(r->begin, r->end, m)) {
		r->end = end > r->end ? end : r->end;
	} else {
		r->before = r->bytes;
		r->any = true;
		r->chunk = m->chunk;
		r->begin = m->offset;
		r->end = end;
	}
	more = hp_fetch_pages(r->begin, r->end);
	/* An index may say that members overlap, and how often it likes. */
	if (r->before > SIZE_MAX - more)
		r->before = SIZE_MAX - more;
	r->bytes = r->before + more;
}

size_t hp_fetch_room(const struct hp_block_member *m, uint32_t n)
{
	struct hp_fetch_room r = { 0 };

	for (uint32_t i = 0; i < n; i++)
		hp_fetch_room_add(&r, &m[i]);
	return r.bytes;
}
