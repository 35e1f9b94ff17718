/* SPDX-License-Identifier: Apache-2.0 */
/* Members of scattered chunks that come from files which can be read anywhere.
 */
#include "scatter/private.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "sys/pool.h"
#include "write/read_file.h"

#include <string.h>

enum { BUFFER = 1 << 20, READERS = 16 };

static const uint64_t memory_default = 512 << 20;

struct copying {
	struct hp_scatter *s;
	struct hp_content_state hash;
	uint8_t data[HP_TAR_HEADER_MAX + BUFFER];
};

static int copy_file(struct copying *k, const struct hp_stream_spot *spot,
		     struct hpdsl_error *err)
{
	struct hp_scatter *s = k->s;
	struct hp_file *f = &s->w->list.files[spot->file];
	/* That an earlier run came to this is not known, but likely. */
	struct hp_scatter_piece piece = { .compare = true };
	uint8_t *data = k->data + HP_TAR_HEADER_MAX;
	struct hp_content_hash h;
	uint32_t crc = 0;
	int r;

	hp_content_begin(&k->hash);
	do {
		uint64_t left = f->size - piece.offset;

		piece.len = (uint32_t)(left < BUFFER ? left : BUFFER);
		r = hp_read_content(s->w, f, data, piece.len, piece.offset,
				    err);
		if (r < 0)
			return r;
		hp_content_update(&k->hash, data, piece.len);
		crc = hp_content_crc(f, crc, data, piece.len);
		memset(data + piece.len, 0,
		       hp_tar_padded(piece.len) - piece.len);
		r = hp_scatter_put(s, spot, &piece, data, err);
		if (r < 0)
			return r;
		hp_meter_add(&s->meter, piece.len);
		piece.offset += piece.len;
	} while (piece.offset < f->size);
	hp_content_end(&k->hash, &h);
	r = hp_content_check_crc(s->w, f, crc, err);
	return r < 0 ? r : hp_content_set(s->w, f, &h, err);
}

static int copy_chunk(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct hp_scatter *s = arg;
	const struct hp_plan *plan = &s->w->plan;
	uint32_t c = s->chunks[number];
	hp_auto_free struct copying *k = hp_aligned(sizeof *k);
	struct hp_plan_place place;
	struct hp_plan_walk w;
	int r = 0;

	if (!k)
		return hp_fail_nomem(err);
	k->s = s;
	hp_plan_walk_chunk(&w, plan, c);
	while (r == 0 && hp_plan_walk_next(&w, &place)) {
		struct hp_stream_spot spot = { .header = place.header,
					       .file = place.file,
					       .chunk = c };

		if (hp_scatter_streamed(plan->list,
					&plan->list->files[place.file]))
			continue;
		if (hp_stopped(hp_scatter_watch(s)))
			return hp_fail(err, HPDSL_ESTOPPED, "stopped early");
		r = copy_file(k, &spot, err);
	}
	return r;
}

int hp_scatter_copy(struct hp_scatter *s, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *opt = s->w->opt;
	uint64_t memory = opt->memory ? opt->memory : memory_default;
	uint64_t threads = opt->readers ? opt->readers : READERS;

	if (threads > memory / 2 / sizeof(struct copying))
		threads = memory / 2 / sizeof(struct copying);
	if (opt->threads == HPDSL_SERIAL)
		threads = HPDSL_SERIAL;
	return hp_pool_run((uint32_t)threads, s->n_chunks, copy_chunk, s,
			   opt->watch.stop, err);
}
