/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks compressed for tests. */
#include "zst.h"

#include "base/hash.h"
#include "chunk/tar.h"
#include "format/manifest.h"
#include "hpdsl.h"
#include "index/index.h"
#include "index/write.h"
#include "packed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

#include <cmocka.h>
#include <zstd.h>

#define KIB128 131072u

uint64_t zst_frame_max = 1u << 30;

static void add_frame(ZSTD_CCtx *z, struct zst_chunk *c, const uint8_t *plain,
		      size_t n)
{
	size_t bound = ZSTD_compressBound(n), stored;

	c->bytes = realloc(c->bytes, c->n + bound);
	c->frames = realloc(c->frames, (c->n_frames + 1) * sizeof *c->frames);
	assert_non_null(c->bytes);
	assert_non_null(c->frames);
	stored = ZSTD_compress2(z, c->bytes + c->n, bound, plain, n);
	assert_false(ZSTD_isError(stored));
	c->frames[c->n_frames++] =
		(struct hp_seek_entry){ (uint32_t)stored, (uint32_t)n,
					(uint32_t)XXH64(plain, n, 0) };
	c->n += stored;
}

/* Bytes of the next frame from at on; *s is the sample there. */
static uint64_t frame_bytes(const uint64_t *ends, size_t samples, size_t *s,
			    uint64_t at)
{
	uint64_t end = ends[*s];

	if (end - at > KIB128 || (*s && ends[*s - 1] < at)) {
		if (end - at > zst_frame_max)
			return zst_frame_max;
		++*s;
		return end - at;
	}
	while (++*s < samples && ends[*s] - at <= KIB128)
		end = ends[*s];
	return end - at;
}

void zst_compress(const uint8_t *tar, size_t n, const uint64_t *ends,
		  size_t samples, struct zst_chunk *ret)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	struct zst_chunk c = { 0 };
	uint64_t at = 0;
	size_t table;

	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	for (size_t s = 0; s < samples;) {
		uint64_t k = frame_bytes(ends, samples, &s, at);

		add_frame(z, &c, tar + at, (size_t)k);
		at += k;
	}
	add_frame(z, &c, tar + at, n - (size_t)at);
	table = (size_t)hp_seek_table_bytes(c.n_frames);
	c.bytes = realloc(c.bytes, c.n + table);
	assert_non_null(c.bytes);
	hp_seek_table_write(c.frames, c.n_frames, c.bytes + c.n);
	c.n += table;
	ZSTD_freeCCtx(z);
	*ret = c;
}

/* ---- The dataset around them ------------------------------------------ */

struct members {
	struct hpdsl_dataset *ds;
	uint64_t at, n;
};

static void members_begin(void *arg)
{
	((struct members *)arg)->at = 0;
}

static int members_next(void *arg, struct hp_index_member *ret,
			struct hpdsl_error *err)
{
	struct members *all = arg;
	struct hpdsl_member m;
	struct hpdsl_sample s;

	if (all->at == all->n)
		return 0;
	assert_int_equal(hpdsl_member_get(all->ds, all->at++, &m, err), 0);
	assert_int_equal(hpdsl_sample_get(all->ds, m.sample, &s, err), 0);
	*ret = (struct hp_index_member){
		.path = m.path,
		.path_len = m.path_len,
		.offset = m.offset,
		.size = m.size,
		.checksum = m.checksum,
		.mtime = m.mtime,
		.nsec = m.mtime_nsec,
		.mode = m.mode,
		.sample = m.sample,
		.label = s.label,
	};
	return 1;
}

/* Where the samples of a chunk end in its tar. */
static uint64_t *sample_ends(struct hpdsl_dataset *ds,
			     const struct hpdsl_chunk *row)
{
	uint64_t *ends = calloc(row->samples, sizeof *ends);

	for (uint64_t i = 0; i < row->members; i++) {
		struct hpdsl_member m;

		assert_int_equal(
			hpdsl_member_get(ds, row->first_member + i, &m, NULL),
			0);
		ends[m.sample - row->first_sample] =
			m.offset + hp_tar_padded(m.size);
	}
	return ends;
}

static struct hp_frame_row *frame_rows(const struct zst_chunk *c)
{
	struct hp_frame_row *v = calloc(c->n_frames, sizeof *v);
	uint64_t plain = 0, stored = 0;

