/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files into their places in the segments. */
#include "write/engine.h"

#include "base/error.h"
#include "base/sha256.h"
#include "write/parts.h"
#include "write/read_file.h"

#include <string.h>

/* The header's part between chunk offsets from and to. */
static void put_header(const struct hp_engine *e, const struct hp_segment *s,
		       const struct hp_plan_place *p, uint64_t from,
		       uint64_t to)
{
	uint8_t header[HP_TAR_HEADER_MAX];
	struct hp_tar_member m;

	hp_plan_header(&e->w->list, p->file, &m);
	hp_tar_header_write(&m, header);
	memcpy(s->buf + (from - s->offset), header + (from - p->header),
	       (size_t)(to - from));
}

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int read_piece(const struct hp_engine *e,
		      const struct hp_claim_piece *piece,
		      struct hp_sha256 *sha256, struct hpdsl_error *err)
{
	const struct hp_segment *s = piece->segment;
	const struct hp_plan_place *p = &piece->place;
	struct hp_file *f = &e->w->list.files[p->file];
	uint64_t from = max64(p->header, s->offset);
	uint64_t to = min64(p->next, s->offset + s->len);
	uint64_t data_end = p->data + f->size;
	uint64_t at = max64(from, p->data), end = min64(to, data_end);
	struct hp_content_hash h;
	int r;

	if (from < p->data)
		put_header(e, s, p, from, min64(p->data, to));
	if (to > data_end)
		memset(s->buf + (max64(from, data_end) - s->offset), 0,
		       (size_t)(to - max64(from, data_end)));
	if (at > end || (at == end && (f->size || to < p->next)))
		return 0;
	if (f->flags & HP_FILE_PLACED)
		r = hp_parts_read(e->w->parts, s->chunk->number,
				  s->buf + (at - s->offset), (size_t)(end - at),
				  at, err);
	else
		r = hp_read_content(e->w, f, s->buf + (at - s->offset),
				    (size_t)(end - at), at - p->data, err);
	if (r == 0 && end - at == f->size) {
		/* All of it is here, and in the cache. */
		hp_content_hash_sha256(s->buf + (at - s->offset),
				       (size_t)f->size, sha256, &h);
		r = hp_content_set(e->w, f, &h, err);
	}
	return r;
}

int hp_read_run(const struct hp_engine *e, const struct hp_run *run,
		struct hpdsl_error *err)
{
	hp_auto_sha256 struct hp_sha256 *sha256 = NULL;

	if (e->w->list.sha256) {
		sha256 = hp_sha256_new();
		if (!sha256)
			return hp_fail_nomem(err);
	}
	for (unsigned i = 0; i < run->n; i++) {
		int r = read_piece(e, &run->piece[i], sha256, err);

		if (r < 0)
			return r;
	}
	return hp_sha256_check(sha256, err);
}
