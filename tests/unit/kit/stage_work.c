/* SPDX-License-Identifier: Apache-2.0 */
/* A stager of one node that needs no messages, and what it stages. */
#include "stage_work.h"

#include "folders.h"

#include "shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct packed work_fix;
char work_plain[200], work_zst[200], work_other[200], work_dir[200];

static void warn(void *arg, const char *text)
{
	struct work *w = arg;
	size_t n = strlen(w->warned);

	snprintf(w->warned + n, sizeof w->warned - n, "%s\n", text);
}

static void progress(void *arg, const struct hpdsl_progress *p)
{
	struct work *w = arg;

	assert_true(p->bytes && p->done >= w->hashed);
	w->hashed = p->done;
}

int work_put_index(struct work *w, struct hpdsl_error *err)
{
	char buf[1000];
	ssize_t n;
	int r = 0;

	do {
		n = hpdsl_stage_source_index(w->source, buf, sizeof buf, err);
		if (n >= 0)
			r = hpdsl_stage_put_index(w->s, &w->pack, buf,
						  (size_t)n, err);
	} while (n > 0 && r == 0);
	return n < 0 ? (int)n : r;
}

int work_begin(struct work *w, const char *from, const char *to,
	       const struct hp_io *io, struct hpdsl_error *err)
{
	struct hpdsl_stage_at at = { .nodes = 1, .job = w->job, .io = io };
	struct hpdsl_stage_begin b = { .pack = &w->pack,
				       .recheck = w->recheck,
				       .keep_compressed = w->keep_compressed,
				       .threads = w->threads ? w->threads :
							       HPDSL_SERIAL,
				       .watch = { .progress = progress,
						  .warn = warn,
						  .arg = w,
						  .io = io } };
	int r = hpdsl_stage_source_open(from, io, &w->source, err);

	if (r < 0)
		return r;
	hpdsl_stage_source_pack(w->source, &w->pack);
	r = hpdsl_stage_open(to, &at, &w->s, err);
	if (r == 0)
		r = hpdsl_stage_has_index(w->s, &w->pack, err);
	if (r == 0)
		r = work_put_index(w, err);
	return r < 0 ? r : hpdsl_stage_begin(w->s, &b, err);
}

enum { SIDES = 64 };

/* Those that are planned here, and lacked. */
static uint32_t list_sides(const struct work *w,
			   const struct hpdsl_stage_plan *plan,
			   uint32_t side[SIDES])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < hpdsl_stage_side_count(w->s); i++) {
		struct hpdsl_stage_side f;

		hpdsl_stage_side_get(w->s, plan, i, &f);
		if (f.planned && !f.here && n < SIDES)
			side[n++] = i;
	}
	return n;
}

int work_sides(struct work *w, const struct hpdsl_stage_plan *plan,
	       struct hpdsl_error *err)
{
	uint8_t buf[1000];
	uint32_t side[SIDES], left[SIDES];
	struct hpdsl_stage_sides_of of = { .plan = plan, .side = side };
	size_t piece = w->piece ? w->piece : 700;
	struct hpdsl_stage_sides *t;
	uint64_t bytes;
	int r;

	of.sides = list_sides(w, plan, side);
	if (!of.sides)
		return 0;
	r = hpdsl_stage_sides_new(w->s, &of, &t, err);
	if (r < 0)
		return r;
	bytes = hpdsl_stage_sides_bytes(t);
	do {
		size_t n = bytes < piece ? (size_t)bytes : piece;

		hpdsl_stage_sides_read(t, buf, n);
		r = hpdsl_stage_sides_write(t, buf, n, err);
		bytes -= n;
	} while (bytes && r == 0);
	hpdsl_stage_sides_free(t);
	w->lost = list_sides(w, plan, left);
	w->sides = of.sides - w->lost;
	return r;
}

int work_publish(struct work *w, struct hpdsl_error *err)
{
	uint64_t capacity = w->limit ? w->limit : UINT64_MAX / 4;
	uint64_t weight[100];
	uint32_t order[100];
	struct hpdsl_stage_wish wish = { .whole = hpdsl_stage_whole(w->s),
					 .nodes = 1,
					 .capacity = &capacity,
					 .chunks = w->pack.chunks,
					 .weight = weight,
					 .order = order };
	struct hpdsl_stage_plan *plan;
	int r;

	for (uint32_t i = 0; i < 100; i++)
		order[i] = i;
	hpdsl_stage_weights(w->s, weight);
	r = hpdsl_stage_plan_new(&wish, &plan, err);
	if (r < 0)
		return r;
	r = work_sides(w, plan, err);
	if (r == 0)
		r = hpdsl_stage_publish(w->s, plan, err);
	hpdsl_stage_plan_free(plan);
	return r;
}

