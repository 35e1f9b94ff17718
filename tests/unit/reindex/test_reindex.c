/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl_reindex: what chunks hold comes back; the rest is listed as lost. */
#include "chunk/tar.h"
#include "each_fault.h"
#include "hpdsl.h"
#include "packed.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

static struct packed packed;
static char warned[4096];
/* Index and manifest as the packer wrote them. */
static char *index_was, *manifest_was;
static size_t index_n, manifest_n;

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
	free(index_was);
	free(manifest_was);
	index_was = manifest_was = NULL;
	return 0;
}

static const char *at(const char *name)
{
	char path[100];

	snprintf(path, sizeof path, "out/%s", name);
	return packed_at(&packed, path);
}

/* Whole seconds unless nsec is given. */
static void make(struct hpdsl_pack_options opt, uint32_t nsec)
{
	static const char *const meta[] = { "licence=CC0" };
	char name[64];

	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "c%d/%02d.jpg", i % 3, i);
		packed_file(&packed, name, (size_t)(i * 97), 0644,
			    1000000000 + i, nsec);
		snprintf(name, sizeof name, "c%d/%02d.txt", i % 3, i);
		packed_file(&packed, name, (size_t)i, 0640, 5, nsec);
	}
	packed_file(&packed, "c1/large.bin", 1000003, 0640, 77, nsec);
	opt.chunks = 3;
	opt.seed = 17;
	opt.meta = meta;
	opt.n_meta = 1;
	packed_pack(&packed, opt);
	index_was = packed_get(at("index.hpdsl"), &index_n);
	manifest_was = packed_get(at("dataset.yaml"), &manifest_n);
}

static void on_warning(void *arg, const char *text)
{
	(void)arg;
	snprintf(warned, sizeof warned, "%s", text);
}

static int reindex(bool force, struct hpdsl_reindex_report *report,
		   struct hpdsl_error *err)
{
	struct hpdsl_reindex_options opt = { .force = force, .threads = 2 };

	warned[0] = '\0';
	opt.watch.warn = on_warning;
	return hpdsl_reindex(packed.out, &opt, report, err);
}

