/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epochs: against a model that goes sample by sample; every sample once over
 * all ranks, however they change; and as random as they should be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "order/private.h"
#include "wrap.h"

#define MOST 256

/* ---- Epochs of made-up chunks ----------------------------------------- */

enum kind { ALL, SOME, WEIGHTS };

/* n chunks of so many samples; weight: of each sample, for what is no ALL. */
struct made {
	uint32_t n;
	const uint64_t *samples;
	enum kind kind;
	const uint64_t *weight;
	struct hpdsl_choice choice;
	struct hpdsl_epoch *e;
};

static void fill_choice(struct made *m, uint64_t n)
{
	struct hpdsl_choice *c = &m->choice;

	*c = (struct hpdsl_choice){ .n = n };
	c->bits = calloc(hp_choice_words(n), sizeof *c->bits);
	for (uint64_t s = 0; s < n; s++)
		if (m->weight[s]) {
			c->bits[s / 64] |= UINT64_C(1) << s % 64;
			c->chosen++;
		}
	if (m->kind == WEIGHTS) {
		c->by_sample = calloc(n, sizeof *c->by_sample);
		memcpy(c->by_sample, m->weight, n * sizeof *c->by_sample);
	}
}

static int try_make(struct made *m, const struct hpdsl_order *o,
		    struct hpdsl_error *err)
{
	uint64_t *first = calloc(m->n + 1, sizeof *first);
	int r;

	for (uint32_t c = 0; c < m->n; c++)
		first[c + 1] = first[c] + m->samples[c];
	m->choice = (struct hpdsl_choice){ 0 };
	if (m->kind != ALL)
		fill_choice(m, first[m->n]);
	m->e = NULL;
	r = hp_epoch_make(o, first, m->n, m->kind != ALL ? &m->choice : NULL,
			  &m->e, err);
	free(first);
	return r;
}

static void unmake(struct made *m)
{
	hpdsl_epoch_free(m->e);
	free(m->choice.bits);
	free(m->choice.by_sample);
}

