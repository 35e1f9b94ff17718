/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compressed archive and a tree in the same chunks: the k-th operation or
 * allocation fails, or the run is told to stop at the k-th write, for every k.
 * No crash, no leak, nothing wrong under a final name; a resumed run gives the
 * bytes of an undisturbed one, and writes only what was not there.
 */
#include "each_fault.h"
#include "folders.h"
#include "hpdsl.h"
#include "level.h"
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

static char top[256], tree[300], archive[300], out[300];
static char refs[2][300]; /* plain and compressed */
static int zstd;

/* Set at write number stop_at of a run, counted from 1. */
static int stop;
static long writes, stop_at;

static int pack(const struct hp_io *io, const char *to, bool resume,
		uint32_t threads, struct hpdsl_pack_report *report,
		struct hpdsl_error *err)
{
	const char *inputs[] = { tree, archive };
	struct hpdsl_pack_options opt = {
		.inputs = inputs,
		.n_inputs = 2,
		.output = to,
		.chunks = 3,
		.threads = threads,
		.readers = 2,
		.memory = 8 << 20,
		.zstd = zstd,
		.resume = resume,
		.watch = { .io = io ? io : faultio_none(), .stop = &stop },
	};

	return hpdsl_pack(&opt, report, err);
}

static int pack_quietly(const struct hp_io *io, bool resume, uint32_t threads,
			struct hpdsl_error *err)
{
	struct hpdsl_pack_report report;

	return pack(io, out, resume, threads, &report, err);
}

static const char *ref(void)
{
	return refs[zstd];
}

static void check_finals(void)
{
	folder_check(out, ref(), true);
}

static void check_same(void)
{
	folder_check(out, ref(), false);
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
	int r = pack_quietly(NULL, true, HPDSL_SERIAL, &err);

	if (r)
		fail_msg("resume after a fault: %s", err.msg);
	check_same();
}

static void put_half(void)
{
	char half[sizeof top + 8];

	snprintf(half, sizeof half, "%s/half", top);
	folder_copy(half, out);
}

/* resume: each run finds a half of it; every step-th operation fails. */
static void faults(bool resume, long step, bool forever, uint32_t threads,
		   int code)
{
	int fds = count_fds();
	struct each_fault e = { .forever = forever,
				.code = code,
				.step = step };

	while (each_fault(&e)) {
		struct hpdsl_error err = { 0 };
		int r;

		folder_remove_output(top);
		if (resume)
			put_half();
		r = pack_quietly(&e.f.io, resume, threads, &err);
		check_pack(&e.f, r, &err, fds);
		if (e.f.failed == 0)
			break;
		if (r)
			recover();
	}
	print_message("# %ld operations\n", e.k);
	assert_true(e.k > 80);
}

static void test_once(void **state)
{
	(void)state;
	faults(false, 1, false, HPDSL_SERIAL, -EIO);
}

static void test_for_ever(void **state)
{
	(void)state;
	faults(false, 2, true, HPDSL_SERIAL, -ENOSPC);
}

static void test_threads(void **state)
{
	(void)state;
	faults(false, 3, true, 2, -EIO);
}

static void test_resumed(void **state)
{
	(void)state;
	faults(true, 1, false, HPDSL_SERIAL, -EIO);
	if (at_level("more"))
		faults(true, 3, true, 2, -EIO);
}

static void test_compressed(void **state)
{
	(void)state;
	zstd = 1;
	faults(false, 2, false, HPDSL_SERIAL, -EIO);
	zstd = 0;
}