/*
 * As the stager does it: under another name, then by its own.  The tars of both
 * fixtures are the same, so one is what the other expands to.
 */
static int copy_one(struct work *w, const char *from, uint32_t number,
		    struct hpdsl_error *err)
{
	char name[HP_STAGE_NAME], path[500];
	struct hpdsl_chunk c;
	bool expand;
	char *bytes;
	size_t n;
	int r = hp_stage_chunk(w->s, number, false, &c, name, err);

	if (r < 0)
		return r;
	expand = c.compressed && !w->keep_compressed;
	hp_stage_chunk_name(&c, expand, name);
	snprintf(path, sizeof path, "%s/%s", expand ? work_plain : from,
		 expand ? name : c.name);
	bytes = packed_get(path, &n);
	r = hp_stage_put(w->s, name, bytes, n, err);
	free(bytes);
	if (r == 0)
		hp_stage_ready(w->s, number, expand);
	return r;
}

int work_copy(struct work *w, const char *from, struct hpdsl_error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < w->pack.chunks && r == 0; i++) {
		if (hpdsl_stage_holds(w->s, i)) {
			w->held++;
			continue;
		}
		if (hp_state_get(w->s->state, i) != HP_CHUNK_COMING)
			continue;
		if (w->most && w->copied == w->most) {
			err->code = HPDSL_ESTOPPED;
			return HPDSL_ESTOPPED;
		}
		r = copy_one(w, from, i, err);
		w->copied += r == 0;
	}
	return r;
}

void work_release(struct work *w)
{
	hpdsl_stage_close(w->s);
	hpdsl_stage_source_close(w->source);
	w->s = NULL;
	w->source = NULL;
}

/* All of a stager's work; killed: it just goes away. */
int work_stage(struct work *w, const char *from, const char *to,
	       const struct hp_io *io, struct hpdsl_error *err)
{
	int r;

	memset(err, 0, sizeof *err);
	r = work_begin(w, from, to, io, err);
	if (r == 0)
		r = work_publish(w, err);
	if (r == 0) {
		hpdsl_stage_beat(w->s);
		r = work_copy(w, from, err);
	}
	if (w->s)
		hpdsl_stage_end(w->s, r, NULL);
	work_release(w);
	return r;
}

void work_must(struct work *w, const char *from)
{
	struct hpdsl_error err;
	int r = work_stage(w, from, work_dir, NULL, &err);

	if (r && !(w->most && r == HPDSL_ESTOPPED))
		fail_msg("%d %s", r, err.msg);
}

struct hpdsl_stage_status work_status(void)
{
	struct hpdsl_stage_status s;
	struct hpdsl_error err;

	if (hpdsl_stage_status(work_dir, NULL, &s, &err))
		fail_msg("%s", err.msg);
	return s;
}

/* ---- What is there ---------------------------------------------------- */

const char *work_at(const char *name)
{
	static char buf[4][600];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(buf[turn], sizeof buf[turn], "%s/%s", work_dir, name);
	return buf[turn];
}

bool work_has(const char *name)
{
	return access(work_at(name), F_OK) == 0;
}

void work_fresh(void)
{
	folder_remove(work_dir);
}

int work_setup(void **unused)
{
	(void)unused;
	packed_begin(&work_fix);
	for (unsigned i = 0; i < 40; i++) {
		char name[40];

		snprintf(name, sizeof name, "d%u/f%02u.txt", i % 3, i);
		packed_file(&work_fix, name, 400 + 97 * i, 0644, 1700000000, 0);
	}
	packed_pack(&work_fix, (struct hpdsl_pack_options){ .chunks = 4 });
	snprintf(work_plain, sizeof work_plain, "%s/plain", work_fix.top);
	snprintf(work_zst, sizeof work_zst, "%s/zst", work_fix.top);
	snprintf(work_other, sizeof work_other, "%s/other", work_fix.top);
	snprintf(work_dir, sizeof work_dir, "%s/dir", work_fix.top);
	run("mv %s %s", work_fix.out, work_plain);
	packed_pack(&work_fix,
		    (struct hpdsl_pack_options){ .chunks = 4, .zstd = 3 });
	run("mv %s %s", work_fix.out, work_zst);
	packed_pack(&work_fix,
		    (struct hpdsl_pack_options){ .chunks = 4, .seed = 5 });
	run("mv %s %s", work_fix.out, work_other);
	return 0;
}

int work_teardown(void **unused)
{
	(void)unused;
	packed_end(&work_fix);
	return 0;
}
