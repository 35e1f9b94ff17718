/* SPDX-License-Identifier: Apache-2.0 */
/* The shares of a reader, against what the positions say. */
#include "share_set.h"

/* ---- One reader ------------------------------------------------------- */

struct seen {
	uint8_t *times;	  /* by position */
	uint64_t *until;  /* the last step that its share is there for */
	uint64_t *filled; /* how often it is there to fill that up, alone */
	uint64_t held[STEPS_MAX];
	struct share_reads reads;
	uint64_t wanted, last;
	struct hp_share apart; /* the last one that is */
	uint64_t joined;       /* of these, of all readers, several samples */
};

static bool is_own_step(const struct hp_shares_options *opt, uint64_t step)
{
	return step >= opt->own.first && step < opt->own.end &&
	       (step - opt->own.first) % opt->own.stride == 0;
}

/* What it adds to bytes that end there: of what lies between them, headers. */
static uint64_t add_wanted(struct hp_extent at, bool first, uint64_t *end)
{
	uint64_t from = at.begin, n = 0;

	if (!first && from <= *end + 4096)
		from = *end;
	if (at.end > from) {
		n = at.end - from;
		*end = at.end;
	}
	return n;
}

/* What the share holds is the reader's, and lies where the share is. */
static void check_samples(struct set *set, const struct hp_shares *s,
			  const struct hp_share *t, struct seen *seen)
{
	const struct hp_deal *d = hp_seq_deal(set->seq);
	struct hp_seq_memo memo = { 0 };
	uint64_t end = t->at.begin, wanted = 0;

	for (uint64_t x = t->x; x < t->x + t->samples; x++) {
		struct hp_seq_spot spot;
		struct hp_extent at;
		uint64_t p;

		if (!hp_own_has(hp_shares_own(s), t->lane, x)) {
			assert_in_range(x, t->x + 1, t->x + t->samples - 2);
			continue;
		}
		p = hp_deal_position(d, (struct hp_deal_place){ t->lane, x });
		spot = hp_seq_at(set->seq, &memo, p);
		assert_int_equal(spot.list, t->list);
		assert_int_equal(spot.index, t->index + (x - t->x));
		seen->times[p]++;
		seen->until[p] = t->until;
		assert_in_range(p / d->batch, t->need, t->until);
		at = set->at[t->list][spot.index];
		if (at.end == at.begin)
			continue;
		assert_true(at.begin >= t->at.begin && at.end <= t->at.end);
		assert_true(at.begin <= end + HP_SHARE_GAP);
		wanted += add_wanted(at, !wanted, &end);
	}
	assert_int_equal(end, t->at.end);
	assert_int_equal(wanted, t->wanted);
}

/* Of a short step the reader's own, or the one that is masked. */
static uint64_t position_dealt(const struct hp_deal *d,
			       const struct hp_own_options *o, uint64_t step,
			       uint64_t slot, struct seen *seen)
{
	struct hp_deal_slots is =
		hp_deal_slots(d, HPDSL_END_SHORT, step, o->rank, o->ranks);
	uint64_t p = step * d->batch + slot;

	assert_in_range(slot, is.first, is.end - 1);
	if (is.idle)
		return hp_deal_fill(d, step, (uint32_t)slot);
	seen->times[p]++;
	return p;
}

/* Of a slot of the last step, which is filled up or was dealt to it. */
static uint64_t position_apart(const struct hp_deal *d,
			       const struct hp_shares_options *opt,
			       uint64_t step, uint64_t slot, struct seen *seen)
{
	bool real;
	uint64_t p = hp_deal_slot(d, step, (uint32_t)slot, &real);

	if (opt->own.may_be_short)
		return position_dealt(d, &opt->own, step, slot, seen);
	assert_false(real);
	seen->filled[p]++;
	return p;
}

/* It could not go with the ones before, though it is their neighbour. */
static void check_apart_from(const struct set *set, const struct hp_share *t,
			     const struct hp_share *before, uint64_t most)
{
	struct hp_extent at = set->at[t->list][t->index];

	assert_int_equal(t->x, before->x + before->samples);
	if (t->list != before->list ||
	    t->index != before->index + before->samples)
		return;
	assert_true(before->samples > most / 128 ||
		    at.begin < before->at.begin ||
		    at.begin > before->at.end + HP_SHARE_GAP ||
		    at.end - before->at.begin > most);
}

/* Samples of the last step that are neighbours, as are their slots. */
static void check_apart(struct set *set, const struct hp_shares_options *opt,
			const struct hp_share *t, struct seen *seen)
{
	struct hp_seq_memo memo = { 0 };
	uint64_t end = t->at.begin, wanted = 0;

	assert_int_equal(t->need, t->until);
	assert_true(t->samples > 0);
	if (seen->apart.samples)
		check_apart_from(set, t, &seen->apart, opt->bytes);
	seen->apart = *t;
	for (uint64_t i = 0; i < t->samples; i++) {
		uint64_t p = position_apart(hp_seq_deal(set->seq), opt, t->need,
					    t->x + i, seen);
		struct hp_seq_spot spot = hp_seq_at(set->seq, &memo, p);
		struct hp_extent at = set->at[t->list][t->index + i];

		assert_int_equal(spot.list, t->list);
		assert_int_equal(spot.index, t->index + i);
		if (at.end == at.begin)
			continue;
		assert_true(at.begin >= t->at.begin && at.end <= t->at.end);
		assert_true(at.begin <= end + HP_SHARE_GAP);
		wanted += add_wanted(at, !wanted, &end);
	}
	assert_int_equal(end, t->at.end);
	assert_int_equal(wanted, t->wanted);
	seen->joined += t->samples > 1;
}

