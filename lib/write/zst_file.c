/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed chunk files: written in order, and finished. */
#include "write/zst_file.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/names.h"

#include <string.h>

int hp_zst_open(struct hp_zst_file *f, const struct hp_io *io, int dir,
		uint32_t chunk, struct hpdsl_error *err)
{
	char name[HP_CHUNK_NAME];
	int r;

	memset(f, 0, sizeof *f);
	f->chunk = chunk;
	hp_file_digest_begin(&f->digest);
	hp_chunk_zst_name(chunk, name);
	/* How long it will be is not known, and no piece of it is aligned. */
	r = hp_outfile_open(&f->out, io, dir, name, 0, false, err);
	f->opened = r == 0;
	return r;
}

int hp_zst_discard(struct hp_zst_file *f, struct hpdsl_error *err)
{
	struct hp_outfile *o = &f->out;
	int r = o->io->unlink(o->io, o->dir, o->temp, 0);

	if (r < 0)
		r = hp_fail_errno(err, r, "%s: cannot remove", o->temp);
	else
		o->temp[0] = '\0';
	hp_zst_release(f);
	return r;
}

void hp_zst_release(struct hp_zst_file *f)
{
	if (f->opened)
		hp_outfile_abandon(&f->out);
	f->opened = false;
	free(f->frames);
	f->frames = NULL;
	hp_file_digest_release(&f->digest);
}

static int put(struct hp_zst_file *f, const void *p, size_t n,
	       struct hpdsl_error *err)
{
	int r;

	hp_file_digest_add(&f->digest, p, n);
	r = hp_outfile_pwrite(&f->out, p, n, f->bytes, err);
	f->bytes += n;
	return r;
}

static int keep_rows(struct hp_zst_file *f, const struct hp_stretch *s,
		     struct hpdsl_error *err)
{
	if (f->room - f->n < s->n_frames) {
		uint64_t room = 2 * (uint64_t)f->room + s->n_frames;
		void *more = NULL;

		if (room <= HP_SEEK_FRAMES)
			more = reallocarray(f->frames, room, sizeof *f->frames);
		if (!more)
			return hp_fail_nomem(err);
		f->frames = more;
		f->room = (uint32_t)room;
	}
	if (s->n_frames)
		memcpy(f->frames + f->n, s->frame,
		       s->n_frames * sizeof *s->frame);
	f->n += s->n_frames;
	return 0;
}

int hp_zst_add(struct hp_zst_file *f, const struct hp_stretch *s,
	       struct hpdsl_error *err)
{
	int r = keep_rows(f, s, err);

	for (int i = 0; r == 0 && i < 3; i++)
		if (s->part[i].n)
			r = put(f, s->part[i].p, s->part[i].n, err);
	return r;
}

bool hp_zst_saves(const struct hp_zst_file *f, uint64_t plain)
{
	uint64_t stored = f->bytes + hp_seek_table_bytes(f->n);

	return stored < plain && plain - stored >= (plain + 19) / 20;
}

int hp_zst_finish(struct hp_zst_file *f, struct hp_chunk_made *done,
		  struct hpdsl_error *err)
{
	uint64_t bytes = hp_seek_table_bytes(f->n);
	hp_auto_free uint8_t *table = hp_array(bytes, 1);
	int r;

	if (!table)
		return hp_fail_nomem(err);
	hp_seek_table_write(f->frames, f->n, table);
	r = put(f, table, bytes, err);
	if (r < 0)
		return r;
	done->frames = hp_frame_rows(f->frames, f->n);
	if (!done->frames)
		return hp_fail_nomem(err);
	done->n_frames = f->n;
	done->bytes = f->bytes;
	hp_file_digest_end(&f->digest, done->checksum);
	done->compressed = true;
	return hp_file_digest_end_sha256(&f->digest, done->sha256, err);
}
