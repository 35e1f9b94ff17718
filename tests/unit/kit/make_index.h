/* SPDX-License-Identifier: Apache-2.0 */
/* Small datasets' indexes in memory, for tests; and how to forge them. */
#ifndef MAKE_INDEX_H
#define MAKE_INDEX_H

#include "base/bytes.h"
#include "base/hash.h"
#include "chunk/seek_table.h"
#include "chunk/tar.h"
#include "index/index.h"
#include "index/private.h"
#include "index/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { MADE_PATH = 64 };

/* What goes into an index; members may be changed before it is written. */
struct corpus {
	struct hp_index_source src;
	struct hp_index_member *members;
	struct hp_chunk_made *chunks;
	char (*paths)[MADE_PATH], (*names)[MADE_PATH];
	const char **classes;
	/* Of a rich one: */
	char (*stored)[MADE_PATH];
	uint8_t (*sha256)[32]; /* of members, then of chunks */
	struct hp_frame_row *frames;
	uint64_t at;
};

static inline void corpus_begin(void *arg)
{
	((struct corpus *)arg)->at = 0;
}

static inline int corpus_next(void *arg, struct hp_index_member *ret,
			      struct hpdsl_error *err)
{
	struct corpus *c = arg;

	(void)err;
	if (c->at == c->src.members)
		return 0;
	*ret = c->members[c->at++];
	return 1;
}

/* Members of sample s: one to three, unless each has one. */
static inline uint64_t corpus_members(uint64_t s, uint32_t flags)
{
	return flags & HP_INDEX_GROUP_NONE ? 1 : 1 + s % 3;
}

static inline void corpus_member(struct corpus *c, uint64_t i, uint64_t s,
				 uint64_t k)
{
	/* Every other sample lies deeper, some sizes are zero. */
	snprintf(c->paths[i], MADE_PATH, "%ss%06u%s.m%u", s % 2 ? "" : "in/",
		 (unsigned)s, c->src.key.last ? ".5" : "", (unsigned)k);
	c->members[i] = (struct hp_index_member){
		.path = c->paths[i],
		.path_len = strlen(c->paths[i]),
		.size = i * 37 % 1500,
		.checksum = i * 0x9E3779B97F4A7C15u,
		.mtime = (int64_t)i - 3,
		.nsec = (uint32_t)(i * 1234567 % 1000000000),
		.mode = 0600 | (i % 64),
		.sample = s,
		.label = c->src.n_classes && s % 4 ?
				 (uint32_t)(s % c->src.n_classes) :
				 HPDSL_NO_LABEL,
	};
	c->src.bytes += c->members[i].size;
}

/* Sets data offsets and the chunks' sizes; call again when sizes change. */
static inline void corpus_place(struct corpus *c)
{
	uint32_t chunk = 0;
	uint64_t at = 0;

	for (uint64_t i = 0; i < c->src.members; i++) {
		struct hp_index_member *m = &c->members[i];

		if (chunk + 1 < c->src.n_chunks &&
		    m->sample == c->chunks[chunk + 1].first_sample) {
			c->chunks[++chunk].first_member = i;
			at = 0;
		}
		m->offset = at + HP_TAR_BLOCK;
		at = m->offset + hp_tar_padded(m->size);
		c->chunks[chunk].bytes = hp_tar_total(at);
	}
}

static inline void corpus_make(struct corpus *c, uint64_t samples,
			       uint32_t chunks, uint32_t classes,
			       uint32_t flags)
{
	uint64_t n = 0;

	*c = (struct corpus){ .src = { .samples = samples,
				       .flags = flags,
				       .n_chunks = chunks,
				       .n_classes = classes,
				       .begin = corpus_begin,
				       .next = corpus_next } };
	c->src.arg = c;
	c->src.key.last = flags & HP_INDEX_LAST;
	memcpy(c->src.dataset_id, "0123456789abcdef", 16);
	c->members = calloc(samples * 3 + 1, sizeof *c->members);
	c->paths = calloc(samples * 3 + 1, sizeof *c->paths);
	c->chunks = calloc(chunks + 1, sizeof *c->chunks);
	c->names = calloc(chunks + classes + 1, sizeof *c->names);
	c->classes = calloc(classes + 1, sizeof *c->classes);
	for (uint64_t s = 0; s < samples; s++)
		for (uint64_t k = 0; k < corpus_members(s, flags); k++)
			corpus_member(c, n++, s, k);
	c->src.members = n;
	for (uint32_t i = 0; i < chunks; i++) {
		snprintf(c->names[i], MADE_PATH, "chunk-%06u.tar", i);
		c->chunks[i].name = c->names[i];
		c->chunks[i].first_sample = samples * i / chunks;
		memset(c->chunks[i].checksum, (int)i + 1, 16);
	}
	for (uint32_t i = 0; i < classes; i++) {
		snprintf(c->names[chunks + i], MADE_PATH, "class %u", i);
		c->classes[i] = c->names[chunks + i];
	}
	c->src.chunks = c->chunks;
	c->src.classes = c->classes;
	corpus_place(c);
}

