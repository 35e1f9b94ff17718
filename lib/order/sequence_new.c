/* SPDX-License-Identifier: Apache-2.0 */
/* Making a sequence: the lists of each part shuffled, and what parts lack. */
#include "order/sequence_private.h"

#include "base/error.h"
#include "base/mem.h"

#include <assert.h>
#include <inttypes.h>

typedef unsigned __int128 wide;

/* As many nodes has no machine, and each part takes memory. */
enum { PARTS_MOST = 1 << 20 };

static int usage(struct hpdsl_error *err, const char *why)
{
	return hp_fail(err, HPDSL_EUSAGE, "order: %s", why);
}

static int check(const struct hp_seq_order *o, struct hpdsl_error *err)
{
	if (!o->batch || !o->lanes || !o->piece || !o->windows || !o->parts)
		return usage(err, "batch, lanes, piece, windows and parts are "
				  "at least 1");
	if (o->parts > PARTS_MOST)
		return hp_fail(err, HPDSL_EUSAGE,
			       "order: %" PRIu32 " parts are too many: %d at "
			       "most",
			       o->parts, PARTS_MOST);
	if (o->lanes % o->batch != 0 && o->batch % o->lanes != 0)
		return hp_fail(
			err, HPDSL_EUSAGE,
			"order: lanes have to be a multiple or a divisor "
			"of batch: %" PRIu64 " and %" PRIu32,
			o->lanes, o->batch);
	return 0;
}

static int allocate(struct hp_seq *s, struct hpdsl_error *err)
{
	s->part = calloc(s->o.parts, sizeof *s->part);
	s->list = hp_array(s->n, sizeof *s->list);
	s->before = hp_array(s->n, sizeof *s->before);
	s->place = hp_array(s->n, sizeof *s->place);
	s->has = hp_array(s->n, sizeof *s->has);
	return s->part && s->list && s->before && s->place && s->has ?
		       0 :
		       hp_fail_nomem(err);
}

/* How many samples there are, and how many lists each part has. */
static int count(struct hp_seq *s, const struct hp_seq_list *lists,
		 struct hpdsl_error *err)
{
	size_t first = 0;

	for (size_t i = 0; i < s->n; i++) {
		uint64_t n = lists[i].samples;

		if (n >= (uint64_t)1 << 62 ||
		    s->deal.samples + n >= (uint64_t)1 << 62)
			return usage(err, "2^62 samples or more");
		s->deal.samples += n;
		s->has[i] = n;
		s->part[lists[i].chunk % s->o.parts].n++;
	}
	for (uint32_t p = 0; p < s->o.parts; p++) {
		s->part[p].first = first;
		first += s->part[p].n;
	}
	return s->deal.samples ? 0 : usage(err, "there are no samples");
}

/* h: the sample of the part that its sequence begins with. */
static uint64_t turn_of(const struct hp_seq_order *o, uint32_t part,
			uint64_t samples)
{
	uint64_t numbers[] = { o->epoch, part };
	wide h = hp_perm_key(o->seed, "turn", numbers, 2);

	return (uint64_t)(h * samples >> 64);
}

/* The lists of each part, shuffled; by_number: in the order of (c, t). */
static void shuffle_lists(struct hp_seq *s, const uint32_t *by_number)
{
	const struct hp_seq_order *o = &s->o;

	for (uint32_t p = 0; p < o->parts; p++) {
		struct hp_seq_part *part = &s->part[p];
		uint64_t numbers[] = { o->epoch, p };
		struct hp_perm perm;

		if (part->n == 0)
			continue;
		hp_perm_init(&perm, part->n,
			     hp_perm_key(o->seed, "chunks", numbers, 2));
		for (size_t i = 0; i < part->n; i++) {
			size_t at = part->first + i;
			size_t from = part->first +
				      (o->plain ? i : hp_perm_at(&perm, i));
			uint32_t list = by_number[from];

			s->list[at] = list;
			s->place[list] = (uint32_t)at;
			s->before[at] = part->has;
			part->has += s->has[list];
		}
		part->turn = o->plain ? 0 : turn_of(o, p, part->has);
		part->pieces = part->has / o->piece;
	}
}

static int place_lists(struct hp_seq *s, const struct hp_seq_list *lists,
		       struct hpdsl_error *err)
{
	hp_auto_free uint32_t *by_number = hp_array(s->n, sizeof *by_number);
	hp_auto_free size_t *next = hp_array(s->o.parts, sizeof *next);

	if (!by_number || !next)
		return hp_fail_nomem(err);
	for (uint32_t p = 0; p < s->o.parts; p++)
		next[p] = s->part[p].first;
	for (size_t i = 0; i < s->n; i++)
		by_number[next[lists[i].chunk % s->o.parts]++] = (uint32_t)i;
	shuffle_lists(s, by_number);
	return 0;
}

/* Lanes of the parts, what they need, and who gives and takes. */
static void deal(struct hp_seq *s)
{
	const struct hp_seq_order *o = &s->o;
	uint64_t over = 0, lacks = 0, lane = 0;

	for (uint32_t p = 0; p < o->parts; p++) {
		struct hp_seq_part *part = &s->part[p];
		/* Lane l is in part floor(l D / L). */
		uint64_t end =
			hp_seq_floor(p + UINT64_C(1), o->lanes, o->parts) +
			((wide)(p + UINT64_C(1)) * o->lanes % o->parts > 0);

		part->lanes = hp_deal_part(&s->deal, lane, end - lane);
		part->need = hp_deal_before(&s->deal, end) -
			     hp_deal_before(&s->deal, lane);
		lane = end;
		part->over_before = over;
		part->lacks_before = lacks;
		if (part->has > part->need)
			over += part->has - part->need;
		else
			lacks += part->need - part->has;
	}
	assert(over == lacks);
}

int hp_seq_new(const struct hp_seq_order *o, const struct hp_seq_list *lists,
	       size_t n, struct hp_seq **ret, struct hpdsl_error *err)
{
	struct hp_seq *s;
	int r = check(o, err);

	if (r < 0)
		return r;
	if (n >= UINT32_MAX)
		return usage(err, "too many chunks");
	s = calloc(1, sizeof *s);
	if (!s)
		return hp_fail_nomem(err);
	s->o = *o;
	if (o->plain) {
		/* All of it is what is left behind the last piece. */
		s->o.lanes = s->o.windows = s->o.parts = 1;
		s->o.piece = (uint64_t)1 << 62;
	}
	s->deal = (struct hp_deal){ .batch = s->o.batch,
				    .lanes = s->o.lanes,
				    .piece = s->o.piece };
	s->n = n;
	r = allocate(s, err);
	if (r == 0)
		r = count(s, lists, err);
	if (r == 0)
		r = place_lists(s, lists, err);
	if (r < 0) {
		hp_seq_free(s);
		return r;
	}
	deal(s);
	*ret = s;
	return 0;
}

void hp_seq_free(struct hp_seq *s)
{
	if (!s)
		return;
	free(s->part);
	free(s->list);
	free(s->before);
	free(s->place);
	free(s->has);
	free(s);
}
