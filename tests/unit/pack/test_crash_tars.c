/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As test_crash.c: a power failure while an index is made for chunks, or for
 * tars of others, while a compressed archive is packed, and while a snapshot is
 * written.
 */
#include "chunk/tar.h"
#include "clock.h"
#include "crash_pack.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

enum { LARGE = 1500000, TAR = LARGE + 65536 };

/* ---- Index ------------------------------------------------------------ */

static int reindex(const struct hp_io *io, const char *path,
		   struct hpdsl_error *err)
{
	struct hpdsl_reindex_options opt = { .threads = HPDSL_SERIAL,
					     .force = true,
					     .watch.io = io };
	struct hpdsl_reindex_report report;

	return hpdsl_reindex(path, &opt, &report, err);
}

static int run_index(const struct hp_io *io, bool again_,
		     struct hpdsl_error *err)
{
	(void)again_;
	return reindex(io, "out", err);
}

static void put_no_index(struct memio *m)
{
	scene_put_tree(m);
	crash_must_pack(m, crash_fresh);
	memio_remove(m, "out/index.hpdsl");
}

static void put_chunks_alone(struct memio *m)
{
	put_no_index(m);
	memio_remove(m, "out/dataset.yaml");
}

/* A temporary file whose removal was lost: the next writer takes the name. */
static bool is_part(const char *path)
{
	return strstr(path, "/.") && strstr(path, ".part");
}

static void test_index(void **state)
{
	struct scene s = { .put = put_no_index,
			   .run = run_index,
			   .passed_over = is_part,
			   .check = crash_check_out };

	(void)state;
	scene_play(&s);
	s.put = put_chunks_alone;
	scene_play(&s);
}

/* ---- Tars ------------------------------------------------------------- */

/* Every step-th of the texts, from one; bytes, end included. */
static size_t make_tar(struct memio *m, unsigned from, unsigned step,
		       uint8_t tar[TAR])
{
	size_t n = 0;

	memset(tar, 0, TAR);
	for (unsigned i = from; i < SCENE_FILES; i += step) {
		char name[40];
		struct hp_tar_member f = { .path = name + 5, .mode = 0644 };
		const uint8_t *p;
		size_t size;

		snprintf(name, sizeof name, "tree/%c/%u.txt", 'x' + i % 2, i);
		p = memio_bytes(m, name, &size);
		f.path_len = strlen(f.path);
		f.size = size;
		n += hp_tar_header_write(&f, tar + n);
		memcpy(tar + n, p, size);
		n += (size_t)hp_tar_padded(size);
	}
	assert_true(n + 1024 <= TAR);
	return n + 1024;
}

/* More than is put in place at a time. */
static void put_large(struct memio *m)
{
	static uint8_t bytes[LARGE];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i / 1000);
	memio_add(m, "tree/y/3.txt", bytes, sizeof bytes);
}

static void put_tars(struct memio *m)
{
	static uint8_t tar[TAR];

	scene_put_tree(m);
	memio_add(m, "out/0.tar", tar, make_tar(m, 0, 2, tar));
	memio_add(m, "out/1.tar", tar, make_tar(m, 1, 2, tar));
}

static void put_archive(struct memio *m)
{
	static uint8_t tar[TAR], gz[TAR];
	z_stream z = { .next_in = tar, .next_out = gz, .avail_out = sizeof gz };

	scene_put_tree(m);
	put_large(m);
	z.avail_in = (uInt)make_tar(m, 0, 1, tar);
	assert_int_equal(
		deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
		Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	memio_add(m, "in.tar.gz", gz, sizeof gz - z.avail_out);
	deflateEnd(&z);
}

static ssize_t (*pwrite_now)(const struct hp_io *io, int fd, const void *buf,
			     size_t n, uint64_t off);
static int writes;

/* So long that the journal notes how far the archive is. */
static ssize_t pwrite_late(const struct hp_io *io, int fd, const void *buf,
			   size_t n, uint64_t off)
{
	if (n > 500000 && ++writes == 2)
		clock_pass(1.1);
	return pwrite_now(io, fd, buf, n, off);
}

static int run_pack(const struct hp_io *io, bool again_,
		    struct hpdsl_error *err)
{
	return crash_pack(io, again_ ? crash_again : crash_fresh, err);
}

static int run_archive(const struct hp_io *io, bool again_,
		       struct hpdsl_error *err)
{
	struct hp_io *table = (struct hp_io *)(uintptr_t)io;
	int r;

	pwrite_now = io->pwrite;
	writes = 0;
	if (!again_)
		table->pwrite = pwrite_late;
	r = run_pack(io, again_, err);
	table->pwrite = pwrite_now;
	return r;
}

/* It is scattered into all chunks at a time. */
static void test_archive(void **state)
{
	struct scene s = { .put = put_archive,
			   .run = run_archive,
			   .check = crash_check_out };

	(void)state;
	crash_input = "in.tar.gz";
	scene_play(&s);
	crash_input = "tree";
}

static void test_adopt(void **state)
{
	struct scene s = { .put = put_tars,
			   .run = run_index,
			   .passed_over = is_part,
			   .check = crash_check_out };

	(void)state;
	scene_play(&s);
}

/* ---- Snapshot --------------------------------------------------------- */

static int run_snapshot(const struct hp_io *io, bool again_,
			struct hpdsl_error *err)
{
	struct hpdsl_snapshot_options opt = { .threads = HPDSL_SERIAL,
					      .watch.io = io };
	struct hpdsl_snapshot_report report;

	(void)again_;
	return hpdsl_snapshot_create("tree", "snap", &opt, &report, err);
}

static void put_stale_snapshot(struct memio *m)
{
	struct hpdsl_error err = { 0 };

	scene_put_tree(m);
	if (run_snapshot(memio_io(m), false, &err))
		fail_msg("%s", err.msg);
	memio_add(m, "tree/new", "new", 3);
}

static void check_snapshot(struct memio *m, const struct scene *s, bool done)
{
	size_t n, a = 0, b = 0;
	const uint8_t *p = memio_bytes(m, "snap", &n);
	const uint8_t *now = memio_bytes(s->want, "snap", &a);
	const uint8_t *was = memio_bytes(s->record->before, "snap", &b);

	if (p && n == a && !memcmp(p, now, n))
		return;
	assert_false(done);
	assert_true(was ? p && n == b && !memcmp(p, was, n) : !p);
}

static void test_snapshot(void **state)
{
	struct scene s = { .put = scene_put_tree,
			   .run = run_snapshot,
			   .check = check_snapshot };

	(void)state;
	scene_play(&s);
	s.put = put_stale_snapshot;
	scene_play(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_archive),
		cmocka_unit_test(test_adopt),
		cmocka_unit_test(test_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
