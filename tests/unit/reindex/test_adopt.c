/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl_reindex for tars of others: names as seen from another directory, any
 * bit and any operation wrong.
 */
#include "chunk/tar.h"
#include "each_fault.h"
#include "memio.h"
#include "packed.h"
#include "reindex/adopt.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void test_relative(void **state)
{
	static const char *const rows[][3] = {
		{ "/a/b", "/a/b", "" },
		{ "/a/b", "/a/b/c", "c/" },
		{ "/a/b", "/a/b/c/d", "c/d/" },
		{ "/a/b", "/a", "../" },
		{ "/a/b/c", "/a", "../../" },
		{ "/a/b", "/a/bc", "../bc/" },
		{ "/a/bc", "/a/b", "../b/" },
		{ "/a/b/c", "/a/d/e", "../../d/e/" },
		{ "/a/b", "/c", "../../c/" },
		{ "/", "/a/b", "a/b/" },
		{ "/a/b", "/", "../../" },
		{ "/", "/", "" },
	};
	char out[HPDSL_PATH_MAX + 1], longest[HPDSL_PATH_MAX + 10];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int n = hp_adopt_relative(rows[i][0], rows[i][1], out);

		assert_string_equal(out, rows[i][2]);
		assert_int_equal(n, strlen(out));
	}
	memset(longest, 'x', sizeof longest);
	longest[0] = '/';
	longest[HPDSL_PATH_MAX] = '\0';
	assert_int_equal(hp_adopt_relative("/", longest, out), HPDSL_PATH_MAX);
	assert_int_equal(hp_adopt_relative("/a", longest, out), -ENAMETOOLONG);
	for (size_t i = 0; i < HPDSL_PATH_MAX; i += 2)
		longest[i] = '/';
	assert_int_equal(hp_adopt_relative(longest, "/", out), -ENAMETOOLONG);
}

/* ---- In memory -------------------------------------------------------- */

/* Appends a member to the archive of *n bytes. */
static void append(uint8_t *tar, size_t *n, const char *path, const char *text)
{
	struct hp_tar_member m = { path, strlen(path), strlen(text), 5, 0644 };

	*n += hp_tar_header_write(&m, tar + *n);
	memcpy(tar + *n, text, strlen(text));
	*n += (size_t)hp_tar_padded(m.size);
}

static struct memio *two_tars(void)
{
	static uint8_t tar[16384];
	struct memio *mem = memio_new();
	char longer[200];
	size_t n = 0;

	memset(tar, 0, sizeof tar);
	memset(longer, 'l', sizeof longer);
	memcpy(longer + sizeof longer - 5, ".txt", 5);
	append(tar, &n, "a/x.jpg", "one");
	append(tar, &n, longer, "two");
	append(tar, &n, "a/x.txt", "three");
	memio_add(mem, "d/one.tar", tar, n + 1024);
	memset(tar, 0, sizeof tar);
	n = 0;
	append(tar, &n, "b.jpg", "four");
	memio_add(mem, "d/two.tar", tar, n + 1024);
	return mem;
}

static int adopt(struct memio *mem, struct hpdsl_reindex_report *r,
		 struct hpdsl_error *err)
{
	struct hpdsl_reindex_options opt = { .threads = HPDSL_SERIAL };

	opt.watch.io = memio_io(mem);
	err->msg[0] = '\0';
	return hpdsl_reindex("d", &opt, r, err);
}

static int verify(struct memio *mem)
{
	struct hpdsl_verify_options opt = { .threads = HPDSL_SERIAL };
	struct hpdsl_verify_report r;

	opt.watch.io = memio_io(mem);
	return hpdsl_verify("d", &opt, &r, NULL);
}

static void test_counts(void **state)
{
	struct memio *mem = two_tars();
	struct hpdsl_reindex_report r;
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(adopt(mem, &r, &err), 0);
	assert_true(r.adopted);
	assert_false(r.unchanged);
	assert_null(r.lost);
	assert_int_equal(r.chunks, 2);
	assert_int_equal(r.members, 4);
	assert_int_equal(r.samples, 4);
	assert_int_equal(r.repeated_keys, 1);
	assert_int_equal(r.repeated_paths, 0);
	assert_int_equal(r.bytes, 3 + 3 + 5 + 4);
	assert_int_equal(verify(mem), 0);
	assert_int_equal(adopt(mem, &r, &err), 0);
	assert_true(r.unchanged);
	memio_free(mem);
}

