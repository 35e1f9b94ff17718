/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl_verify: what is sound passes, what is not is found and named. */
#include "hpdsl.h"
#include "level.h"
#include "memdir.h"
#include "packed.h"

#include "chunk/tar.h"
#include "dataset/pass.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Everything that was told, a line each. */
struct told {
	char text[65536];
	size_t n;
	int lines, warnings;
};

static struct packed packed;

static void hear(struct told *t, const char *line)
{
	t->n += (size_t)snprintf(t->text + t->n, sizeof t->text - t->n, "%s\n",
				 line);
	if (t->n >= sizeof t->text)
		t->n = sizeof t->text - 1;
}

static void on_damage(void *arg, const struct hpdsl_damage *d)
{
	struct told *t = arg;
	char line[2048];
	int n;

	n = snprintf(line, sizeof line, "%s:", d->file ? d->file : "source");
	if (d->sample != UINT64_MAX)
		n += snprintf(line + n, sizeof line - (size_t)n,
			      " sample %llu:", (unsigned long long)d->sample);
	if (d->path)
		n += snprintf(line + n, sizeof line - (size_t)n,
			      " '%.200s':", d->path);
	snprintf(line + n, sizeof line - (size_t)n, " %s", d->reason);
	hear(t, line);
	t->lines++;
}

static void on_warning(void *arg, const char *text)
{
	struct told *t = arg;

	hear(t, text);
	t->warnings++;
}

/* The hook of the exhaustive tests: hears nothing. */
static int look(const struct hp_io *io, bool quick)
{
	struct hpdsl_verify_options opt = { .quick = quick,
					    .threads = HPDSL_SERIAL };
	struct hpdsl_verify_report report;
	struct hpdsl_error err;

	opt.watch.io = io;
	return hpdsl_verify(MEMDIR_NAME, &opt, &report, &err);
}

static int verify(struct hpdsl_verify_options opt,
		  struct hpdsl_verify_report *report, struct told *told,
		  struct hpdsl_error *err)
{
	*told = (struct told){ .n = 0 };
	opt.damage = on_damage;
	opt.arg = told;
	opt.watch.warn = on_warning;
	opt.watch.arg = told;
	return hpdsl_verify(packed.out, &opt, report, err);
}

/* Verifies and wants this code and, among what is told, these words. */
static struct hpdsl_verify_report expect(struct hpdsl_verify_options opt,
					 int code, const char *words)
{
	struct hpdsl_verify_report report = { 0 };
	struct hpdsl_error err = { 0 };
	struct told told;
	int r = verify(opt, &report, &told, &err);

	if (r != code || !strstr(told.text, words))
		fail_msg("%d (%s), told:\n%s", r, err.msg, told.text);
	if (r == 0 && told.lines)
		fail_msg("told:\n%s", told.text);
	return report;
}

static int begin(void **state)
{
	(void)state;
	packed_begin(&packed);
	return 0;
}

static int end(void **state)
{
	(void)state;
	packed_end(&packed);
	return 0;
}

/* 40 samples of two files and one that is large, in three chunks. */
static void make(struct hpdsl_pack_options opt)
{
	char name[64];

	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof name, "c%d/%02d.jpg", i % 3, i);
		packed_file(&packed, name, (size_t)(i * 97), 0644,
			    1000000000 + i, (uint32_t)i);
		snprintf(name, sizeof name, "c%d/%02d.txt", i % 3, i);
		packed_file(&packed, name, (size_t)i, 0600, -5, 5);
	}
	packed_file(&packed, "c1/large.bin", 1000003, 0640, 77, 0);
	opt.chunks = 3;
	packed_pack(&packed, opt);
}

/* The number of the member and of its chunk. */
static struct hpdsl_member find(const char *path)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;

	assert_int_equal(hpdsl_open(packed.out, NULL, &ds, NULL), 0);
	assert_int_equal(hpdsl_member_find(ds, path, strlen(path), &m, NULL),
			 0);
	hpdsl_close(ds);
	m.path = NULL;
	return m;
}

static const char *chunk(uint32_t number)
{
	char name[64];

	snprintf(name, sizeof name, "out/chunk-%06u.tar", number);
	return packed_at(&packed, name);
}

