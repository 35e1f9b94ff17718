/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs with --zstd: the same files for any threads and memory, chunks that
 * stay plain, and what is left when the compressor lies or any operation or
 * allocation fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "chunk/seek_table.h"
#include "each_fault.h"
#include "folders.h"
#include "index/index.h"
#include "packed.h"
#include "shell.h"

static struct packed big, small; /* trees, packed to top/out */

static void put(const struct packed *p, const char *path, const void *data,
		size_t size)
{
	char name[PACKED_PATH];

	packed_file(p, path, 0, 0644, 1600000000, 5); /* and its folders */
	snprintf(name, sizeof name, "%s/%s", p->tree, path);
	packed_put(name, data, size);
}

/* What compresses well. */
static void text(const struct packed *p, const char *path, size_t size)
{
	char *data = malloc(size + 64);
	size_t n = 0;

	assert_non_null(data);
	for (unsigned i = 0; n < size; i++)
		n += (size_t)sprintf(data + n, "%u %.30s\n",
				     i * 2654435761u % 999, path);
	put(p, path, data, size);
	free(data);
}

/* What does not, and is nowhere the same. */
static void noise(const struct packed *p, const char *path, size_t size)
{
	static uint64_t x = 1;
	uint8_t *data = malloc(size + 1);

	assert_non_null(data);
	for (size_t i = 0; i < size; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		data[i] = (uint8_t)(x >> 56);
	}
	put(p, path, data, size);
	free(data);
}

static struct hpdsl_pack_options options(uint32_t chunks)
{
	return (struct hpdsl_pack_options){
		.chunks = chunks,
		.shuffle = HPDSL_SHUFFLE_NONE,
		.zstd = 3,
		.memory = 8 << 20,
		.threads = HPDSL_SERIAL,
		.readers = 2,
		.force = true,
	};
}

/*
 * With the least memory a segment has 512 KiB.  Of the first tree some samples
 * have several, and some end where one does.
 */
static int set_up(void **state)
{
	char name[64];

	(void)state;
	packed_begin(&big);
	for (unsigned i = 0; i < 60; i++) {
		snprintf(name, sizeof name, "a/%03u.txt", i);
		text(&big, name, i * 977 % 40000);
	}
	text(&big, "b/0.txt", (512 << 10) - 512);
	text(&big, "b/1.txt", (128 << 10) - 512);
	text(&big, "b/2.txt", 1700001);
	text(&big, "b/3.a.txt", 0);
	text(&big, "b/3.b.txt", 100000);
	text(&big, "b/3.c.txt", 200000);
	noise(&big, "b/4.bin", 140000);
	text(&big, "b/5.txt", 5 << 20);
	for (unsigned i = 0; i < 30; i++) {
		snprintf(name, sizeof name, "z/%03u.bin", i);
		noise(&big, name, i * 7919 % 90000);
	}

	packed_begin(&small);
	text(&small, "a.txt", 3000);
	text(&small, "b.txt", 150000);
	text(&small, "b.zero", 0);
	text(&small, "c.txt", 700000);
	noise(&small, "x.bin", 400000);
	noise(&small, "y.bin", 200000);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	packed_end(&big);
	packed_end(&small);
	return 0;
}

/* Packs p and moves the dataset to top/name. */
static void pack_to(struct packed *p, const char *name,
		    struct hpdsl_pack_options opt)
{
	struct hpdsl_error err;

	if (packed_try(p, opt, &err) < 0)
		fail_msg("%s", err.msg);
	run("rm -rf %s/%s && mv %s %s/%s", p->top, name, p->out, p->top, name);
}

static unsigned count(const struct packed *p, const char *dir, const char *end)
{
	DIR *d = opendir(packed_at(p, dir));
	unsigned n = 0;

	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d));) {
		size_t len = strlen(e->d_name), m = strlen(end);

		n += len > m && !strcmp(e->d_name + len - m, end);
	}
	closedir(d);
	return n;
}

/* ---- What is made ----------------------------------------------------- */

