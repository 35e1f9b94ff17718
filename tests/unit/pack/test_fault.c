/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The k-th file operation, and the k-th allocation, fails: once and for ever
 * after, for every k until none is left, in pack, verify and unpack.  No crash,
 * no leak, no wrong success, nothing half written under a final name; a run
 * without faults afterwards gives the bytes of an undisturbed one.
 */
#include "each_fault.h"
#include "folders.h"
#include "hpdsl.h"
#include "shell.h"
#include "tmp.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char top[256], tree[300], ref[300], out[300];
static bool force; /* how packs are made */
static uint64_t seed;
static int (*faulty_rename)(const struct hp_io *io, int old_dir,
			    const char *old_name, int new_dir,
			    const char *new_name, unsigned flags);

static int pack(const struct hp_io *io, const char *to, bool resume,
		uint32_t threads, struct hpdsl_error *err)
{
	const char *inputs[] = { tree };
	struct hpdsl_pack_options opt = {
		.inputs = inputs,
		.n_inputs = 1,
		.output = to,
		.chunks = 3,
		.labels = HPDSL_LABELS_DIR,
		.digest = HPDSL_DIGEST_SHA256, /* more to go wrong */
		.threads = threads,
		.readers = 2,
		.memory = 8 << 20,
		.resume = resume,
		.force = force,
		.seed = seed,
		.watch.io = io ? io : faultio_none(),
	};
	struct hpdsl_pack_report report;

	return hpdsl_pack(&opt, &report, err);
}

static int verify(const struct hp_io *io, const char *ds,
		  struct hpdsl_error *err)
{
	struct hpdsl_verify_options opt = { .threads = HPDSL_SERIAL,
					    .watch.io = io };
	struct hpdsl_verify_report report;

	return hpdsl_verify(ds, &opt, &report, err);
}

/* Every file under a final name in out is that of the reference. */
static void check_finals(void)
{
	folder_check(out, ref, true);
}

static void check_same(void)
{
	folder_check(out, ref, false);
}

static void check_pack(struct faultio *f, int r, const struct hpdsl_error *err,
		       int fds)
{
	assert_int_equal(count_fds(), fds);
	assert_false(f->synced_again);
	check_finals();
	if (r == 0) {
		check_same();
		return;
	}
	assert_int_equal(r, err->code);
	assert_true(err->msg[0]);
	assert_null(strchr(err->msg, '\n'));
}

static void recover(void)
{
	struct hpdsl_error err = { 0 };
	int r = pack(NULL, out, true, HPDSL_SERIAL, &err);

	if (r)
		fail_msg("resume after a fault: %s", err.msg);
	check_same();
}

static void pack_faults(bool forever, uint32_t threads, int code)
{
	int fds = count_fds();
	struct each_fault e = { .forever = forever, .code = code };

	while (each_fault(&e)) {
		struct hpdsl_error err = { 0 };
		int r;

		folder_remove_output(top);
		r = pack(&e.f.io, out, false, threads, &err);
		check_pack(&e.f, r, &err, fds);
		if (e.f.failed == 0)
			break;
		if (r)
			recover();
	}
	print_message("# %ld operations\n", e.k - 1);
	assert_true(e.k > 50);
}

static void test_pack_once(void **state)
{
	(void)state;
	pack_faults(false, HPDSL_SERIAL, -EIO);
}

static void test_pack_for_ever(void **state)
{
	(void)state;
	pack_faults(true, HPDSL_SERIAL, -ENOSPC);
}

static void test_pack_threads(void **state)
{
	(void)state;
	pack_faults(true, 2, -EIO);
}

static void test_pack_resume(void **state)
{
	int fds = count_fds();

	(void)state;
	for (struct each_fault e = { .code = -EIO }; each_fault(&e);) {
		struct hpdsl_error err = { 0 };
		int r;

		/* An interrupted run: one chunk is done. */
		folder_remove(out);
		run("cp -a %s/half %s", top, out);
		r = pack(&e.f.io, out, true, HPDSL_SERIAL, &err);
		check_pack(&e.f, r, &err, fds);
		if (e.f.failed == 0)
			break;
		if (r)
			recover();
	}
}

