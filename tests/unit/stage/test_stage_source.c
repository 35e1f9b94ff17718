/* SPDX-License-Identifier: Apache-2.0 */
/* The origin as a stager reads it: its manifest, and its index in pieces. */
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

static void no_source(const char *path, int code, const char *text)
{
	struct hpdsl_stage_source *s;
	struct hpdsl_error err;

	assert_int_equal(hpdsl_stage_source_open(path, NULL, &s, &err), code);
	if (!strstr(err.msg, text))
		fail_msg("%s", err.msg);
}

static int read_source(const char *path, size_t piece, struct hpdsl_error *err)
{
	struct hpdsl_stage_source *s;
	char buf[70000];
	ssize_t n;

	assert_int_equal(hpdsl_stage_source_open(path, NULL, &s, err), 0);
	while ((n = hpdsl_stage_source_index(s, buf, piece, err)) > 0)
		;
	hpdsl_stage_source_close(s);
	return (int)n;
}

static void test_source(void **unused)
{
	struct work w = { .job = NULL };
	struct hpdsl_stage_source *s;
	struct hpdsl_stage_pack p, q;
	struct hpdsl_error err;
	char here[500], buf[16];

	(void)unused;
	work_fresh();
	run("mkdir %s", work_dir);
	no_source(work_dir, HPDSL_ENOTOURS, "no dataset.yaml");
	no_source(work_at("none"), -ENOENT, "none: No such");
	work_fresh();
	work_must(&w, work_plain);
	no_source(work_dir, HPDSL_EUSAGE, "is a stage directory");
	work_fresh();
	run("cp -r %s %s && ln -sfn %s %s/lnk", work_plain, work_dir, work_dir,
	    work_fix.top);
	assert_non_null(getcwd(here, sizeof here));
	assert_int_equal(chdir(work_fix.top), 0);
	assert_int_equal(hpdsl_stage_source_open("lnk/.", NULL, &s, &err), 0);
	assert_int_equal(chdir(here), 0);
	hpdsl_stage_source_pack(s, &p);
	assert_string_equal(p.origin, work_dir);
	assert_int_equal(p.chunks, 4);
	assert_int_equal(hpdsl_stage_pack_parse(p.origin, p.manifest,
						p.manifest_bytes, &q, &err),
			 0);
	assert_memory_equal(p.pack, q.pack, 16);
	assert_int_equal(p.bytes, q.bytes);
	assert_int_equal(p.index_bytes, q.index_bytes);
	assert_int_equal(hpdsl_stage_pack_parse("/o", p.manifest,
						p.manifest_bytes - 2, &q, &err),
			 HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, "/o/dataset.yaml"));
	/* Replaced while it is read. */
	assert_int_equal(hpdsl_stage_source_index(s, buf, 16, &err), 16);
	run("cp %s/* %s", work_other, work_dir);
	while (hpdsl_stage_source_index(s, buf, 16, &err) > 0)
		;
	assert_int_equal(err.code, HPDSL_ECHANGED);
	hpdsl_stage_source_close(s);
}

static void test_source_damaged(void **unused)
{
	struct hpdsl_error err;

	(void)unused;
	work_fresh();
	run("cp -r %s %s", work_plain, work_dir);
	assert_int_equal(read_source(work_dir, 1, &err), 0);
	assert_int_equal(read_source(work_dir, 70000, &err), 0);
	run("echo >> %s", work_at("index.hpdsl"));
	assert_int_equal(read_source(work_dir, 1000, &err), HPDSL_ECORRUPT);
	run("truncate -s -2 %s", work_at("index.hpdsl"));
	assert_int_equal(read_source(work_dir, 1000, &err), HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, "index.hpdsl: damaged"));
	run("cp %s/index.hpdsl %s", work_plain, work_dir);
	packed_flip(work_at("index.hpdsl"), 700, 1);
	assert_int_equal(read_source(work_dir, 1000, &err), HPDSL_ECORRUPT);
	run("rm %s", work_at("index.hpdsl"));
	assert_int_equal(read_source(work_dir, 1000, &err), -ENOENT);
	run("rm %s", work_at("dataset.yaml"));
	no_source(work_dir, HPDSL_ENOTOURS, "dataset.yaml is missing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_source_damaged),
	};

	return cmocka_run_group_tests(tests, work_setup, work_teardown);
}