/* A chunk compressed by the hundredth: a frame a sample, one the trailer. */
static inline void corpus_compress(struct corpus *c, struct hp_chunk_made *k,
				   uint64_t end, struct hp_frame_row *frames)
{
	uint64_t at = 0;

	k->frames = frames;
	for (uint64_t i = k->first_member; i < end; i++) {
		const struct hp_index_member *m = &c->members[i];

		if (i == k->first_member || m->sample != m[-1].sample)
			frames[k->n_frames++].plain = at;
		at = m->offset + hp_tar_padded(m->size);
	}
	frames[k->n_frames++].plain = at;
	for (uint32_t i = 0; i < k->n_frames; i++)
		frames[i].stored = frames[i].plain / 100;
	k->compressed = true;
	k->plain_bytes = k->bytes;
	memset(k->plain_checksum, 0xab, 16);
	k->bytes = k->bytes / 100 + hp_seek_table_bytes(k->n_frames);
	strcat(c->names[k - c->chunks], ".zst");
}

/*
 * Every section there can be: each third member has another name in its chunk,
 * each second chunk is compressed.
 */
static inline void corpus_enrich(struct corpus *c)
{
	uint64_t n = c->src.members, chunks = c->src.n_chunks;
	struct hp_frame_row *frames;

	c->stored = calloc(n + 1, sizeof *c->stored);
	c->sha256 = calloc(n + chunks + 1, sizeof *c->sha256);
	frames = calloc(c->src.samples + chunks + 1, sizeof *frames);
	c->frames = frames;
	c->src.stored = c->src.sha256 = true;
	for (uint64_t i = 0; i < n + chunks; i++)
		memset(c->sha256[i], (int)(i + 1), 32);
	for (uint64_t i = 0; i < n; i++) {
		c->members[i].sha256 = c->sha256[i];
		if (i % 3)
			continue;
		snprintf(c->stored[i], MADE_PATH, "p/%u", (unsigned)i);
		c->members[i].stored = c->stored[i];
		c->members[i].stored_len = strlen(c->stored[i]);
		c->members[i].mode |= HP_MEMBER_GENERATED;
	}
	for (uint32_t i = 0; i < chunks; i++) {
		struct hp_chunk_made *k = &c->chunks[i];

		k->has_sha256 = true;
		memcpy(k->sha256, c->sha256[n + i], 32);
		if (i % 2)
			continue;
		corpus_compress(c, k, i + 1 < chunks ? k[1].first_member : n,
				frames);
		frames += k->n_frames;
	}
}

static inline void corpus_free(struct corpus *c)
{
	free(c->stored);
	free(c->sha256);
	free(c->frames);
	free(c->members);
	free(c->paths);
	free(c->chunks);
	free(c->names);
	free(c->classes);
}

struct image {
	uint8_t *p;
	size_t n;
};

static inline int image_add(void *arg, const void *buf, size_t n,
			    struct hpdsl_error *err)
{
	struct image *im = arg;
	uint8_t *p = realloc(im->p, im->n + n);

	if (!p)
		return -ENOMEM;
	(void)err;
	memcpy(p + im->n, buf, n);
	im->p = p;
	im->n += n;
	return 0;
}

/* The index of a corpus; free im->p. */
static inline int image_write(const struct corpus *c, struct image *im,
			      struct hpdsl_error *err)
{
	struct hp_sink sink = { image_add, im };

	*im = (struct image){ 0 };
	return hp_index_write(&c->src, &sink, err);
}

/* Where section kind (1 ..) of a sound header begins, and its length. */
static inline uint8_t *image_section(const struct image *im, unsigned kind,
				     uint64_t *ret_len)
{
	const uint8_t *row = im->p + HP_INDEX_FIXED;

	while (hp_get32(row) != kind)
		row += HP_TABLE_ROW;
	if (ret_len)
		*ret_len = hp_get64(row + 16);
	return im->p + hp_get64(row + 8);
}