/* Adopted as it is, or an error with a text; what is adopted is sound. */
static void test_any_bit(void **state)
{
	struct memio *mem = two_tars();
	struct hpdsl_reindex_report r;
	struct hpdsl_error err;
	unsigned good = 0, bad = 0;
	size_t n;

	(void)state;
	memio_bytes(mem, "d/one.tar", &n);
	for (uint64_t bit = 0; bit < n * 8; bit += 3) {
		int code;

		memio_flip(mem, "d/one.tar", bit);
		code = adopt(mem, &r, &err);
		if (code == 0) {
			assert_int_equal(verify(mem), 0);
			good++;
		} else {
			assert_int_equal(code, HPDSL_ECORRUPT);
			assert_non_null(strstr(err.msg, "d: one.tar: "));
			bad++;
		}
		memio_flip(mem, "d/one.tar", bit);
		memio_remove(mem, "d/dataset.yaml");
		memio_remove(mem, "d/index.hpdsl");
	}
	/* Contents, padding and the end may be anything. */
	assert_in_range(bad, 1000, 10000);
	assert_in_range(good, 1000, 10000);
	memio_free(mem);
}

/* After adoption every bit of the tars counts. */
static void test_any_bit_is_found(void **state)
{
	struct memio *mem = two_tars();
	struct hpdsl_reindex_report r;
	struct hpdsl_error err;
	size_t n;

	(void)state;
	assert_int_equal(adopt(mem, &r, &err), 0);
	memio_bytes(mem, "d/one.tar", &n);
	for (uint64_t bit = 0; bit < n * 8; bit += 7) {
		memio_flip(mem, "d/one.tar", bit);
		assert_int_equal(verify(mem), HPDSL_ECORRUPT);
		memio_flip(mem, "d/one.tar", bit);
	}
	memio_free(mem);
}

static void test_any_length(void **state)
{
	struct memio *mem = two_tars();
	struct hpdsl_reindex_report r;
	struct hpdsl_error err;
	size_t n;

	(void)state;
	memio_bytes(mem, "d/one.tar", &n);
	while (n > 0) {
		int code;

		memio_resize(mem, "d/one.tar", --n);
		code = adopt(mem, &r, &err);
		if (code < 0)
			assert_int_equal(code, HPDSL_ECORRUPT);
		else
			assert_int_equal(verify(mem), 0);
		memio_remove(mem, "d/dataset.yaml");
		memio_remove(mem, "d/index.hpdsl");
	}
	memio_free(mem);
}

static void test_no_memory(void **state)
{
	struct memio *mem = two_tars();
	struct hpdsl_reindex_report r;
	struct hpdsl_error err;
	struct each_alloc e = { .k = 0 };
	int code = -ENOMEM;

	(void)state;
	while (code && each_alloc(&e)) {
		each_alloc_begin(&e);
		code = adopt(mem, &r, &err);
		each_alloc_end(&e);
		if (code < 0) {
			assert_int_equal(code, -ENOMEM);
			assert_int_equal(memio_open_count(mem), 0);
		}
	}
	assert_int_equal(code, 0);
	assert_in_range(e.k, 20, 1000);
	assert_int_equal(verify(mem), 0);
	memio_free(mem);
}

/* By members and by a table; kept where there is no memory the first times. */
static void label_without_memory(struct hpdsl_reindex_options opt,
				 uint64_t members)
{
	static const char table[] = "key,class\na/x,1\nb,3\nno,2\n";
	static uint8_t tar[8192];
	struct memio *mem = two_tars();
	struct hpdsl_reindex_report r = { 0 };
	struct each_alloc e = { .k = 0 };
	int code = -ENOMEM;
	size_t n = 0;

	memset(tar, 0, sizeof tar);
	append(tar, &n, "c.jpg", "x");
	append(tar, &n, "c.cls", " 3\n");
	append(tar, &n, "e.cls", "1.5");
	memio_add(mem, "d/x.tar", tar, n + 1024);
	memio_add(mem, "l.csv", table, sizeof table - 1);
	opt.threads = HPDSL_SERIAL;
	opt.watch.io = memio_io(mem);
	while (code && each_alloc(&e)) {
		each_alloc_begin(&e);
		code = hpdsl_reindex("d", &opt, &r, NULL);
		each_alloc_end(&e);
		if (code < 0)
			assert_int_equal(code, -ENOMEM);
		assert_int_equal(memio_open_count(mem), 0);
	}
	assert_int_equal(code, 0);
	assert_int_equal(r.classes, 4);
	assert_int_equal(r.label_members, members);
	assert_int_equal(r.label_bytes, members ? 6 : 0);
	assert_int_equal(verify(mem), 0);
	opt.labels = HPDSL_LABELS_KEEP;
	assert_int_equal(hpdsl_reindex("d", &opt, &r, NULL), 0);
	assert_true(r.unchanged);
	assert_int_equal(r.classes, 4);
	memio_free(mem);
}

