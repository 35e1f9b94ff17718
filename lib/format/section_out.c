/* SPDX-License-Identifier: Apache-2.0 */
/* Sections in blocks, with their checksums. */
#include "format/section_out.h"

#include "base/error.h"
#include "base/hash.h"

#include <errno.h>

void hp_section_begin(struct hp_section_out *o,
		      const struct hp_section_place *place, uint64_t from,
		      uint64_t end)
{
	o->place = *place;
	o->at = from;
	o->end = end;
	o->block0 = from / HP_BLOCK;
	o->n_sums = 0;
	o->used = 0;
}

/* Places were promised by counting, and header and table tell them. */
static int fail_changed(struct hp_section_out *o)
{
	return hp_fail(o->err, -EINVAL,
		       "what was to be written has changed meanwhile");
}

static int send_block(struct hp_section_out *o)
{
	uint64_t at = o->at;
	size_t n = o->used;

	hp_put64(&o->sums[o->n_sums++], hp_hash64(o->block, n));
	o->at += n;
	o->used = 0;
	return o->sink->write(o->sink->arg, o->block, n, o->place.offset + at,
			      o->err);
}

int hp_section_put_slow(struct hp_section_out *o, const void *p, size_t n)
{
	while (n) {
		size_t room = HP_BLOCK - o->used, k = n < room ? n : room;
		int r = 0;

		if (o->at + o->used + n > o->end)
			return fail_changed(o);
		memcpy(o->block + o->used, p, k);
		o->used += k;
		p = (const uint8_t *)p + k;
		n -= k;
		if (o->used == HP_BLOCK)
			r = send_block(o);
		if (r < 0)
			return r;
	}
	return 0;
}

int hp_section_finish(struct hp_section_out *o)
{
	int r = 0;

	if (o->at + o->used != o->end)
		return fail_changed(o);
	while (o->used % 8)
		o->block[o->used++] = 0;
	if (o->used)
		r = send_block(o);
	if (r == 0 && o->n_sums)
		r = o->sink->write(o->sink->arg, o->sums, o->n_sums * 8,
				   hp_section_sums(&o->place) + o->block0 * 8,
				   o->err);
	return r;
}

uint64_t hp_section_put_row(uint32_t kind, uint32_t flags, uint32_t row_size,
			    const struct hp_section_place *place, uint8_t *row)
{
	hp_put32(row, kind);
	hp_put32(row + 4, flags);
	hp_put64(row + 8, place->offset);
	hp_put64(row + 16, place->length);
	hp_put32(row + 24, row_size);
	hp_put32(row + 28, 0);
	return hp_section_end(place);
}