/* What is in out is what was there, or what replaces it, and whole. */
static void check_one_of_both(void)
{
	char old[320], journal[320], aside[320];
	bool same;

	snprintf(old, sizeof old, "%s/old", top);
	snprintf(journal, sizeof journal, "%s/journal.hpdsl", out);
	snprintf(aside, sizeof aside, "%s/journal", top);
	rename(journal, aside);
	same = folder_same(out, old, false) || folder_same(out, ref, false);
	rename(aside, journal);
	assert_true(same);
}

static int no_exchange(const struct hp_io *io, int old_dir,
		       const char *old_name, int new_dir, const char *new_name,
		       unsigned flags)
{
	return flags ? -EINVAL :
		       faulty_rename(io, old_dir, old_name, new_dir, new_name,
				     flags);
}

static void replace_faults(bool exchange)
{
	struct hpdsl_error err = { 0 };
	int fds = count_fds();

	for (struct each_fault e = { .code = -EIO }; each_fault(&e);) {
		int r;

		folder_remove_output(top);
		run("cp -a %s/old %s", top, out);
		faulty_rename = e.f.io.rename;
		if (!exchange)
			e.f.io.rename = no_exchange;
		force = true;
		r = pack(&e.f.io, out, false, HPDSL_SERIAL, &err);
		assert_int_equal(count_fds(), fds);
		check_one_of_both();
		if (r && pack(NULL, out, true, HPDSL_SERIAL, &err))
			fail_msg("after operation %ld: %s", e.k, err.msg);
		force = false;
		check_same();
		assert_false(folder_has_hidden_output(top));
	}
}

static void test_replace(void **state)
{
	(void)state;
	replace_faults(true);
	replace_faults(false);
}

static void verify_faults(bool forever)
{
	int fds = count_fds();
	struct each_fault e = { .forever = forever, .code = -EIO };

	while (each_fault(&e)) {
		struct hpdsl_error err = { 0 };
		int r;

		r = verify(&e.f.io, ref, &err);
		assert_int_equal(count_fds(), fds);
		if (e.f.failed == 0) {
			assert_int_equal(r, 0);
			break;
		}
		if (r)
			assert_true(err.msg[0]);
	}
	assert_true(e.k > 8);
}

static void test_verify(void **state)
{
	(void)state;
	verify_faults(false);
	verify_faults(true);
}

static int unpack(const struct hp_io *io, struct hpdsl_error *err)
{
	struct hpdsl_unpack_options opt = { .threads = HPDSL_SERIAL,
					    .watch.io = io };
	struct hpdsl_unpack_report report;
	struct hpdsl_dataset *ds;
	int r = hpdsl_open(ref, io, &ds, err);

	if (r < 0)
		return r;
	r = hpdsl_unpack(ds, out, &opt, &report, err);
	hpdsl_close(ds);
	return r;
}

static void unpack_faults(bool forever)
{
	int fds = count_fds();
	struct each_fault e = { .forever = forever, .code = -EIO };

	while (each_fault(&e)) {
		struct hpdsl_error err = { 0 };
		int r;

		folder_remove(out);
		r = unpack(&e.f.io, &err);
		assert_int_equal(count_fds(), fds);
		/* What has its name is right. */
		folder_check(out, tree, true);
		if (r == 0)
			folder_check(out, tree, false);
		else
			assert_true(err.msg[0]);
		if (e.f.failed == 0) {
			assert_int_equal(r, 0);
			break;
		}
	}
	assert_true(e.k > 30);
}

static void test_unpack(void **state)
{
	(void)state;
	unpack_faults(false);
	unpack_faults(true);
}

