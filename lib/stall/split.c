/* SPDX-License-Identifier: Apache-2.0 */
/* What a step is made of. */
#include "stall/split.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>

/* A block of the job: its ranks' slowest, and what the loader made that made
 * least in all blocks of its phase. */
struct block {
	double seconds, steps;		 /* of the slowest rank */
	double made, out, taken, making; /* bytes, steps that took them, s */
	double hand_over;
};

struct phase {
	struct block *block; /* owned */
	size_t n;
	uint32_t slowest;
	double slowness;
};

/* All that is known of the job, and one drawing of its blocks. */
struct job {
	struct phase phase[HPDSL_STALL_PHASES];
	double step[HPDSL_STALL_PHASES], rate[HPDSL_STALL_PHASES];
	double part[HPDSL_STALL_PARTS];
	double hand_over;
	uint64_t dice;
};

enum { DRAWINGS = 1000 };

/* ---- Blocks of the job ------------------------------------------------ */

static int by_place(const void *x, const void *y)
{
	const struct hp_stall_of_rank *a = x, *b = y;

	if (a->b.phase != b->b.phase)
		return a->b.phase < b->b.phase ? -1 : 1;
	if (a->b.round != b->b.round)
		return a->b.round < b->b.round ? -1 : 1;
	if (a->b.block != b->b.block)
		return a->b.block < b->b.block ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static int by_size(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static double per_step(const struct hpdsl_stall_block *b)
{
	return b->steps ? b->seconds / b->steps : 0;
}

static bool same_place(const struct hpdsl_stall_block *a,
		       const struct hpdsl_stall_block *b)
{
	return a->phase == b->phase && a->round == b->round &&
	       a->block == b->block;
}

/* Steps a second, of the bytes that were made in so many seconds, where steps
 * took out bytes; 0: that cannot be told. */
static double rate_of(double made, double making, double out, double steps)
{
	if (making <= 0 || made <= 0 || out <= 0)
		return 0;
	return made / making / (out / steps);
}

/* How many blocks from here on are of the same place. */
static size_t of_place(const struct hp_stall_of_rank *of, size_t n)
{
	size_t i = 1;

	while (i < n && same_place(&of->b, &of[i].b))
		i++;
	return i;
}

/* The block that these of all ranks are together. */
static struct block join(const struct hp_stall_of_rank *of, size_t n,
			 uint32_t slowest)
{
	struct block j = { .hand_over = -1 };

	for (size_t i = 0; i < n; i++) {
		const struct hpdsl_stall_block *b = &of[i].b;

		if (!j.steps || per_step(b) > j.seconds / j.steps) {
			j.seconds = b->seconds;
			j.steps = b->steps;
		}
		if (of[i].rank == slowest) {
			j.made = (double)b->made;
			j.out = (double)b->out;
			j.taken = b->steps;
			j.making = b->making;
		}
		if (b->hand_over > j.hand_over)
			j.hand_over = b->hand_over;
	}
	return j;
}

/* ---- Ranks ------------------------------------------------------------ */

struct speed {
	uint32_t rank;
	double made, making, out, steps;
	double rate;
};

static int by_rank(const void *x, const void *y)
{
	const struct speed *a = x, *b = y;

	return (a->rank > b->rank) - (a->rank < b->rank);
}

static int by_rate(const void *x, const void *y)
{
	const struct speed *a = x, *b = y;

	return (a->rate > b->rate) - (a->rate < b->rate);
}

/* Sums by rank, of n blocks; returns how many ranks. */
static size_t add_up(struct speed *s, size_t n)
{
	size_t ranks = 0;

	qsort(s, n, sizeof *s, by_rank);
	for (size_t i = 0; i < n; i++) {
		if (ranks && s[ranks - 1].rank == s[i].rank) {
			s[ranks - 1].made += s[i].made;
			s[ranks - 1].making += s[i].making;
			s[ranks - 1].out += s[i].out;
			s[ranks - 1].steps += s[i].steps;
		} else {
			s[ranks++] = s[i];
		}
	}
	return ranks;
}

/*
 * Of n blocks of a phase, which rank makes least, and how much less than those
 * in the middle.  Who made nothing for want of room is not slow, and not known
 * to be fast.
 */
static int find_slowest(const struct hp_stall_of_rank *of, size_t n,
			struct phase *ret)
{
	hp_auto_free struct speed *s = hp_array(n, sizeof *s);
	size_t ranks, known = 0;

	if (!s)
		return -1;
	for (size_t i = 0; i < n; i++)
		s[i] = (struct speed){ .rank = of[i].rank,
				       .made = (double)of[i].b.made,
				       .making = of[i].b.making,
				       .out = (double)of[i].b.out,
				       .steps = of[i].b.steps };
	ranks = add_up(s, n);
	for (size_t i = 0; i < ranks; i++) {
		s[i].rate =
			rate_of(s[i].made, s[i].making, s[i].out, s[i].steps);
		if (s[i].rate > 0)
			s[known++] = s[i];
	}
	qsort(s, known, sizeof *s, by_rate);
	ret->slowest = known ? s[0].rank : of->rank;
	ret->slowness = known ? s[known / 2].rate / s[0].rate : 0;
	return 0;
}

static uint32_t count_ranks(const struct hp_stall_of_rank *of, size_t n)
{
	size_t most = 0;

	for (size_t i = 0, k; i < n; i += k) {
		k = of_place(of + i, n - i);
		most = k > most ? k : most;
	}
	return (uint32_t)most;
}

/* n blocks of one phase, sorted. */
static int join_phase(const struct hp_stall_of_rank *of, size_t n,
		      struct phase *p)
{
	p->block = hp_array(n, sizeof *p->block);
	if (!p->block || find_slowest(of, n, p) < 0)
		return -1;
	for (size_t i = 0, k; i < n; i += k) {
		k = of_place(of + i, n - i);
		p->block[p->n++] = join(of + i, k, p->slowest);
	}
	return 0;
}

/* All of them, sorted. */
static int join_all(const struct hp_stall_of_rank *of, size_t n, struct job *j)
{
	for (size_t i = 0, k; i < n; i += k) {
		for (k = 1; i + k < n; k++)
			if (of[i + k].b.phase != of[i].b.phase)
				break;
		if (join_phase(of + i, k, &j->phase[of[i].b.phase]) < 0)
			return -1;
	}
	return 0;
}

/* ---- Figures ---------------------------------------------------------- */

/* The middle one of what blocks say; negative: none does. */
static int find_hand_over(struct job *j)
{
	size_t n = 0, k = 0;
	hp_auto_free double *h = NULL;

	for (unsigned i = HPDSL_STALL_WARM; i < HPDSL_STALL_PHASES; i++)
		n += j->phase[i].n;
	h = hp_array(n, sizeof *h);
	if (!h)
		return -1;
	for (unsigned i = HPDSL_STALL_WARM; i < HPDSL_STALL_PHASES; i++)
		for (size_t b = 0; b < j->phase[i].n; b++)
			if (j->phase[i].block[b].hand_over >= 0)
				h[k++] = j->phase[i].block[b].hand_over;
	qsort(h, k, sizeof *h, by_size);
	j->hand_over = k ? h[k / 2] : -1;
	return 0;
}

/* Knuth's MMIX generator: what is drawn is the same each time. */
static size_t draw(struct job *j, size_t n)
{
	j->dice = j->dice * 6364136223846793005U + 1442695040888963407U;
	return (size_t)((j->dice >> 33) % n);
}

/* A step of the phase, of its blocks or of as many that are drawn of them. */
static void find_step(struct job *j, unsigned i, bool drawn)
{
	const struct phase *p = &j->phase[i];
	struct block all = { 0 };
	double step, rate;

	for (size_t k = 0; k < p->n; k++) {
		const struct block *b = &p->block[drawn ? draw(j, p->n) : k];

		all.seconds += b->seconds;
		all.steps += b->steps;
		all.made += b->made;
		all.making += b->making;
		all.out += b->out;
		all.taken += b->taken;
	}
	step = all.steps ? all.seconds / all.steps : 0;
	rate = rate_of(all.made, all.making, all.out, all.taken);
	/* What lives on its stock would not go on so. */
	if (i >= HPDSL_STALL_WARM && rate > 0 && step < 1 / rate)
		step = 1 / rate;
	j->step[i] = step;
	j->rate[i] = rate;
}

static double load_of(const struct job *j)
{
	return j->step[j->phase[HPDSL_STALL_LOAD].n ? HPDSL_STALL_LOAD :
						      HPDSL_STALL_REPLAY];
}

static void find_parts(struct job *j, bool drawn)
{
	double load, left;

	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++)
		find_step(j, i, drawn);
	load = load_of(j);
	left = j->step[HPDSL_STALL_WARM] - load;
	j->part[HPDSL_STALL_COMPUTE] = j->step[HPDSL_STALL_REPLAY];
	j->part[HPDSL_STALL_INTERFERENCE] = load - j->step[HPDSL_STALL_REPLAY];
	j->part[HPDSL_STALL_HAND_OVER] = larger(0, smaller(j->hand_over, left));
	j->part[HPDSL_STALL_PREPARATION] =
		left - j->part[HPDSL_STALL_HAND_OVER];
	j->part[HPDSL_STALL_FETCH] =
		j->step[HPDSL_STALL_COLD] - j->step[HPDSL_STALL_WARM];
}

/* 95 of 100 drawings are between these; v is sorted for it. */
static void bracket(double *v, struct hpdsl_stall_figure *f)
{
	qsort(v, DRAWINGS, sizeof *v, by_size);
	f->low = v[DRAWINGS * 25 / 1000];
	f->high = v[DRAWINGS - 1 - DRAWINGS * 25 / 1000];
}

/* The bootstrap of Efron: as if the blocks were drawn from all that could have
 * been, which are as these are. */
static int find_intervals(struct job *j, struct hpdsl_stall_split *s)
{
	enum { FIGURES = HPDSL_STALL_PHASES + HPDSL_STALL_PARTS };
	hp_auto_free double *v = hp_array(FIGURES * DRAWINGS, sizeof *v);

	if (!v)
		return -1;
	for (size_t d = 0; d < DRAWINGS; d++) {
		find_parts(j, true);
		for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++)
			v[i * DRAWINGS + d] = j->step[i];
		for (unsigned i = 0; i < HPDSL_STALL_PARTS; i++)
			v[(HPDSL_STALL_PHASES + i) * DRAWINGS + d] = j->part[i];
	}
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++)
		bracket(v + i * DRAWINGS, &s->step[i]);
	for (unsigned i = 0; i < HPDSL_STALL_PARTS; i++)
		bracket(v + (HPDSL_STALL_PHASES + i) * DRAWINGS, &s->part[i]);
	return 0;
}

