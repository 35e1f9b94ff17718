/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs, lanes, parts and the cut: steps 1 to 4 of hpdsl-order(7).  Goes through
 * the lanes of each part once, piece by piece.
 */
#include "order/order.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/perm.h"

#include <assert.h>

struct walk {
	const struct hpdsl_order *o;
	const uint64_t *samples;
	uint32_t n;
	uint64_t total, runs; /* N, B */
	uint32_t *by_number;  /* chunks of one part */
	uint32_t *part;	      /* the same, in its order */
	uint32_t n_part;
	struct hp_piece *queue;
	uint32_t queue_from, queue_to;
	struct hp_piece *pieces; /* of one lane */
	uint32_t n_pieces, room;
};

/* n_l: of every round of L runs one, and of the last, shorter round maybe. */
static uint64_t lane_samples(const struct walk *w, uint64_t lane)
{
	uint64_t l = w->o->lanes, k = w->o->run, runs;

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

	for (uint64_t l = part; l < w->o->lanes && l < w->runs;
	     l += w->o->parts)
		sum += lane_samples(w, l);
	return sum;
}

/* The part's chunks that have samples, in its order. */
static void part_chunks(struct walk *w, uint32_t part)
{
	enum { SOME = 512 };
	uint64_t key = hp_perm_key(w->o->seed, "chunks",
				   (uint64_t[]){ w->o->epoch, part }, 2);
	uint64_t at[SOME];
	struct hp_perm perm;
	uint32_t m = 0;

	for (uint64_t c = part; c < w->n; c += w->o->parts)
		if (w->samples[c])
			w->by_number[m++] = (uint32_t)c;
	w->n_part = m;
	if (m)
		hp_perm_init(&perm, m, key);
	for (uint32_t i = 0; i < m; i += SOME) {
		uint32_t n = m - i < SOME ? m - i : SOME;

		hp_perm_range(&perm, i, n, at);
		for (uint32_t k = 0; k < n; k++)
			w->part[i + k] = w->by_number[at[k]];
	}
}

/* What the part has over its need, behind the queue. */
static void queue_surplus(struct walk *w, uint32_t part)
{
	uint64_t need = part_need(w, part);

	part_chunks(w, part);
	for (uint32_t i = 0; i < w->n_part; i++) {
		uint64_t has = w->samples[w->part[i]];
		uint64_t keeps = has < need ? has : need;

		need -= keeps;
		if (keeps < has)
			w->queue[w->queue_to++] =
				(struct hp_piece){ .chunk = w->part[i],
						   .skip = keeps,
						   .samples = has - keeps };
	}
}

/* Moves up to n samples from a stretch to the end of the lane; how many. */
static uint64_t take(struct walk *w, struct hp_piece *from, uint64_t n,
		     uint64_t begin)
{
	struct hp_piece *p = &w->pieces[w->n_pieces++];

	if (n > from->samples)
		n = from->samples;
	*p = (struct hp_piece){ .chunk = from->chunk,
				.begin = begin,
				.skip = from->skip,
				.samples = n };
	from->skip += n;
	from->samples -= n;
	return n;
}

/* The next samples of a part: its own as long as there are any. */
struct cursor {
	uint32_t i;
	struct hp_piece own;
};

static struct hp_piece *next_stretch(struct walk *w, struct cursor *c)
{
	if (!c->own.samples && c->i < w->n_part) {
		c->own = (struct hp_piece){ .chunk = w->part[c->i] };
		c->own.samples = w->samples[w->part[c->i++]];
	}
	if (c->own.samples)
		return &c->own;
	if (w->queue_from < w->queue_to && !w->queue[w->queue_from].samples)
		w->queue_from++;
	assert(w->queue_from < w->queue_to);
	return &w->queue[w->queue_from];
}

static bool make_room(struct walk *w)
{
	uint32_t room = w->room ? 2 * w->room : 64;
	struct hp_piece *p;

	if (w->n_pieces < w->room)
		return true;
	p = reallocarray(w->pieces, room, sizeof *p);
	if (!p)
		return false;
	w->pieces = p;
	w->room = room;
	return true;
}

/*
 * A part that keeps a part of a chunk only lacks nothing, so a lane never gets
 * two stretches of one chunk: each is a piece.
 */
static int fill_lane(struct walk *w, struct cursor *c, uint64_t samples,
		     struct hpdsl_error *err)
{
	uint64_t at = 0;

	w->n_pieces = 0;
	while (at < samples) {
		if (!make_room(w))
			return hp_fail_nomem(err);
		at += take(w, next_stretch(w, c), samples - at, at);
	}
	return 0;
}

struct viewer {
	int (*see)(void *arg, const struct hp_lane *lane,
		   struct hpdsl_error *err);
	void *arg;
};

static int see_part(struct walk *w, uint32_t part, const struct viewer *v,
		    struct hpdsl_error *err)
{
	struct cursor c = { 0 };
	int r = 0;

	part_chunks(w, part);
	for (uint64_t l = part; r == 0 && l < w->o->lanes && l < w->runs;
	     l += w->o->parts) {
		struct hp_lane lane = { .number = (uint32_t)l,
					.samples = lane_samples(w, l) };

		r = fill_lane(w, &c, lane.samples, err);
		lane.piece = w->pieces;
		lane.pieces = w->n_pieces;
		if (r == 0)
			r = v->see(v->arg, &lane, err);
	}
	return r;
}

static int see_all(struct walk *w, const struct viewer *v,
		   struct hpdsl_error *err)
{
	uint32_t parts = w->o->parts;
	int r = 0;

	/* a single part needs just what it has */
	for (uint32_t p = 0; parts > 1 && p < parts && p < w->n; p++)
		queue_surplus(w, p);
	for (uint32_t p = 0; r == 0 && p < parts && p < w->runs; p++)
		r = see_part(w, p, v, err);
	return r;
}

static int count(struct walk *w, struct hpdsl_error *err)
{
	for (uint32_t c = 0; c < w->n; c++)
		if (__builtin_add_overflow(w->total, w->samples[c],
					   &w->total) ||
		    w->total > INT64_MAX)
			return hp_fail(err, HPDSL_EUSAGE,
				       "too many samples for an order");
	w->runs = hp_order_runs(w->o, w->total);
	return 0;
}

int hp_order_lanes(const struct hpdsl_order *o, const uint64_t *samples,
		   uint32_t n,
		   int (*see)(void *arg, const struct hp_lane *lane,
			      struct hpdsl_error *err),
		   void *arg, struct hpdsl_error *err)
{
	struct viewer v = { .see = see, .arg = arg };
	struct walk w = { .o = o, .samples = samples, .n = n };
	hp_auto_free uint32_t *chunks = hp_array(n, 2 * sizeof *chunks);
	hp_auto_free struct hp_piece *queue =
		hp_array(o->parts > 1 ? n : 0, sizeof *queue);
	int r = count(&w, err);

	if (r < 0)
		return r;
	if (!chunks || !queue)
		return hp_fail_nomem(err);
	w.by_number = chunks;
	w.part = chunks + n;
	w.queue = queue;
	r = see_all(&w, &v, err);
	free(w.pieces);
	return r;
}
