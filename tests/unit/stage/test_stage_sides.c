/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Side files of a stage directory: which go along, what they take, and that
 * none has a name that it does not deserve, whatever fails.
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

#include <cmocka.h>

enum { ALL = 4 + 4 + 3 + 1 + 1 }; /* of .., with the sums */

static char ds[200], zst[200], one[200]; /* of four chunks, and of one */
static char some[200], none[200]; /* ds with DALI's alone, and with none */

static int setup(void **state)
{
	struct hpdsl_pack_options opt = {
		.chunks = 4,
		.emit = HPDSL_EMIT_DALI | HPDSL_EMIT_ENERGON | HPDSL_EMIT_WIDS,
		.digest = HPDSL_DIGEST_SHA256,
	};

	work_setup(state);
	snprintf(ds, sizeof ds, "%s/sides", work_fix.top);
	snprintf(zst, sizeof zst, "%s/zsides", work_fix.top);
	snprintf(one, sizeof one, "%s/one", work_fix.top);
	snprintf(some, sizeof some, "%s/some", work_fix.top);
	snprintf(none, sizeof none, "%s/none", work_fix.top);
	packed_pack(&work_fix, opt);
	run("mv %s %s", work_fix.out, ds);
	opt.chunks = 1;
	packed_pack(&work_fix, opt);
	run("mv %s %s", work_fix.out, one);
	opt.chunks = 4;
	opt.zstd = 3;
	packed_pack(&work_fix, opt);
	run("mv %s %s", work_fix.out, zst);
	opt.zstd = 0;
	opt.emit = HPDSL_EMIT_DALI;
	packed_pack(&work_fix, opt);
	run("mv %s %s", work_fix.out, some);
	opt.emit = 0;
	opt.digest = HPDSL_DIGEST_SHA256;
	packed_pack(&work_fix, opt);
	run("mv %s %s", work_fix.out, none);
	return 0;
}

/* ---- Over memory ------------------------------------------------------ */