/* Takes the file apart by its seek table alone. */
static void check_chunk(const char *zst, const char *tar)
{
	size_t n, want_n, at = 0, out = 0;
	uint8_t *file = (uint8_t *)packed_get(zst, &n);
	uint8_t *want = (uint8_t *)packed_get(tar, &want_n);
	uint8_t *plain = malloc(want_n);
	struct hp_seek_entry *rows;
	struct hpdsl_error err;
	uint32_t frames;

	assert_non_null(plain);
	assert_true(n > 9 && want_n > n);
	assert_int_equal(hp_seek_foot_read(file + n - 9, &frames, &err), 0);
	rows = calloc(frames, sizeof *rows);
	assert_non_null(rows);
	assert_int_equal(
		hp_seek_table_read(file + n - hp_seek_table_bytes(frames),
				   frames, n, rows, &err),
		0);
	for (uint32_t i = 0; i < frames; i++) {
		assert_true(out + rows[i].plain <= want_n);
		assert_int_equal(ZSTD_decompress(plain + out, want_n - out,
						 file + at, rows[i].stored),
				 rows[i].plain);
		at += rows[i].stored;
		out += rows[i].plain;
	}
	assert_int_equal(out, want_n);
	assert_memory_equal(plain, want, want_n);
	free(rows);
	free(plain);
	free(want);
	free(file);
}

static void same_bytes(const char *a, const char *b)
{
	size_t na, nb;
	char *pa = packed_get(a, &na), *pb = packed_get(b, &nb);

	assert_int_equal(na, nb);
	assert_memory_equal(pa, pb, na);
	free(pa);
	free(pb);
}

/* A chunk is its plain form compressed, or is that plain form. */
static void test_chunks(void **state)
{
	struct hpdsl_pack_options opt = options(7);
	char zst[32], tar[32], plain[32];
	unsigned compressed = 0, chunks = 7;

	(void)state;
	pack_to(&big, "z", opt);
	opt.zstd = 0;
	pack_to(&big, "plain", opt);
	for (unsigned c = 0; c < chunks; c++) {
		snprintf(zst, sizeof zst, "z/chunk-%06u.tar.zst", c);
		snprintf(tar, sizeof tar, "z/chunk-%06u.tar", c);
		snprintf(plain, sizeof plain, "plain/chunk-%06u.tar", c);
		assert_true(packed_has(&big, zst) != packed_has(&big, tar));
		if (packed_has(&big, zst)) {
			check_chunk(packed_at(&big, zst),
				    packed_at(&big, plain));
			compressed++;
		} else {
			same_bytes(packed_at(&big, tar),
				   packed_at(&big, plain));
		}
	}
	assert_true(compressed >= 3 && compressed <= chunks - 2);
	assert_int_equal(count(&big, "z", ".part"), 0);
}

/* What the index says of a compressed chunk. */
static void test_index(void **state)
{
	struct hpdsl_pack_options opt = options(2);
	struct hpdsl_dataset *ds;
	struct hpdsl_chunk c;
	struct hpdsl_error err;
	struct stat st;

	(void)state;
	pack_to(&small, "z", opt);
	assert_int_equal(hpdsl_open(packed_at(&small, "z"), NULL, &ds, &err),
			 0);
	assert_int_equal(hpdsl_chunk_get(ds, 0, &c, &err), 0);
	assert_true(c.compressed);
	assert_string_equal(c.name, "chunk-000000.tar.zst");
	/* a; b; c; the trailer */
	assert_int_equal(c.frames, 4);
	assert_int_equal(stat(packed_at(&small, "z/chunk-000000.tar.zst"), &st),
			 0);
	assert_int_equal(c.bytes, st.st_size);
	assert_int_equal(hpdsl_chunk_get(ds, 1, &c, &err), 0);
	assert_false(c.compressed);
	assert_string_equal(c.name, "chunk-000001.tar");
	hpdsl_close(ds);
}

/* ---- Always the same -------------------------------------------------- */

static void test_same(void **state)
{
	static const uint32_t threads[] = { 1, 2, 3, 8 };
	static const uint64_t memory[] = { 8 << 20, 12 << 20, 100 << 20 };

	(void)state;
	for (uint32_t chunks = 1; chunks <= 7; chunks += 3) {
		struct hpdsl_pack_options opt = options(chunks);

		pack_to(&big, "z", opt);
		for (unsigned i = 0; i < 12; i++) {
			opt.threads = threads[i % 4];
			opt.readers = 1 + i;
			opt.memory = memory[i % 3];
			pack_to(&big, "again", opt);
			run("diff -r %s/z %s/again", big.top, big.top);
		}
		opt.threads = HPDSL_SERIAL;
		opt.memory = 300 << 20;
		pack_to(&big, "again", opt);
		run("diff -r %s/z %s/again", big.top, big.top);
	}
}

/* ---- What fails ------------------------------------------------------- */

static long call, lie_at;