/* It has no more bytes than it may, unless it cannot be cut. */
static void check_size(const struct set *set, const struct hp_shares *s,
		       const struct hp_share *t, uint64_t most)
{
	const struct hp_extent *at = &set->at[t->list][t->index];

	if (t->at.end - t->at.begin <= most)
		return;
	for (uint64_t i = 0; i < t->samples; i++)
		assert_true(at[i].end == t->at.end ||
			    at[i].end == at[i].begin ||
			    (t->lane != HP_SHARE_APART &&
			     !hp_own_has(hp_shares_own(s), t->lane, t->x + i)));
}

/* The samples that fill the last step up are there for it. */
static void check_fill(const struct set *set,
		       const struct hp_shares_options *opt, struct seen *seen)
{
	const struct hp_deal *d = hp_seq_deal(set->seq);
	const struct hp_own_options *o = &opt->own;
	uint64_t step = d->samples / d->batch;

	if (!o->fill || !is_own_step(opt, step))
		return;
	for (uint32_t i = hp_deal_rank(d, o->rank, o->ranks);
	     i < hp_deal_rank(d, o->rank + 1, o->ranks); i++) {
		bool real;
		uint64_t p = hp_deal_slot(d, step, i, &real);

		if (real)
			continue;
		if (seen->filled[p])
			seen->filled[p]--;
		else
			assert_int_equal(seen->until[p], step);
	}
	for (uint64_t p = 0; p < set->samples; p++)
		assert_int_equal(seen->filled[p], 0);
}

static void check_cost(struct set *set, const struct hp_shares_options *opt,
		       uint64_t lanes, const struct seen *seen)
{
	struct hp_shares_cost cost;
	uint64_t peak = 0;

	(void)set;
	for (uint64_t i = 0; i < opt->own.end; i++)
		if (seen->held[i] > peak)
			peak = seen->held[i];
	assert_int_equal(hp_shares_count(opt, NULL, &cost, NULL), 0);
	assert_int_equal(cost.lanes, lanes);
	assert_int_equal(cost.reads, seen->reads.n);
	assert_int_equal(cost.bytes, seen->reads.bytes);
	assert_int_equal(cost.wanted, seen->wanted);
	assert_int_equal(cost.held_peak, peak);
	assert_int_equal(cost.first_batch, seen->reads.first);
}

/* Lanes are numbered without the others, and those that have samples are among
 * them. */
static void check_lanes(const struct set *set, const struct hp_own *own)
{
	uint64_t n = hp_own_lane_count(own);

	assert_true(n <= 2 * set->samples);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t lane = hp_own_lane(own, i);

		assert_in_range(lane, own->lane, own->lane_end - 1);
		assert_int_equal(hp_own_lane_number(own, lane), i);
	}
}

static void check_reader(struct set *set, const struct hp_shares_options *opt,
			 struct seen *seen)
{
	struct hp_shares *s;
	struct hp_share t;
	uint64_t lanes;

	memset(seen->held, 0, sizeof seen->held);
	memset(seen->until, 0, set->samples * sizeof *seen->until);
	memset(seen->filled, 0, set->samples * sizeof *seen->filled);
	seen->reads = (struct share_reads){ 0 };
	seen->wanted = seen->last = 0;
	seen->apart.samples = 0;
	assert_int_equal(hp_shares_new(opt, &s, NULL), 0);
	lanes = hp_shares_lanes(s);
	check_lanes(set, hp_shares_own(s));
	for (uint64_t need; (need = hp_shares_need(s)) != UINT64_MAX;) {
		assert_true(hp_shares_next(s, &t));
		assert_int_equal(t.need, need);
		assert_true(t.need >= seen->last);
		seen->last = t.need;
		assert_true(is_own_step(opt, t.need));
		assert_true(is_own_step(opt, t.until));
		if (t.lane == HP_SHARE_APART)
			check_apart(set, opt, &t, seen);
		else
			check_samples(set, s, &t, seen);
		check_size(set, s, &t, opt->bytes);
		add_reads(&t, t.need == opt->own.first, &seen->reads);
		seen->wanted += t.wanted;
		for (uint64_t i = t.need; i <= t.until; i++)
			seen->held[i] += pages(t.at.begin, t.at.end);
	}
	assert_false(hp_shares_next(s, &t));
	hp_shares_free(s);
	check_fill(set, opt, seen);
	check_cost(set, opt, lanes, seen);
}

/* ---- All readers: each position once ---------------------------------- */

static uint64_t check_readers(struct set *set)
{
	const struct hp_deal *d = hp_seq_deal(set->seq);
	struct hp_shares_options opt;
	static struct seen seen;
	uint64_t first;

	draw_options(set, &opt);
	first = draw(2) ? 0 : draw(opt.own.end + 1);
	seen.joined = 0;
	seen.times = calloc(set->samples, 1);
	seen.until = calloc(set->samples, sizeof *seen.until);
	seen.filled = calloc(set->samples, sizeof *seen.filled);
	for (uint32_t i = 0; i < opt.own.ranks * opt.own.stride; i++) {
		opt.own.rank = i % opt.own.ranks;
		opt.own.first = first + i / opt.own.ranks;
		check_reader(set, &opt, &seen);
	}
	for (uint64_t p = 0; p < set->samples; p++)
		assert_int_equal(seen.times[p],
				 p / d->batch >= first &&
					 p / d->batch < opt.own.end);
	free(seen.times);
	free(seen.until);
	free(seen.filled);
	return seen.joined;
}

static void test_each_once(void **state)
{
	uint64_t joined = 0;

	(void)state;
	dice = 1;
	for (int i = 0; i < 600; i++) {
		struct set set;

		make_set(&set, (enum kind)(i % KINDS));
		draw_sequence(&set);
		joined += check_readers(&set);
		free_set(&set);
	}
	assert_true(joined > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
