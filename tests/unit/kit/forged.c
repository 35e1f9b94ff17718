/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets of which there is the index alone. */
#include "forged.h"

#include "make_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define BASE hp_io_system

/* ---- Chunks ----------------------------------------------------------- */

static uint64_t word_at(uint32_t chunk, uint64_t word)
{
	return (word + 1) * UINT64_C(0x9E3779B97F4A7C15) +
	       ((uint64_t)chunk << 32 | chunk);
}

/* Bytes of a chunk from there on. */
static void make_up(uint32_t chunk, uint64_t at, uint8_t *to, size_t n)
{
	while (n) {
		uint64_t word = word_at(chunk, at / 8);
		size_t skip = at % 8, k = 8 - skip < n ? 8 - skip : n;

		memcpy(to, (uint8_t *)&word + skip, k);
		at += k;
		to += k;
		n -= k;
	}
}

static struct forged *self(const struct hp_io *io)
{
	return (struct forged *)(uintptr_t)io; /* its first member */
}

/* One more than the chunk that a file of this name is; 0: none. */
static uint8_t chunk_of(const struct forged *f, const char *name)
{
	unsigned n;

	if (sscanf(name, "chunk-%u", &n) == 1)
		return (uint8_t)(n + 1);
	if (sscanf(name, "/proc/self/fd/%u", &n) == 1)
		return f->chunk[n];
	return 0;
}

static int f_open(const struct hp_io *io, int dir, const char *name, int flags,
		  mode_t mode)
{
	uint8_t chunk = chunk_of(self(io), name);
	/* Any file system will do. */
	int fd = BASE.open(io, dir, name, flags & ~O_DIRECT, mode);

	assert_true(fd < FORGED_FDS);
	if (fd >= 0)
		__atomic_store_n(&self(io)->chunk[fd], chunk, __ATOMIC_RELAXED);
	return fd;
}

static ssize_t f_pread(const struct hp_io *io, int fd, void *buf, size_t n,
		       uint64_t off)
{
	const struct forged *f = self(io);
	uint32_t chunk = __atomic_load_n(&f->chunk[fd], __ATOMIC_RELAXED);

	if (!chunk--)
		return BASE.pread(io, fd, buf, n, off);
	if (off >= f->bytes[chunk])
		return 0;
	if (n > f->bytes[chunk] - off)
		n = (size_t)(f->bytes[chunk] - off);
	make_up(chunk, off, buf, n);
	return (ssize_t)n;
}

static int64_t f_cached(const struct hp_io *io, int fd, uint64_t off,
			uint64_t n)
{
	(void)fd;
	(void)off;
	return self(io)->cached ? (int64_t)n : 0;
}

/* ---- Datasets --------------------------------------------------------- */

static void put(const struct forged *f, const char *name, const void *p,
		size_t n)
{
	char path[200];

	snprintf(path, sizeof path, "%s/%s", f->dir.out, name);
	packed_put(path, p, n);
}

static void write_index(struct forged *f, const struct forged_options *opt)
{
	struct image image;
	struct corpus c;

	corpus_make(&c, opt->samples, opt->chunks, 0,
		    HP_INDEX_GROUP_NONE |
			    (opt->not_shuffled ? 0 : HP_INDEX_SHUFFLED));
	c.src.bytes = 0;
	for (uint64_t i = 0; i < opt->samples; i++) {
		c.members[i].size = opt->size(i);
		c.src.bytes += c.members[i].size;
		/* Nothing is read of these: that can be right. */
		if (!c.members[i].size)
			c.members[i].checksum = hp_hash64("", 0);
	}
	corpus_place(&c);
	for (uint32_t i = 0; i < opt->chunks; i++) {
		f->bytes[i] = c.chunks[i].bytes;
		put(f, c.chunks[i].name, "", 0);
	}
	assert_int_equal(image_write(&c, &image, NULL), 0);
	put(f, "index.hpdsl", image.p, image.n);
	put(f, "dataset.yaml", "", 0);
	free(image.p);
	corpus_free(&c);
}

void forged_begin(struct forged *f, const struct forged_options *opt)
{
	memset(f, 0, sizeof *f);
	assert_true(opt->chunks <= FORGED_CHUNKS);
	packed_begin(&f->dir);
	assert_int_equal(mkdir(f->dir.out, 0777), 0);
	write_index(f, opt);
	f->io = hp_io_system;
	f->io.open = f_open;
	f->io.pread = f_pread;
	f->io.cached = f_cached;
}

void forged_end(struct forged *f)
{
	packed_end(&f->dir);
}

struct hpdsl_dataset *forged_open(struct forged *f)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds = NULL;

	if (hpdsl_open(f->dir.out, &f->io, &ds, &err) < 0)
		fail_msg("%s", err.msg);
	return ds;
}

/* ---- What comes ------------------------------------------------------- */

enum { LOOK = 4096 };

static void check_bytes(uint32_t chunk, uint64_t at, const uint8_t *data,
			size_t n)
{
	uint8_t want[LOOK];

	make_up(chunk, at, want, n);
	assert_memory_equal(data, want, n);
}

void forged_check(const struct hpdsl_dataset *ds, uint64_t member,
		  const void *data, size_t size)
{
	size_t n = size < LOOK ? size : LOOK;
	struct hpdsl_member m;

	assert_int_equal(hpdsl_member_get(ds, member, &m, NULL), 0);
	assert_int_equal(m.size, size);
	assert_non_null(data);
	check_bytes(m.chunk, m.offset, data, n);
	check_bytes(m.chunk, m.offset + size - n,
		    (const uint8_t *)data + size - n, n);
}

void forged_check_batch(const struct hpdsl_dataset *ds,
			const struct hpdsl_batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		if (b->bad[i])
			continue;
		assert_int_equal(b->member_number[b->first[i]], b->number[i]);
		forged_check(ds, b->number[i], b->data[i], b->size[i]);
	}
}
