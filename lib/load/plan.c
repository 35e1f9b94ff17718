/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units of windows and of turns.  A window's places are gone through twice: to
 * see which of its samples are needed, and, once these have their rows in
 * stored order, to note which turns need which block.
 */
#include "load/plan.h"

#include "base/mem.h"
#include "load/unit.h"

#include <errno.h>
#include <string.h>

/* ---- Windows ---------------------------------------------------------- */

struct planning {
	const struct hpdsl_epoch *e;
	const struct hp_load_share *s;
	const struct hp_window *w;
	struct hp_load_maker maker;
	uint32_t *at;  /* of each place: the sample in the window, then its row
			*/
	uint32_t *row; /* of each sample in the window: 1 if it is needed, then
			  its row */
};

/* Places first to end - 1 are needed in one turn. */
struct places {
	uint64_t first, end, turn;
};

/* The next such places from ret->end on, where it begins as 0. */
static bool next_places(const struct planning *p, struct places *ret)
{
	const struct hp_load_share *s = p->s;
	uint64_t begin = p->w->begin, end = begin + p->w->samples;

	for (uint64_t x = begin + ret->end; x < end;) {
		uint64_t run = x / s->run, to = (run + 1) * s->run;

		if (to > end)
			to = end;
		if (hp_load_mine(s, run * s->lanes + p->w->lane, &ret->turn)) {
			ret->first = x - begin;
			ret->end = to - begin;
			return true;
		}
		x = to;
	}
	return false;
}

enum { AT_ONCE = 512 };

static void shuffle(struct planning *p, uint64_t first, uint64_t end)
{
	uint64_t to[AT_ONCE];

	while (first < end) {
		uint64_t n = end - first < AT_ONCE ? end - first : AT_ONCE;

		hp_epoch_shuffle(p->e, p->w, first, (size_t)n, to);
		for (uint64_t i = 0; i < n; i++) {
			p->at[first + i] = (uint32_t)to[i];
			p->row[to[i]] = 1;
		}
		first += n;
	}
}

/* How many samples are needed.  Neighbouring runs are shuffled at once. */
static uint64_t mark(struct planning *p)
{
	uint64_t first = 0, end = 0, sum = 0;
	struct places v = { 0 };

	while (next_places(p, &v)) {
		sum += v.end - v.first;
		if (v.first != end) {
			shuffle(p, first, end);
			first = v.first;
		}
		end = v.end;
	}
	shuffle(p, first, end);
	return sum;
}

static int add_piece(struct planning *p, const struct hp_piece *piece)
{
	uint32_t *row = p->row + (piece->begin - p->w->begin);
	hp_auto_free uint64_t *number =
		hp_array(piece->samples, sizeof *number);
	int r = 0;

	if (!number)
		return -ENOMEM;
	hp_epoch_samples(p->e, piece, number);
	for (uint64_t i = 0; i < piece->samples && r == 0; i++)
		if (row[i])
			r = hp_load_make_row(&p->maker, number[i], &row[i]);
	return r;
}

static int add_pieces(struct planning *p)
{
	int r = 0;

	for (uint32_t i = 0; i < p->w->pieces && r == 0; i++)
		r = add_piece(p, &p->w->piece[i]);
	return r;
}

/* The rows lie anywhere: those of a run are fetched together. */
static void use_run(struct planning *p, const struct places *v)
{
	const struct hp_load_row *row = p->maker.u->row;

	for (uint64_t y = v->first; y < v->end; y++) {
		p->at[y] = p->row[p->at[y]];
		__builtin_prefetch(&row[p->at[y]].block);
	}
	for (uint64_t y = v->first; y < v->end; y++)
		hp_load_make_use(&p->maker, p->at[y], v->turn);
}

static void use(struct planning *p)
{
	struct places v = { 0 };

	while (next_places(p, &v))
		use_run(p, &v);
}

static int plan_window(struct planning *p, const struct hp_load_plan *plan,
		       struct hp_load_unit **ret)
{
	uint64_t n = mark(p);
	int r;

	if (!n) {
		*ret = NULL;
		return 0;
	}
	r = hp_load_make(&p->maker, plan, n);
	if (r < 0)
		return r;
	r = add_pieces(p);
	if (r < 0) {
		hp_load_make_release(&p->maker);
		return r;
	}
	use(p);
	p->maker.u->begin = p->w->begin;
	p->maker.u->end = p->w->begin + p->w->samples;
	p->maker.u->at = hp_take(p->at);
	*ret = hp_load_make_end(&p->maker);
	return 0;
}

int hp_load_plan_window(const struct hp_load_plan *plan,
			const struct hpdsl_epoch *e,
			const struct hp_load_share *s,
			const struct hp_window *w, struct hp_load_unit **ret)
{
	hp_auto_free uint32_t *at = NULL, *row = NULL;
	struct planning p = { .e = e, .s = s, .w = w };
	int r;

	if (w->samples >= HP_LOAD_NONE)
		return -E2BIG;
	at = hp_array(w->samples, sizeof *at);
	row = calloc(w->samples, sizeof *row);
	if (!at || !row)
		return -ENOMEM;
	p.at = at;
	p.row = row;
	r = plan_window(&p, plan, ret);
	at = p.at;
	return r;
}

struct hp_load_unit *hp_load_plan_nothing(const struct hp_window *w)
{
	struct hp_load_unit *u = calloc(1, sizeof *u);

	if (!u)
		return NULL;
	u->begin = w->begin;
	u->end = w->begin + w->samples;
	u->refs = 1;
	u->bytes = sizeof *u;
	return u;
}

/* ---- Turns ------------------------------------------------------------ */

struct wanted {
	uint64_t sample;
	uint32_t place;
};

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	if (x->sample != y->sample)
		return x->sample < y->sample ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int add_wanted(struct hp_load_maker *m, uint64_t turn,
		      const struct wanted *v, uint32_t n)
{
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		uint32_t *row = &m->u->at[v[i].place];

		r = hp_load_make_row(m, v[i].sample, row);
		if (r == 0)
			hp_load_make_use(m, *row, turn);
	}
	return r;
}

int hp_load_plan_places(const struct hp_load_plan *p, uint64_t turn,
			const struct hpdsl_place *place, const bool *want,
			uint32_t n, struct hp_load_unit **ret)
{
	hp_auto_free struct wanted *v = hp_array(n, sizeof *v);
	struct hp_load_maker m;
	uint32_t wanted = 0;
	int r;

	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (want[i])
			v[wanted++] = (struct wanted){ place[i].sample, i };
	qsort(v, wanted, sizeof *v, compare_wanted);
	r = hp_load_make(&m, p, wanted);
	if (r < 0)
		return r;
	m.u->end = n;
	m.u->late = true;
	m.u->at = hp_array(n, sizeof *m.u->at);
	if (m.u->at) {
		memset(m.u->at, 0xff, n * sizeof *m.u->at);
		r = add_wanted(&m, turn, v, wanted);
	} else {
		r = -ENOMEM;
	}
	if (r < 0) {
		hp_load_make_release(&m);
		return r;
	}
	*ret = hp_load_make_end(&m);
	(*ret)->begin = turn;
	(*ret)->end = turn + 1;
	return 0;
}
