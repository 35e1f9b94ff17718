/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed chunks: the seek table.  Pure. */
#include "chunk/seek_table.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>

#define SEEKABLE 0x8f92eab1u
#define CHECKSUMS 0x80 /* the descriptor's bit 7, no other */

struct hp_frame_row *hp_frame_rows(const struct hp_seek_entry *v, uint32_t n)
{
	struct hp_frame_row *rows = hp_array(n, sizeof *rows), at = { 0 };

	for (uint32_t i = 0; rows && i < n; i++) {
		rows[i] = at;
		at.plain += v[i].plain;
		at.stored += v[i].stored;
	}
	return rows;
}

void hp_seek_table_write(const struct hp_seek_entry *v, uint32_t n,
			 uint8_t *out)
{
	uint8_t *p = out + 8;

	hp_put32(out, HP_SEEK_MAGIC);
	hp_put32(out + 4, (uint32_t)(hp_seek_table_bytes(n) - 8));
	for (uint32_t i = 0; i < n; i++, p += 12) {
		hp_put32(p, v[i].stored);
		hp_put32(p + 4, v[i].plain);
		hp_put32(p + 8, v[i].checksum);
	}
	hp_put32(p, n);
	p[4] = CHECKSUMS;
	hp_put32(p + 5, SEEKABLE);
}

int hp_seek_foot_read(const uint8_t foot[9], uint32_t *ret,
		      struct hpdsl_error *err)
{
	uint32_t n = hp_get32(foot);

	if (hp_get32(foot + 5) != SEEKABLE)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "there is no seek table at the end");
	if (foot[4] != CHECKSUMS || !n || n > HP_SEEK_FRAMES)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "the foot of the seek table is damaged");
	*ret = n;
	return 0;
}

int hp_seek_table_read(const uint8_t *table, uint32_t n, uint64_t file_bytes,
		       struct hp_seek_entry *ret, struct hpdsl_error *err)
{
	uint64_t bytes = hp_seek_table_bytes(n), stored = bytes;
	const uint8_t *p = table + 8;

	if (hp_get32(table) != HP_SEEK_MAGIC ||
	    hp_get32(table + 4) != (uint32_t)(bytes - 8))
		return hp_fail(err, HPDSL_ECORRUPT,
			       "the head of the seek table is damaged");
	for (uint32_t i = 0; i < n; i++, p += 12) {
		ret[i] = (struct hp_seek_entry){
			.stored = hp_get32(p),
			.plain = hp_get32(p + 4),
			.checksum = hp_get32(p + 8),
		};
		stored += ret[i].stored;
		if (!ret[i].stored || !ret[i].plain ||
		    ret[i].plain > HP_FRAME_MAX)
			return hp_fail(err, HPDSL_ECORRUPT,
				       "frame %" PRIu32
				       " of the seek table cannot be",
				       i);
	}
	if (stored != file_bytes)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "the frames of the seek table do not fill the "
			       "file");
	return hp_seek_foot_read(p, &n, err);
}