static void find_figures(struct job *j, struct hpdsl_stall_split *s)
{
	double busy;

	find_parts(j, false);
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++) {
		s->has[i] = j->phase[i].n;
		s->step[i].is = j->step[i];
	}
	for (unsigned i = 0; i < HPDSL_STALL_PARTS; i++)
		s->part[i].is = j->part[i];
	s->knows_hand_over = j->hand_over >= 0;
	s->hand_over = larger(0, j->hand_over);
	s->warm_rate = j->rate[HPDSL_STALL_WARM];
	s->cold_rate = j->rate[HPDSL_STALL_COLD];
	busy = load_of(j) + s->hand_over;
	s->warm_model =
		s->warm_rate > 0 ? larger(busy, 1 / s->warm_rate) : busy;
	s->cold_model =
		s->cold_rate > 0 ? larger(busy, 1 / s->cold_rate) : busy;
	s->slowest = j->phase[HPDSL_STALL_COLD].slowest;
	s->slowness = j->phase[HPDSL_STALL_COLD].slowness;
	s->enough = true;
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++)
		s->enough &= !j->phase[i].n || j->phase[i].n >= HP_STALL_ENOUGH;
}

static bool matters(const struct hpdsl_stall_split *s, enum hpdsl_stall_part i)
{
	return s->part[i].low > 0 &&
	       s->part[i].is > s->step[HPDSL_STALL_COLD].is / 100;
}