static void no_memory(bool resume, bool forever, uint32_t threads)
{
	int fds = count_fds();

	for (struct each_alloc e = { .forever = forever }; each_alloc(&e);) {
		struct hpdsl_error err = { 0 };
		int r;

		folder_remove_output(top);
		if (resume)
			put_half();
		each_alloc_begin(&e);
		r = pack_quietly(NULL, resume, threads, &err);
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

static void test_memory(void **state)
{
	(void)state;
	no_memory(false, false, HPDSL_SERIAL);
	if (at_level("more"))
		no_memory(false, true, 2);
	no_memory(true, true, HPDSL_SERIAL);
}

/* ---- Stops ------------------------------------------------------------ */

static ssize_t counted_pwrite(const struct hp_io *io, int fd, const void *buf,
			      size_t n, uint64_t off)
{
	if (__atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED) == stop_at)
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	return hp_io_system.pwrite(io, fd, buf, n, off);
}

static int pack_until(long k, bool resume, uint32_t threads,
		      struct hpdsl_pack_report *report)
{
	struct hpdsl_error err = { 0 };
	struct faultio f;
	int r;

	faultio_init(&f, 0, false, 0);
	f.io.pwrite = counted_pwrite;
	writes = 0;
	stop = 0;
	stop_at = k;
	r = pack(&f.io, out, resume, threads, report, &err);
	stop = 0;
	if (r && r != HPDSL_ESTOPPED)
		fail_msg("%s", err.msg);
	return r;
}

static void stops(uint32_t threads)
{
	struct hpdsl_pack_report report;
	long all, n = 0;

	folder_remove(out);
	assert_int_equal(pack_until(0, false, threads, &report), 0);
	all = writes;
	check_same();
	for (long k = 1; k < all; k = each_next(k)) {
		long first;
		int r;

		folder_remove(out);
		r = pack_until(k, false, threads, &report);
		first = writes;
		check_finals();
		if (r == 0)
			continue;
		n++;
		/* Told to stop again at once it gives nothing up. */
		r = pack_until(1, true, threads, &report);
		assert_true(r == 0 || r == HPDSL_ESTOPPED);
		if (r)
			assert_int_equal(pack_until(0, true, threads, &report),
					 0);
		check_same();
		/* One by one a write is for one member. */
		if (threads == HPDSL_SERIAL && report.resumed_members)
			assert_true(writes < all);
		assert_true(first > 0);
	}
	print_message("# %ld stops in %ld writes\n", n, all);
	assert_true(n > 3);
}

static void test_stops(void **state)
{
	(void)state;
	stops(HPDSL_SERIAL);
	stops(2);
}

static void test_compressed_stops(void **state)
{
	(void)state;
	zstd = 1;
	stops(HPDSL_SERIAL);
	if (at_level("more"))
		stops(2);
	zstd = 0;
}

/* What lies in a temporary file may be anything, or gone. */
static void test_spoiled(void **state)
{
	static const char *const how[] = {
		"rm out/.chunk-000001.tar.part",
		"truncate -s 1000 out/.chunk-000000.tar.part",
		"for f in out/.*.part; do printf X | dd of=$f bs=1 seek=700 "
		"conv=notrunc status=none; done",
		"rm out/.*.part; for i in 0 1 2; do "
		"mkfifo out/.chunk-00000$i.tar.part; done",
		"mv out/.chunk-000000.tar.part x; mv out/.chunk-000001.tar.part"
		" out/.chunk-000000.tar.part; mv x out/.chunk-000001.tar.part",
		"for f in out/.*.part; do head -c 5000 /dev/urandom | "
		"dd of=$f bs=1 conv=notrunc status=none; done",
		"touch out/.chunk-000001.tar.zst.part out/.index.hpdsl.part",
	};

	(void)state;
	for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
		run("cd %s && rm -rf out && cp -a half out && %s", top, how[i]);
		recover();
	}
}

/* The members that are there are compared, not written. */
static void test_position(void **state)
{
	struct hpdsl_pack_report report;
	struct hpdsl_error err;
	struct faultio f;

	(void)state;
	run("cd %s && rm -rf out && cp -a half out", top);
	faultio_init(&f, 0, false, 0);
	f.io.pwrite = counted_pwrite;
	writes = stop_at = 0;
	assert_int_equal(pack(&f.io, out, true, HPDSL_SERIAL, &report, &err),
			 0);
	assert_true(report.resumed_members >= 3);
	assert_true(report.resumed_members < report.members);
	check_same();
}

static void test_changed(void **state)
{
	struct hpdsl_error err;

	(void)state;
	run("cd %s && rm -rf out && cp -a half out && "
	    "cp -p a.tar.gz keep && touch -d 2001-01-01 a.tar.gz",
	    top);
	assert_int_equal(pack_quietly(NULL, true, 2, &err), HPDSL_EDIFFERS);
	assert_non_null(strstr(err.msg, "a.tar.gz is another archive"));
	run("cd %s && mv keep a.tar.gz", top);
	recover();
}

static void make_half(void)
{
	struct hpdsl_pack_report report;

	for (long k = 1;; k++) {
		folder_remove(out);
		assert_int_equal(pack_until(k, false, HPDSL_SERIAL, &report),
				 HPDSL_ESTOPPED);
		run("cd %s && rm -rf half && cp -a out half", top);
		assert_int_equal(pack_until(0, true, HPDSL_SERIAL, &report), 0);
		if (report.resumed_members >= 3)
			break;
	}
	run("ls %s/half/.*.part > /dev/null", top);
}

static int setup(void **state)
{
	struct hpdsl_pack_report report;
	struct hpdsl_error err = { 0 };

	(void)state;
	assert_non_null(tmp_folder(top, sizeof top, "scatter"));
	snprintf(tree, sizeof tree, "%s/tree", top);
	snprintf(archive, sizeof archive, "%s/a.tar.gz", top);
	snprintf(out, sizeof out, "%s/out", top);
	run("mkdir -p %s %s/a && cd %s && for i in 1 2 3 4 5 6; do "
	    "echo $i > tree/$i.txt; echo $i > a/$i.json; "
	    "yes $i | head -c ${i}50001 > a/$i.bin; done; : > a/empty; "
	    "ln -s 1.bin a/link.bin; ln a/2.bin a/hard.bin; "
	    "tar --format=pax -C a -czf a.tar.gz .",
	    tree, top, top);
	for (zstd = 0; zstd < 2; zstd++) {
		snprintf(refs[zstd], sizeof refs[0], "%s/%s", top,
			 zstd ? "zref" : "ref");
		if (pack(NULL, ref(), false, HPDSL_SERIAL, &report, &err))
			fail_msg("%s", err.msg);
	}
	zstd = 0;
	make_half();
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
		cmocka_unit_test(test_position),
		cmocka_unit_test(test_spoiled),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_stops),
		cmocka_unit_test(test_compressed_stops),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_for_ever),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_resumed),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
