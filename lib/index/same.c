/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a copy: is one still what it was, and what is its path? */
#include "index/copy.h"

#include "base/error.h"

/* Its chunk, if the chunk's row does not say so: the sample's word counts. */
static bool is_in_chunk(struct hp_index_copy *c, const struct hpdsl_member *m,
			const struct hpdsl_chunk *chunk)
{
	struct hpdsl_member now;

	return m->number - chunk->first_member < chunk->members ||
	       (hp_index_place(&c->ix, m->number, &now, NULL) == 0 &&
		now.chunk == m->chunk);
}

int hp_index_copy_same(struct hp_index_copy *c, const struct hpdsl_member *m,
		       struct hpdsl_error *err)
{
	const struct hp_index *ix = &c->ix;
	uint8_t row[HP_MEMBER_ROW];
	struct hpdsl_chunk chunk;
	int r;

	if (m->number >= ix->count.members)
		return hp_index_out_of_range(ix, "member", m->number,
					     ix->count.members, err);
	r = hp_index_take(ix, HP_SECTION_MEMBERS, m->number * HP_MEMBER_ROW,
			  row, sizeof row, err);
	if (r == 0)
		r = hp_index_chunk(ix, m->chunk, &chunk, err);
	if (r == 0)
		r = hp_index_copy_prove(c, hp_get48(row + 40),
					hp_get16(row + 36) + 1u, err);
	if (r < 0)
		return r;
	if (hp_get64(row) == m->offset && hp_get64(row + 8) == m->size &&
	    hp_get64(row + 16) == m->checksum &&
	    hp_get16(row + 36) == m->path_len && is_in_chunk(c, m, &chunk))
		return 0;
	return hp_index_bad_row(ix, "member", m->number,
				"is not what it was when it was asked for",
				err);
}

const char *hp_index_path_text(const struct hp_index *ix, uint64_t member,
			       char buf[320])
{
	hp_auto_index_copy c;
	struct hpdsl_member m;

	hp_index_copy_begin(&c, ix, false);
	if (hp_index_member(&c.ix, member, &m, NULL) < 0)
		return "?";
	return hp_printable(m.path, m.path_len, buf);
}
