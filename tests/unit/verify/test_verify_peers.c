/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl_verify of chunks that are not here, by a source that plays the job's
 * other nodes: what they send is verified as what is here, and what they do not
 * send is no damage.
 */
#include "dataset/dataset.h"
#include "other_nodes.h"
#include "verify/verify.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- What is said ----------------------------------------------------- */

struct told {
	char damage[4096], warning[4096];
	unsigned lines;
};

static void on_damage(void *arg, const struct hpdsl_damage *d)
{
	struct told *t = arg;

	t->lines++;
	snprintf(t->damage, sizeof t->damage, "%s: %s: %s",
		 d->file ? d->file : "", d->path ? d->path : "", d->reason);
}

static void on_warning(void *arg, const char *text)
{
	snprintf(((struct told *)arg)->warning, 4096, "%s", text);
}

static int run(const struct staged *f, const struct other_nodes *o,
	       uint32_t threads, struct hpdsl_verify_report *report,
	       struct told *t)
{
	const struct hpdsl_verify_options opt = {
		.peers = true,
		.threads = threads,
		.damage = on_damage,
		.arg = t,
		.watch = { .warn = on_warning, .arg = t },
	};
	struct hpdsl_error err = { 0 };
	int r;

	*t = (struct told){ .lines = 0 };
	*report = (struct hpdsl_verify_report){ 0 };
	r = hp_verify_with(f->dir, &opt, &o->table, report, &err);
	if (r < 0 && r != HPDSL_ECORRUPT)
		snprintf(t->damage, sizeof t->damage, "%s", err.msg);
	return r;
}

static const int forms[] = { 0, 3 };

static void test_all(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct hpdsl_verify_report r;
		struct staged f;
		struct other_nodes o;
		struct told t;

		staged_begin(&f, forms[i % 2]);
		other_nodes_stage_half(&f);
		other_nodes_begin(&o, &f);
		if (run(&f, &o, i < 2 ? HPDSL_SERIAL : 3, &r, &t) != 0)
			fail_msg("%s", t.damage);
		assert_string_equal(t.warning, "");
		assert_true(r.staged);
		assert_int_equal(r.chunks, STAGED_CHUNKS);
		assert_int_equal(r.samples, f.n.samples);
		assert_int_equal(r.members, f.n.members);
		assert_int_equal(r.peer_chunks, STAGED_CHUNKS / 2);
		assert_int_equal(r.absent_chunks + r.unsent_chunks, 0);
		assert_int_equal(o.bad, 0);
		staged_end(&f);
	}
}

/* Others have expanded them. */
static void test_other_form(void **state)
{
	struct hpdsl_verify_report r;
	struct staged f, plain;
	struct other_nodes o;
	struct told t;

	(void)state;
	staged_begin(&plain, 0);
	staged_begin(&f, 3);
	other_nodes_stage_half(&f);
	other_nodes_begin(&o, &f);
	o.plain = &plain;
	if (run(&f, &o, HPDSL_SERIAL, &r, &t) != 0)
		fail_msg("%s", t.damage);
	assert_int_equal(r.peer_chunks, STAGED_CHUNKS / 2);
	o.flipped = 3;
	o.flipped_at = 700;
	assert_int_equal(run(&f, &o, HPDSL_SERIAL, &r, &t), HPDSL_ECORRUPT);
	staged_end(&f);
	staged_end(&plain);
}

/* Each bit counts, wherever it is; and the sender is told of it once. */
static void test_flips(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hpdsl_verify_report r;
		struct hpdsl_chunk row;
		struct staged f;
		struct other_nodes o;
		struct told t;
		uint64_t step;

		staged_begin(&f, forms[i]);
		other_nodes_stage_half(&f);
		other_nodes_begin(&o, &f);
		staged_chunk(&f, 3, &row);
		o.flipped = 3;
		step = row.bytes / 9;
		for (uint64_t at = 0; at < row.bytes; at += step + 1) {
			o.flipped_at = at;
			o.bad = 0;
			assert_int_equal(run(&f, &o, HPDSL_SERIAL, &r, &t),
					 HPDSL_ECORRUPT);
			assert_non_null(strstr(t.damage, row.name));
			assert_int_equal(r.damaged_chunks, 1);
			assert_int_equal(r.damaged_files, 1);
			assert_int_equal(r.absent_chunks, 0);
			assert_int_equal(o.bad, 1);
		}
		/* What is here they are not asked for. */
		o.flipped = 2;
		assert_int_equal(run(&f, &o, HPDSL_SERIAL, &r, &t), 0);
		staged_end(&f);
	}
}

/* Nobody sends one, or not to its end: the others are verified all the same. */
static void test_silent(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct hpdsl_verify_report r;
		struct hpdsl_chunk row;
		struct staged f;
		struct other_nodes o;
		struct told t;

		staged_begin(&f, forms[i % 2]);
		other_nodes_stage_half(&f);
		other_nodes_begin(&o, &f);
		staged_chunk(&f, 5, &row);
		o.silent = 5;
		o.silent_at = i < 2 ? 0 : row.bytes - 1;
		assert_int_equal(run(&f, &o, 2, &r, &t), 0);
		assert_int_equal(t.lines, 0);
		assert_int_equal(r.chunks, STAGED_CHUNKS - 1);
		assert_int_equal(r.unsent_chunks, 1);
		assert_int_equal(r.absent_chunks, 1);
		assert_non_null(strstr(t.warning, row.name));
		assert_int_equal(o.bad, 0);
		staged_end(&f);
	}
}

/* Nobody to ask, no stage directory, what does not go with it. */
static void test_refused(void **state)
{
	struct hpdsl_verify_options opt = { .peers = true, .quick = true };
	struct hpdsl_verify_report r;
	struct hpdsl_error err;
	struct staged f;
	struct other_nodes o;
	struct told t;

	(void)state;
	staged_begin(&f, 0);
	other_nodes_stage_half(&f);
	other_nodes_begin(&o, &f);
	o.there = false;
	assert_int_equal(run(&f, &o, HPDSL_SERIAL, &r, &t), -EHOSTUNREACH);
	assert_non_null(strstr(t.damage, "no other nodes to ask"));
	assert_int_equal(hpdsl_verify(f.dir, &opt, &r, &err), HPDSL_EUSAGE);
	opt.quick = false;
	/* of the directory's own: no server has been up here */
	assert_int_equal(hpdsl_verify(f.dir, &opt, &r, &err), -EHOSTUNREACH);
	assert_int_equal(hpdsl_verify(f.p.out, &opt, &r, &err), HPDSL_EUSAGE);
	assert_non_null(strstr(err.msg, "no stage directory"));
	staged_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_other_form),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
