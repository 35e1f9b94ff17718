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

#include "epoch_private.h"
#include "wrap.h"

#define MOST 256

/* ---- Epochs of made-up chunks ------------------------------------------ */

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

/* ---- The model --------------------------------------------------------- */

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
	struct hpdsl_share share = { .rank = v->rank, .ranks = v->ranks };
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_model_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
