/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which index this is: of the file that was opened, and whether that is the one
 * that has its name by now.
 */
#include "index/private.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/names.h"

/* Small enough for the caches. */
enum { PIECE = 1 << 18 };

/* The file as it is now, as far as it goes. */
static void hash_file(const struct hp_sections *s, uint8_t *buf,
		      XXH3_state_t *hash)
{
	uint64_t at = 0;

	while (at < s->size) {
		size_t n =
			s->size - at < PIECE ? (size_t)(s->size - at) : PIECE;
		ssize_t k = hp_io_pread_full(s->io, s->fd, buf, n, at);

		if (k <= 0)
			return;
		XXH3_128bits_update(hash, buf, (size_t)k);
		at += (size_t)k;
	}
}

void hp_index_pack_id(const struct hp_index *ix, uint8_t ret[16])
{
	const struct hp_sections *s = ix->sections;
	hp_auto_free uint8_t *buf = s->io ? hp_array(PIECE, 1) : NULL;
	XXH3_state_t hash;

	if (!buf) {
		hp_hash128(s->bytes, s->size, ret);
		return;
	}
	XXH3_INITSTATE(&hash);
	XXH3_128bits_reset(&hash);
	hash_file(s, buf, &hash);
	hp_hash_canonical(XXH3_128bits_digest(&hash), ret);
}

void hp_index_digest(const struct hp_index *ix, uint8_t ret[16])
{
	const struct hp_sections *s = ix->sections;
	XXH3_state_t hash;

	XXH3_INITSTATE(&hash);
	XXH3_128bits_reset(&hash);
	XXH3_128bits_update(&hash, s->header, s->header_bytes);
	for (uint32_t i = 0; i < s->n; i++)
		for (uint64_t b = 0; b < s->all[i].blocks; b++) {
			uint8_t le[8];

			hp_put64(le, hp_section_sum(s, &s->all[i], b));
			XXH3_128bits_update(&hash, le, sizeof le);
		}
	hp_hash_canonical(XXH3_128bits_digest(&hash), ret);
}

/* Of two with the same section table. */
static bool same_sums(const struct hp_sections *a, const struct hp_sections *b)
{
	for (uint32_t i = 0; i < a->n; i++)
		for (uint64_t k = 0; k < a->all[i].blocks; k++)
			if (hp_section_sum(a, &a->all[i], k) !=
			    hp_section_sum(b, &b->all[i], k))
				return false;
	return true;
}

/* Nothing of it is mapped; where its bytes would lie is of no interest. */
static bool is_another(const struct hp_sections *s, const struct hp_io *io,
		       int fd, uint64_t size)
{
	hp_auto_free struct hp_sections *now = calloc(1, sizeof *now);
	bool another;

	if (!now)
		return false;
	now->io = io;
	now->fd = fd;
	if (hp_sections_open(now, &hp_index_layout, s->bytes, size, s->name,
			     NULL) < 0)
		return false;
	another = now->header_bytes != s->header_bytes ||
		  memcmp(now->header, s->header, s->header_bytes) != 0 ||
		  !same_sums(now, s);
	hp_sections_release(now);
	return another;
}

bool hp_index_replaced(const struct hp_index *ix, const struct hp_io *io,
		       int dir)
{
	hp_auto_fd f = { io, io->open(io, dir, HP_INDEX_NAME,
				      O_RDONLY | O_NONBLOCK, 0) };
	struct stat st;

	return f.fd >= 0 && hp_io_fstat(io, f.fd, &st) == 0 &&
	       S_ISREG(st.st_mode) && st.st_size > 0 &&
	       is_another(ix->sections, io, f.fd, (uint64_t)st.st_size);
}
