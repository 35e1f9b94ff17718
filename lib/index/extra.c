/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the sections that are there only where needed: names in chunks,
 * SHA-256, frames of compressed chunks.  Each is checked when it is read.
 */
#include "index/private.h"

#include "base/error.h"
#include "base/path.h"
#include "chunk/seek_table.h"

#include <errno.h>
#include <inttypes.h>

bool hp_index_is_bare(const struct hp_index *ix, enum hp_index_section kind)
{
	return hp_index_has(ix, kind) && !hp_index_section(ix, kind)->length;
}

/* ---- Names in chunks -------------------------------------------------- */

bool hp_index_has_stored(const struct hp_index *ix)
{
	return hp_index_rows(ix, HP_SECTION_STORED) > 0;
}

static int stored_name(const struct hp_index *ix, const uint8_t *row,
		       const char **ret, size_t *ret_len,
		       struct hpdsl_error *err)
{
	uint16_t len = hp_get16(row + 14);
	const char *name;
	int r = hp_index_name(ix, HP_SECTION_STORED_PATHS, hp_get48(row + 8),
			      len, &name, err);

	if (r < 0)
		return r;
	/* An adopted tar may have any name. */
	if (!(ix->flags & HP_INDEX_FOREIGN) && !hp_path_valid(name, len))
		return hp_index_bad_row(ix, "member", hp_get64(row),
					"has an invalid name in its chunk",
					err);
	*ret = name;
	*ret_len = len;
	return 0;
}

int hp_index_stored(const struct hp_index *ix, uint64_t member,
		    const char **ret, size_t *ret_len, struct hpdsl_error *err)
{
	uint64_t low = 0, high = hp_index_rows(ix, HP_SECTION_STORED);

	if (member >= ix->count.members)
		return hp_index_out_of_range(ix, "member", member,
					     ix->count.members, err);
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		uint8_t row[HP_STORED_ROW];
		int r = hp_index_take(ix, HP_SECTION_STORED,
				      mid * HP_STORED_ROW, row, sizeof row,
				      err);

		if (r < 0)
			return r;
		if (hp_get64(row) == member)
			return stored_name(ix, row, ret, ret_len, err);
		if (hp_get64(row) < member)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = NULL;
	*ret_len = 0;
	return 0;
}

/* ---- SHA-256 ---------------------------------------------------------- */

bool hp_index_has_sha256(const struct hp_index *ix)
{
	return hp_index_has(ix, HP_SECTION_MEMBER_SHA256);
}

static int get_sha256(const struct hp_index *ix, enum hp_index_section kind,
		      uint64_t number, uint8_t ret[32], struct hpdsl_error *err)
{
	if (!hp_index_has(ix, kind))
		return hp_fail(err, -ENODATA, "%s: has no SHA-256", ix->name);
	return hp_index_take(ix, kind, number * HP_SHA256_ROW, ret,
			     HP_SHA256_ROW, err);
}

int hp_index_member_sha256(const struct hp_index *ix, uint64_t number,
			   uint8_t ret[32], struct hpdsl_error *err)
{
	if (number >= ix->count.members)
		return hp_index_out_of_range(ix, "member", number,
					     ix->count.members, err);
	return get_sha256(ix, HP_SECTION_MEMBER_SHA256, number, ret, err);
}

int hp_index_chunk_sha256(const struct hp_index *ix, uint32_t number,
			  uint8_t ret[32], struct hpdsl_error *err)
{
	if (number >= ix->count.chunks)
		return hp_index_out_of_range(ix, "chunk", number,
					     ix->count.chunks, err);
	return get_sha256(ix, HP_SECTION_CHUNK_SHA256, number, ret, err);
}

/* ---- Frames ----------------------------------------------------------- */

static int bad_frame(const struct hp_index *ix, const struct hpdsl_chunk *c,
		     uint32_t number, struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ECORRUPT,
		       "%s: chunk %" PRIu32 ": frame %" PRIu32
		       " lies where it cannot",
		       ix->name, c->number, number);
}

static int frame_row(const struct hp_index *ix, const struct hpdsl_chunk *c,
		     uint32_t number, uint32_t n, uint8_t *ret,
		     struct hpdsl_error *err)
{
	return hp_index_take(ix, HP_SECTION_FRAMES,
			     (c->first_frame + number) * HP_FRAME_ROW, ret,
			     (uint64_t)n * HP_FRAME_ROW, err);
}

/* Is it between the chunk's ends, not empty, and of a size we read? */
static bool frame_fits(const struct hpdsl_chunk *c, uint32_t number,
		       const struct hp_frame *f)
{
	if (number == 0 && (f->plain || f->stored))
		return false;
	return f->plain < f->plain_end && f->plain_end <= c->plain_bytes &&
	       f->plain_end - f->plain <= HP_FRAME_MAX &&
	       f->stored < f->stored_end &&
	       f->stored_end <= c->bytes - hp_seek_table_bytes(c->frames) &&
	       f->stored_end - f->stored <= UINT32_MAX;
}

int hp_index_frame(const struct hp_index *ix, const struct hpdsl_chunk *c,
		   uint32_t number, struct hp_frame *ret,
		   struct hpdsl_error *err)
{
	bool last = number + 1 == c->frames;
	uint8_t row[2 * HP_FRAME_ROW];
	struct hp_frame f;
	int r;

	if (number >= c->frames)
		return hp_index_out_of_range(ix, "frame", number, c->frames,
					     err);
	/* It ends where the next one begins. */
	r = frame_row(ix, c, number, last ? 1 : 2, row, err);
	if (r < 0)
		return r;
	f.plain = hp_get64(row);
	f.stored = hp_get64(row + 8);
	f.plain_end = last ? c->plain_bytes : hp_get64(row + HP_FRAME_ROW);
	f.stored_end = last ? c->bytes - hp_seek_table_bytes(c->frames) :
			      hp_get64(row + HP_FRAME_ROW + 8);
	if (!frame_fits(c, number, &f))
		return bad_frame(ix, c, number, err);
	*ret = f;
	return 0;
}

int hp_index_frame_find(const struct hp_index *ix, const struct hpdsl_chunk *c,
			uint64_t offset, uint32_t *ret, struct hpdsl_error *err)
{
	uint32_t low = 0, high = c->frames;
	struct hp_frame f;
	int r;

	if (offset >= c->plain_bytes)
		return hp_index_out_of_range(ix, "byte", offset, c->plain_bytes,
					     err);
	/* The last one that begins at or before offset. */
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;
		uint8_t row[HP_FRAME_ROW];

		r = frame_row(ix, c, mid, 1, row, err);
		if (r < 0)
			return r;
		if (hp_get64(row) <= offset)
			low = mid;
		else
			high = mid;
	}
	r = hp_index_frame(ix, c, low, &f, err);
	if (r < 0)
		return r;
	if (offset < f.plain || offset >= f.plain_end)
		return bad_frame(ix, c, low, err);
	*ret = low;
	return 0;
}
