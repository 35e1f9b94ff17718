/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stager finds: another pack, chunks whose word is taken, chunks that
 * are hashed first, left-overs; and what it publishes.
 */
#include "shell.h"
#include "stage_work.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void killed(struct work *w, const char *from)
{
	pid_t pid = fork();
	int how;

	if (pid == 0) {
		struct hpdsl_error err;

		if (work_begin(w, from, work_dir, NULL, &err) ||
		    work_publish(w, &err))
			_exit(1);
		hpdsl_stage_beat(w->s);
		work_copy(w, from, &err);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_int_equal(how, 0);
}

/* ---- Another pack ----------------------------------------------------- */

static void test_other_pack(void **unused)
{
	struct work w = { .job = NULL };
	struct hpdsl_error err;

	(void)unused;
	work_fresh();
	work_must(&w, work_plain);
	assert_int_equal(work_stage(&w, work_other, work_dir, NULL, &err),
			 HPDSL_EDIFFERS);
	assert_non_null(strstr(err.msg, work_plain));
	assert_non_null(strstr(err.msg, work_other));
	assert_int_equal(work_status().ready, 4);
	/* The manifest says so, too. */
	run("rm %s", work_at("stage.hpdsl"));
	assert_int_equal(work_stage(&w, work_other, work_dir, NULL, &err),
			 HPDSL_EDIFFERS);
	assert_non_null(strstr(err.msg, work_other));
	/* An index alone, of a stager that got no further, is replaced. */
	run("rm %s", work_at("dataset.yaml"));
	work_must(&w, work_other);
}

/* ---- What counts ------------------------------------------------------ */

/* Made to look as if it was there before: same size, other bytes. */
static void damage(const char *name)
{
	packed_flip(work_at(name), 700, 3);
}

static void test_trust(void **unused)
{
	struct work w = { .job = NULL };

	(void)unused;
	work_fresh();
	work_must(&w, work_plain);
	/* Sizes are looked at, bytes are not. */
	damage("chunk-000000.tar");
	run("truncate -s -1 %s && rm %s", work_at("chunk-000001.tar"),
	    work_at("chunk-000002.tar"));
	w = (struct work){ .job = NULL };
	work_must(&w, work_plain);
	assert_int_equal(w.copied, 2);
	assert_string_equal(w.warned, "chunk-000001.tar: not of its size; "
				      "removed, to be fetched again\n");
	/* Unless that is asked for. */
	w = (struct work){ .recheck = true };
	work_must(&w, work_plain);
	assert_int_equal(w.copied, 1);
	assert_string_equal(w.warned, "chunk-000000.tar: damaged; removed, to "
				      "be fetched again\n");
	run("cmp %s/chunk-000000.tar %s", work_plain,
	    work_at("chunk-000000.tar"));
}

static void patch(const char *name, const char *printf_text, unsigned at)
{
	run("printf '%s' | dd of=%s bs=1 seek=%u conv=notrunc 2>/dev/null",
	    printf_text, work_at(name), at);
}

static void test_not_trusted(void **unused)
{
	struct work w = { .job = NULL };

	(void)unused;
	work_fresh();
	w.most = 2;
	work_must(&w, work_plain);
	assert_int_equal(work_status().ready, 2);
	assert_false(work_status().complete);
	assert_int_equal(work_status().coming, 0);
	/* A file that no byte tells of counts once it was hashed. */
	run("cp %s/chunk-000002.tar %s/chunk-000003.tar %s", work_plain,
	    work_plain, work_dir);
	damage("chunk-000003.tar");
	w = (struct work){ .job = NULL };
	work_must(&w, work_plain);
	assert_int_equal(w.held, 3);
	assert_int_equal(w.copied, 1);
	assert_non_null(strstr(w.warned, "chunk-000003.tar: damaged"));
	/* Killed: all is hashed. */
	damage("chunk-000001.tar");
	patch("stage.hpdsl", "\\0", 4680);
	w = (struct work){ .job = NULL };
	work_must(&w, work_plain);
	assert_int_equal(w.copied, 1);
	/* A state that cannot be read, and none. */
	damage("chunk-000001.tar");
	patch("stage.hpdsl", "x", 600);
	w = (struct work){ .job = NULL };
	work_must(&w, work_plain);
	assert_int_equal(w.copied, 1);
	damage("chunk-000001.tar");
	run("rm %s", work_at("stage.hpdsl"));
	w = (struct work){ .job = NULL };
	work_must(&w, work_plain);
	assert_int_equal(w.copied, 1);
}

/* Another boot, with a checksum that is right. */
static void test_other_boot(void **unused)
{
	struct work w = { .job = NULL };
	struct hp_state_header h;
	struct hpdsl_error err;
	size_t n;
	char *state;

	(void)unused;
	work_fresh();
	work_must(&w, work_plain);
	state = packed_get(work_at("stage.hpdsl"), &n);
	assert_int_equal(hp_state_parse(state, n, "it", &h, &err), 0);
	h.boot_id[3] ^= 1;
	hp_state_format(&h, state);
	for (uint64_t i = 0; i < h.chunks; i++)
		hp_state_set(state, i, HP_CHUNK_READY);
	hp_state_end(state, HP_STAGE_COMPLETE);
	packed_put(work_at("stage.hpdsl"), state, n);
	free(state);
	assert_true(work_status().stale);
	damage("chunk-000001.tar");
	packed_flip(work_at("index.hpdsl"), 300, 1);
	w = (struct work){ .job = NULL };
	work_must(&w, work_plain);
	assert_int_equal(w.held, 3);
	assert_int_equal(w.copied, 1);
	assert_false(work_status().stale);
	run("cmp %s/index.hpdsl %s", work_plain, work_at("index.hpdsl"));
}

static void test_killed(void **unused)
{
	struct work w = { .most = 2 };

	(void)unused;
	work_fresh();
	killed(&w, work_plain);
	assert_int_equal(work_status().ready, 2);
	assert_int_equal(work_status().coming, 2);
	assert_true(work_status().at_work); /* for 15 seconds */
	assert_true(work_status().beat_age < 5);
	run("touch %s %s %s %s", work_at(".chunk-000002.tar.part"),
	    work_at(".chunk-000002.tar.zst.part"), work_at(".index.hpdsl.part"),
	    work_at(".mine.part"));
	w = (struct work){ .job = NULL };
	work_must(&w, work_plain);
	assert_int_equal(w.held, 2);
	assert_int_equal(w.copied, 2);
	run("cd %s && [ \"$(ls -d .*.part)\" = .mine.part ]", work_dir);
}

/* What is not planned any more stays, and readers are told so. */
static void test_less_planned(void **unused)
{
	struct work w = { .job = NULL };
	struct hpdsl_stage_place p;
	struct hpdsl_error err;

	(void)unused;
	work_fresh();
	work_must(&w, work_plain);
	w = (struct work){ .limit = 1 };
	work_must(&w, work_plain);
	assert_int_equal(work_status().ready, 4);
	work_fresh();
	w = (struct work){ .limit = 1 };
	work_must(&w, work_plain);
	assert_int_equal(work_status().ready, 0);
	assert_true(work_status().complete);
	w = (struct work){ .most = 1 };
	work_must(&w, work_plain);
	w = (struct work){ .job = NULL };
	assert_int_equal(work_begin(&w, work_plain, work_dir, NULL, &err), 0);
	assert_int_equal(hpdsl_stage_place(w.s, &p, &err), 0);
	assert_true(p.held_bytes > 0 && p.held_bytes < w.pack.bytes);
	assert_true(p.capacity > p.held_bytes);
	assert_true(p.inode && p.device);
	work_release(&w);
}

/* Any number of threads find the same, and tell it in the same order. */
static void test_threads(void **unused)
{
	char first[sizeof((struct work *)0)->warned] = "";

	(void)unused;
	for (uint32_t threads = 0; threads < 5; threads++) {
		struct work w = { .job = NULL };

		work_fresh();
		work_must(&w, work_plain);
		damage("chunk-000000.tar");
		damage("chunk-000003.tar");
		run("truncate -s -1 %s", work_at("chunk-000002.tar"));
		w = (struct work){ .threads = threads, .recheck = true };
		work_must(&w, work_plain);
		assert_int_equal(w.held, 1);
		assert_int_equal(w.copied, 3);
		assert_in_range(w.hashed, w.pack.bytes / 2, w.pack.bytes - 1);
		if (threads)
			assert_string_equal(w.warned, first);
		else
			strcpy(first, w.warned);
	}
	assert_true(strlen(first) > 100);
}

static void *beat(void *arg)
{
	for (int i = 0; i < 2000; i++)
		hpdsl_stage_beat(arg);
	return NULL;
}

static void *ready(void *arg)
{
	for (uint64_t i = 0; i < 2000; i++)
		hp_stage_ready(arg, i % 4, false);
	return NULL;
}

/* Who beats and who publishes do not wait for each other's files. */
static void test_beats(void **unused)
{
	struct work w = { .job = NULL };
	struct hpdsl_error err;
	pthread_t id[3];

	(void)unused;
	work_fresh();
	work_must(&w, work_plain);
	assert_int_equal(work_begin(&w, work_plain, work_dir, NULL, &err), 0);
	hpdsl_stage_beat(w.s); /* nothing is published yet */
	assert_int_equal(work_status().at_work, false);
	pthread_create(&id[0], NULL, beat, w.s);
	pthread_create(&id[1], NULL, ready, w.s);
	pthread_create(&id[2], NULL, ready, w.s);
	for (int i = 0; i < 5; i++)
		assert_int_equal(work_publish(&w, &err), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(id[i], NULL);
	assert_true(work_status().at_work);
	assert_int_equal(w.s->now.generation, 6);
	/* Closed without an end: that is one that failed, in order. */
	work_release(&w);
	assert_false(work_status().at_work);
	assert_int_equal(work_status().ready, 4);
	assert_false(work_status().complete);
	damage("chunk-000001.tar");
	w = (struct work){ .job = NULL };
	work_must(&w, work_plain);
	assert_int_equal(w.copied, 0);
}

/* A plan that is not for this directory. */
static void test_wrong_calls(void **unused)
{
	struct hpdsl_stage_at at = { .node = 2, .nodes = 2 };
	struct work w = { .job = NULL };
	struct hpdsl_stage_begin b = { .pack = &w.pack };
	struct hpdsl_stage_pack lie;
	struct hpdsl_error err;
	struct hpdsl_stage *s;

	(void)unused;
	work_fresh();
	assert_int_equal(hpdsl_stage_open(work_dir, &at, &s, &err),
			 HPDSL_EUSAGE);
	assert_false(work_has(""));
	at.node = 1;
	assert_int_equal(hpdsl_stage_open(work_dir, &at, &w.s, &err), 0);
	assert_int_equal(
		hpdsl_stage_source_open(work_plain, NULL, &w.source, &err), 0);
	hpdsl_stage_source_pack(w.source, &w.pack);
	assert_int_equal(hpdsl_stage_begin(w.s, &b, &err), -ENOENT);
	/* An index that is not what was promised. */
	lie = w.pack;
	assert_int_equal(hpdsl_stage_put_index(w.s, &lie, "x", 1, &err), 0);
	assert_int_equal(hpdsl_stage_put_index(w.s, &lie, NULL, 0, &err),
			 HPDSL_ECORRUPT);
	assert_false(work_has("index.hpdsl"));
	assert_false(work_has(".index.hpdsl.part"));
	assert_int_equal(work_put_index(&w, &err), 0);
	lie.origin = "out";
	b.pack = &lie;
	assert_int_equal(hpdsl_stage_begin(w.s, &b, &err), HPDSL_EUSAGE);
	lie.origin = w.pack.origin;
	lie.chunks++;
	assert_int_equal(hpdsl_stage_begin(w.s, &b, &err), HPDSL_ECORRUPT);
	assert_null(hpdsl_stage_dataset(w.s));
	b.pack = &w.pack;
	assert_int_equal(hpdsl_stage_begin(w.s, &b, &err), 0);
	assert_non_null(hpdsl_stage_dataset(w.s));
	assert_false(hpdsl_stage_holds(w.s, 4));
	assert_false(hpdsl_stage_holds(w.s, UINT64_MAX));
	hp_stage_ready(w.s, 4, false);
	assert_int_equal(work_publish(&w, &err), HPDSL_EUSAGE);
	assert_int_equal(hpdsl_stage_end(w.s, 0, &err), 0);
	work_release(&w);
	hpdsl_stage_close(NULL);
	hpdsl_stage_source_close(NULL);
}

static void test_recheck_index(void **unused)
{
	struct work w = { .job = NULL };
	struct hpdsl_error err;

	(void)unused;
	work_fresh();
	work_must(&w, work_plain);
	packed_flip(work_at("index.hpdsl"), 300, 1);
	w = (struct work){ .recheck = true };
	assert_int_equal(work_stage(&w, work_plain, work_dir, NULL, &err),
			 HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, "damaged, and removed"));
	w = (struct work){ .job = NULL };
	work_must(&w, work_plain);
	assert_int_equal(w.held, 4);
	/* One that cannot even be opened is rechecked unasked. */
	packed_flip(work_at("index.hpdsl"), 3, 1);
	w = (struct work){ .job = NULL };
	assert_int_equal(work_stage(&w, work_plain, work_dir, NULL, &err),
			 HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, "damaged, and removed"));
	w = (struct work){ .job = NULL };
	work_must(&w, work_plain);
	assert_int_equal(w.held, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_pack),
		cmocka_unit_test(test_trust),
		cmocka_unit_test(test_not_trusted),
		cmocka_unit_test(test_other_boot),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_less_planned),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_beats),
		cmocka_unit_test(test_wrong_calls),
		cmocka_unit_test(test_recheck_index),
	};

	return cmocka_run_group_tests(tests, work_setup, work_teardown);
}
