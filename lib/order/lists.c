/* SPDX-License-Identifier: Apache-2.0 */
#include "order/lists.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static bool weighted(const struct hp_lists *l)
{
	return l->draw.choice && hp_choice_weighted(l->draw.choice);
}

/* ---- Counting --------------------------------------------------------- */

/* How many samples of a chunk come more than 0, 1, .. times. */
struct times {
	uint64_t *more;
	uint32_t n, room; /* more[n] and what follows would be 0 */
};

static int grow(struct times *t, uint64_t n, struct hpdsl_error *err)
{
	uint32_t room = t->room ? t->room : 16;
	uint64_t *p;

	while (room < n)
		room *= 2;
	if (room > t->room) {
		p = reallocarray(t->more, room, sizeof *p);
		if (!p)
			return hp_fail_nomem(err);
		t->more = p;
		t->room = room;
	}
	while (t->n < n)
		t->more[t->n++] = 0;
	return 0;
}

static int count_weighted(const struct hp_lists *l, uint32_t chunk,
			  struct times *t, struct hpdsl_error *err)
{
	t->n = 0;
	if (l->first[chunk + 1] - l->first[chunk] > UINT32_MAX)
		return hp_fail(err, HPDSL_EUSAGE,
			       "too many samples for an order");
	for (uint64_t s = l->first[chunk]; s < l->first[chunk + 1]; s++) {
		uint64_t times = hp_draw_times(&l->draw, s);
		int r = 0;

		if (times > HP_TIMES_MOST)
			return hp_fail(err, HPDSL_EUSAGE,
				       "sample %" PRIu64 " comes %" PRIu64
				       " times in an epoch: %d at most",
				       s, times, HP_TIMES_MOST);
		if (times > t->n)
			r = grow(t, times, err);
		if (r < 0)
			return r;
		/* Sums over the rows above are made at the end. */
		if (times)
			t->more[times - 1]++;
	}
	for (uint32_t i = t->n; i > 1; i--)
		t->more[i - 2] += t->more[i - 1];
	return 0;
}

static int count(const struct hp_lists *l, uint32_t chunk, struct times *t,
		 struct hpdsl_error *err)
{
	uint64_t n;
	int r;

	if (weighted(l))
		return count_weighted(l, chunk, t, err);
	n = hp_draw_before(&l->draw, l->first[chunk + 1]) -
	    hp_draw_before(&l->draw, l->first[chunk]);
	t->n = 0;
	r = n ? grow(t, 1, err) : 0;
	if (n && r == 0)
		t->more[0] = n;
	return r;
}

/* ---- Lists ------------------------------------------------------------ */

struct room {
	size_t lists;
	uint64_t samples; /* with weights */
};

static int more_lists(struct hp_lists *l, struct room *room, uint32_t n,
		      struct hpdsl_error *err)
{
	size_t want = l->n + n;
	void *p;

	if (want >= UINT32_MAX)
		return hp_fail(err, HPDSL_EUSAGE,
			       "too many samples for an order");
	if (want <= room->lists)
		return 0;
	if (want < 2 * room->lists)
		want = 2 * room->lists;
	p = reallocarray(l->v, want, sizeof *l->v);
	if (!p)
		return hp_fail_nomem(err);
	l->v = p;
	if (weighted(l)) {
		p = reallocarray(l->begin, want, sizeof *l->begin);
		if (!p)
			return hp_fail_nomem(err);
		l->begin = p;
	}
	room->lists = want;
	return 0;
}

static int more_samples(struct hp_lists *l, struct room *room, uint64_t n,
			struct hpdsl_error *err)
{
	uint64_t want = n;
	void *p;

	if (n <= room->samples)
		return 0;
	if (want < room->samples + room->samples / 2)
		want = room->samples + room->samples / 2;
	p = reallocarray(l->sample, want, sizeof *l->sample);
	if (!p)
		return hp_fail_nomem(err);
	l->sample = p;
	room->samples = want;
	return 0;
}

/* Which samples the chunk's lists have, from the number before on. */
static int list_samples(struct hp_lists *l, struct room *room, uint32_t chunk,
			const struct times *t, uint64_t *before,
			struct hpdsl_error *err)
{
	uint64_t *next = l->begin + l->list[chunk], end = *before;
	int r;

	for (uint32_t i = 0; i < t->n; i++) {
		next[i] = end;
		end += t->more[i];
	}
	r = more_samples(l, room, end, err);
	if (r < 0)
		return r;
	for (uint64_t s = l->first[chunk]; s < l->first[chunk + 1]; s++) {
		uint64_t times = hp_draw_times(&l->draw, s);

		for (uint64_t i = 0; i < times; i++)
			l->sample[next[i]++] = (uint32_t)(s - l->first[chunk]);
	}
	for (uint32_t i = 0; i < t->n; i++)
		next[i] -= t->more[i];
	*before = end;
	return 0;
}

