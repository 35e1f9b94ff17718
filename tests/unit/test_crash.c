/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a power failure at any moment, whatever of what was not synced is lost,
 * what is there is refused or right, and the same command again ends where an
 * undisturbed one does.  HPDSL_LONG=1: all states; else a thousand of them.
 */
#include "crash_scene.h"

#include "tar.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

/* ---- What is packed ---------------------------------------------------- */

enum { LARGE = 1500000, TAR = LARGE + 65536 };

struct way {
	uint32_t chunks;
	uint64_t seed;
	bool force, resume;
	int zstd;
};

static const char *input = "tree";

static int pack(const struct hp_io *io, struct way w, struct hpdsl_error *err)
{
	const char *const inputs[] = { input };
	struct hpdsl_pack_options opt = {
		.inputs = inputs,
		.n_inputs = 1,
		.output = "out",
		.chunks = w.chunks,
		.seed = w.seed,
		.labels = HPDSL_LABELS_DIR,
		.digest = HPDSL_DIGEST_SHA256,
		.emit = HPDSL_EMIT_ENERGON | HPDSL_EMIT_WIDS,
		.threads = HPDSL_SERIAL,
		.readers = HPDSL_SERIAL,
		.memory = 8 << 20,
		.resume = w.resume,
		.force = w.force,
		.zstd = w.zstd,
		.watch.io = io,
	};
	struct hpdsl_pack_report report;

	return hpdsl_pack(&opt, &report, err);
}

static void must_pack(struct memio *m, struct way w)
{
	struct hpdsl_error err = { 0 };

	if (pack(memio_io(m), w, &err))
		fail_msg("%s", err.msg);
}

static const struct way fresh = { .chunks = 3, .seed = 1 };
static const struct way again = { .chunks = 3, .seed = 1, .resume = true };
static const struct way other = { .chunks = 5, .seed = 2, .zstd = 3 };
static const struct way force = { .chunks = 3, .seed = 1, .force = true };
static const struct way both = { 3, 1, true, true, 0 };

/* ---- What is there ----------------------------------------------------- */

static struct memio *old; /* what "out" may be besides, or NULL */

static bool not_data(const char *path)
{
	const char *name = strrchr(path, '/');

	return (name && name[1] == '.' && strcmp(name, "/.nv-meta")) ||
	       !strcmp(path, "out/journal.hpdsl");
}

/* Whole: as it was, or as it will be. */
static void check_out(struct memio *m, const struct scene *s, bool done)
{
	size_t n;

	scene_check_reads(m, "out", "tree");
	if (scene_verify(m, "out") == 0 &&
	    memio_bytes(m, "out/dataset.yaml", &n))
		assert_true(!crash_differ(m, s->want, "out", not_data) ||
			    (old && !crash_differ(m, old, "out", not_data)));
	else
		assert_false(done);
	if (done)
		assert_null(crash_differ(m, s->want, "out", not_data));
}

/* One that is replaced is there or beside, and whole. */
static void check_replaced(struct memio *m, const struct scene *s, bool done)
{
	size_t n;

	check_out(m, s, done);
	assert_true(scene_verify(m, "out") == 0 ||
		    (!memio_bytes(m, "out/index.hpdsl", &n) &&
		     scene_verify(m, ".out.hpdsl-old") == 0));
}

/* ---- Pack -------------------------------------------------------------- */

static int run_pack(const struct hp_io *io, bool again_,
		    struct hpdsl_error *err)
{
	return pack(io, again_ ? again : fresh, err);
}

static void test_pack(void **state)
{
	struct scene s = { .put = scene_put_tree,
			   .run = run_pack,
			   .check = check_out };

	(void)state;
	scene_play(&s);
}

/* Some of a pack's chunks are done. */
static void put_some_of(struct memio *m, struct way w, int some)
{
	static struct crash c;
	uint8_t fate[CRASH_OPS];
	struct memio *half;
	size_t k = 0;

	scene_put_tree(m);
	crash_begin(&c, m);
	must_pack(m, w);
	crash_end(&c);
	while (some -= c.op[k].kind == CRASH_MOVE)
		k++;
	crash_choose(&c, k + 1, 0, false, fate);
	half = crash_build(&c, k + 1, fate);
	memio_swap(m, half);
	memio_free(half);
	crash_release(&c);
}

static void put_half(struct memio *m)
{
	put_some_of(m, fresh, 1);
}

static int run_again(const struct hp_io *io, bool again_,
		     struct hpdsl_error *err)
{
	(void)again_;
	return pack(io, again, err);
}

static void test_resume(void **state)
{
	struct scene s = { .put = put_half,
			   .run = run_again,
			   .check = check_out };

	(void)state;
	scene_play(&s);
}

static void put_other(struct memio *m)
{
	scene_put_tree(m);
	must_pack(m, other);
}

static int run_force(const struct hp_io *io, bool again_,
		     struct hpdsl_error *err)
{
	return pack(io, again_ ? both : force, err);
}

static void play_replace(void)
{
	struct scene s = { .put = put_other,
			   .run = run_force,
			   .check = check_replaced };

	old = memio_new();
	put_other(old);
	scene_play(&s);
	memio_free(old);
	old = NULL;
}

static void test_force(void **state)
{
	(void)state;
	play_replace();
}

static void test_force_two_steps(void **state)
{
	(void)state;
	memio_no_exchange = true;
	play_replace();
	memio_no_exchange = false;
}

static void put_other_unfinished(struct memio *m)
{
	put_some_of(m, other, 5);
}

/* Resumed if it can be, else once more from the beginning. */
static int run_afresh(const struct hp_io *io, bool again_,
		      struct hpdsl_error *err)
{
	if (again_ && pack(io, again, err) == 0)
		return 0;
	return pack(io, again_ ? both : force, err) == 0 ? 0 :
							   pack(io, force, err);
}

static void test_force_unfinished(void **state)
{
	struct scene s = { .put = put_other_unfinished,
			   .run = run_afresh,
			   .check = check_out };

	(void)state;
	scene_play(&s);
}

/* ---- Index ------------------------------------------------------------- */

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
	must_pack(m, fresh);
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
			   .check = check_out };

	(void)state;
	scene_play(&s);
	s.put = put_chunks_alone;
	scene_play(&s);
}

/* ---- Tars -------------------------------------------------------------- */

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
		usleep(1100000);
	return pwrite_now(io, fd, buf, n, off);
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
			   .check = check_out };

	(void)state;
	input = "in.tar.gz";
	scene_play(&s);
	input = "tree";
}

static void test_adopt(void **state)
{
	struct scene s = { .put = put_tars,
			   .run = run_index,
			   .passed_over = is_part,
			   .check = check_out };

	(void)state;
	scene_play(&s);
}

/* ---- Snapshot ---------------------------------------------------------- */

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
		cmocka_unit_test(test_pack),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_force),
		cmocka_unit_test(test_force_two_steps),
		cmocka_unit_test(test_force_unfinished),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_archive),
		cmocka_unit_test(test_adopt),
		cmocka_unit_test(test_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