static void pack_no_memory(bool forever, uint32_t threads)
{
	int fds = count_fds();

	for (struct each_alloc e = { .forever = forever }; each_alloc(&e);) {
		struct hpdsl_error err = { 0 };
		int r;

		folder_remove(out);
		each_alloc_begin(&e);
		r = pack(NULL, out, false, threads, &err);
		each_alloc_end(&e);
		assert_int_equal(count_fds(), fds);
		check_finals();
		if (r == 0)
			check_same();
		else
			assert_true(err.msg[0]);
		if (e.last)
			break;
		if (r)
			recover();
	}
}

static void test_pack_memory(void **state)
{
	(void)state;
	pack_no_memory(false, HPDSL_SERIAL);
	pack_no_memory(true, HPDSL_SERIAL);
	pack_no_memory(true, 2);
}

static void test_verify_memory(void **state)
{
	(void)state;
	for (struct each_alloc e = { .in_turn = true }; each_alloc(&e);) {
		struct hpdsl_error err = { 0 };
		int r;

		each_alloc_begin(&e);
		r = verify(NULL, ref, &err);
		each_alloc_end(&e);
		if (r)
			assert_true(err.msg[0]);
		if (e.last) {
			assert_int_equal(r, 0);
			break;
		}
	}
}

static void test_unpack_memory(void **state)
{
	(void)state;
	for (struct each_alloc e = { .in_turn = true }; each_alloc(&e);) {
		struct hpdsl_error err = { 0 };
		int r;

		folder_remove(out);
		each_alloc_begin(&e);
		r = unpack(NULL, &err);
		each_alloc_end(&e);
		if (r == 0)
			folder_check(out, tree, false);
		else
			assert_true(err.msg[0]);
		if (e.last) {
			assert_int_equal(r, 0);
			break;
		}
	}
}

/* A run that died with one of three chunks done, kept as "half". */
static void make_half(void)
{
	char first[400];

	snprintf(first, sizeof first, "%s/chunk-000000.tar", out);
	for (struct each_fault e = { .forever = true, .code = -EIO };
	     each_fault(&e);) {
		struct hpdsl_error err;

		run("rm -rf %s", out);
		assert_true(pack(&e.f.io, out, false, HPDSL_SERIAL, &err) < 0);
		if (access(first, F_OK) == 0)
			break;
	}
	run("mv %s %s/half", out, top);
}

static int setup(void **state)
{
	struct hpdsl_error err = { 0 };

	(void)state;
	assert_non_null(tmp_folder(top, sizeof top, "fault"));
	snprintf(tree, sizeof tree, "%s/tree", top);
	snprintf(ref, sizeof ref, "%s/ref", top);
	snprintf(out, sizeof out, "%s/out", top);
	run("mkdir -p %s/a %s/b && cd %s && for i in 1 2 3 4; do "
	    "echo $i > a/$i.txt; echo {} > a/$i.json; "
	    "head -c ${i}0000 /dev/zero > b/$i.bin; done; : > b/empty; "
	    "ln -s ../b/1.bin a/link.bin",
	    tree, tree, tree);
	if (pack(NULL, ref, false, HPDSL_SERIAL, &err))
		fail_msg("%s", err.msg);
	make_half();
	seed = 7;
	if (pack(NULL, out, false, HPDSL_SERIAL, &err))
		fail_msg("%s", err.msg);
	seed = 0;
	run("mv %s %s/old", out, top);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	run("rm -rf %s", top);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pack_once),
		cmocka_unit_test(test_pack_for_ever),
		cmocka_unit_test(test_pack_threads),
		cmocka_unit_test(test_pack_resume),
		cmocka_unit_test(test_replace),
		cmocka_unit_test(test_verify),
		cmocka_unit_test(test_unpack),
		cmocka_unit_test(test_pack_memory),
		cmocka_unit_test(test_verify_memory),
		cmocka_unit_test(test_unpack_memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