static void test_sound(void **state)
{
	const uint32_t threads[] = { HPDSL_SERIAL, 0, 1, 2, 8 };
	struct hpdsl_verify_report r;

	(void)state;
	make((struct hpdsl_pack_options){ .labels = HPDSL_LABELS_DIR });
	for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
		r = expect(
			(struct hpdsl_verify_options){ .threads = threads[i] },
			0, "");
		assert_int_equal(r.chunks, 3);
		assert_int_equal(r.samples, 41);
		assert_int_equal(r.members, 81);
		assert_int_equal(r.unlisted, 0);
		assert_true(r.bytes > 1000000);
	}
	expect((struct hpdsl_verify_options){ .quick = true }, 0, "");
}

static void test_member(void **state)
{
	struct hpdsl_verify_report r;
	struct hpdsl_member m;

	(void)state;
	make((struct hpdsl_pack_options){ .seed = 1 });
	m = find("c1/large.bin");
	packed_flip(chunk(m.chunk), m.offset + 600000, 3);
	r = expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
		   "'c1/large.bin': checksum differs\n");
	assert_int_equal(r.damaged_samples, 1);
	assert_int_equal(r.damaged_chunks, 1);
	assert_int_equal(r.damaged_files, 1);
	m = find("c0/03.jpg");
	packed_flip(chunk(m.chunk), m.offset - 512 + 101, 0);
	/* The other member of the sample: it is told once. */
	m = find("c0/03.txt");
	packed_flip(chunk(m.chunk), m.offset, 0);
	m = find("c2/05.jpg");
	packed_flip(chunk(m.chunk), m.offset + m.size, 7);
	r = expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
		   "'c0/03.jpg': header differs\n");
	expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
	       "'c2/05.jpg': padding is not zeros\n");
	assert_int_equal(r.damaged_samples, 3);
}

static void test_trailer(void **state)
{
	struct hpdsl_verify_report r;
	struct stat st;

	(void)state;
	make((struct hpdsl_pack_options){ 0 });
	assert_int_equal(stat(chunk(2), &st), 0);
	packed_flip(chunk(2), (uint64_t)st.st_size - 1, 0);
	r = expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
		   "chunk-000002.tar: the blocks behind the last member");
	assert_int_equal(r.damaged_samples, 0);
	assert_int_equal(r.damaged_chunks, 1);
}

static void test_missing(void **state)
{
	struct hpdsl_verify_report r;

	(void)state;
	make((struct hpdsl_pack_options){ 0 });
	assert_int_equal(unlink(chunk(1)), 0);
	r = expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
		   "chunk-000001.tar: is missing (samples 14-27)\n");
	assert_int_equal(r.damaged_samples, 14);
	expect((struct hpdsl_verify_options){ .quick = true }, HPDSL_ECORRUPT,
	       "chunk-000001.tar: is missing (samples 14-27)\n");
	assert_int_equal(mkdir(chunk(1), 0777), 0);
	expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
	       "chunk-000001.tar: not a regular file (samples 14-27)\n");
}

static void test_size(void **state)
{
	struct hpdsl_verify_report r;
	struct hpdsl_member m;

	(void)state;
	make((struct hpdsl_pack_options){ .shuffle = HPDSL_SHUFFLE_NONE });
	m = find("c0/15.txt");
	assert_int_equal(m.chunk, 0);
	assert_int_equal(truncate(chunk(0), (off_t)m.offset + 3), 0);
	r = expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
		   "expected (samples 5-13)\n");
	assert_int_equal(r.damaged_samples, 9);
	expect((struct hpdsl_verify_options){ .quick = true }, HPDSL_ECORRUPT,
	       "expected (samples 0-13)\n");
	packed_put(chunk(1), "", 0);
	expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
	       "chunk-000001.tar: is 0 bytes, ");
}

/* A chunk that ends where a read does, and a byte behind it. */
static void test_longer(void **state)
{
	enum { CHUNK = 5 * HP_PASS_PIECE };

	(void)state;
	packed_file(&packed, "whole", CHUNK - 3 * HP_TAR_BLOCK, 0644, 1, 1);
	packed_pack(&packed, (struct hpdsl_pack_options){ 0 });
	assert_int_equal(truncate(chunk(0), CHUNK + 1), 0);
	expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
	       "chunk-000000.tar: is longer than it should be\n");
	assert_int_equal(truncate(chunk(0), CHUNK), 0);
	expect((struct hpdsl_verify_options){ 0 }, 0, "");
}

