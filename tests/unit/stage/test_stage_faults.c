/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever fails while a stage directory is filled or cleaned: nothing has a
 * name or a byte that it does not deserve, nothing is lost, and the next run
 * completes.
 */
#include "each_fault.h"
#include "folders.h"
#include "shell.h"
#include "stage_work.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static bool is_of_origin(const char *name)
{
	return name[0] != '.' && strcmp(name, "stage.hpdsl") != 0;
}

static bool is_part(const char *name)
{
	return strstr(name, ".part") != NULL;
}

/* Nothing has a name that it does not deserve. */
static void check_no_lie(void)
{
	folder_check_files(work_dir, work_plain, is_of_origin);
	if (work_has("stage.hpdsl")) {
		struct hpdsl_stage_status s = work_status();
		size_t n;
		char *state = packed_get(work_at("stage.hpdsl"), &n);

		assert_int_equal(n, hp_state_size(4));
		for (uint64_t i = 0; i < 4; i++) {
			char name[40];

			snprintf(name, sizeof name, "chunk-%06u.tar",
				 (unsigned)i);
			if (hp_state_get(state, i) == HP_CHUNK_READY)
				assert_true(work_has(name));
		}
		if (s.complete)
			assert_int_equal(s.ready, s.chunks);
		assert_int_equal(s.coming, 0);
		free(state);
	}
}

static void check_result(int r, const struct hpdsl_error *err, int fds)
{
	assert_int_equal(count_fds(), fds);
	if (r) {
		assert_int_equal(err->code, r);
		assert_true(strlen(err->msg) > 0);
		assert_null(strchr(err->msg, '\n'));
	}
	check_no_lie();
}

/* What of is there before, and a part of a chunk. */
static void put(const char *of)
{
	char from[sizeof work_fix.top + 16];

	snprintf(from, sizeof from, "%s/%s", work_fix.top, of);
	folder_copy(from, work_dir);
	packed_put(work_at(".chunk-000003.tar.part"), "", 0);
}

/* half: what is there before. */
static void faults(bool forever, int code, bool half, bool recheck)
{
	int fds = count_fds();

	for (struct each_fault e = { .forever = forever, .code = code };
	     each_fault(&e);) {
		struct work w = { .recheck = recheck };
		struct hpdsl_error err;
		int r;

		work_fresh();
		if (half)
			put("half");
		r = work_stage(&w, work_plain, work_dir, &e.f.io, &err);
		check_result(r, &err, fds);
		if (!e.f.failed)
			break;
		w = (struct work){ .job = NULL };
		work_must(&w, work_plain);
		assert_int_equal(work_status().ready, 4);
		assert_true(work_status().complete);
		folder_check_files(work_dir, "no part", is_part);
		assert_true(e.k < 400);
	}
}

static void test_faults(void **unused)
{
	struct work w = { .most = 2 };

	(void)unused;
	faults(false, -EIO, false, false);
	faults(true, -ENOSPC, false, false);
	work_fresh();
	work_must(&w, work_plain);
	run("rm -rf %s/half && mv %s %s/half", work_fix.top, work_dir,
	    work_fix.top);
	faults(false, -EIO, true, false);
	faults(false, -EIO, true, true);
	faults(true, -ENOSPC, true, true);
}

static void test_clean_faults(void **unused)
{
	struct work w = { .job = NULL };
	uint64_t n[3];
	int fds = count_fds();

	(void)unused;
	work_fresh();
	work_must(&w, work_plain);
	run("rm -rf %s/full && mv %s %s/full", work_fix.top, work_dir,
	    work_fix.top);
	for (struct each_fault e = { .in_turn = true, .code = -EIO };
	     each_fault(&e);) {
		struct hpdsl_error err;
		int r;

		work_fresh();
		put("full");
		memset(&err, 0, sizeof err);
		r = hpdsl_stage_clean(work_dir, &e.f.io, n, n + 1, n + 2, &err);
		assert_int_equal(count_fds(), fds);
		if (r < 0)
			assert_int_equal(err.code, r);
		if (!e.f.failed)
			break;
		/* What is left of it goes away with the next. */
		if (work_has("") &&
		    hpdsl_stage_clean(work_dir, NULL, n, n + 1, n + 2, &err))
			fail_msg("%ld: %s", e.k, err.msg);
		assert_false(work_has(""));
	}
}

static void test_no_memory(void **unused)
{
	int fds = count_fds();

	(void)unused;
	for (struct each_alloc e = { .in_turn = true }; each_alloc(&e);) {
		struct work w = { .job = NULL };
		struct hpdsl_error err;
		int r;

		work_fresh();
		each_alloc_begin(&e);
		r = work_begin(&w, work_plain, work_dir, NULL, &err);
		if (r == 0)
			r = work_publish(&w, &err);
		each_alloc_end(&e);
		work_release(&w);
		assert_int_equal(count_fds(), fds);
		if (e.last)
			break;
		w = (struct work){ .job = NULL };
		work_must(&w, work_plain);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_clean_faults),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, work_setup, work_teardown);
}