static void make(struct made *m, const struct hpdsl_order *o)
{
	struct hpdsl_error err = { 0 };

	if (try_make(m, o, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Of all positions; free it. */
static uint64_t *all_of(const struct hpdsl_epoch *e)
{
	uint64_t *v = calloc(e->samples, sizeof *v);

	for (uint64_t p = 0; p < e->samples; p++)
		assert_int_equal(hpdsl_epoch_at(e, p, &v[p], NULL), 0);
	return v;
}

/* ---- The model -------------------------------------------------------- */

static const struct vector {
	struct hpdsl_order o;
	uint32_t n;
	uint64_t samples[10];
	enum kind kind;
	uint64_t weight[MOST];
	uint64_t positions;
	enum hpdsl_end end;
	uint64_t steps;
	uint32_t rank, ranks;
	uint64_t at[MOST];
	uint64_t last[MOST]; /* positions of the rank in the last step */
	uint64_t real;	     /* of these */
} vectors[] = {
#include "epoch_vectors.h"
};

/* The windows, one behind the other, hold the same. */
static void windows_agree(const struct hpdsl_epoch *e, const uint64_t *at)
{
	const struct hpdsl_order *o = &e->o;
	uint64_t windows = 0, samples = 0;
	uint64_t order[MOST], held[MOST];
	struct hp_window w;

	for (uint32_t l = 0; l < hp_epoch_lanes(e); l++) {
		uint64_t x = 0;

		for (uint64_t i = 0; i < hp_epoch_windows(e, l); i++) {
			uint64_t n = 0;

			hp_epoch_window(e, l, i, &w);
			assert_true(w.begin == x && w.number == i);
			assert_in_range(w.pieces, 1, o->window);
			for (uint32_t p = 0; p < w.pieces; p++) {
				hp_epoch_samples(e, &w.piece[p], held + n);
				assert_int_equal(w.piece[p].begin, x + n);
				n += w.piece[p].samples;
			}
			assert_int_equal(n, w.samples);
			hp_epoch_shuffle(e, &w, 0, n, order);
			for (uint64_t y = 0; y < n; y++, x++) {
				uint64_t j = x / o->run * o->lanes + l;

				assert_int_equal(hp_epoch_window_of(e, l, x),
						 i);
				assert_int_equal(at[j * o->run + x % o->run],
						 held[order[y]]);
			}
		}
		assert_int_equal(hp_epoch_lane_samples(e, l), x);
		windows += hp_epoch_windows(e, l);
		samples += x;
	}
	assert_int_equal(windows, e->windows);
	assert_int_equal(samples, e->samples);
}

static void steps_agree(const struct vector *v, const struct hpdsl_epoch *e)
{
	struct hpdsl_share share = { .rank = v->rank,
				     .ranks = v->ranks,
				     .uneven = true };
	struct hpdsl_place place[MOST];
	uint64_t real = 0;
	int64_t n;

	assert_int_equal(hpdsl_epoch_steps(e, v->end), v->steps);
	if (!v->steps)
		return;
	n = hpdsl_epoch_step(e, v->end, v->steps - 1, &share, place, MOST,
			     NULL);
	assert_in_range(n, 1, MOST);
	assert_int_equal(hpdsl_epoch_step(e, v->end, v->steps - 1, &share, NULL,
					  0, NULL),
			 n);
	for (int64_t i = 0; i < n; i++) {
		assert_int_equal(place[i].position, v->last[i]);
		assert_int_equal(place[i].sample, v->at[v->last[i]]);
		real += place[i].real;
	}
	assert_int_equal(real, v->real);
}

static void the_model_agrees(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		const struct vector *v = &vectors[i];
		struct made m = { .n = v->n,
				  .samples = v->samples,
				  .kind = v->kind,
				  .weight = v->weight };
		uint64_t *at;

		make(&m, &v->o);
		at = all_of(m.e);
		assert_int_equal(m.e->samples, v->positions);
		if (memcmp(at, v->at, v->positions * sizeof *at))
			fail_msg("vector %zu differs", i);
		windows_agree(m.e, at);
		steps_agree(v, m.e);
		free(at);
		unmake(&m);
	}
}

/* ---- Once each -------------------------------------------------------- */

struct random {
	uint64_t state;
};

static uint64_t draw(struct random *r, uint64_t n)
{
	r->state = r->state * 6364136223846793005U + 1442695040888963407U;
	return (r->state >> 33) % n;
}

enum { CHUNKS = 12, SAMPLES = 40 * CHUNKS, PLACES = 420 * 9 };

/* A dataset, a choice and an order, all drawn. */
struct drawn {
	struct made made;
	uint64_t samples[CHUNKS], weight[SAMPLES];
	struct hpdsl_order o;
};

static void draw_dataset(struct drawn *d, struct random *r, enum kind kind)
{
	d->made = (struct made){ .n = 1 + (uint32_t)draw(r, CHUNKS),
				 .samples = d->samples,
				 .kind = kind,
				 .weight = d->weight };
	for (uint32_t c = 0; c < d->made.n; c++)
		d->samples[c] = 1 + draw(r, draw(r, 2) ? 40 : 4);
	for (int s = 0; s < SAMPLES; s++)
		d->weight[s] =
			kind == SOME ? draw(r, 3) != 0 : draw(r, 4) << 30;
	/* so that there is one at least */
	d->weight[0] = 2 * HPDSL_WEIGHT_ONE;
}

/* L may be above the number of chunks and of runs, W is 1 to all of them. */
static void draw_order(struct drawn *d, struct random *r, uint32_t least_runs)
{
	uint32_t parts = draw(r, 2) ? 1 : 1 + (uint32_t)draw(r, 5);

	d->o = (struct hpdsl_order){
		.seed = draw(r, UINT32_MAX),
		.epoch = draw(r, 3),
		.window = 1 + (uint32_t)draw(r, d->made.n),
		.lanes = parts * (1 + (uint32_t)draw(r, 6)),
		.run = 1 + (uint32_t)draw(r, 9),
		.step_runs = least_runs + (uint32_t)draw(r, 8),
		.parts = parts,
	};
}

/* How often each sample came, and each step's positions as one number. */
struct tally {
	uint32_t times[SAMPLES];
	uint32_t positions[3 * SAMPLES];
};

/* What rank does in one step; the same number of places for each. */
static void do_step(const struct drawn *d, enum hpdsl_end end, uint64_t step,
		    struct hpdsl_share share, struct tally *t, int64_t *places)
{
	static struct hpdsl_place place[PLACES];
	int64_t n = hpdsl_epoch_step(d->made.e, end, step, &share, place,
				     PLACES, NULL);
	uint64_t batch = (uint64_t)d->o.step_runs * d->o.run;

	assert_in_range(n, 1, PLACES);
	if (d->o.step_runs % share.ranks == 0)
		assert_int_equal(n, batch / share.ranks);
	*places += n;
	for (int64_t i = 0; i < n; i++) {
		if (!place[i].real)
			continue;
		t->times[place[i].sample]++;
		t->positions[place[i].position]++;
		/* those that a job of one rank has in this step */
		if (end != HPDSL_END_REPEAT)
			assert_int_equal(place[i].position / batch, step);
	}
}

/* Steps from .. to - 1 by ranks of which each has workers. */
static void do_steps(const struct drawn *d, enum hpdsl_end end, uint64_t from,
		     uint64_t to, struct hpdsl_share share, struct tally *t)
{
	uint32_t workers = share.workers ? share.workers : 1;
	uint64_t done = 0;

	for (uint32_t w = 0; w < workers; w++) {
		for (uint64_t s = from + w; s < to; s += workers, done++) {
			int64_t places = 0;

			for (share.rank = 0; share.rank < share.ranks;
			     share.rank++)
				do_step(d, end, s, share, t, &places);
			assert_int_equal(places, d->o.step_runs * d->o.run);
		}
	}
	assert_int_equal(done, to - from);
}

static void check_tally(const struct drawn *d, enum hpdsl_end end,
			const struct tally *t)
{
	const struct hpdsl_epoch *e = d->made.e;
	uint64_t batch = (uint64_t)d->o.step_runs * d->o.run;
	uint64_t steps = hpdsl_epoch_steps(e, end), real = 0;
	uint32_t expected[SAMPLES] = { 0 };

	for (uint64_t p = 0; p < e->samples; p++) {
		uint64_t s;

		assert_int_equal(hpdsl_epoch_at(e, p, &s, NULL), 0);
		expected[s] += t->positions[p];
		real += t->positions[p];
		if (end == HPDSL_END_MASK)
			assert_int_equal(t->positions[p], 1);
		if (end == HPDSL_END_DROP)
			assert_int_equal(t->positions[p], p < steps * batch);
		if (end == HPDSL_END_REPEAT)
			assert_true(t->positions[p] >= 1);
	}
	assert_memory_equal(expected, t->times, sizeof expected);
	assert_int_equal(real,
			 end == HPDSL_END_MASK ? e->samples : steps * batch);
}

/* All positions hold what was chosen, as often as it should come. */
static void check_whole(const struct drawn *d)
{
	uint32_t times[SAMPLES] = { 0 };
	uint64_t *at = all_of(d->made.e), n = d->made.e->first[0];

	for (uint32_t c = 0; c < d->made.n; c++)
		n += d->samples[c];
	for (uint64_t p = 0; p < d->made.e->samples; p++)
		times[at[p]]++;
	for (uint64_t s = 0; s < n; s++) {
		uint64_t w = d->weight[s];

		if (d->made.kind == ALL)
			assert_int_equal(times[s], 1);
		else if (d->made.kind == SOME)
			assert_int_equal(times[s], w != 0);
		else
			assert_in_range(times[s], w >> 32,
					(w + UINT32_MAX) >> 32);
	}
	free(at);
}

/*
 * For 1 to 7 ranks with 0 to 3 workers, every end, every kind of choice:
 * stopped at some step and gone on with by other ranks and workers.
 */
static void every_sample_once(void **state)
{
	struct random r = { 7 };
	struct drawn d;

	(void)state;
	for (uint32_t i = 0; i < 7 * 4 * 3 * 3 * 4; i++) {
		enum hpdsl_end end = (enum hpdsl_end)(i / 28 % 3);
		struct hpdsl_share share = { .ranks = 1 + i % 7,
					     .workers = i / 7 % 4,
					     .uneven = true };
		struct tally t = { { 0 }, { 0 } };
		uint64_t steps, stop;

		draw_dataset(&d, &r, (enum kind)(i / 84 % 3));
		draw_order(&d, &r, 7);
		if (i % 2)
			d.o.step_runs = 7 * 2 * 3 * 2 * 5;
		make(&d.made, &d.o);
		check_whole(&d);
		steps = hpdsl_epoch_steps(d.made.e, end);
		stop = draw(&r, steps + 1);
		do_steps(&d, end, 0, stop, share, &t);
		share.ranks = 1 + (uint32_t)draw(&r, 7);
		share.workers = (uint32_t)draw(&r, 4);
		do_steps(&d, end, stop, steps, share, &t);
		check_tally(&d, end, &t);
		unmake(&d.made);
	}
}

/* Rank t has the runs whose number in the step is t modulo the ranks. */
static void ranks_take_turns(void **state)
{
	static const uint64_t samples[] = { 50, 50 };
	struct made m = { .n = 2, .samples = samples };
	struct hpdsl_order o = { .run = 5, .step_runs = 4 };
	struct hpdsl_share share = { .rank = 1, .ranks = 3, .uneven = true };
	struct hpdsl_place place[20];
	struct hpdsl_error err;

	(void)state;
	make(&m, &o);
	assert_int_equal(hpdsl_epoch_step(m.e, HPDSL_END_MASK, 2, &share, place,
					  20, NULL),
			 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(place[i].position, 45 + i);
	share.rank = 0;
	assert_int_equal(hpdsl_epoch_step(m.e, HPDSL_END_MASK, 2, &share, place,
					  20, NULL),
			 10);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(place[i].position, (i < 5 ? 40 : 50) + i);
	assert_int_equal(hpdsl_epoch_step(m.e, HPDSL_END_MASK, 2, &share, place,
					  9, &err),
			 -ENOSPC);
	assert_int_equal(hpdsl_epoch_step(m.e, HPDSL_END_MASK, 5, &share, place,
					  20, &err),
			 -ERANGE);
	assert_string_equal(err.msg, "no step 5, the epoch has 5");
	share.ranks = 5;
	assert_int_equal(hpdsl_epoch_step(m.e, HPDSL_END_MASK, 0, &share, place,
					  20, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, "5 ranks cannot share steps of 4 runs");
	share = (struct hpdsl_share){ .ranks = 3 };
	assert_int_equal(hpdsl_epoch_step(m.e, HPDSL_END_MASK, 0, &share, place,
					  20, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, "3 ranks do not divide a step of 4 runs "
				     "(uneven: let ranks differ by a run)");
	share = (struct hpdsl_share){ .rank = 4, .ranks = 4 };
	assert_int_equal(hpdsl_epoch_step(m.e, HPDSL_END_MASK, 0, &share, place,
					  20, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, "no rank 4 of 4, worker 0 of 1");
	assert_int_equal(hpdsl_epoch_at(m.e, 100, NULL, &err), -ERANGE);
	assert_string_equal(err.msg, "no position 100, the epoch has 100");
	unmake(&m);
}

/* Where all numbers divide, a rank reads chunks of its node's part alone. */
static void parts_are_local(void **state)
{
	static const uint64_t samples[] = { 32, 32, 32, 32, 32, 32, 32, 32 };
	struct made m = { .n = 8, .samples = samples };
	struct hpdsl_order o = {
		.seed = 6, .lanes = 8, .run = 4, .step_runs = 8, .parts = 4
	};
	struct hpdsl_share share = { .ranks = 8 };
	struct hpdsl_place place[4];
	uint64_t seen = 0;

	(void)state;
	make(&m, &o);
	for (uint64_t s = 0; s < hpdsl_epoch_steps(m.e, HPDSL_END_MASK); s++) {
		for (share.rank = 0; share.rank < 8; share.rank++) {
			assert_int_equal(hpdsl_epoch_step(m.e, HPDSL_END_MASK,
							  s, &share, place, 4,
							  NULL),
					 4);
			for (int i = 0; i < 4; i++, seen++)
				assert_int_equal(place[i].sample / 32 % 4,
						 share.rank % 4);
		}
	}
	assert_int_equal(seen, 256);
	unmake(&m);
}

/* ---- Chance ----------------------------------------------------------- */

/* Chi-squared of counts that should be alike. */
static double chi_squared(const uint32_t *counts, size_t n)
{
	double sum = 0, expected, x = 0;

	for (size_t i = 0; i < n; i++)
		sum += counts[i];
	expected = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		x += (counts[i] - expected) * (counts[i] - expected) / expected;
	return x;
}

/* n - 1 degrees of freedom, to five standard deviations: one in a million. */
static void assert_chance(const uint32_t *counts, size_t n)
{
	double df = (double)n - 1, x = chi_squared(counts, n);

	if (x > df + 5 * sqrt(2 * df))
		fail_msg("chi-squared of %zu counts is %g", n, x);
	/* nor more alike than chance has it */
	if (x < df - 5 * sqrt(2 * df))
		fail_msg("chi-squared of %zu counts is only %g", n, x);
}

/* With one lane and a window of all chunks each order is as likely. */
static void one_window_is_a_full_shuffle(void **state)
{
	static const uint64_t samples[] = { 2, 1, 2 };
	struct made m = { .n = 3, .samples = samples };
	uint32_t counts[120] = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 24000; i++) {
		struct hpdsl_order o = { .seed = i / 100,
					 .epoch = i % 100,
					 .window = 3,
					 .lanes = 1,
					 .run = 2 };
		unsigned number = 0;
		uint64_t *at;

		make(&m, &o);
		at = all_of(m.e);
		for (unsigned p = 0; p < 5; p++) {
			unsigned less = 0;

			for (unsigned k = p + 1; k < 5; k++)
				less += at[k] < at[p];
			number = number * (5 - p) + less;
		}
		counts[number]++;
		free(at);
		unmake(&m);
	}
	assert_chance(counts, 120);
}

/*
 * Over the epochs a sample comes everywhere: its tenth of the epoch, its place
 * in a run, and the distance to its neighbour in the chunk.
 */
static void positions_are_even(void **state)
{
	enum { N = 400, EPOCHS = 400 };
	static const uint64_t samples[10] = { 40, 40, 40, 40, 40,
					      40, 40, 40, 40, 40 };
	struct made m = { .n = 10, .samples = samples };
	uint32_t tenth[10] = { 0 }, place[8] = { 0 }, lane[4] = { 0 };
	uint32_t before[2] = { 0 };

	(void)state;
	for (uint64_t i = 0; i < EPOCHS; i++) {
		struct hpdsl_order o = { .seed = 5,
					 .epoch = i,
					 .window = 2,
					 .lanes = 4,
					 .run = 8,
					 .parts = 1 + i % 2 };
		uint64_t *at, where[N];

		make(&m, &o);
		at = all_of(m.e);
		for (uint64_t p = 0; p < N; p++)
			where[at[p]] = p;
		/* one of each epoch, so that counts are independent */
		tenth[where[i % N] / 40]++;
		place[where[(i + 7) % N] % 8]++;
		lane[where[(i + 11) % N] / 8 % 4]++;
		before[where[i / 2 * 2 % N] < where[(i / 2 * 2 + 1) % N]]++;
		free(at);
		unmake(&m);
	}
	assert_chance(tenth, 10);
	assert_chance(place, 8);
	assert_true(chi_squared(lane, 4) < 27);
	assert_true(chi_squared(before, 2) < 24);
}

/* A weight of w comes floor(w) times, and its fraction as often as it says. */
static void weights_are_kept(void **state)
{
	enum { N = 5, EPOCHS = 4000 };
	static const uint64_t samples[] = { N };
	static const uint64_t weight[N] = { HPDSL_WEIGHT_ONE / 4,
					    3 * HPDSL_WEIGHT_ONE / 2,
					    2 * HPDSL_WEIGHT_ONE, 0, 1 };
	struct made m = {
		.n = 1, .samples = samples, .kind = WEIGHTS, .weight = weight
	};
	uint32_t times[N] = { 0 }, both = 0;

	(void)state;
	for (uint64_t i = 0; i < EPOCHS; i++) {
		struct hpdsl_order o = { .seed = 3, .epoch = i };
		uint64_t *at;
		unsigned now[N] = { 0 };

		make(&m, &o);
		at = all_of(m.e);
		for (uint64_t p = 0; p < m.e->samples; p++) {
			times[at[p]]++;
			now[at[p]]++;
		}
		assert_in_range(now[1], 1, 2);
		both += now[0] == 1 && now[1] == 2;
		free(at);
		unmake(&m);
	}
	/* five standard deviations */
	assert_in_range(times[0], 1000 - 137, 1000 + 137);
	assert_in_range(times[1], 6000 - 158, 6000 + 158);
	assert_in_range(both, 500 - 105, 500 + 105);
	assert_int_equal(times[2], 2 * EPOCHS);
	assert_int_equal(times[3], 0);
	assert_int_equal(times[4], 0);
}

/* ---- Chunk-mates ------------------------------------------------------ */

/* The window of each place of a lane, and its step. */
static void look_up(const struct hpdsl_epoch *e, uint64_t position,
		    struct hp_window *w, uint64_t *step)
{
	uint64_t run = position / e->o.run;
	uint32_t lane = (uint32_t)(run % e->o.lanes);
	uint64_t x = run / e->o.lanes * e->o.run + position % e->o.run;

	hp_epoch_window(e, lane, hp_epoch_window_of(e, lane, x), w);
	*step = run / e->o.step_runs;
}

static bool same_window(const struct hp_window *a, const struct hp_window *b)
{
	return a->lane == b->lane && a->number == b->number;
}

/* Pairs of places that are in one step, of these two windows. */
static double meeting_places(const struct hpdsl_epoch *e,
			     const struct hp_window *a,
			     const struct hp_window *b)
{
	struct hp_window v, w;
	uint64_t s, t;
	double n = 0;

	for (uint64_t p = 0; p < e->samples; p++) {
		look_up(e, p, &v, &s);
		if (!same_window(&v, a))
			continue;
		for (uint64_t q = 0; q < e->samples; q++) {
			look_up(e, q, &w, &t);
			n += same_window(&w, b) && s == t && p != q;
		}
	}
	return n;
}

/* As it is defined, pair by pair. */
static double mates_by_pairs(const struct hpdsl_epoch *e)
{
	uint64_t n = e->samples, batch = (uint64_t)e->o.step_runs * e->o.run;
	double meet = 0, mates = 0, full = 0;
	struct hp_epoch_spot *spot = calloc(n, sizeof *spot);
	struct hp_window v, w;
	uint64_t s, t;

	hp_epoch_spots(e, 0, n, spot);
	for (uint64_t p = 0; p < n; p++) {
		for (uint64_t q = 0; q < n; q++) {
			full += p != q && p / batch == q / batch;
			if (p == q ||
			    spot[p].piece->chunk != spot[q].piece->chunk)
				continue;
			look_up(e, p, &v, &s);
			look_up(e, q, &w, &t);
			mates++;
			meet += meeting_places(e, &v, &w) /
				((double)v.samples *
				 (double)(w.samples - same_window(&v, &w)));
		}
	}
	free(spot);
	return meet / mates / (full / (double)(n * (n - 1)));
}

static void mates_are_expected_as_defined(void **state)
{
	struct random r = { 99 };
	double expected, measured;
	struct drawn d;

	(void)state;
	for (int i = 0; i < 30; i++) {
		draw_dataset(&d, &r, ALL);
		d.made.n = d.made.n < 4 ? 4 : d.made.n % 5 + 3;
		for (uint32_t c = 0; c < d.made.n; c++)
			d.samples[c] = 2 + draw(&r, 5);
		draw_order(&d, &r, 2);
		make(&d.made, &d.o);
		assert_int_equal(
			hp_epoch_mates(d.made.e, &expected, &measured, NULL),
			0);
		assert_true(fabs(expected - mates_by_pairs(d.made.e)) < 1e-9);
		unmake(&d.made);
	}
}

/* Of that size; about N / (min(Q, L) W k), and measured within 5 %. */
static void mates_of(uint32_t window, uint32_t lanes, uint32_t step_runs)
{
	enum { MANY = 400, EACH = 100 };
	static uint64_t samples[MANY];
	struct hpdsl_order o = { .seed = 1,
				 .window = window,
				 .lanes = lanes,
				 .step_runs = step_runs,
				 .run = 16 };
	struct made m = { .n = MANY, .samples = samples };
	double expected, measured, about;
	uint32_t mixed = lanes < step_runs ? lanes : step_runs;

	for (int c = 0; c < MANY; c++)
		samples[c] = EACH;
	make(&m, &o);
	assert_int_equal(hp_epoch_mates(m.e, &expected, &measured, NULL), 0);
	about = (double)MANY / (mixed * window);
	if (fabs(measured / expected - 1) > 0.05)
		fail_msg("%u, %u, %u: expected %g, measured %g", window, lanes,
			 step_runs, expected, measured);
	if (mixed * window < MANY / 2 && fabs(expected / about - 1) > 0.25)
		fail_msg("%u, %u, %u: expected %g, about %g", window, lanes,
			 step_runs, expected, about);
	unmake(&m);
}

static void mates_are_measured_as_expected(void **state)
{
	struct hpdsl_order o = { .lanes = 1, .window = 1 };
	static const uint64_t ones[] = { 1, 1, 1 }, one[] = { 50 };
	struct made m = { .n = 3, .samples = ones };
	double expected, measured;

	(void)state;
	mates_of(1, 1, 2);
	mates_of(4, 8, 8);
	mates_of(16, 8, 4);
	mates_of(400, 1, 8);
	mates_of(7, 20, 3);
	/* no chunk has two samples; all steps have one; all is one chunk */
	make(&m, &o);
	assert_int_equal(hp_epoch_mates(m.e, &expected, &measured, NULL), 0);
	assert_true(isnan(expected) && isnan(measured));
	unmake(&m);
	m = (struct made){ .n = 1, .samples = one };
	o.run = 7;
	make(&m, &o);
	assert_int_equal(hp_epoch_mates(m.e, &expected, &measured, NULL), 0);
	assert_true(fabs(expected - 1) < 1e-9 && fabs(measured - 1) < 1e-9);
	unmake(&m);
	o.run = o.step_runs = 1;
	make(&m, &o);
	assert_int_equal(hp_epoch_mates(m.e, &expected, &measured, NULL), 0);
	assert_true(isnan(expected) && isnan(measured));
	unmake(&m);
}

/* ---- What cannot be --------------------------------------------------- */

static void no_samples(void **state)
{
	static const uint64_t samples[] = { 2, 3 };
	static const uint64_t weight[5] = { 1 };
	struct made m = { .n = 0 };
	struct hpdsl_order o = { .seed = 1 };
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(try_make(&m, &o, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, "an order of no samples: there are none");
	unmake(&m);
	/* the one sample there is hardly ever comes */
	m = (struct made){
		.n = 2, .samples = samples, .kind = WEIGHTS, .weight = weight
	};
	assert_int_equal(try_make(&m, &o, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, "an order of no samples: there are none "
				     "chosen in this epoch");
	assert_null(m.e);
	unmake(&m);
	o = (struct hpdsl_order){ .lanes = 3, .parts = 2 };
	m.kind = ALL;
	assert_int_equal(try_make(&m, &o, &err), HPDSL_EUSAGE);
	unmake(&m);
}

static void too_many_samples(void **state)
{
	static const uint64_t samples[] = { 3 };
	static const uint64_t most[3] = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
	struct made m = {
		.n = 1, .samples = samples, .kind = WEIGHTS, .weight = most
	};
	struct hpdsl_order o = { .run = UINT32_MAX, .step_runs = UINT32_MAX };
	struct hpdsl_epoch_info info;
	uint64_t s;

	(void)state;
	/* billions of positions are no more work than a few */
	make(&m, &o);
	hpdsl_epoch_info(m.e, &info);
	assert_true(info.samples > 3 * (uint64_t)UINT32_MAX - 3);
	assert_int_equal(hpdsl_epoch_at(m.e, info.samples - 1, &s, NULL), 0);
	assert_true(s < 3);
	assert_int_equal(hpdsl_epoch_steps(m.e, HPDSL_END_MASK), 1);
	assert_int_equal(hpdsl_epoch_steps(m.e, HPDSL_END_DROP), 0);
	assert_int_equal(
		hpdsl_epoch_step(m.e, HPDSL_END_MASK, 0, NULL, NULL, 0, NULL),
		-ENOSPC);
	unmake(&m);
}

/* The k-th allocation fails, for every k until none does. */
static void no_memory(void **state)
{
	static const uint64_t samples[] = { 9, 1, 5 };
	static const uint64_t first[] = { 0, 9, 10, 15 };
	static const uint64_t weight[15] = { 1, 1, 1, 1, 1, 1, 1, 1,
					     1, 1, 1, 1, 1, 1, 0 };
	struct made m = {
		.n = 3, .samples = samples, .kind = SOME, .weight = weight
	};
	struct hpdsl_order o = { .parts = 2, .run = 2 };
	struct hpdsl_error err;
	int r = -ENOMEM;

	(void)state;
	fill_choice(&m, 15);
	for (long k = 1; r < 0; k++) {
		double expected, measured;

		m.e = NULL;
		wrap_fail_at(k, false);
		r = hp_epoch_make(&o, first, 3, &m.choice, &m.e, &err);
		if (r == 0)
			r = hp_epoch_mates(m.e, &expected, &measured, &err);
		wrap_fail_at(0, false);
		assert_true(r == 0 ? k > 9 : r == -ENOMEM);
		if (r < 0)
			hpdsl_epoch_free(m.e);
	}
	unmake(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_model_agrees),
		cmocka_unit_test(every_sample_once),
		cmocka_unit_test(ranks_take_turns),
		cmocka_unit_test(parts_are_local),
		cmocka_unit_test(one_window_is_a_full_shuffle),
		cmocka_unit_test(positions_are_even),
		cmocka_unit_test(weights_are_kept),
		cmocka_unit_test(mates_are_expected_as_defined),
		cmocka_unit_test(mates_are_measured_as_expected),
		cmocka_unit_test(no_samples),
		cmocka_unit_test(too_many_samples),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
