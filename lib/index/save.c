/* SPDX-License-Identifier: Apache-2.0 */
/* An index as a file that appears whole, and what it takes of the disk. */
#include "index/write.h"

#include "base/file_digest.h"
#include "format/names.h"
#include "index/private.h"
#include "sys/outfile.h"

struct saver {
	struct hp_outfile *file;
	struct hp_file_digest digest;
	uint64_t at;
};

static int save_piece(void *arg, const void *buf, size_t n,
		      struct hpdsl_error *err)
{
	struct saver *s = arg;
	int r = hp_outfile_pwrite(s->file, buf, n, s->at, err);

	hp_file_digest_add(&s->digest, buf, n);
	s->at += n;
	return r;
}

static int save(struct saver *s, const struct hp_index_source *src,
		uint8_t *ret_sha256, struct hpdsl_error *err)
{
	struct hp_sink sink = { save_piece, s };
	int r = 0;

	hp_file_digest_begin(&s->digest);
	if (ret_sha256)
		r = hp_file_digest_want_sha256(&s->digest, err);
	if (r == 0)
		r = hp_index_write(src, &sink, err);
	if (r == 0)
		r = hp_file_digest_end_sha256(&s->digest, ret_sha256, err);
	hp_file_digest_release(&s->digest);
	if (r == 0)
		r = hp_outfile_sync(s->file, err);
	return r < 0 ? r : hp_outfile_commit(s->file, err);
}

int hp_index_save(const struct hp_index_source *src, const struct hp_io *io,
		  int dir, uint64_t *ret_bytes, uint8_t ret_checksum[16],
		  uint8_t *ret_sha256, struct hpdsl_error *err)
{
	struct hp_outfile file;
	struct saver s = { .file = &file };
	int r = hp_outfile_open(&file, io, dir, HP_INDEX_NAME, 0, false, err);

	if (r < 0)
		return r;
	r = save(&s, src, ret_sha256, err);
	if (r < 0) {
		hp_outfile_abandon(&file);
		return r;
	}
	r = hp_sync_dir(io, dir, err);
	if (r < 0)
		return r;
	*ret_bytes = s.at;
	hp_file_digest_end(&s.digest, ret_checksum);
	return 0;
}

uint64_t hp_index_bound(const struct hp_index_extent *e)
{
	/* What no one can know yet: the run of slots behind the last home,
	 * far below this many, and the names of classes. */
	uint64_t slots = hp_lookup_homes(e->members) + 4096;
	uint64_t n = e->samples * HP_SAMPLE_ROW + e->path_bytes +
		     e->members * (HP_MEMBER_ROW + 1) + slots * HP_SLOT_ROW +
		     e->chunks * (HP_CHUNK_ROW + 32) +
		     e->stored * (HP_STORED_ROW + 1) + e->stored_bytes +
		     e->frames * HP_FRAME_ROW;

	if (e->sha256)
		n += (e->members + e->chunks) * HP_SHA256_ROW;
	return n + n / HP_BLOCK * 8 + (64 << 10);
}