/* Rebuilds, wants these losses, and a sound dataset. */
static void rebuild(bool force, const char *lost)
{
	struct hpdsl_verify_options opt = { 0 };
	struct hpdsl_reindex_report r;
	struct hpdsl_verify_report v;
	struct hpdsl_error err;

	if (reindex(force, &r, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(r.members, 101);
	assert_true(!r.unchanged || !lost);
	assert_int_equal(r.chunks, 3);
	if (lost)
		assert_string_equal(r.lost, lost);
	else
		assert_null(r.lost);
	if (hpdsl_verify(packed.out, &opt, &v, &err) < 0)
		fail_msg("%s", err.msg);
	assert_memory_equal(v.dataset_id, r.dataset_id, 16);
}

static bool same_file(const char *name, const char *was, size_t was_n)
{
	size_t n;
	char *is = packed_get(at(name), &n);
	bool same = n == was_n && !memcmp(is, was, n);

	free(is);
	return same;
}

static bool manifest_says(const char *words)
{
	size_t n;
	char *is = packed_get(at("dataset.yaml"), &n);
	bool says = memmem(is, n, words, strlen(words));

	free(is);
	return says;
}

static void test_sound(void **state)
{
	struct stat a, b;

	(void)state;
	make((struct hpdsl_pack_options){ .labels = HPDSL_LABELS_PARENT }, 5);
	assert_int_equal(stat(at("index.hpdsl"), &a), 0);
	rebuild(false, NULL);
	assert_int_equal(stat(at("index.hpdsl"), &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_true(same_file("dataset.yaml", manifest_was, manifest_n));
}

/* The manifest alone: labels are made again, nanoseconds are gone. */
static void test_index_lost(void **state)
{
	(void)state;
	make((struct hpdsl_pack_options){ .labels = HPDSL_LABELS_DIR }, 5);
	unlink(at("index.hpdsl"));
	rebuild(false, "nanoseconds of mtimes");
	assert_true(manifest_says("rebuilt: true"));
	assert_true(manifest_says("lost: "));
	assert_true(manifest_says("seed: 17"));
	assert_true(manifest_says("licence"));
	assert_true(manifest_says("- c2\n"));
	/* What is lost stays lost, also the next time. */
	free(manifest_was);
	manifest_was = packed_get(at("dataset.yaml"), &manifest_n);
	unlink(at("index.hpdsl"));
	rebuild(false, NULL);
	assert_true(same_file("dataset.yaml", manifest_was, manifest_n));
}

static void test_nothing_to_lose(void **state)
{
	const enum hpdsl_group groups[] = { HPDSL_GROUP_KEY, HPDSL_GROUP_NONE };

	(void)state;
	for (int i = 0; i < 2; i++) {
		if (i)
			begin(NULL);
		make((struct hpdsl_pack_options){ .labels = HPDSL_LABELS_PARENT,
						  .group = groups[i] },
		     0);
		unlink(at("index.hpdsl"));
		rebuild(false, NULL);
		assert_true(same_file("index.hpdsl", index_was, index_n));
		assert_true(
			same_file("dataset.yaml", manifest_was, manifest_n));
		if (!i)
			end(NULL);
	}
}

static void test_manifest_lost(void **state)
{
	(void)state;
	make((struct hpdsl_pack_options){ .labels = HPDSL_LABELS_PARENT,
					  .group = HPDSL_GROUP_NONE },
	     5);
	packed_flip(at("dataset.yaml"), 60, 1);
	rebuild(false, "seed, options, meta");
	assert_true(same_file("index.hpdsl", index_was, index_n));
	assert_true(manifest_says("rebuilt: true"));
	assert_true(manifest_says("- c2\n"));
	/* Rebuilt again: nothing to do. */
	rebuild(false, NULL);
}

static void test_both_lost(void **state)
{
	(void)state;
	make((struct hpdsl_pack_options){ .labels = HPDSL_LABELS_PARENT }, 5);
	unlink(at("dataset.yaml"));
	packed_flip(at("index.hpdsl"), 3, 1);
	rebuild(false, "nanoseconds of mtimes, labels, seed, options, meta");
}

/* An index with one damaged block: the rest of it is used. */
static void test_index_damaged(void **state)
{
	(void)state;
	make((struct hpdsl_pack_options){ .labels = HPDSL_LABELS_PARENT }, 0);
	packed_flip(at("index.hpdsl"), index_n / 2, 1);
	rebuild(false, NULL);
	assert_true(same_file("index.hpdsl", index_was, index_n));
	assert_true(same_file("dataset.yaml", manifest_was, manifest_n));
}

static uint64_t place_of(const char *path, uint32_t *chunk)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;

	assert_int_equal(hpdsl_open(packed.out, NULL, &ds, NULL), 0);
	assert_int_equal(hpdsl_member_find(ds, path, strlen(path), &m, NULL),
			 0);
	hpdsl_close(ds);
	*chunk = m.chunk;
	return m.offset;
}

static void test_contradiction(void **state)
{
	struct hpdsl_reindex_report r;
	struct hpdsl_error err;
	char name[32];
	uint32_t c;
	uint64_t place;

	(void)state;
	make((struct hpdsl_pack_options){ .labels = HPDSL_LABELS_PARENT }, 5);
	place = place_of("c1/04.jpg", &c);
	snprintf(name, sizeof name, "chunk-%06u.tar", c);
	packed_flip(at(name), place + 3, 0);
	assert_int_equal(reindex(false, &r, &err), HPDSL_EDIFFERS);
	assert_non_null(strstr(err.msg, name));
	assert_non_null(strstr(err.msg, "c1/04.jpg"));
	assert_true(same_file("index.hpdsl", index_was, index_n));
	/* The manifest knows of it too. */
	unlink(at("index.hpdsl"));
	assert_int_equal(reindex(false, &r, &err), HPDSL_EDIFFERS);
	assert_non_null(strstr(err.msg, name));
	packed_put(at("index.hpdsl"), index_was, index_n);
	rebuild(true, "nanoseconds of mtimes");
	assert_non_null(strstr(warned, name));
	/* The other files still have theirs. */
	assert_false(same_file("index.hpdsl", index_was, index_n));
}

static void test_bad_chunk(void **state)
{
	struct hpdsl_reindex_report r;
	struct hpdsl_error err;
	char name[32], offset[64];
	uint32_t c;
	uint64_t place;

	(void)state;
	make((struct hpdsl_pack_options){ 0 }, 0);
	place = place_of("c1/04.jpg", &c) - 512;
	snprintf(name, sizeof name, "chunk-%06u.tar", c);
	snprintf(offset, sizeof offset, "at offset %llu",
		 (unsigned long long)place);
	packed_flip(at(name), place + 130, 0);
	assert_int_equal(reindex(true, &r, &err), HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, name));
	assert_non_null(strstr(err.msg, offset));
	packed_flip(at(name), place + 130, 0);
	assert_int_equal(truncate(at(name), (off_t)place + 512), 0);
	assert_int_equal(reindex(true, &r, &err), HPDSL_ECORRUPT);
	assert_true(same_file("index.hpdsl", index_was, index_n));
	assert_true(same_file("dataset.yaml", manifest_was, manifest_n));
}

static void test_chunk_missing(void **state)
{
	struct hpdsl_reindex_report r;
	struct hpdsl_error err;

	(void)state;
	make((struct hpdsl_pack_options){ 0 }, 0);
	/* The last: only manifest and index know of it. */
	assert_int_equal(rename(at("chunk-000002.tar"), at("x")), 0);
	assert_int_equal(reindex(false, &r, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "chunk-000002.tar"));
	assert_int_equal(rename(at("x"), at("chunk-000002.tar")), 0);
	assert_int_equal(rename(at("chunk-000001.tar"), at("x")), 0);
	assert_int_equal(reindex(true, &r, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "chunk-000001.tar"));
	unlink(at("chunk-000000.tar"));
	unlink(at("chunk-000002.tar"));
	assert_int_equal(reindex(true, &r, &err), HPDSL_ENOTOURS);
}

static void test_unfinished(void **state)
{
	struct hpdsl_reindex_report r;
	struct hpdsl_error err;

	(void)state;
	make((struct hpdsl_pack_options){ 0 }, 0);
	unlink(at("dataset.yaml"));
	unlink(at("index.hpdsl"));
	packed_put(at("journal.hpdsl"), "x", 1);
	assert_int_equal(reindex(false, &r, &err), HPDSL_ENOTOURS);
	assert_non_null(strstr(err.msg, "unfinished"));
}

static void test_same_path_twice(void **state)
{
	struct hpdsl_reindex_report r;
	struct hpdsl_error err;
	size_t n;
	char *data;

	(void)state;
	make((struct hpdsl_pack_options){ 0 }, 0);
	data = packed_get(at("chunk-000001.tar"), &n);
	packed_put(at("chunk-000003.tar"), data, n);
	free(data);
	assert_int_equal(reindex(false, &r, &err), HPDSL_EDIFFERS);
	assert_int_equal(reindex(true, &r, &err), HPDSL_ECORRUPT);
	assert_non_null(
		strstr(err.msg,
		       "one from chunk-000001.tar, one from chunk-000003.tar"));
}

/*
 * Any operation fails: no wrong success, and the index is the old one or a
 * whole new one.
 */
static void faults(bool forever)
{
	struct hpdsl_reindex_options opt = { .threads = HPDSL_SERIAL };
	struct stat st;

	for (struct each_fault e = { .forever = forever, .code = -EIO };
	     each_fault(&e);) {
		struct hpdsl_reindex_report r;
		struct hpdsl_error err = { 0 };
		int code;

		packed_put(at("dataset.yaml"), manifest_was, manifest_n);
		unlink(at("index.hpdsl"));
		opt.watch.io = &e.f.io;
		code = hpdsl_reindex(packed.out, &opt, &r, &err);
		assert_false(e.f.synced_again);
		if (!e.f.failed)
			break;
		if (code < 0)
			assert_true(err.msg[0]);
		if (stat(at("index.hpdsl"), &st) == 0)
			assert_int_equal(st.st_size, index_n);
		assert_int_equal(
			stat(at(".index.hpdsl.part"), &st) == 0 && !forever, 0);
		/* Whole seconds: nothing can be lost. */
		rebuild(false, NULL);
	}
}

static void test_faults(void **state)
{
	(void)state;
	make((struct hpdsl_pack_options){ 0 }, 0);
	faults(false);
	faults(true);
}

/* A run that ends early must not make the next one forget what was lost. */
static void test_loss_is_remembered(void **state)
{
	struct hpdsl_reindex_options opt = { .threads = HPDSL_SERIAL };
	struct hpdsl_reindex_report r;

	(void)state;
	make((struct hpdsl_pack_options){ .labels = HPDSL_LABELS_PARENT }, 5);
	for (struct each_fault e = { .forever = true, .code = -EIO };
	     each_fault(&e);) {
		opt.watch.io = &e.f.io;
		packed_put(at("dataset.yaml"), manifest_was, manifest_n);
		unlink(at("index.hpdsl"));
		hpdsl_reindex(packed.out, &opt, &r, NULL);
		assert_int_equal(reindex(false, &r, NULL), 0);
		assert_true(manifest_says("lost: nanoseconds of mtimes\n"));
	}
}

/* Without a manifest only the index knows that the last chunk held more. */
static void test_last_chunk_cut(void **state)
{
	struct hpdsl_reindex_report r;
	struct hpdsl_dataset *ds;
	struct hpdsl_member last;
	struct hpdsl_error err;

	(void)state;
	make((struct hpdsl_pack_options){ 0 }, 0);
	assert_int_equal(hpdsl_open(packed.out, NULL, &ds, NULL), 0);
	assert_int_equal(hpdsl_member_get(ds, 100, &last, NULL), 0);
	hpdsl_close(ds);
	unlink(at("dataset.yaml"));
	last.offset -= 512;
	assert_int_equal(truncate(at("chunk-000002.tar"), (off_t)last.offset),
			 0);
	assert_int_equal(truncate(at("chunk-000002.tar"),
				  (off_t)hp_tar_total(last.offset)),
			 0);
	assert_int_equal(reindex(false, &r, &err), HPDSL_EDIFFERS);
	assert_non_null(strstr(err.msg, "chunk-000002.tar"));
	assert_true(same_file("index.hpdsl", index_was, index_n));
	assert_int_equal(reindex(true, &r, &err), 0);
	assert_int_equal(r.members, 100);
}

/* Another one is at work. */
static void test_locked(void **state)
{
	struct hpdsl_reindex_report r;
	struct hpdsl_error err;
	int dir;

	(void)state;
	make((struct hpdsl_pack_options){ 0 }, 0);
	dir = open(packed.out, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(dir, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(reindex(false, &r, &err), -EBUSY);
	close(dir);
	rebuild(false, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sound, begin, end),
		cmocka_unit_test_setup_teardown(test_index_lost, begin, end),
		cmocka_unit_test_setup_teardown(test_nothing_to_lose, begin,
						end),
		cmocka_unit_test_setup_teardown(test_manifest_lost, begin, end),
		cmocka_unit_test_setup_teardown(test_both_lost, begin, end),
		cmocka_unit_test_setup_teardown(test_index_damaged, begin, end),
		cmocka_unit_test_setup_teardown(test_contradiction, begin, end),
		cmocka_unit_test_setup_teardown(test_bad_chunk, begin, end),
		cmocka_unit_test_setup_teardown(test_chunk_missing, begin, end),
		cmocka_unit_test_setup_teardown(test_unfinished, begin, end),
		cmocka_unit_test_setup_teardown(test_same_path_twice, begin,
						end),
		cmocka_unit_test_setup_teardown(test_loss_is_remembered, begin,
						end),
		cmocka_unit_test_setup_teardown(test_last_chunk_cut, begin,
						end),
		cmocka_unit_test_setup_teardown(test_locked, begin, end),
		cmocka_unit_test_setup_teardown(test_faults, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
