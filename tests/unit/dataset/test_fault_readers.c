/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What serves other readers, with the k-th file operation or allocation
 * failing, for every k: side files of a pack, --thorough, --compat, --source.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_fault.h"
#include "packed.h"
#include "shell.h"

static struct packed packed;
static char ref[128];

static int pack(const struct hp_io *io, const char *to, bool resume,
		struct hpdsl_error *err)
{
	const char *inputs[] = { packed.tree };
	struct hpdsl_pack_options opt = {
		.inputs = inputs,
		.n_inputs = 1,
		.output = to,
		.chunks = 2,
		.emit = HPDSL_EMIT_DALI | HPDSL_EMIT_ENERGON | HPDSL_EMIT_WIDS,
		.threads = HPDSL_SERIAL,
		.memory = 8 << 20,
		.resume = resume,
		.watch.io = io,
	};
	struct hpdsl_pack_report report;

	return hpdsl_pack(&opt, &report, err);
}

static int verify(const struct hp_io *io, struct hpdsl_error *err)
{
	struct hpdsl_verify_options opt = { .thorough = true,
					    .threads = HPDSL_SERIAL,
					    .watch.io = io };
	struct hpdsl_verify_report report;

	return hpdsl_verify(ref, &opt, &report, err);
}

/* With a folder behind a link, whose files are kept under names of their own.
 */
static int compare(const struct hp_io *io, struct hpdsl_error *err)
{
	struct hpdsl_verify_options opt = { .source = packed.tree,
					    .quick = true,
					    .threads = HPDSL_SERIAL,
					    .watch.io = io };
	struct hpdsl_verify_report report = { 0 };
	int r = hpdsl_verify(ref, &opt, &report, err);

	if (r == 0)
		assert_int_equal(report.not_kept.linked_files, 2);
	return r;
}

static int compat(const struct hp_io *io, struct hpdsl_error *err)
{
	char tar[160];
	const char *paths[] = { ref, tar };
	struct hpdsl_compat_options opt = { .readers = HPDSL_READERS_ALL,
					    .threads = HPDSL_SERIAL,
					    .watch.io = io };
	struct hpdsl_compat_report report;

	snprintf(tar, sizeof tar, "%s/chunk-000001.tar", ref);
	return hpdsl_compat(paths, 2, &opt, &report, err);
}

/* What has its own name is what it should be. */
static void check_finals(void)
{
	run("cd %s && [ ! -d out ] || (cd out && find . -type f "
	    "! -name '*.part' ! -name journal.hpdsl -print0 | "
	    "xargs -0 -r -I{} cmp {} ../ref/{})",
	    packed.top);
}

/* After a pack in which the k-th failed, with this result. */
static void check_pack(long k, int r, struct hpdsl_error *err)
{
	check_finals();
	if (r) {
		assert_true(err->msg[0]);
		r = pack(NULL, packed.out, true, err);
	}
	if (r)
		fail_msg("resumed after %ld: %s", k, err->msg);
	run("diff -r %s %s", ref, packed.out);
}

static void test_pack(void **state)
{
	struct each_fault e = { .k = 0 };
	int fds = count_fds(), r;

	(void)state;
	while (each_fault(&e)) {
		struct hpdsl_error err = { 0 };

		run("rm -rf %s", packed.out);
		e.f.code = e.k % 2 ? -EIO : -ENOSPC;
		r = pack(&e.f.io, packed.out, false, &err);
		assert_int_equal(count_fds(), fds);
		check_pack(e.k, r, &err);
	}
	assert_true(e.k > 100);
}

static void test_pack_memory(void **state)
{
	struct each_alloc e = { .k = 0 };
	int fds = count_fds(), r;

	(void)state;
	while (each_alloc(&e)) {
		struct hpdsl_error err = { 0 };

		run("rm -rf %s", packed.out);
		each_alloc_begin(&e);
		r = pack(NULL, packed.out, false, &err);
		each_alloc_end(&e);
		assert_int_equal(count_fds(), fds);
		check_pack(e.k, r, &err);
	}
	assert_true(e.k > 50);
}

static void faults(int (*look)(const struct hp_io *io, struct hpdsl_error *err),
		   long least)
{
	int fds = count_fds();
	struct each_fault e = { .code = -EIO };

	while (each_fault(&e)) {
		struct hpdsl_error err = { 0 };
		int r;

		r = look(&e.f.io, &err);
		assert_int_equal(count_fds(), fds);
		if (r)
			assert_true(err.msg[0]);
		else if (e.f.failed == 0)
			assert_int_equal(r, 0);
	}
	assert_true(e.k > least);
}

static void no_memory(int (*look)(const struct hp_io *io,
				  struct hpdsl_error *err),
		      long least)
{
	int fds = count_fds(), r;
	struct each_alloc e = { .k = 0 };

	while (each_alloc(&e)) {
		struct hpdsl_error err = { 0 };

		each_alloc_begin(&e);
		r = look(NULL, &err);
		each_alloc_end(&e);
		assert_int_equal(count_fds(), fds);
		if (r)
			assert_true(err.msg[0]);
	}
	assert_int_equal(r, 0);
	assert_true(e.k > least);
}

static void test_verify(void **state)
{
	(void)state;
	faults(verify, 20);
	no_memory(verify, 10);
}

static void test_source(void **state)
{
	(void)state;
	faults(compare, 50);
	no_memory(compare, 50);
}

static void test_compat(void **state)
{
	(void)state;
	faults(compat, 10);
	no_memory(compat, 10);
}

static int begin(void **state)
{
	struct hpdsl_error err;
	char name[64];

	(void)state;
	packed_begin(&packed);
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof name, "a/%d.jpg", i);
		packed_file(&packed, name, (size_t)i * 700, 0644, 1000, 0);
		snprintf(name, sizeof name, "a/%d.txt", i);
		packed_file(&packed, name, (size_t)i, 0644, 1000, 0);
	}
	run("cd %s && mkdir -p far/a && cp -p tree/a/1.jpg far/a && "
	    "ln -s ../far tree/link && ln -s a far/b && ln -s a/1.jpg far/c",
	    packed.top);
	snprintf(ref, sizeof ref, "%s", packed_at(&packed, "ref"));
	return pack(NULL, ref, false, &err);
}

static int end(void **state)
{
	(void)state;
	packed_end(&packed);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pack),
		cmocka_unit_test(test_pack_memory),
		cmocka_unit_test(test_verify),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_compat),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