/* Of a mode what a member keeps is the permissions, in header and index. */
static void test_special_modes(void **state)
{
	struct hpdsl_member m;

	(void)state;
	packed_file(&packed, "all", 1, 07644, 1, 1);
	packed_file(&packed, "sticky", 1, 01755, 1, 1);
	packed_pack(&packed, (struct hpdsl_pack_options){ 0 });
	expect((struct hpdsl_verify_options){ .source = packed.tree }, 0, "");
	m = find("all");
	assert_int_equal(m.mode, 0644);
}

static void test_index_damaged(void **state)
{
	struct hpdsl_verify_report r;
	struct hpdsl_member m;

	(void)state;
	make((struct hpdsl_pack_options){ 0 });
	packed_flip(packed_at(&packed, "out/index.hpdsl"), 600, 0);
	r = expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
		   "index.hpdsl: checksum differs\n");
	assert_int_equal(r.damaged_files, 1);
	assert_int_equal(r.damaged_chunks, 0);
	assert_int_equal(r.chunks, 3);
	packed_flip(packed_at(&packed, "out/index.hpdsl"), 600, 0);
	m = find("c0/03.jpg");
	packed_flip(chunk(m.chunk), m.offset, 0);
	assert_int_equal(unlink(packed_at(&packed, "out/index.hpdsl")), 0);
	r = expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
		   "index.hpdsl: is missing\n");
	assert_int_equal(r.damaged_chunks, 1);
	assert_int_equal(r.damaged_files, 2);
}

static void test_manifest_damaged(void **state)
{
	struct hpdsl_verify_report r;
	struct hpdsl_member m;

	(void)state;
	make((struct hpdsl_pack_options){ 0 });
	m = find("c0/03.jpg");
	packed_flip(chunk(m.chunk), m.offset, 0);
	packed_flip(packed_at(&packed, "out/dataset.yaml"), 100, 0);
	r = expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
		   "dataset.yaml: ");
	assert_int_equal(r.damaged_files, 2);
	assert_int_equal(r.damaged_samples, 1);
	packed_flip(packed_at(&packed, "out/index.hpdsl"), 0, 0);
	r = expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
		   "index.hpdsl: ");
	assert_int_equal(r.damaged_files, 2);
	assert_int_equal(r.chunks, 0);
	packed_flip(packed_at(&packed, "out/index.hpdsl"), 0, 0);
	assert_int_equal(unlink(packed_at(&packed, "out/dataset.yaml")), 0);
	r = expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
		   "dataset.yaml: is missing\n");
	assert_int_equal(r.damaged_samples, 1);
}

static void test_other_index(void **state)
{
	size_t n;
	char *data;

	(void)state;
	make((struct hpdsl_pack_options){ 0 });
	data = packed_get(packed_at(&packed, "out/index.hpdsl"), &n);
	assert_int_equal(rename(packed.out, packed_at(&packed, "first")), 0);
	make((struct hpdsl_pack_options){ .seed = 5 });
	packed_put(packed_at(&packed, "out/index.hpdsl"), data, n);
	free(data);
	expect((struct hpdsl_verify_options){ 0 }, HPDSL_ECORRUPT,
	       "index.hpdsl: checksum differs\n");
}

static void test_unlisted(void **state)
{
	struct hpdsl_verify_report r;
	char name[64];

	(void)state;
	make((struct hpdsl_pack_options){ 0 });
	packed_put(packed_at(&packed, "out/.chunk-000000.tar.part"), "x", 1);
	packed_put(packed_at(&packed, "out/notes\n.txt"), "x", 1);
	r = expect((struct hpdsl_verify_options){ 0 }, 0, "");
	assert_int_equal(r.unlisted, 2);
	for (int i = 0; i < 25; i++) {
		snprintf(name, sizeof name, "out/x%d", i);
		packed_put(packed_at(&packed, name), "x", 1);
	}
	r = expect((struct hpdsl_verify_options){ 0 }, 0, "and 7 more");
	assert_int_equal(r.unlisted, 27);
}

static void expect_none(const char *words)
{
	struct hpdsl_verify_options opt = { 0 };
	struct hpdsl_verify_report report;
	struct hpdsl_error err = { 0 };

	assert_int_equal(hpdsl_verify(packed.out, &opt, &report, &err),
			 HPDSL_ENOTOURS);
	if (!strstr(err.msg, words))
		fail_msg("%s", err.msg);
}

