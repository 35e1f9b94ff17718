/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often chunk-mates, two samples of one chunk, meet in a step: the price of
 * a small window.  In a window of n samples of which c_s are in step s, two
 * given samples meet with the probability sum of c_s (c_s - 1) / (n (n - 1));
 * one of this and one of another window, since these are shuffled
 * independently, with the sum of c_s / n times c'_s / n'.
 */
#include "order/private.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Two of n. */
static double pairs(uint64_t n)
{
	return n ? (double)n * (double)(n - 1) / 2 : 0;
}

/* Probability that two samples of a full shuffle meet. */
static double full_shuffle(const struct hpdsl_epoch *e)
{
	uint64_t g = (uint64_t)e->o.step_runs * e->o.run, n = e->samples;

	return ((double)(n / g) * pairs(g) + pairs(n % g)) / pairs(n);
}

/* ---- Expected --------------------------------------------------------- */

/* How many of a window's samples are in one of its steps. */
struct part {
	uint64_t step, samples;
};

/* The window's next step, from its sample *x on; false at its end. */
static bool next_step(const struct hpdsl_epoch *e, const struct hp_window *w,
		      uint64_t *x, struct part *ret)
{
	uint64_t k = e->o.run, end = w->begin + w->samples;

	*ret = (struct part){ 0 };
	while (*x < end) {
		uint64_t run = hp_order_run(&e->o, w->lane, *x);
		uint64_t run_end = *x - *x % k + k;

		if (ret->samples && run / e->o.step_runs != ret->step)
			break;
		if (run_end > end)
			run_end = end;
		ret->step = run / e->o.step_runs;
		ret->samples += run_end - *x;
		*x = run_end;
	}
	return ret->samples > 0;
}

/* Of all pairs whose samples are in one window. */
static double within_windows(const struct hpdsl_epoch *e)
{
	double sum = 0;
	struct hp_window w;
	struct part part;

	for (uint32_t l = 0; l < e->n_lanes; l++) {
		for (uint64_t i = 0; i < hp_epoch_windows(e, l); i++) {
			double meet = 0, mates = 0;
			uint64_t x;

			hp_epoch_window(e, l, i, &w);
			for (uint32_t k = 0; k < w.pieces; k++)
				mates += pairs(w.piece[k].samples);
			x = w.begin;
			while (mates > 0 && next_step(e, &w, &x, &part))
				meet += pairs(part.samples);
			if (mates > 0)
				sum += mates * meet / pairs(w.samples);
		}
	}
	return sum;
}

/* A piece of a chunk that has several, which are in windows of their own. */
struct split {
	uint32_t chunk, lane;
	uint64_t samples, begin;
};

