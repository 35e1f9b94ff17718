/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node that loses its power while its stage directory is filled: what is
 * there is refused or right for readers, who go to the origin, and the next
 * stager completes it.  See crash.h.
 */
#include "crash_scene.h"
#include "stage_work.h"
#include "sys/outfile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool sync_all; /* --fsync: a chunk that has its name is whole */
static unsigned emit; /* side files */

/* After a crash it is another one. */
static void set_boot(struct memio *m, char c)
{
	char id[] = "00000000-0000-4000-8000-000000000000\n";

	id[0] = c;
	memio_add(m, "proc/sys/kernel/random/boot_id", id, strlen(id));
}

static void put_origin(struct memio *m)
{
	static const char *const inputs[] = { "tree" };
	struct hpdsl_pack_options opt = { .inputs = inputs,
					  .n_inputs = 1,
					  .output = "/origin",
					  .chunks = 3,
					  .threads = HPDSL_SERIAL,
					  .readers = HPDSL_SERIAL,
					  .memory = 8 << 20,
					  .emit = emit,
					  .force = true,
					  .watch.io = memio_io(m) };
	struct hpdsl_pack_report report;
	struct hpdsl_error err;

	scene_put_tree(m);
	set_boot(m, 'a');
	if (hpdsl_pack(&opt, &report, &err))
		fail_msg("%s", err.msg);
}

/* As lib/stager/finish.c does it. */
static int copy_one(struct work *w, const struct hp_io *io, uint32_t number,
		    struct hpdsl_error *err)
{
	struct hp_outfile f;
	char name[HP_STAGE_NAME], path[HP_STAGE_NAME + 8];
	struct hpdsl_chunk c;
	char *bytes = NULL;
	size_t n;
	int r = hp_stage_chunk(w->s, number, false, &c, name, err);

	snprintf(path, sizeof path, "origin/%s", name);
	if (r == 0)
		r = hp_io_slurp(io, AT_FDCWD, path, 1 << 20, &bytes, &n);
	if (r == 0)
		r = hp_outfile_open(&f, io, w->s->dir, name, n, false, err);
	if (r < 0)
		return r;
	r = hp_outfile_pwrite(&f, bytes, n, 0, err);
	free(bytes);
	if (r == 0)
		r = sync_all ? hp_outfile_sync(&f, err) :
			       hp_outfile_close(&f, err);
	if (r == 0)
		r = hp_outfile_commit(&f, err);
	if (r == 0 && sync_all)
		r = hp_sync_dir(io, w->s->dir, err);
	hp_outfile_abandon(&f);
	if (r == 0)
		hp_stage_ready(w->s, number, false);
	return r;
}

static int copy(struct work *w, const struct hp_io *io, struct hpdsl_error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < w->pack.chunks && r == 0; i++) {
		if (hpdsl_stage_holds(w->s, i))
			continue;
		if (w->most && w->copied++ == w->most)
			return HPDSL_ESTOPPED;
		r = copy_one(w, io, i, err);
	}
	return r;
}

static int stage(const struct hp_io *io, struct work *w,
		 struct hpdsl_error *err)
{
	int r = work_begin(w, "/origin", "/stage", io, err);

	if (r == 0)
		r = work_publish(w, err);
	if (r == 0) {
		hpdsl_stage_beat(w->s);
		r = copy(w, io, err);
	}
	if (w->s)
		hpdsl_stage_end(w->s, r, NULL);
	work_release(w);
	return r;
}

/* Nothing is there that no manifest lists. */
static void check_dropped(const struct hp_io *io)
{
	static const char *const gone[] = { "/stage/chunk-000002.idx",
					    "/stage/chunk-000000.tar.idx",
					    "/stage/.nv-meta" };
	struct stat st;

	for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
		assert_int_equal(io->stat(io, AT_FDCWD, gone[i], &st, 0),
				 -ENOENT);
}