static void test_labels(void **state)
{
	struct hpdsl_reindex_options opt = { .labels = HPDSL_LABELS_CLS };

	(void)state;
	label_without_memory(opt, 2);
	opt.labels = HPDSL_LABELS_FILE;
	opt.label_file = "l.csv";
	label_without_memory(opt, 0);
}

/* ---- Any operation fails ---------------------------------------------- */

static struct packed packed;
static char from[120], to[120];

static int begin(void **state)
{
	(void)state;
	packed_begin(&packed);
	for (int i = 0; i < 20; i++) {
		char name[64];

		snprintf(name, sizeof name, "c%d/%02d.jpg", i % 3, i);
		packed_file(&packed, name, (size_t)(i * 997), 0644, 5, 0);
	}
	packed_pack(&packed, (struct hpdsl_pack_options){ .chunks = 3 });
	snprintf(from, sizeof from, "%s/tars", packed.top);
	snprintf(to, sizeof to, "%s/new", packed.top);
	assert_int_equal(rename(packed.out, from), 0);
	unlink(packed_at(&packed, "tars/dataset.yaml"));
	unlink(packed_at(&packed, "tars/index.hpdsl"));
	for (int i = 0; i < 3; i++) {
		char name[64];

		snprintf(name, sizeof name, "tars/chunk-%06d.tar", i);
		rename(packed_at(&packed, name),
		       packed_at(&packed, i == 0 ? "tars/b.tar" :
					  i == 1 ? "tars/a.tar" :
						   "tars/c.tar"));
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	packed_end(&packed);
	return 0;
}

static void wipe(void)
{
	unlink(packed_at(&packed, "new/dataset.yaml"));
	unlink(packed_at(&packed, "new/index.hpdsl"));
	unlink(packed_at(&packed, "new/.dataset.yaml.part"));
	unlink(packed_at(&packed, "new/.index.hpdsl.part"));
	rmdir(to);
}

static int adopt_to(const struct hp_io *io, struct hpdsl_error *err)
{
	struct hpdsl_reindex_options opt = { .threads = HPDSL_SERIAL,
					     .output = to };
	struct hpdsl_reindex_report r;

	opt.watch.io = io;
	err->msg[0] = '\0';
	return hpdsl_reindex(from, &opt, &r, err);
}

static bool same(const char *name, const char *was, size_t was_n)
{
	size_t n;
	char *is = packed_get(packed_at(&packed, name), &n);
	bool equal = n == was_n && !memcmp(is, was, n);

	free(is);
	return equal;
}

static void faults(bool forever)
{
	struct hpdsl_error err;
	size_t index_n, manifest_n;
	char *index, *manifest;

	wipe();
	if (adopt_to(NULL, &err) < 0)
		fail_msg("%s", err.msg);
	index = packed_get(packed_at(&packed, "new/index.hpdsl"), &index_n);
	manifest =
		packed_get(packed_at(&packed, "new/dataset.yaml"), &manifest_n);
	for (struct each_fault e = { .forever = forever, .code = -EIO };
	     each_fault(&e);) {
		wipe();
		if (adopt_to(&e.f.io, &err) < 0)
			assert_true(err.msg[0]);
		else
			assert_true(same("new/index.hpdsl", index, index_n));
		assert_false(e.f.synced_again);
		/* A manifest only of what is complete. */
		if (packed_has(&packed, "new/dataset.yaml"))
			assert_true(same("new/index.hpdsl", index, index_n));
		if (adopt_to(NULL, &err) < 0)
			fail_msg("after operation %ld: %s", e.k, err.msg);
		assert_true(same("new/index.hpdsl", index, index_n));
		assert_true(same("new/dataset.yaml", manifest, manifest_n));
	}
	free(index);
	free(manifest);
}

static void test_faults(void **state)
{
	(void)state;
	faults(false);
	faults(true);
}

static void test_usage(void **state)
{
	const char *const tars[] = { "a.tar" };
	struct hpdsl_reindex_options opt = { .tars = tars, .n_tars = 1 };
	struct hpdsl_reindex_report r;
	int stop = 1;

	(void)state;
	assert_int_equal(hpdsl_reindex(from, &opt, &r, NULL), HPDSL_EUSAGE);
	opt.n_tars = 0;
	assert_int_equal(hpdsl_reindex(NULL, &opt, &r, NULL), HPDSL_EUSAGE);
	opt.watch.stop = &stop;
	assert_int_equal(hpdsl_reindex(from, &opt, &r, NULL), HPDSL_ESTOPPED);
	assert_false(packed_has(&packed, "tars/index.hpdsl"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relative),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_any_bit),
		cmocka_unit_test(test_any_bit_is_found),
		cmocka_unit_test(test_any_length),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_labels),
		cmocka_unit_test_setup_teardown(test_faults, begin, end),
		cmocka_unit_test_setup_teardown(test_usage, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