static void test_names(void **state)
{
	static const struct {
		const char *name;
		int kind; /* -1: none */
		uint32_t chunk;
	} t[] = {
		{ "chunk-000000.idx", HP_SIDE_DALI, 0 },
		{ "chunk-000006.tar.idx", HP_SIDE_ENERGON, 6 },
		{ ".nv-meta/.info.json", HP_SIDE_ENERGON_INFO, 0 },
		{ ".nv-meta/split.yaml", HP_SIDE_ENERGON_SPLIT, 0 },
		{ ".nv-meta/dataset.yaml", HP_SIDE_ENERGON_DATASET, 0 },
		{ "shards.json", HP_SIDE_WIDS, 0 },
		{ "SHA256SUMS", HP_SIDE_SUMS, 0 },
		{ "chunk-000007.idx", -1, 0 },
		{ "chunk-000007.tar.idx", -1, 0 },
		{ ".nv-meta/chunk-000000.idx", -1, 0 },
		{ ".nv-meta/SHA256SUMS", -1, 0 },
		{ ".nv-meta/shards.json", -1, 0 },
		{ ".nv-meta/index.sqlite", -1, 0 },
		{ ".nv-meta", -1, 0 },
		{ ".nv-meta/", -1, 0 },
		{ ".info.json", -1, 0 },
		{ "split.yaml", -1, 0 },
		{ "dataset.yaml", -1, 0 },
		{ "index.hpdsl", -1, 0 },
		{ "stage.hpdsl", -1, 0 },
		{ ".stage.lock", -1, 0 },
		{ "chunk-000000.tar", -1, 0 },
		{ "other/shards.json", -1, 0 },
		{ "other/chunk-000000.idx", -1, 0 },
		{ "", -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		uint32_t chunk = 99;
		uint8_t kind = 99;
		bool is = hp_side_read(t[i].name, 7, &kind, &chunk);

		if (is != (t[i].kind >= 0))
			fail_msg("%s", t[i].name);
		if (is) {
			struct hp_side_row r = { .kind = kind, .chunk = chunk };
			char name[HP_SIDE_NAME];

			assert_int_equal(kind, t[i].kind);
			assert_int_equal(chunk, t[i].chunk);
			hp_side_row_name(&r, name);
			assert_string_equal(name, t[i].name);
		}
	}
}

static void tell_other(void *arg, const char *name)
{
	char *text = arg;

	strcat(strcat(text, name), " ");
}

static void test_manifest(void **state)
{
	struct hp_manifest_file chunks[3] = { { .bytes = 1 } };
	struct hp_manifest_file files[] = {
		{ .name = "SHA256SUMS", .bytes = 1000 },
		{ .name = "notes", .bytes = 5 },
		{ .name = "chunk-000002.idx", .bytes = 30 },
		{ .name = "shards.json", .bytes = 100 },
		{ .name = "chunk-000002.tar.idx", .bytes = 4 },
		{ .name = "chunk-000000.idx", .bytes = 7 },
		{ .name = "chunk-000002.idx", .bytes = 31 },
		{ .name = "chunk-000003.idx", .bytes = 8 },
	};
	struct hp_manifest m = { .chunks = chunks,
				 .n_chunks = 3,
				 .files = files,
				 .n_files = sizeof files / sizeof *files };
	uint64_t add[3] = { 1, 2, 3 };
	char told[200] = "";
	struct hp_sides s;

	(void)state;
	assert_int_equal(hp_sides_new(&m, false, tell_other, told, &s, NULL),
			 0);
	assert_string_equal(told, "notes chunk-000003.idx ");
	assert_int_equal(s.n, 5);
	assert_false(s.other_chunks);
	assert_null(hp_sides_find(&s, "chunk-000001.idx", 3));
	assert_null(hp_sides_find(&s, "notes", 3));
	assert_int_equal(hp_sides_find(&s, "chunk-000000.idx", 3)->bytes, 7);
	assert_int_equal(hp_sides_find(&s, "shards.json", 3)->bytes, 100);
	assert_int_equal(hp_sides_weigh(&s, add), 1100);
	assert_int_equal(add[0], 8);
	assert_int_equal(add[1], 2);
	assert_in_range(add[2], 3 + 30 + 4, 3 + 31 + 4); /* the one or other */
	hp_sides_release(&s);
	/* Where chunks are others than the sums speak of. */
	chunks[1].compressed = true;
	assert_int_equal(hp_sides_new(&m, false, NULL, NULL, &s, NULL), 0);
	assert_int_equal(hp_sides_weigh(&s, NULL), 100);
	hp_sides_release(&s);
	assert_int_equal(hp_sides_new(&m, true, NULL, NULL, &s, NULL), 0);
	assert_int_equal(hp_sides_weigh(&s, NULL), 1100);
	hp_sides_release(&s);
	m.adopted = true;
	assert_int_equal(hp_sides_new(&m, true, NULL, NULL, &s, NULL), 0);
	assert_int_equal(hp_sides_weigh(&s, NULL), 100);
	hp_sides_release(&s);
}

/* ---- In a directory --------------------------------------------------- */

static bool is_part(const char *name)
{
	return strstr(name, ".part") != NULL;
}

/* Of .nv-meta. */
static bool is_final(const char *name)
{
	return name[0] != '.' || name[1] == 'i';
}

static bool comes(const char *name)
{
	return name[0] != '.' && !strstr(name, ".zst") &&
	       strcmp(name, "SHA256SUMS") != 0 &&
	       strcmp(name, "index.hpdsl") != 0;
}

static void check_complete(const char *from)
{
	char meta[300];

	folder_check_files(from, work_dir, comes);
	snprintf(meta, sizeof meta, "%s/.nv-meta", from);
	folder_check_files(meta, work_at(".nv-meta"), is_final);
	folder_check_files(work_dir, "no part", is_part);
	folder_check_files(work_at(".nv-meta"), "no part", is_part);
}

static void test_pieces(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 1000; piece = piece * 3 + 1) {
		struct work w = { .piece = piece };

		work_fresh();
		work_must(&w, ds);
		assert_int_equal(w.sides, ALL);
		assert_int_equal(w.lost, 0);
		check_complete(ds);
	}
}