static void test_no_dataset(void **state)
{
	struct hpdsl_verify_options opt = { 0 };
	struct hpdsl_verify_report report;

	(void)state;
	assert_int_equal(hpdsl_verify(packed.out, &opt, &report, NULL),
			 -ENOENT);
	assert_int_equal(mkdir(packed.out, 0777), 0);
	expect_none("not a dataset (no dataset.yaml)");
	packed_put(packed_at(&packed, "out/dataset.yaml"), "train: x\n", 9);
	expect_none("not a dataset");
	unlink(packed_at(&packed, "out/dataset.yaml"));
	packed_put(packed_at(&packed, "out/journal.hpdsl"), "x", 1);
	expect_none("an unfinished pack");
}

static void test_source(void **state)
{
	struct hpdsl_verify_options opt = { .source = packed.tree };
	struct hpdsl_verify_report r;
	struct timespec t[2] = { { .tv_sec = 5 }, { .tv_sec = 6 } };

	(void)state;
	make((struct hpdsl_pack_options){ 0 });
	expect(opt, 0, "");
	packed_file(&packed, "c0/03.jpg", 3 * 97, 0600, 1000000003, 3);
	packed_file(&packed, "new", 3, 0600, 3, 3);
	packed_file(&packed, "c2/02.jpg", 2 * 97 + 1, 0600, 2, 2);
	unlink(packed_at(&packed, "tree/c1/01.txt"));
	utimensat(AT_FDCWD, packed_at(&packed, "tree/c2/05.txt"), t, 0);
	packed_flip(packed_at(&packed, "tree/c1/large.bin"), 900000, 1);
	r = expect(opt, HPDSL_EDIFFERS, "'c0/03.jpg': mode differs\n");
	expect(opt, HPDSL_EDIFFERS, "'new': is not in the dataset\n");
	expect(opt, HPDSL_EDIFFERS, "'c2/02.jpg': size differs\n");
	expect(opt, HPDSL_EDIFFERS, "'c1/01.txt': is absent\n");
	expect(opt, HPDSL_EDIFFERS, "'c2/05.txt': mtime differs\n");
	expect(opt, HPDSL_EDIFFERS, "'c1/large.bin': content differs\n");
	assert_int_equal(r.differing, 6);
	assert_int_equal(r.damaged_files, 0);
	packed_flip(chunk(0), 0, 0);
	r = expect(opt, HPDSL_ECORRUPT, "header differs\n");
	assert_int_equal(r.differing, 6);
	opt.source = packed_at(&packed, "nothing");
	assert_int_not_equal(hpdsl_verify(packed.out, &opt, &r, NULL), 0);
}

static void test_source_prefix(void **state)
{
	static const char *const exclude[] = { "*.txt" };
	struct hpdsl_verify_options opt = { .source = packed.tree };
	struct hpdsl_verify_report r;

	(void)state;
	make((struct hpdsl_pack_options){
		.prefix_input = true, .exclude = exclude, .n_exclude = 1 });
	r = expect(opt, 0, "");
	assert_int_equal(r.members, 41);
	unlink(packed_at(&packed, "tree/c1/01.jpg"));
	r = expect(opt, HPDSL_EDIFFERS, "'tree/c1/01.jpg': is absent\n");
	assert_int_equal(r.differing, 1);
}

static void test_stop(void **state)
{
	struct hpdsl_verify_options opt = { 0 };
	struct hpdsl_verify_report report;
	struct hpdsl_error err;
	int stop = 1;

	(void)state;
	make((struct hpdsl_pack_options){ 0 });
	opt.watch.stop = &stop;
	assert_int_equal(hpdsl_verify(packed.out, &opt, &report, &err),
			 HPDSL_ESTOPPED);
}

/* ---- Exhaustive, in memory -------------------------------------------- */

/* Names long enough for a pax header and a split one; two chunks, classes. */
static void make_memory(struct memdir *mem)
{
	static const char *const meta[] = { "licence=none" };
	struct hpdsl_pack_options opt = { .labels = HPDSL_LABELS_DIR,
					  .chunks = 2,
					  .meta = meta,
					  .n_meta = 1 };
	char name[400] = "b/";

	memset(name + 2, 'x', 120);
	strcpy(name + 122, "/y.png");
	packed_file(&packed, name, 10, 0644, 1234567890, 999999999);
	memset(name + 2, 'z', 180);
	strcpy(name + 182, ".png");
	packed_file(&packed, name, 600, 0644, 1234567890, 1);
	packed_file(&packed, "a/1.jpg", 513, 0644, 1, 1);
	packed_file(&packed, "a/1.txt", 0, 0600, 2, 2);
	packed_file(&packed, "a/2.jpg", 2, 0644, 3, 3);
	packed_pack(&packed, opt);
	memdir_load(mem, packed.out);
	assert_int_equal(mem->n, 4);
	assert_int_equal(look(&mem->io, false), 0);
	assert_int_equal(look(&mem->io, true), 0);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEP = 29 }; /* bits; much slower there */