static int run_stage(const struct hp_io *io, bool again,
		     struct hpdsl_error *err)
{
	struct hpdsl_stage_status status;
	struct work w = { .job = NULL };
	int r = stage(io, &w, err);

	/* An index that is damaged is taken away first, and told. */
	if (again && r == HPDSL_ECORRUPT) {
		w = (struct work){ .job = NULL };
		r = stage(io, &w, err);
	}
	if (r < 0)
		return r;
	assert_int_equal(hpdsl_stage_status("/stage", io, &status, err), 0);
	assert_true(status.complete);
	assert_int_equal(status.ready, 3);
	assert_int_equal(w.lost, 0);
	if (emit == HPDSL_EMIT_WIDS)
		check_dropped(io);
	if (!again)
		assert_int_equal(w.sides, emit == HPDSL_EMIT_WIDS ? 0 :
					  emit ? 3 + 3 + 3 + 1 :
						 0);
	return 0;
}

static void check_stage(struct memio *m, const struct scene *s, bool done)
{
	struct hpdsl_stage_status status;
	struct hpdsl_error err;

	(void)s;
	(void)done;
	set_boot(m, 'b');
	/* Without a state file they wait for one, half a minute. */
	if (hpdsl_stage_status("/stage", memio_io(m), &status, &err) == 0)
		scene_check_reads(m, "/stage", "tree");
	for (unsigned i = 0; i < 3 && sync_all; i++) {
		char here[40], there[40];
		const uint8_t *a, *b;
		size_t n, k;

		snprintf(here, sizeof here, "stage/chunk-%06u.tar", i);
		snprintf(there, sizeof there, "origin/chunk-%06u.tar", i);
		a = memio_bytes(m, here, &n);
		b = memio_bytes(m, there, &k);
		assert_non_null(b);
		if (!a)
			continue;
		assert_int_equal(n, k);
		assert_memory_equal(a, b, n);
	}
}

/* Times, process, generation. */
static bool is_of_a_run(const char *path)
{
	return !strncmp(path, "proc", 4) || !strcmp(path, "stage/stage.hpdsl");
}

static void play(void (*put)(struct memio *m))
{
	struct scene s = { .put = put,
			   .run = run_stage,
			   .check = check_stage,
			   .passed_over = is_of_a_run };

	scene_play(&s);
}

static void test_stage(void **state)
{
	(void)state;
	play(put_origin);
}

static void test_sync(void **state)
{
	(void)state;
	sync_all = true;
	play(put_origin);
	sync_all = false;
}

/* Some of it is there, from before the last start of the node. */
static void put_half(struct memio *m)
{
	struct work w = { .most = 2 };
	struct hpdsl_error err;

	put_origin(m);
	set_boot(m, '9');
	assert_int_equal(stage(memio_io(m), &w, &err), HPDSL_ESTOPPED);
	set_boot(m, 'a');
}

static void test_resume(void **state)
{
	(void)state;
	play(put_half);
}

/* With side files, which come first. */
static void test_sides(void **state)
{
	(void)state;
	emit = HPDSL_EMIT_DALI | HPDSL_EMIT_ENERGON | HPDSL_EMIT_WIDS;
	play(put_origin);
	emit = 0;
}

/* All of it is there, of this boot, and the origin has other side files now. */
static void put_staged(struct memio *m)
{
	struct work w = { .job = NULL };
	struct hpdsl_error err;

	emit = HPDSL_EMIT_DALI | HPDSL_EMIT_ENERGON | HPDSL_EMIT_WIDS;
	put_origin(m);
	if (stage(memio_io(m), &w, &err))
		fail_msg("%s", err.msg);
	emit = HPDSL_EMIT_WIDS;
	put_origin(m);
}

/* None stays that no manifest lists. */
static void test_replaced(void **state)
{
	(void)state;
	play(put_staged);
	emit = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stage),	 cmocka_unit_test(test_sync),
		cmocka_unit_test(test_resume),	 cmocka_unit_test(test_sides),
		cmocka_unit_test(test_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