	for (uint32_t i = 0; i < c->n_frames; i++) {
		v[i] = (struct hp_frame_row){ plain, stored };
		plain += c->frames[i].plain;
		stored += c->frames[i].stored;
	}
	return v;
}

/* Writes the compressed file in place of the plain one; fills its rows. */
static void replace(struct hpdsl_dataset *ds, const char *dir,
		    const struct hpdsl_chunk *row, struct hp_chunk_made *x,
		    struct hp_manifest_file *f)
{
	char name[PACKED_PATH], *file = malloc(64);
	uint64_t *ends = sample_ends(ds, row);
	struct zst_chunk c;
	uint8_t *tar;
	size_t n;

	snprintf(name, sizeof name, "%s/%s", dir, row->name);
	tar = (uint8_t *)packed_get(name, &n);
	unlink(name);
	zst_compress(tar, n, ends, row->samples, &c);
	snprintf(file, 64, "%s.zst", row->name);
	snprintf(name, sizeof name, "%s/%s", dir, file);
	packed_put(name, c.bytes, c.n);
	x->compressed = f->compressed = true;
	x->plain_bytes = f->plain_bytes = n;
	memcpy(x->plain_checksum, row->checksum, 16);
	memcpy(f->plain_checksum, row->checksum, 16);
	x->bytes = f->bytes = c.n;
	hp_hash128(c.bytes, c.n, x->checksum);
	memcpy(f->checksum, x->checksum, 16);
	x->frames = frame_rows(&c);
	x->n_frames = c.n_frames;
	x->name = f->name = file;
	free(c.bytes);
	free(c.frames);
	free(tar);
	free(ends);
}

static void write_manifest(const char *dir, struct hp_manifest *m)
{
	char name[PACKED_PATH], *text;
	size_t n;

	snprintf(name, sizeof name, "%s/%s", dir, HP_MANIFEST_NAME);
	assert_int_equal(hp_manifest_format(m, &text, &n, NULL), 0);
	packed_put(name, text, n);
	free(text);
}

static void read_manifest(const char *dir, struct hp_manifest *m)
{
	char name[PACKED_PATH], *text;
	size_t n;

	snprintf(name, sizeof name, "%s/%s", dir, HP_MANIFEST_NAME);
	text = packed_get(name, &n);
	assert_int_equal(hp_manifest_parse(text, n, HP_MANIFEST_NAME, m, NULL),
			 0);
	free(text);
}

void zst_dataset(const char *dir, uint64_t which)
{
	struct hp_chunk_made *rows;
	struct hp_index_source src = { 0 };
	struct hp_manifest m;
	struct hpdsl_counts n;
	struct members all = { 0 };
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	read_manifest(dir, &m);
	assert_int_equal(hpdsl_open(dir, NULL, &all.ds, NULL), 0);
	hpdsl_count(all.ds, &n);
	all.n = n.members;
	rows = calloc(n.chunks, sizeof *rows);
	for (uint32_t c = 0; c < n.chunks; c++) {
		struct hpdsl_chunk row;

		assert_int_equal(hpdsl_chunk_get(all.ds, c, &row, NULL), 0);
		rows[c] = (struct hp_chunk_made){
			.name = row.name,
			.first_sample = row.first_sample,
			.first_member = row.first_member,
			.bytes = row.bytes,
		};
		memcpy(rows[c].checksum, row.checksum, 16);
		if (which >> c & 1)
			replace(all.ds, dir, &row, &rows[c], &m.chunks[c]);
	}
	src.samples = n.samples;
	src.members = n.members;
	src.bytes = n.bytes;
	src.flags = n.shuffled ? HP_INDEX_SHUFFLED : 0;
	memcpy(src.dataset_id, n.dataset_id, 16);
	src.chunks = rows;
	src.n_chunks = (uint32_t)n.chunks;
	src.classes = m.classes;
	src.n_classes = (uint32_t)m.n_classes;
	src.arg = &all;
	src.begin = members_begin;
	src.next = members_next;
	assert_int_equal(hp_index_save(&src, &hp_io_system, fd, &m.index.bytes,
				       m.index.checksum, NULL, NULL),
			 0);
	write_manifest(dir, &m);
	for (uint32_t c = 0; c < n.chunks; c++) {
		if (!rows[c].compressed)
			continue;
		free(rows[c].frames);
		free((void *)(uintptr_t)rows[c].name);
	}
	free(rows);
	hpdsl_close(all.ds);
	hp_manifest_release(&m);
	close(fd);
}