static void test_expanded(void **state)
{
	struct work w = { .most = 0 };

	(void)state;
	work_fresh();
	work_must(&w, zst);
	assert_int_equal(w.sides, ALL - 1);
	assert_false(work_has("SHA256SUMS"));
	check_complete(zst);
	w = (struct work){ .keep_compressed = true };
	work_must(&w, zst); /* they stay expanded */
	assert_int_equal(w.sides, 0);
	work_fresh();
	w = (struct work){ .keep_compressed = true };
	work_must(&w, zst);
	assert_int_equal(w.sides, ALL);
	assert_true(work_has("SHA256SUMS"));
}

/* What is here counts as room, to the byte, and stays if a plan has it not. */
static void test_room(void **state)
{
	struct work w = { .most = 0 };
	struct hpdsl_stage_place p;
	struct hpdsl_error err;
	uint64_t all = 0, whole, weight[4], early[4];
	uint32_t order[4] = { 0, 1, 2, 3 };
	uint64_t capacity[2];
	struct hpdsl_stage_wish wish = { .mode = HPDSL_STAGE_PARTITION,
					 .nodes = 1,
					 .capacity = capacity,
					 .chunks = 4,
					 .weight = weight,
					 .order = order };
	struct hpdsl_stage_plan *plan;

	(void)state;
	work_fresh();
	work_must(&w, ds);
	memset(&w, 0, sizeof w);
	if (work_begin(&w, ds, work_dir, NULL, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(hpdsl_stage_pack_weights(&w.pack, false, early, &err),
			 0);
	hpdsl_stage_weights(w.s, weight);
	assert_memory_equal(early, weight, sizeof weight);
	whole = hpdsl_stage_whole(w.s);
	for (int i = 0; i < 4; i++)
		all += weight[i];
	assert_int_equal(hpdsl_stage_place(w.s, &p, &err), 0);
	assert_int_equal(p.held_bytes, all + whole);
	/* One node that has no room for all of it. */
	wish.mode = HPDSL_STAGE_AUTO;
	wish.whole = whole;
	capacity[0] = all + whole - 1;
	assert_int_equal(hpdsl_stage_plan_new(&wish, &plan, &err), 0);
	assert_int_equal(hpdsl_stage_surplus(w.s, plan), weight[3] + whole);
	hpdsl_stage_plan_free(plan);
	capacity[0]++;
	assert_int_equal(hpdsl_stage_plan_new(&wish, &plan, &err), 0);
	assert_int_equal(hpdsl_stage_surplus(w.s, plan), 0);
	hpdsl_stage_plan_free(plan);
	work_release(&w);
	/* Without one of them, less. */
	run("rm %s", work_at("chunk-000002.idx"));
	memset(&w, 0, sizeof w);
	assert_int_equal(work_begin(&w, ds, work_dir, NULL, &err), 0);
	assert_int_equal(hpdsl_stage_place(w.s, &p, &err), 0);
	assert_in_range(p.held_bytes, all + whole - weight[2], all + whole - 1);
	work_release(&w);
}

/* ---- Another manifest ------------------------------------------------- */

/* What is here is what is there, and nothing else. */
static void check_same(const char *from)
{
	run("diff -r -x stage.hpdsl -x .stage.lock %s %s", from, work_dir);
}

/* Of the same chunks: what it has not goes, and what it has otherwise. */
static void test_replaced(void **state)
{
	const char *const turn[] = { ds, none, some, ds, some, none, ds };
	const int sides[] = { ALL, 1, 4 + 1, ALL - 4, 1, 1, ALL };

	(void)state;
	work_fresh();
	for (size_t i = 0; i < sizeof turn / sizeof *turn; i++) {
		struct work w = { .job = NULL };

		work_must(&w, turn[i]);
		assert_int_equal(w.sides, sides[i]);
		assert_string_equal(w.warned, "");
		assert_int_equal(w.copied, i ? 0 : 4);
		check_same(turn[i]);
	}
}

/* What is here for lack of room no more in the plan has its side files. */
static void test_replaced_with_less_room(void **state)
{
	struct work w = { .job = NULL };

	(void)state;
	work_fresh();
	work_must(&w, none);
	w = (struct work){ .limit = 1000 };
	work_must(&w, ds);
	assert_int_equal(w.copied, 0);
	assert_int_equal(w.sides, ALL);
	check_same(ds);
	/* Not all are here: those of the chunks. */
	run("rm %s", work_at("chunk-000002.tar"));
	w = (struct work){ .limit = 1000 };
	work_must(&w, none);
	w = (struct work){ .limit = 1000 };
	work_must(&w, ds);
	assert_int_equal(w.sides, 2 * 3);
	assert_false(work_has("shards.json"));
	assert_false(work_has("chunk-000002.idx"));
}

/* What of others is there, too, stays, and is no longer taken for ours. */
static void test_replaced_others(void **state)
{
	struct work w = { .job = NULL };
	uint64_t n[3];
	struct hpdsl_error err;

	(void)state;
	work_fresh();
	work_must(&w, ds);
	run("cd %s && touch .nv-meta/index.sqlite chunk-000009.idx "
	    ".nv-meta/.split.yaml.part && rm shards.json && "
	    "mkdir shards.json && touch shards.json/mine",
	    work_dir);
	w = (struct work){ .job = NULL };
	work_must(&w, none);
	run("cd %s && [ \"$(find . -type f ! -name 'chunk-*.tar' | sort | "
	    "xargs)\" = './.nv-meta/index.sqlite ./.stage.lock ./SHA256SUMS "
	    "./chunk-000009.idx ./dataset.yaml ./index.hpdsl "
	    "./shards.json/mine ./stage.hpdsl' ]",
	    work_dir);
	if (hpdsl_stage_clean(work_dir, NULL, n, n + 1, n + 2, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(n[2], 3);
	run("cd %s && [ \"$(find . -type f | sort | xargs)\" = "
	    "'./.nv-meta/index.sqlite ./chunk-000009.idx "
	    "./shards.json/mine' ]",
	    work_dir);
}

/* A manifest that nobody can read: names have to do. */
static void test_replaced_unread(void **state)
{
	static const char fifo[] = "rm dataset.yaml; mkfifo dataset.yaml";
	static const char *const ways[] = {
		"rm dataset.yaml",
		"echo >> dataset.yaml",
		fifo,
		"ln -sf index.hpdsl dataset.yaml",
	};

	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct work w = { .job = NULL };

		work_fresh();
		work_must(&w, ds);
		run("cd %s && %s", work_dir, ways[i]);
		w = (struct work){ .job = NULL };
		work_must(&w, i % 2 ? some : none);
		check_same(i % 2 ? some : none);
	}
}

static void test_order_of_calls(void **state)
{
	struct work w = { .most = 0 };
	struct hpdsl_stage_at at = { .nodes = 1 };
	uint32_t no_side = 99;
	struct hpdsl_stage_sides_of of = { .side = &no_side };
	struct hpdsl_stage_sides *t = NULL;
	struct hpdsl_error err;

	(void)state;
	work_fresh();
	assert_int_equal(hpdsl_stage_open(work_dir, &at, &w.s, &err), 0);
	assert_int_equal(hpdsl_stage_side_count(w.s), 0);
	assert_int_equal(hpdsl_stage_whole(w.s), 0);
	assert_int_equal(hpdsl_stage_sides_new(w.s, &of, &t, &err),
			 HPDSL_EUSAGE);
	assert_int_equal(hpdsl_stage_side_why(w.s, 0, &err), HPDSL_EUSAGE);
	work_release(&w);
	assert_int_equal(work_begin(&w, ds, work_dir, NULL, &err), 0);
	assert_int_equal(hpdsl_stage_side_count(w.s), ALL);
	if (work_publish(&w, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(hpdsl_stage_sides_new(w.s, &of, &t, &err),
			 HPDSL_EUSAGE);
	assert_null(t);
	work_release(&w);
	hpdsl_stage_sides_free(NULL);
}

/* ---- What fails ------------------------------------------------------- */

static bool is_of_origin(const char *name)
{
	return name[0] != '.' && strcmp(name, "stage.hpdsl") != 0;
}

/* With a part of a side file. */
static void put_full(void)
{
	char full[300];

	snprintf(full, sizeof full, "%s/full", work_fix.top);
	folder_copy(full, work_dir);
	packed_put(work_at(".nv-meta/.split.yaml.part"), "", 0);
}

/* Nothing has a name that it does not deserve; and whose chunk readers are told
 * of has its side files, but for those that the origin did not give. */
static void check_no_lie(const struct work *w)
{
	char meta[300];

	folder_check_files(work_dir, one, is_of_origin);
	snprintf(meta, sizeof meta, "%s/.nv-meta", one);
	folder_check_files(work_at(".nv-meta"), meta, is_final);
	if (!work_has("stage.hpdsl") || w->lost || !work_status().ready)
		return;
	assert_true(work_has("chunk-000000.idx"));
	assert_true(work_has("chunk-000000.tar.idx"));
	assert_true(work_has("shards.json"));
}

/*
 * Each step-th operation fails; with steps all that follow, too.  before: a
 * shell command that makes what is there before.
 */
static void faults(int step, int code, const char *before, bool recheck)
{
	int fds = count_fds();

	for (struct each_fault e = { .forever = step > 1,
				     .code = code,
				     .step = step };
	     each_fault(&e);) {
		struct work w = { .recheck = recheck };
		struct hpdsl_error err;
		int r;

		work_fresh();
		if (before)
			run("%s", before);
		r = work_stage(&w, one, work_dir, &e.f.io, &err);
		assert_int_equal(count_fds(), fds);
		if (r)
			assert_int_equal(err.code, r);
		check_no_lie(&w);
		if (!e.f.failed)
			break;
		w = (struct work){ .job = NULL };
		work_must(&w, one);
		assert_int_equal(w.lost, 0);
		check_complete(one);
		assert_true(e.k < 600);
	}
}

static void test_faults(void **state)
{
	char before[600];
	struct work w = { .job = NULL };

	(void)state;
	faults(1, -EIO, NULL, false);
	faults(3, -ENOSPC, NULL, false);
	work_fresh();
	work_must(&w, one);
	run("rm -rf %s/half && mv %s %s/half", work_fix.top, work_dir,
	    work_fix.top);
	snprintf(before, sizeof before,
		 "cp -r %s/half %s && cd %s && rm *.idx .nv-meta/s* "
		 "stage.hpdsl && "
		 "touch .nv-meta/.split.yaml.part .chunk-000000.idx.part",
		 work_fix.top, work_dir, work_dir);
	faults(2, -EIO, before, true);
}

/*
 * A manifest that is replaced: whatever fails, who completes it, or who cleans,
 * leaves nothing of the old one.
 */
static void test_replaced_faults(void **state)
{
	struct work w = { .job = NULL };
	int fds = count_fds();

	(void)state;
	work_fresh();
	work_must(&w, ds);
	run("rm -rf %s/full && mv %s %s/full", work_fix.top, work_dir,
	    work_fix.top);
	for (long k = 1;; k = each_next(k)) {
		struct hpdsl_error err;
		struct faultio f;
		uint64_t n[3];

		w = (struct work){ .job = NULL };
		work_fresh();
		put_full();
		faultio_init(&f, k, k % 2, -EIO);
		work_stage(&w, none, work_dir, &f.io, &err);
		assert_int_equal(count_fds(), fds);
		if (k % 3) {
			w = (struct work){ .job = NULL };
			work_must(&w, none);
			check_same(none);
		}
		if (hpdsl_stage_clean(work_dir, NULL, n, n + 1, n + 2, &err))
			fail_msg("%ld: %s", k, err.msg);
		assert_false(work_has(""));
		if (!f.failed)
			break;
		assert_true(k < 600);
	}
}

static void test_clean_faults(void **state)
{
	struct work w = { .job = NULL };
	int fds = count_fds();

	(void)state;
	work_fresh();
	work_must(&w, one);
	run("rm -rf %s/full && mv %s %s/full", work_fix.top, work_dir,
	    work_fix.top);
	for (struct each_fault e = { .in_turn = true, .code = -EIO };
	     each_fault(&e);) {
		struct hpdsl_error err;
		uint64_t n[3];

		work_fresh();
		put_full();
		hpdsl_stage_clean(work_dir, &e.f.io, n, n + 1, n + 2, &err);
		assert_int_equal(count_fds(), fds);
		if (!e.f.failed)
			break;
		if (work_has("") &&
		    hpdsl_stage_clean(work_dir, NULL, n, n + 1, n + 2, &err))
			fail_msg("%ld: %s", e.k, err.msg);
		assert_false(work_has(""));
	}
}

static void test_no_memory(void **state)
{
	int fds = count_fds();

	(void)state;
	for (struct each_alloc e = { .in_turn = true }; each_alloc(&e);) {
		struct work w = { .job = NULL };
		struct hpdsl_error err;
		int r;

		work_fresh();
		each_alloc_begin(&e);
		r = work_begin(&w, one, work_dir, NULL, &err);
		if (r == 0)
			r = work_publish(&w, &err);
		each_alloc_end(&e);
		work_release(&w);
		assert_int_equal(count_fds(), fds);
		check_no_lie(&w);
	}
}

/* A bit of the origin's, and a bit that comes otherwise. */
static void test_damage(void **state)
{
	char name[300];
	struct work w = { .job = NULL };

	(void)state;
	snprintf(name, sizeof name, "%s/chunk-000001.idx", ds);
	work_fresh();
	packed_flip(name, 5, 3);
	work_must(&w, ds);
	packed_flip(name, 5, 3);
	assert_int_equal(w.lost, 1);
	assert_false(work_has("chunk-000001.idx"));
	assert_true(work_has("chunk-000001.tar"));
	assert_int_equal(work_status().ready, 4);
	w = (struct work){ .job = NULL };
	work_must(&w, ds);
	assert_int_equal(w.sides, 1);
	check_complete(ds);
	/* Here: found by its size, or by its bytes. */
	packed_flip(work_at("chunk-000001.idx"), 5, 3);
	run("echo >> %s", work_at(".nv-meta/.info.json"));
	w = (struct work){ .job = NULL };
	work_must(&w, ds);
	assert_int_equal(w.sides, 1);
	assert_string_equal(w.warned,
			    ".nv-meta/.info.json: not of its size; removed\n");
	w = (struct work){ .recheck = true };
	work_must(&w, ds);
	assert_string_equal(w.warned, "chunk-000001.idx: damaged; removed\n");
	check_complete(ds);
}

/* ---- What is no file -------------------------------------------------- */

/* Makes of a name something else, in the stage directory. */
static const char *const others[] = {
	"ln -s ../else/kept",
	"ln -s ../else",
	"ln -s nowhere",
	"mkfifo",
	"mkdir",
};
enum { OTHERS = sizeof others / sizeof *others };

static void put_other(const char *how, const char *name)
{
	run("mkdir -p %s/else && echo kept > %s/else/kept && cd %s && "
	    "rm -r %s && %s %s",
	    work_fix.top, work_fix.top, work_dir, name, how, name);
}

static void check_kept(void)
{
	run("[ \"$(cat %s/else/*)\" = kept ]", work_fix.top);
}

static const char *const names[] = { "chunk-000002.idx", "shards.json",
				     ".nv-meta/split.yaml", ".nv-meta" };

/* It is taken away, and what a link leads to is not; the next run, or this one,
 * brings what belongs there. */
static void test_no_file(void **state)
{
	(void)state;
	work_fresh();
	for (size_t i = 0; i < 4 * OTHERS; i++) {
		struct work w = { .job = NULL };
		const char *name = names[i / OTHERS];
		bool folder = !strcmp(name, ".nv-meta");
		char text[100] = "";

		work_must(&w, ds);
		put_other(others[i % OTHERS], name);
		w = (struct work){ .recheck = i % 2 };
		work_must(&w, ds);
		if (!folder)
			snprintf(text, sizeof text,
				 "%s: no regular file; removed\n", name);
		else if (strcmp(others[i % OTHERS], "mkdir") != 0)
			strcpy(text, ".nv-meta: no folder; removed\n");
		assert_string_equal(w.warned, text);
		assert_int_equal(w.sides, folder ? 3 : 1);
		check_same(ds);
		check_kept();
	}
}

static void test_no_file_cleaned(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4 * OTHERS; i++) {
		struct work w = { .job = NULL };
		struct hpdsl_error err;
		uint64_t n[3];

		work_fresh();
		work_must(&w, ds);
		put_other(others[i % OTHERS], names[i / OTHERS]);
		if (hpdsl_stage_clean(work_dir, NULL, n, n + 1, n + 2, &err))
			fail_msg("%s", err.msg);
		assert_int_equal(n[2], 0);
		assert_false(work_has(""));
		check_kept();
	}
	/* Under a name that the manifest has not they are of others. */
	for (size_t i = 0; i < 4 * OTHERS; i++) {
		struct work w = { .job = NULL };
		struct hpdsl_error err;
		uint64_t n[3];

		if (!strncmp(names[i / OTHERS], ".nv-meta/", 9))
			continue;
		work_fresh();
		work_must(&w, none);
		run("touch %s", work_at(names[i / OTHERS]));
		put_other(others[i % OTHERS], names[i / OTHERS]);
		if (hpdsl_stage_clean(work_dir, NULL, n, n + 1, n + 2, &err))
			fail_msg("%s", err.msg);
		/* an empty folder of this name may be ours */
		assert_int_equal(n[2], !(i / OTHERS == 3 && i % OTHERS == 4));
		check_kept();
	}
}

/* A folder with something in it is somebody's. */
static void test_no_file_refused(void **state)
{
	struct work w = { .job = NULL };
	struct hpdsl_error err;

	(void)state;
	work_fresh();
	work_must(&w, ds);
	for (size_t i = 0; i < 3; i++) {
		char text[200];

		put_other("mkdir", names[i]);
		run("touch %s/mine", work_at(names[i]));
		w = (struct work){ .recheck = i % 2 };
		assert_int_equal(work_stage(&w, ds, work_dir, NULL, &err),
				 -ENOTEMPTY);
		snprintf(text, sizeof text,
			 "%s: is a folder that is not empty, where a side file "
			 "has to be",
			 work_at(names[i]));
		assert_string_equal(err.msg, text);
		run("rm %s/mine", work_at(names[i]));
		w = (struct work){ .job = NULL };
		work_must(&w, ds);
		check_same(ds);
	}
}

/* Before there is a manifest no link is followed, either. */
static void test_no_folder(void **state)
{
	struct work w = { .job = NULL };

	(void)state;
	work_fresh();
	run("mkdir -m 700 %s && touch %s %s", work_dir, work_at(".stage.lock"),
	    work_at(".nv-meta"));
	put_other("ln -s ../else", ".nv-meta");
	work_must(&w, ds);
	assert_string_equal(w.warned, ".nv-meta: no folder; removed\n");
	check_kept();
	check_same(ds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_manifest),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_expanded),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_replaced_with_less_room),
		cmocka_unit_test(test_replaced_others),
		cmocka_unit_test(test_replaced_unread),
		cmocka_unit_test(test_replaced_faults),
		cmocka_unit_test(test_order_of_calls),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_clean_faults),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_no_file_cleaned),
		cmocka_unit_test(test_no_file_refused),
		cmocka_unit_test(test_no_folder),
	};

	return cmocka_run_group_tests(tests, setup, work_teardown);
}
