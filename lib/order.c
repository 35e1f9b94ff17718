/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through the lanes of each part once, piece by piece, and notes for each
 * chunk the first run that wants it.  Memory: a few numbers a chunk, whatever
 * the number of samples, runs and lanes.
 */
#include "order.h"

#include "error.h"
#include "mem.h"
#include "perm.h"

#include <assert.h>
#include <errno.h>

#define LANES 8
#define WINDOW 16
#define RUN 32
#define STEP_RUNS 8

struct stretch {
	uint32_t chunk;
	uint64_t samples;
};

/* Whether, when, and where in its lane a chunk is first wanted. */
struct use {
	enum { WANTED, PAST, EMPTY } when;
	uint32_t chunk;
	uint64_t run, place;
};

struct walk {
	struct hpdsl_order o;
	const uint64_t *samples;
	uint32_t n;
	uint64_t total, runs; /* N, B */
	uint64_t first_run;   /* of the step */
	uint32_t *part;	      /* chunks of one part, in its order */
	struct stretch *queue;
	uint32_t queue_from, queue_to;
	struct stretch *pieces; /* of one lane */
	uint32_t n_pieces;
	struct use *use; /* of each chunk */
};

struct hpdsl_order hp_order_filled(const struct hpdsl_order *o)
{
	struct hpdsl_order f = *o;

	if (!f.parts)
		f.parts = 1;
	if (!f.lanes)
		f.lanes = f.parts >= LANES ?
				  f.parts :
				  (LANES + f.parts - 1) / f.parts * f.parts;
	if (!f.window)
		f.window = WINDOW;
	if (!f.run)
		f.run = RUN;
	if (!f.step_runs)
		f.step_runs = STEP_RUNS;
	return f;
}

int hp_order_check(const struct hpdsl_order *o, struct hpdsl_error *err)
{
	struct hpdsl_order f = hp_order_filled(o);

	if (f.lanes % f.parts)
		return hp_fail(err, HPDSL_EUSAGE,
			       "an order of %u lanes cannot have %u parts",
			       f.lanes, f.parts);
	return 0;
}

/* n_l: of every round of L runs one, and of the last, shorter round maybe. */
static uint64_t lane_samples(const struct walk *w, uint64_t lane)
{
	uint64_t l = w->o.lanes, k = w->o.run, runs;

	if (lane >= w->runs)
		return 0;
	runs = (w->runs - 1 - lane) / l + 1;
	if ((w->runs - 1) % l == lane)
		return (runs - 1) * k + (w->total - (w->runs - 1) * k);
	return runs * k;
}

static uint64_t part_need(const struct walk *w, uint32_t part)
{
	uint64_t sum = 0;

	for (uint64_t l = part; l < w->o.lanes && l < w->runs; l += w->o.parts)
		sum += lane_samples(w, l);
	return sum;
}

/* The part's chunks that have samples, in its order; how many. */
static uint32_t part_chunks(struct walk *w, uint32_t part)
{
	uint64_t key = hp_perm_key(w->o.seed, "chunks",
				   (uint64_t[]){ w->o.epoch, part }, 2);
	uint32_t m = 0, *by_number = w->part + w->n;
	struct hp_perm perm;

	for (uint64_t c = part; c < w->n; c += w->o.parts)
		if (w->samples[c])
			by_number[m++] = (uint32_t)c;
	if (m)
		hp_perm_init(&perm, m, key);
	for (uint32_t i = 0; i < m; i++)
		w->part[i] = by_number[hp_perm_at(&perm, i)];
	return m;
}

/* What the part has over its need, behind the queue. */
static void queue_surplus(struct walk *w, uint32_t part)
{
	uint32_t m = part_chunks(w, part);
	uint64_t need = part_need(w, part);

	for (uint32_t i = 0; i < m; i++) {
		uint64_t has = w->samples[w->part[i]];
		uint64_t keeps = has < need ? has : need;

		need -= keeps;
		if (keeps < has)
			w->queue[w->queue_to++] =
				(struct stretch){ w->part[i], has - keeps };
	}
}

static bool earlier(const struct use *a, const struct use *b)
{
	if (a->when != b->when)
		return a->when < b->when;
	if (a->run != b->run)
		return a->run < b->run;
	if (a->place != b->place)
		return a->place < b->place;
	return a->chunk < b->chunk;
}

