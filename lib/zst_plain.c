/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compressed chunk from a finished plain part, for chunks that are not
 * written front to back: the same bytes as the writer's machine makes.
 */
#include "zst_file.h"

#include "error.h"
#include "mem.h"

enum { PIECE = 1 << 20 };

struct from_plain {
	struct hp_frames frames;
	struct hp_zip *zip;
	struct hp_stretch stretch;
	struct hp_file_digest *plain;
	int fd;
};

static int take_piece(struct from_plain *x, struct hp_zst_file *f,
		      struct hpdsl_error *err)
{
	struct hp_stretch *s = &x->stretch;
	ssize_t got =
		hp_io_pread_full(f->out.io, x->fd, s->buf, s->len, s->offset);
	int r;

	if (got != (ssize_t)s->len) {
		r = got < 0 ? (int)got : HPDSL_ECORRUPT;
		return hp_fail_errno(err, r, "%s: cannot read its plain form",
				     f->out.name);
	}
	hp_file_digest_add(x->plain, s->buf, s->len);
	r = hp_frames_cut(&x->frames, s, err);
	if (r == 0)
		r = hp_stretch_compress(x->zip, f->chunk, s, err);
	return r < 0 ? r : hp_zst_add(f, s, err);
}

static int take_all(struct from_plain *x, struct hp_zst_file *f, uint64_t bytes,
		    struct hpdsl_error *err)
{
	struct hp_stretch *s = &x->stretch;
	int r = 0;

	for (; r == 0 && s->offset < bytes; s->offset += s->len) {
		uint64_t left = bytes - s->offset;

		s->len = left < PIECE ? (uint32_t)left : PIECE;
		r = take_piece(x, f, err);
	}
	return r;
}

static int from_plain(struct hp_zst_file *f, struct from_plain *x,
		      const struct hp_pack *p, struct hpdsl_error *err)
{
	size_t room = hp_stretch_room(PIECE);
	hp_auto_free uint8_t *memory = malloc(HP_FRAME_BYTES + PIECE + room);
	hp_auto_free struct hp_seek_entry *rows =
		hp_array(hp_stretch_frames(PIECE), sizeof *rows);

	x->zip = hp_zip_new(p->io, p->opt->zstd);
	x->frames.stream = hp_zip_new(p->io, p->opt->zstd);
	if (!memory || !rows || !x->zip || !x->frames.stream)
		return hp_fail_nomem(err);
	x->stretch.buf = memory + HP_FRAME_BYTES;
	x->stretch.out = x->stretch.buf + PIECE;
	x->stretch.frame = rows;
	hp_frames_begin(&x->frames, &p->plan, f->chunk);
	return take_all(x, f, hp_plan_chunk_bytes(&p->plan, f->chunk), err);
}

int hp_zst_from_plain(struct hp_zst_file *f, const struct hp_pack *p,
		      uint32_t chunk, int fd, struct hp_done *done,
		      struct hpdsl_error *err)
{
	hp_auto_free struct hp_file_digest *plain =
		aligned_alloc(64, sizeof *plain);
	struct from_plain x = { .plain = plain, .fd = fd };
	int r = hp_zst_open(f, p->io, p->target.dir, chunk, err);

	if (r < 0)
		return r;
	if (r == 0 && p->list.sha256)
		r = hp_file_digest_want_sha256(&f->digest, err);
	if (r == 0 && plain) {
		hp_file_digest_begin(plain);
		r = from_plain(f, &x, p, err);
	} else if (r == 0) {
		r = hp_fail_nomem(err);
	}
	hp_zip_free(x.zip);
	hp_zip_free(x.frames.stream);
	hp_frames_release(&x.frames);
	if (r == 0 && !hp_zst_saves(f, hp_plan_chunk_bytes(&p->plan, chunk)))
		return hp_zst_discard(f, err);
	if (r == 0)
		r = hp_zst_finish(f, done, err);
	if (r < 0)
		return r;
	hp_file_digest_end(plain, done->plain_checksum);
	return 1;
}
