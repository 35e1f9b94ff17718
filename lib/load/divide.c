/* SPDX-License-Identifier: Apache-2.0 */
#include "load/divide.h"

#include "base/error.h"
#include "dataset/dataset.h"
#include "load/shares.h"
#include "load/unit.h"
#include "order/epoch.h"

#include <inttypes.h>
#include <stdio.h>

typedef unsigned __int128 wide;

enum { PLACE = 128 }; /* bytes for a sample of a step, but for its content */

int hp_load_check_places(uint64_t places, uint64_t memory,
			 struct hpdsl_error *err)
{
	uint64_t most =
		memory > HPDSL_LOADER_MEMORY ? memory : HPDSL_LOADER_MEMORY;

	most /= PLACE;
	if (most >= UINT32_MAX / 2)
		most = UINT32_MAX / 2 - 1;
	if (places > most)
		return hp_fail(err, HPDSL_EUSAGE,
			       "steps are too large: %" PRIu64 " samples of "
			       "one are this reader's, and with this memory "
			       "%" PRIu64 " can be",
			       places, most);
	return 0;
}

static uint64_t least(wide n)
{
	return n < UINT64_MAX / 4 ? (uint64_t)n : UINT64_MAX / 4;
}

/* Bytes of all chunks, and what the rows of their samples take in memory. */
static int look(const struct hpdsl_dataset *ds, struct hpdsl_counts *n,
		wide *ret_bytes, wide *ret_rows, struct hpdsl_error *err)
{
	*ret_bytes = 0;
	hpdsl_count(ds, n);
	for (uint32_t c = 0; c < n->chunks; c++) {
		struct hpdsl_chunk chunk;
		int r = hpdsl_chunk_get(ds, c, &chunk, err);

		if (r < 0)
			return r;
		*ret_bytes += chunk.plain_bytes;
	}
	*ret_rows = (wide)n->samples * sizeof(struct hp_load_row) +
		    (wide)n->members * sizeof(struct hp_block_member);
	return 0;
}

/* So much memory, of which rows are to have their part, for content alone. */
static uint64_t for_content(uint64_t memory, wide bytes, wide rows)
{
	return bytes ? least((wide)memory * bytes / (bytes + rows)) : memory;
}

/* Pieces are not cut: two thirds of what three batches leave, or of half. */
static uint64_t find_cure(const struct hp_load_division *d, uint64_t batch,
			  wide bytes, wide rows)
{
	wide all = (wide)d->piece_bytes * d->lanes * 3 / 2;

	all += 3 * (wide)batch < all ? 3 * (wide)batch : all;
	all += all / 16;
	return least(all * (bytes + rows) / (bytes ? bytes : 1));
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Of a piece that is larger than a chunk, or than what a lane gets, so much is
 * read at a time.  The first lane has most. */
static uint64_t piece_samples(const struct hpdsl_epoch *e, uint64_t piece)
{
	uint64_t lane = hp_deal_lane(hp_seq_deal(hp_epoch_seq(e)), 0);

	return min(piece, min(hp_epoch_longest(e), lane));
}

int hp_load_divide(const struct hpdsl_dataset *ds, const struct hpdsl_epoch *e,
		   const struct hp_own *own, uint64_t memory,
		   struct hp_load_division *ret, struct hpdsl_error *err)
{
	struct hp_load_division d = { .lanes = hp_own_lanes(own) };
	struct hpdsl_epoch_info info;
	struct hpdsl_counts n;
	uint64_t batch, piece;
	wide bytes, rows;
	int r = look(ds, &n, &bytes, &rows, err);

	if (r < 0)
		return r;
	hpdsl_epoch_info(e, &info);
	piece = piece_samples(e, info.order.piece);
	d.sample_bytes = n.samples ? least(bytes / n.samples) : 0;
	batch = least((wide)d.sample_bytes * (own->slot_end - own->slot));
	d.share_bytes = hp_shares_bytes(for_content(memory, bytes, rows), batch,
					d.lanes);
	if (info.order.plain && d.share_bytes > HP_FETCH_READ)
		d.share_bytes = HP_FETCH_READ;
	if (!info.order.plain)
		d.piece_bytes = least((wide)piece * d.sample_bytes);
	if (piece > 1 && d.share_bytes < d.piece_bytes)
		d.cure = find_cure(&d, batch, bytes, rows);
	*ret = d;
	return 0;
}

/* ---- The warning ------------------------------------------------------ */

/* "3.9 MiB" */
static const char *text_of(uint64_t bytes, char buf[16])
{
	static const char unit[] = "KMGTPE";
	double v = (double)bytes / 1024;
	size_t i = 0;

	for (; v >= 1023.5 && i + 2 < sizeof unit; i++)
		v /= 1024;
	snprintf(buf, 16, v < 9.95 ? "%.1f %ciB" : "%.0f %ciB", v, unit[i]);
	return buf;
}

void hp_load_division_text(const struct hp_load_division *d,
			   char buf[HP_LOAD_DIVISION_TEXT])
{
	uint64_t is = d->share_bytes > d->sample_bytes ? d->share_bytes :
							 d->sample_bytes;
	char now[16], with[16], then[16];

	snprintf(buf, HP_LOAD_DIVISION_TEXT,
		 "reads of %s: with a memory of %s they would be %s",
		 text_of(is, now), text_of(d->cure, with),
		 text_of(d->piece_bytes, then));
}