/* A sound frame of other bytes: only a comparison can tell. */
static size_t lying(ZSTD_CCtx *c, ZSTD_outBuffer *out, ZSTD_inBuffer *in,
		    ZSTD_EndDirective end)
{
	size_t n = in->size - in->pos;
	uint8_t *copy;
	size_t r;

	if (__atomic_add_fetch(&call, 1, __ATOMIC_RELAXED) != lie_at || !n)
		return wrap_compress_really(c, out, in, end);
	copy = malloc(in->size);
	assert_non_null(copy);
	memcpy(copy, in->src, in->size);
	copy[in->pos + n / 3] ^= 4;
	in->src = copy;
	r = wrap_compress_really(c, out, in, end);
	free(copy);
	return r;
}

/* Every file under a final name in out is that of top/z. */
static void check_finals(const struct packed *p)
{
	folder_check(p->out, packed_at(p, "z"), true);
}

static void check_same(const struct packed *p)
{
	folder_check(p->out, packed_at(p, "z"), false);
}

static void recover(struct packed *p)
{
	struct hpdsl_pack_options opt = options(3);
	struct hpdsl_error err;

	opt.resume = true;
	if (packed_try(p, opt, &err) < 0)
		fail_msg("resume: %s", err.msg);
	check_same(p);
}

static void lies(uint32_t threads)
{
	struct hpdsl_pack_options opt = options(3);
	unsigned found = 0;

	wrap_compress = lying;
	opt.threads = threads;
	for (lie_at = 1;; lie_at++) {
		struct hpdsl_error err;
		int r;

		folder_remove(small.out);
		call = 0;
		r = packed_try(&small, opt, &err);
		check_finals(&small);
		if (r == 0) {
			/* It was asked to end a frame: nothing went in. */
			check_same(&small);
			if (call < lie_at)
				break;
			continue;
		}
		found++;
		assert_int_equal(r, HPDSL_ECORRUPT);
		assert_non_null(strstr(err.msg, ".tar.zst: frame "));
		assert_non_null(strstr(err.msg, "do not decompress"));
		assert_false(packed_has(&small, "out/dataset.yaml"));
		recover(&small);
	}
	wrap_compress = NULL;
	assert_true(found >= 8);
}

static void test_lies(void **state)
{
	struct hpdsl_pack_options opt = options(3);

	(void)state;
	pack_to(&small, "z", opt);
	lies(HPDSL_SERIAL);
	lies(2);
}

/* The k-th operation fails. */
static void faults(bool forever, uint32_t threads, int code)
{
	struct hpdsl_pack_options opt = options(3);
	struct each_fault e = { .forever = forever, .code = code };

	opt.threads = threads;
	while (each_fault(&e)) {
		struct hpdsl_error err;
		int r;

		folder_remove(small.out);
		opt.watch.io = &e.f.io;
		r = packed_try(&small, opt, &err);
		assert_false(e.f.synced_again);
		check_finals(&small);
		if (r == 0)
			check_same(&small);
		else
			assert_true(err.msg[0]);
		if (e.f.failed == 0)
			break;
		if (r)
			recover(&small);
	}
	print_message("# %ld operations\n", e.k - 1);
	assert_true(e.k > 60);
}

static void test_faults(void **state)
{
	(void)state;
	pack_to(&small, "z", options(3));
	faults(false, HPDSL_SERIAL, -EIO);
	faults(true, HPDSL_SERIAL, -ENOSPC);
	faults(true, 2, -EIO);
}

/* The k-th allocation, or compressing. */
static void no_memory(bool forever, uint32_t threads)
{
	struct hpdsl_pack_options opt = options(3);

	opt.threads = threads;
	for (struct each_alloc e = { .forever = forever }; each_alloc(&e);) {
		struct hpdsl_error err;
		int r;

		folder_remove(small.out);
		each_alloc_begin(&e);
		r = packed_try(&small, opt, &err);
		each_alloc_end(&e);
		check_finals(&small);
		if (r == 0)
			check_same(&small);
		else
			assert_true(err.msg[0]);
		if (e.last)
			break;
		if (r)
			recover(&small);
	}
}

static void test_no_memory(void **state)
{
	(void)state;
	pack_to(&small, "z", options(3));
	no_memory(false, HPDSL_SERIAL);
	no_memory(true, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunks), cmocka_unit_test(test_index),
		cmocka_unit_test(test_same),   cmocka_unit_test(test_lies),
		cmocka_unit_test(test_faults), cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