/* Pieces from to to of the lane, of n samples, behind begin others. */
static void see_window(struct walk *w, uint64_t lane, uint64_t begin,
		       uint32_t from, uint32_t to)
{
	uint64_t lanes = w->o.lanes, n = 0, first, last;
	struct use u = { .when = WANTED };

	for (uint32_t i = from; i < to; i++)
		n += w->pieces[i].samples;
	first = begin / w->o.run * lanes + lane;
	last = (begin + n - 1) / w->o.run * lanes + lane;
	u.run = first;
	if (last < w->first_run)
		u.when = PAST;
	else if (first < w->first_run)
		u.run += (w->first_run - first + lanes - 1) / lanes * lanes;
	for (uint32_t i = from; i < to; i++) {
		u.chunk = w->pieces[i].chunk;
		u.place = i;
		if (earlier(&u, &w->use[u.chunk]))
			w->use[u.chunk] = u;
	}
}

static void see_lane(struct walk *w, uint64_t lane)
{
	uint64_t q = w->n_pieces, begin = 0;
	uint64_t v = (q + w->o.window - 1) / w->o.window;

	for (uint64_t i = 0; i < v; i++) {
		uint32_t from = (uint32_t)(i * q / v);
		uint32_t to = (uint32_t)((i + 1) * q / v);

		see_window(w, lane, begin, from, to);
		for (uint32_t k = from; k < to; k++)
			begin += w->pieces[k].samples;
	}
}

/* Moves up to n samples from a stretch to the end of the lane; how many. */
static uint64_t take(struct walk *w, struct stretch *from, uint64_t n)
{
	if (n > from->samples)
		n = from->samples;
	if (w->n_pieces && w->pieces[w->n_pieces - 1].chunk == from->chunk)
		w->pieces[w->n_pieces - 1].samples += n;
	else
		w->pieces[w->n_pieces++] = (struct stretch){ from->chunk, n };
	from->samples -= n;
	return n;
}

/* The next samples of a part: its own as long as there are any. */
struct cursor {
	uint32_t i, m;
	struct stretch own;
};

static struct stretch *next_stretch(struct walk *w, struct cursor *c)
{
	if (!c->own.samples && c->i < c->m) {
		c->own.chunk = w->part[c->i];
		c->own.samples = w->samples[w->part[c->i++]];
	}
	if (c->own.samples)
		return &c->own;
	if (w->queue_from < w->queue_to && !w->queue[w->queue_from].samples)
		w->queue_from++;
	assert(w->queue_from < w->queue_to);
	return &w->queue[w->queue_from];
}

static void see_part(struct walk *w, uint32_t part)
{
	struct cursor c = { .m = part_chunks(w, part) };

	for (uint64_t l = part; l < w->o.lanes && l < w->runs;
	     l += w->o.parts) {
		uint64_t left = lane_samples(w, l);

		w->n_pieces = 0;
		while (left)
			left -= take(w, next_stretch(w, &c), left);
		see_lane(w, l);
	}
}

static int compare_use(const void *a, const void *b)
{
	return earlier(a, b) ? -1 : earlier(b, a);
}

static int begin(struct walk *w, struct hpdsl_error *err)
{
	for (uint32_t c = 0; c < w->n; c++) {
		if (__builtin_add_overflow(w->total, w->samples[c],
					   &w->total) ||
		    w->total > INT64_MAX)
			return hp_fail(err, HPDSL_EUSAGE,
				       "too many samples for an order");
		w->use[c] = (struct use){ .when = EMPTY, .chunk = c };
	}
	w->runs = w->total / w->o.run + (w->total % w->o.run > 0);
	if (__builtin_mul_overflow(w->o.step, w->o.step_runs, &w->first_run))
		w->first_run = UINT64_MAX;
	return 0;
}

static void see_all(struct walk *w)
{
	uint32_t parts = w->o.parts;

	for (uint32_t p = 0; p < parts && p < w->n; p++)
		queue_surplus(w, p);
	for (uint32_t p = 0; p < parts && p < w->runs; p++)
		see_part(w, p);
}

int hp_order_first_use(const struct hpdsl_order *o, const uint64_t *samples,
		       uint32_t n, uint32_t *ret, struct hpdsl_error *err)
{
	struct walk w = { .o = hp_order_filled(o), .samples = samples, .n = n };
	hp_auto_free uint32_t *part = hp_array(n, 2 * sizeof *part);
	hp_auto_free struct stretch *queue = hp_array(n, sizeof *queue);
	/* a lane has a chunk twice at most: its own part, and from the queue */
	hp_auto_free struct stretch *pieces = hp_array(n, 2 * sizeof *pieces);
	hp_auto_free struct use *use = hp_array(n, sizeof *use);
	int r = hp_order_check(o, err);

	if (r < 0)
		return r;
	if (!part || !queue || !pieces || !use)
		return hp_fail_nomem(err);
	w.part = part;
	w.queue = queue;
	w.pieces = pieces;
	w.use = use;
	r = begin(&w, err);
	if (r < 0)
		return r;
	see_all(&w);
	qsort(use, n, sizeof *use, compare_use);
	for (uint32_t i = 0; i < n; i++)
		ret[i] = use[i].chunk;
	return 0;
}