#else
enum { STEP = 1 };
#endif

static void test_every_bit(void **state)
{
	static struct memdir mem;
	/* In check each bit of a byte, but not of each byte. */
	const size_t step = STEP > 1 || at_level("more") ? STEP : 3;

	(void)state;
	make_memory(&mem);
	for (int i = 0; i < mem.n; i++) {
		struct memdir_file *f = &mem.files[i];

		for (size_t bit = 0; bit < f->size * 8; bit += step) {
			int r;

			f->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			r = look(&mem.io, false);
			f->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			if (r != HPDSL_ECORRUPT)
				fail_msg("%s: byte %zu bit %zu: %d", f->name,
					 bit / 8, bit % 8, r);
		}
	}
	assert_int_equal(look(&mem.io, false), 0);
	memdir_free(&mem);
}

static void test_every_truncation(void **state)
{
	static struct memdir mem;

	(void)state;
	make_memory(&mem);
	for (int i = 0; i < mem.n; i++) {
		struct memdir_file *f = &mem.files[i];
		size_t whole = f->size;

		for (f->size = 0; f->size < whole; f->size++) {
			bool small = whole < 10000;

			if (look(&mem.io, false) != HPDSL_ECORRUPT ||
			    look(&mem.io, true) != HPDSL_ECORRUPT)
				fail_msg("%s: %zu bytes", f->name, f->size);
			/* In large files: around the blocks. */
			if (!small && f->size % 512 > 2 && f->size % 512 < 509)
				f->size += 7;
		}
		f->size = whole;
	}
	assert_int_equal(look(&mem.io, false), 0);
	memdir_free(&mem);
}

static void test_longer_and_absent(void **state)
{
	static struct memdir mem;

	(void)state;
	make_memory(&mem);
	for (int i = 0; i < mem.n; i++) {
		struct memdir_file *f = &mem.files[i];
		uint8_t *was = f->data, *longer = calloc(1, f->size + 1);

		assert_non_null(longer);
		f->absent = true;
		assert_int_equal(look(&mem.io, false), HPDSL_ECORRUPT);
		assert_int_equal(look(&mem.io, true), HPDSL_ECORRUPT);
		f->absent = false;
		memcpy(longer, was, f->size++);
		f->data = longer;
		assert_int_equal(look(&mem.io, false), HPDSL_ECORRUPT);
		assert_int_equal(look(&mem.io, true), HPDSL_ECORRUPT);
		f->data = was;
		f->size--;
		free(longer);
	}
	memdir_free(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sound, begin, end),
		cmocka_unit_test_setup_teardown(test_member, begin, end),
		cmocka_unit_test_setup_teardown(test_trailer, begin, end),
		cmocka_unit_test_setup_teardown(test_missing, begin, end),
		cmocka_unit_test_setup_teardown(test_size, begin, end),
		cmocka_unit_test_setup_teardown(test_longer, begin, end),
		cmocka_unit_test_setup_teardown(test_special_modes, begin, end),
		cmocka_unit_test_setup_teardown(test_index_damaged, begin, end),
		cmocka_unit_test_setup_teardown(test_manifest_damaged, begin,
						end),
		cmocka_unit_test_setup_teardown(test_other_index, begin, end),
		cmocka_unit_test_setup_teardown(test_unlisted, begin, end),
		cmocka_unit_test_setup_teardown(test_no_dataset, begin, end),
		cmocka_unit_test_setup_teardown(test_source, begin, end),
		cmocka_unit_test_setup_teardown(test_source_prefix, begin, end),
		cmocka_unit_test_setup_teardown(test_stop, begin, end),
		cmocka_unit_test_setup_teardown(test_every_bit, begin, end),
		cmocka_unit_test_setup_teardown(test_every_truncation, begin,
						end),
		cmocka_unit_test_setup_teardown(test_longer_and_absent, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
