/* SPDX-License-Identifier: Apache-2.0 */
/* An index as a file that appears whole, and what it takes of the disk. */
#include "index_write.h"

#include "hash.h"
#include "index_private.h"
#include "outfile.h"

struct saver {
	struct hp_outfile *file;
	XXH3_state_t hash;
	uint64_t at;
};

static int save_piece(void *arg, const void *buf, size_t n,
		      struct hpdsl_error *err)
{
	struct saver *s = arg;
	int r = hp_outfile_pwrite(s->file, buf, n, s->at, err);

	XXH3_128bits_update(&s->hash, buf, n);
	s->at += n;
	return r;
}

int hp_index_save(const struct hp_index_source *src, const struct hp_io *io,
		  int dir, uint64_t *ret_bytes, uint8_t ret_checksum[16],
		  struct hpdsl_error *err)
{
	struct hp_outfile file;
	struct saver s = { .file = &file };
	struct hp_sink sink = { save_piece, &s };
	int r = hp_outfile_open(&file, io, dir, HP_INDEX_NAME, 0, false, err);

	if (r < 0)
		return r;
	XXH3_128bits_reset(&s.hash);
	r = hp_index_write(src, &sink, err);
	if (r == 0)
		r = hp_outfile_sync(&file, err);
	if (r == 0)
		r = hp_outfile_commit(&file, err);
	if (r < 0) {
		hp_outfile_abandon(&file);
		return r;
	}
	r = hp_sync_dir(io, dir, err);
	if (r < 0)
		return r;
	*ret_bytes = s.at;
	hp_hash_canonical(XXH3_128bits_digest(&s.hash), ret_checksum);
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
	return n + n / HP_INDEX_BLOCK * 8 + (64 << 10);
}