static int compare_split(const void *a, const void *b)
{
	const struct split *x = a, *y = b;

	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

/* All of them, by chunk; how many. */
static uint64_t find_splits(const struct hpdsl_epoch *e, uint32_t *pieces,
			    struct split *ret)
{
	uint64_t n = 0;

	memset(pieces, 0, e->n_chunks * sizeof *pieces);
	for (uint64_t i = 0; i < e->n_pieces; i++)
		pieces[e->piece[i].chunk]++;
	for (uint32_t l = 0; l < e->n_lanes; l++) {
		for (uint32_t k = 0; k < e->lane[l].pieces; k++) {
			const struct hp_piece *p =
				&e->piece[e->lane[l].first + k];

			if (pieces[p->chunk] > 1)
				ret[n++] =
					(struct split){ .chunk = p->chunk,
							.lane = l,
							.samples = p->samples,
							.begin = p->begin };
		}
	}
	qsort(ret, n, sizeof *ret, compare_split);
	return n;
}

/* How many of a piece's samples are expected in a step. */
struct share {
	uint64_t step;
	double samples;
};

struct shares {
	struct share *v;
	size_t n, room;
};

static int compare_share(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return x->step < y->step ? -1 : x->step > y->step;
}

static bool add_shares(const struct hpdsl_epoch *e, const struct split *s,
		       struct shares *to)
{
	struct hp_window w;
	struct part part;
	uint64_t x;

	hp_epoch_window(e, s->lane, hp_epoch_window_of(e, s->lane, s->begin),
			&w);
	x = w.begin;
	while (next_step(e, &w, &x, &part)) {
		if (to->n == to->room) {
			size_t room = to->room ? 2 * to->room : 256;
			struct share *v = reallocarray(to->v, room, sizeof *v);

			if (!v)
				return false;
			to->v = v;
			to->room = room;
		}
		to->v[to->n++] =
			(struct share){ .step = part.step,
					.samples = (double)s->samples *
						   (double)part.samples /
						   (double)w.samples };
	}
	return true;
}

/* Of all pairs of one chunk whose samples are in two windows. */
static double between(struct shares *s)
{
	double sum = 0, all = 0, own = 0;

	qsort(s->v, s->n, sizeof *s->v, compare_share);
	for (size_t i = 0; i < s->n; i++) {
		all += s->v[i].samples;
		own += s->v[i].samples * s->v[i].samples;
		if (i + 1 < s->n && s->v[i + 1].step == s->v[i].step)
			continue;
		sum += (all * all - own) / 2;
		all = own = 0;
	}
	return sum;
}

static int between_windows(const struct hpdsl_epoch *e, double *sum,
			   struct hpdsl_error *err)
{
	hp_auto_free uint32_t *pieces = hp_array(e->n_chunks, sizeof *pieces);
	hp_auto_free struct split *split = hp_array(e->n_pieces, sizeof *split);
	struct shares shares = { 0 };
	bool enough = pieces && split;
	uint64_t n = enough ? find_splits(e, pieces, split) : 0;

	for (uint64_t i = 0; enough && i < n; i++) {
		enough = add_shares(e, &split[i], &shares);
		if (!enough ||
		    (i + 1 < n && split[i + 1].chunk == split[i].chunk))
			continue;
		*sum += between(&shares);
		shares.n = 0;
	}
	free(shares.v);
	return enough ? 0 : hp_fail_nomem(err);
}

/* ---- Measured --------------------------------------------------------- */

struct meeting {
	uint64_t *times;   /* of each chunk, in the step under way */
	uint32_t *touched; /* chunks that have any */
	uint32_t n_touched;
	double pairs;
};

static void meet(const struct hpdsl_epoch *e, struct meeting *m, uint64_t first,
		 uint64_t end)
{
	enum { SOME = 256 };
	struct hp_epoch_spot spot[SOME];

	for (size_t n; first < end; first += n) {
		n = end - first < SOME ? (size_t)(end - first) : SOME;
		hp_epoch_spots(e, first, n, spot);
		for (size_t i = 0; i < n; i++) {
			uint32_t chunk = spot[i].piece->chunk;

			if (!m->times[chunk])
				m->touched[m->n_touched++] = chunk;
			m->pairs += (double)m->times[chunk]++;
		}
	}
	while (m->n_touched)
		m->times[m->touched[--m->n_touched]] = 0;
}

static int measure(const struct hpdsl_epoch *e, double *ret,
		   struct hpdsl_error *err)
{
	hp_auto_free uint64_t *times = calloc(e->n_chunks, sizeof *times);
	hp_auto_free uint32_t *touched = hp_array(e->n_chunks, sizeof *touched);
	struct meeting m = { .times = times, .touched = touched };
	uint64_t g = (uint64_t)e->o.step_runs * e->o.run, n = e->samples;

	if (!times || !touched)
		return hp_fail_nomem(err);
	for (uint64_t first = 0; first < n;) {
		uint64_t some = n - first < g ? n - first : g;

		meet(e, &m, first, first + some);
		first += some;
	}
	*ret = m.pairs;
	return 0;
}

int hp_epoch_mates(const struct hpdsl_epoch *e, double *ret_expected,
		   double *ret_measured, struct hpdsl_error *err)
{
	double mates = 0, expected, measured = 0;
	int r;

	for (uint32_t c = 0; c < e->n_chunks; c++)
		mates += pairs(e->first[c + 1] - e->first[c]);
	/* NAN if there are no mates, or steps of one sample */
	mates *= mates > 0 ? full_shuffle(e) : 0;
	expected = within_windows(e);
	r = between_windows(e, &expected, err);
	if (r == 0)
		r = measure(e, &measured, err);
	if (r < 0)
		return r;
	*ret_expected = mates > 0 ? expected / mates : NAN;
	*ret_measured = mates > 0 ? measured / mates : NAN;
	return 0;
}