static int add_lists(struct hp_lists *l, struct times *t,
		     struct hpdsl_error *err)
{
	struct room room = { .lists = 0 };
	uint64_t before = 0;

	for (uint32_t c = 0; c < l->n_chunks; c++) {
		int r = count(l, c, t, err);

		l->list[c] = (uint32_t)l->n;
		if (r == 0)
			r = more_lists(l, &room, t->n, err);
		if (r == 0 && weighted(l))
			r = list_samples(l, &room, c, t, &before, err);
		if (r < 0)
			return r;
		for (uint32_t i = 0; i < t->n; i++)
			l->v[l->n++] = (struct hp_seq_list){ c, t->more[i] };
	}
	l->list[l->n_chunks] = (uint32_t)l->n;
	if (!l->n)
		return hp_fail(err, HPDSL_EUSAGE,
			       "an order of no samples: there are none%s",
			       l->draw.choice ? " chosen in this epoch" : "");
	return 0;
}

static int make(struct hp_lists *l, const uint64_t *first,
		struct hpdsl_error *err)
{
	uint64_t n = (uint64_t)l->n_chunks + 1;
	struct times t = { .n = 0 };
	int r;

	l->first = hp_array(n, sizeof *l->first);
	l->list = hp_array(n, sizeof *l->list);
	if (!l->first || !l->list)
		return hp_fail_nomem(err);
	memcpy(l->first, first, n * sizeof *first);
	r = add_lists(l, &t, err);
	free(t.more);
	return r;
}

int hp_lists_init(struct hp_lists *l, const uint64_t *first, uint32_t n,
		  const struct hpdsl_choice *choice, uint64_t seed,
		  uint64_t epoch, struct hpdsl_error *err)
{
	int r;

	*l = (struct hp_lists){ .n_chunks = n };
	if (choice && choice->n != first[n])
		return hp_fail(err, HPDSL_EUSAGE,
			       "the choice is of another dataset: of %" PRIu64
			       " samples, and not %" PRIu64,
			       choice->n, first[n]);
	r = hp_draw_init(&l->draw, choice, seed, epoch, err);
	if (r < 0)
		return r;
	r = make(l, first, err);
	if (r < 0) {
		hp_lists_release(l);
		*l = (struct hp_lists){ .n = 0 };
	}
	return r;
}

void hp_lists_release(struct hp_lists *l)
{
	hp_draw_release(&l->draw);
	free(l->v);
	free(l->first);
	free(l->list);
	free(l->begin);
	free(l->sample);
}

/* ---- Samples ---------------------------------------------------------- */

void hp_lists_samples(const struct hp_lists *l, uint32_t list, uint64_t index,
		      uint64_t n, uint64_t *ret)
{
	uint64_t first = l->first[l->v[list].chunk];

	if (!weighted(l)) {
		hp_draw_list(&l->draw, hp_draw_before(&l->draw, first) + index,
			     n, ret);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		ret[i] = first + l->sample[l->begin[list] + index + i];
}

/* The chunk of a sample: the last that begins not behind it. */
static uint32_t chunk_of(const struct hp_lists *l, uint64_t sample)
{
	uint32_t low = 0, high = l->n_chunks;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (l->first[middle] <= sample)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The place of a sample in a list; -ENOENT. */
static int find_in(const struct hp_lists *l, uint32_t list, uint64_t sample,
		   uint64_t *ret)
{
	const uint32_t *v = l->sample + l->begin[list];
	uint64_t low = 0, high = l->v[list].samples;
	uint64_t want = sample - l->first[l->v[list].chunk];

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (v[middle] <= want)
			low = middle;
		else
			high = middle;
	}
	if (v[low] != want)
		return -ENOENT;
	*ret = low;
	return 0;
}

int hp_lists_find(const struct hp_lists *l, uint64_t sample, uint64_t nth,
		  struct hp_seq_spot *ret)
{
	uint32_t chunk, list;
	uint64_t index;

	if (sample >= l->first[l->n_chunks])
		return -ERANGE;
	chunk = chunk_of(l, sample);
	if (nth >= l->list[chunk + 1] - l->list[chunk])
		return -ENOENT;
	list = l->list[chunk] + (uint32_t)nth;
	if (weighted(l)) {
		int r = find_in(l, list, sample, &index);

		if (r < 0)
			return r;
	} else {
		if (l->draw.choice && !hpdsl_choice_has(l->draw.choice, sample))
			return -ENOENT;
		index = hp_draw_before(&l->draw, sample) -
			hp_draw_before(&l->draw, l->first[chunk]);
	}
	*ret = (struct hp_seq_spot){ list, index };
	return 0;
}