static void judge(struct hpdsl_stall_split *s)
{
	s->bound = matters(s, HPDSL_STALL_FETCH) ? HPDSL_STALL_FETCH :
		   matters(s, HPDSL_STALL_PREPARATION) ?
						   HPDSL_STALL_PREPARATION :
						   HPDSL_STALL_COMPUTE;
	for (unsigned i = 0; i < HPDSL_STALL_PARTS; i++)
		if (s->part[i].high < 0 &&
		    s->part[i].is < -s->step[HPDSL_STALL_COLD].is * 3 / 100)
			s->disagrees = true;
}

/* ---- All of it -------------------------------------------------------- */

static int find_all(struct job *j, const struct hp_stall_of_rank *of, size_t n,
		    struct hpdsl_stall_split *s)
{
	static const enum hpdsl_stall_phase must[] = { HPDSL_STALL_REPLAY,
						       HPDSL_STALL_WARM,
						       HPDSL_STALL_COLD };

	if (join_all(of, n, j) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof must / sizeof *must; i++)
		if (!j->phase[must[i]].n)
			return HPDSL_EUSAGE;
	if (find_hand_over(j) < 0)
		return -ENOMEM;
	find_figures(j, s);
	if (find_intervals(j, s) < 0)
		return -ENOMEM;
	s->ranks = count_ranks(of, n);
	judge(s);
	return 0;
}

int hp_stall_split(const struct hp_stall_of_rank *of, size_t n,
		   struct hpdsl_stall_split *ret, struct hpdsl_error *err)
{
	hp_auto_free struct hp_stall_of_rank *sorted =
		hp_array(n, sizeof *sorted);
	struct hpdsl_stall_split s = { 0 };
	struct job j = { 0 };
	int r = -ENOMEM;

	if (sorted) {
		memcpy(sorted, of, n * sizeof *of);
		qsort(sorted, n, sizeof *sorted, by_place);
		r = find_all(&j, sorted, n, &s);
	}
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++)
		free(j.phase[i].block);
	if (r == -ENOMEM)
		return hp_fail_nomem(err);
	if (r < 0)
		return hp_fail(err, r,
			       "replay, warm and cold steps are needed, and "
			       "not all of them were there");
	*ret = s;
	return 0;
}

static void shift(struct hpdsl_stall_figure *f, double by)
{
	f->is += by;
	f->low += by;
	f->high += by;
}

void hp_stall_move_names(struct hpdsl_stall_split *s, double seconds)
{
	double most = larger(0, s->part[HPDSL_STALL_PREPARATION].is);

	s->names = smaller(larger(0, seconds), most);
	shift(&s->part[HPDSL_STALL_PREPARATION], -s->names);
	shift(&s->part[HPDSL_STALL_FETCH], s->names);
	judge(s);
}