static inline void image_repair_section(uint8_t *p, size_t n,
					const uint8_t *row)
{
	uint64_t at = hp_get64(row + 8), len = hp_get64(row + 16), blocks;

	if (!hp_within(at, len, n) || len > n - 7)
		return;
	len = hp_section_padded(len);
	blocks = hp_section_blocks(len);
	if (!hp_within(at, len, n) || !hp_within(at + len, blocks * 8, n))
		return;
	for (uint64_t b = 0; b < blocks; b++) {
		uint64_t off = b * HP_BLOCK;
		uint64_t k = len - off < HP_BLOCK ? len - off : HP_BLOCK;

		hp_put64(p + at + len + b * 8, hp_hash64(p + at + off, k));
	}
}

/*
 * Makes all checksums agree again with bytes that were changed, as an
 * attacker would; whatever the bytes are.
 */
static inline void image_repair(uint8_t *p, size_t n)
{
	uint32_t header, sections;

	if (n < HP_INDEX_FIXED + 8)
		return;
	header = hp_get32(p + 12);
	sections = hp_get32(p + 56);
	for (uint32_t i = 0; i < sections && i < HP_TABLE_MAX; i++) {
		size_t row = HP_INDEX_FIXED + (size_t)HP_TABLE_ROW * i;

		if (hp_within(row, HP_TABLE_ROW, n))
			image_repair_section(p, n, p + row);
	}
	if (header >= HP_INDEX_FIXED + 8 && header <= n)
		hp_put64(p + header - 8, hp_hash64(p, header - 8));
}

static inline uint64_t image_exercise_chunk(const struct hp_index *ix,
					    const struct hpdsl_chunk *c)
{
	uint64_t sum = strlen(c->name);
	uint8_t sha256[32];
	struct hpdsl_error err;

	for (uint32_t i = 0; i <= c->frames && i < 100; i++) {
		struct hp_frame f;
		uint32_t found;

		if (hp_index_frame(ix, c, i, &f, &err) < 0 || f.plain % 512)
			continue;
		sum += f.plain_end - f.plain;
		if (hp_index_frame_find(ix, c, f.plain, &found, &err) == 0)
			sum += found;
	}
	if (hp_index_chunk_sha256(ix, c->number, sha256, &err) == 0)
		sum += sha256[31];
	return sum;
}

static inline uint64_t image_exercise_member(const struct hp_index *ix,
					     uint64_t number)
{
	uint64_t sum = 0;
	uint8_t sha256[32];
	struct hpdsl_error err;
	const char *name;
	size_t len;

	if (hp_index_stored(ix, number, &name, &len, &err) == 0 && name)
		sum += (uint8_t)name[len - 1] + strlen(name);
	if (hp_index_member_sha256(ix, number, sha256, &err) == 0)
		sum += sha256[31];
	return sum;
}

/* Asks an open index for everything; nothing may crash. */
static inline void image_exercise(const struct hp_index *ix)
{
	uint64_t slot_sum = 0, number;
	struct hpdsl_counts n;
	struct hpdsl_error err;

	hp_index_count(ix, &n);
	for (uint64_t i = 0; i <= n.members && i < 100; i++) {
		struct hpdsl_member m;

		if (hp_index_member(ix, i, &m, &err) < 0)
			continue;
		slot_sum += strlen(m.path) + image_exercise_member(ix, i) +
			    hp_index_key_length(ix, m.path, m.path_len);
		hp_index_find(ix, m.path, m.path_len, &number, &err);
	}
	for (uint64_t i = 0; i <= n.samples && i < 100; i++) {
		struct hpdsl_sample s;

		if (hp_index_sample(ix, i, &s, &err) == 0 && s.key_len)
			slot_sum += (uint8_t)s.key[s.key_len - 1];
	}
	for (uint32_t i = 0; i <= n.chunks && i < 100; i++) {
		struct hpdsl_chunk c;

		if (hp_index_chunk(ix, i, &c, &err) == 0)
			slot_sum += image_exercise_chunk(ix, &c);
	}
	for (uint32_t i = 0; i <= n.classes && i < 100; i++) {
		const char *name;

		if (hp_index_class(ix, i, &name, &err) == 0)
			slot_sum += strlen(name);
	}
	hp_index_find(ix, "no such path", 12, &slot_sum, &err);
	hp_index_check(ix, NULL, NULL, &err);
}

#endif
