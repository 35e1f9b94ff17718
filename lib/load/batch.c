/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: which samples a turn has, and, once they have been read, where. */
#include "load/load.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>

/* ---- Arrays ----------------------------------------------------------- */

static bool alloc_members(struct hp_load_batch *b, size_t n)
{
	free(b->member_data);
	free(b->member_size);
	free(b->member_number);
	b->member_room = n;
	b->member_data = hp_array(n, sizeof *b->member_data);
	b->member_size = hp_array(n, sizeof *b->member_size);
	b->member_number = hp_array(n, sizeof *b->member_number);
	b->pub.member_data = b->member_data;
	b->pub.member_size = b->member_size;
	b->pub.member_number = b->member_number;
	return b->member_data && b->member_size && b->member_number;
}

static bool alloc(struct hp_load_batch *b, uint32_t n)
{
	b->unit = hp_array(n, sizeof(*b->unit));
	b->row = hp_array(n, sizeof(*b->row));
	b->block = hp_array(n, sizeof(*b->block));
	b->data = hp_array(n, sizeof *b->data);
	b->size = hp_array(n, sizeof *b->size);
	b->number = hp_array(n, sizeof *b->number);
	b->label = hp_array(n, sizeof *b->label);
	b->mask = hp_array(n, 1);
	b->bad = hp_array(n, 1);
	b->first = hp_array(n + UINT64_C(1), sizeof *b->first);
	return b->unit && b->row && b->block && b->data && b->size &&
	       b->number && b->label && b->mask && b->bad && b->first &&
	       alloc_members(b, n);
}

struct hp_load_batch *hp_load_batch_new(const struct hpdsl_loader *l)
{
	struct hp_load_batch *b = calloc(1, sizeof *b);

	if (!b)
		return NULL;
	if (!alloc(b, l->places)) {
		hp_load_batch_free(b);
		return NULL;
	}
	b->pub.n = l->places;
	b->pub.data = b->data;
	b->pub.size = b->size;
	b->pub.number = b->number;
	b->pub.label = b->label;
	b->pub.mask = b->mask;
	b->pub.bad = b->bad;
	b->pub.first = b->first;
	return b;
}

void hp_load_batch_free(struct hp_load_batch *b)
{
	if (!b)
		return;
	free(b->unit);
	free(b->row);
	free(b->block);
	free(b->data);
	free(b->size);
	free(b->number);
	free(b->label);
	free(b->mask);
	free(b->bad);
	free(b->first);
	free(b->member_data);
	free(b->member_size);
	free(b->member_number);
	free(b);
}

/* ---- Gathering -------------------------------------------------------- */

/* The lane's unit that has this.  Those before it are over with this turn. */
static struct hp_load_unit *unit_at(struct hpdsl_loader *l,
				    struct hp_load_lane *lane, uint64_t x)
{
	while (x >= lane->head->end) {
		struct hp_load_unit *over = lane->head;

		lane->head = over->next;
		over->next = l->over_units;
		l->over_units = over;
	}
	return lane->head;
}

/* What a batch is made of lies anywhere: all of it is fetched ahead, each first
 * and last field, which may be in two cache lines. */
static void put(struct hp_load_batch *b, size_t i, struct hp_load_unit *u,
		uint64_t place)
{
	b->unit[i] = u;
	b->row[i] = &u->row[u->at[place]];
	__builtin_prefetch(&b->row[i]->number);
	__builtin_prefetch(&b->row[i]->code);
}

/* The run's places; those that no window has are the turn's. */
static void gather_run(struct hpdsl_loader *l, struct hp_load_batch *b,
		       const struct hp_load_run *run, size_t first)
{
	struct hp_load_epoch *e = l->epoch;

	for (uint32_t i = 0; i < e->share.run; i++) {
		struct hp_load_unit *u = NULL;
		size_t to = first + i;

		if (i < run->real)
			u = unit_at(l, &e->lane[run->lane], run->x + i);
		if (u && u->at)
			put(b, to, u, run->x + i - u->begin);
		else
			put(b, to, unit_at(l, &e->turns, l->turn), to);
		b->mask[to] = i < run->real || l->opt.end == HPDSL_END_REPEAT;
	}
}

static void collect(const struct hpdsl_loader *l, struct hp_load_batch *b)
{
	for (size_t i = 0; i < b->pub.n; i++) {
		const struct hp_load_row *row = b->row[i];
		const struct hp_block_member *m =
			&b->unit[i]->member[row->member];
		struct hp_load_block *block;

		b->number[i] = row->number;
		b->label[i] = row->label;
		__builtin_prefetch(&m->code);
		__builtin_prefetch(&m->number);
		if (row->block == HP_LOAD_NONE)
			continue;
		block = &b->unit[i]->block[row->block];
		if (block->collected == l->turn + 1)
			continue;
		block->collected = l->turn + 1;
		b->block[b->blocks++] = block;
	}
}

void hp_load_gather(struct hpdsl_loader *l, struct hp_load_batch *b)
{
	const struct hp_load_share *s = &l->epoch->share;

	b->pub.epoch = l->epoch->number;
	b->pub.step = hp_load_step(s, l->turn);
	b->blocks = 0;
	for (uint32_t i = 0; i < hp_load_runs(s); i++) {
		struct hp_load_run run = hp_load_run_at(s, b->pub.step, i);

		gather_run(l, b, &run, (size_t)i * s->run);
	}
	collect(l, b);
	b->left = b->blocks;
}

/* ---- Filling ---------------------------------------------------------- */

/* Members of a row, those it lacks too. */
static uint32_t width(const struct hpdsl_loader *l,
		      const struct hp_load_row *row)
{
	return l->plan.n_suffixes ? l->plan.n_suffixes : row->members;
}

static const struct hp_block_member *member_at(const struct hpdsl_loader *l,
					       const struct hp_load_batch *b,
					       size_t i, uint32_t k)
{
	const struct hp_load_unit *u = b->unit[i];
	uint32_t n = l->plan.n_suffixes, at = b->row[i]->member + k;

	if (n)
		at = u->pick[(uint64_t)(b->row[i] - u->row) * n + k];
	return at == HP_LOAD_NONE ? NULL : &u->member[at];
}

/* The first code of the sample that is one. */
static int code_of(const struct hp_load_batch *b, size_t i)
{
	int code = b->row[i]->code;

	for (uint32_t k = 0; k < b->row[i]->members && code == 0; k++)
		code = b->unit[i]->member[b->row[i]->member + k].code;
	return code;
}

static int make_room(const struct hpdsl_loader *l, struct hp_load_batch *b,
		     struct hpdsl_error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < b->pub.n; i++)
		n += width(l, b->row[i]);
	if (n > b->member_room && !alloc_members(b, n)) {
		b->member_room = 0;
		return hp_fail_nomem(err);
	}
	return 0;
}

/* Returns the bytes. */
static uint64_t fill_sample(const struct hpdsl_loader *l,
			    struct hp_load_batch *b, size_t i)
{
	size_t at = b->first[i];
	uint32_t n = width(l, b->row[i]);
	uint64_t sum = 0;

	for (uint32_t k = 0; k < n; k++, at++) {
		const struct hp_block_member *m = member_at(l, b, i, k);
		bool has = m && !b->bad[i];

		b->member_number[at] = m ? m->number : UINT64_MAX;
		b->member_data[at] = has ? m->data : NULL;
		b->member_size[at] = has ? m->size : 0;
		sum += b->member_size[at];
	}
	b->data[i] = n ? b->member_data[b->first[i]] : NULL;
	b->size[i] = n ? b->member_size[b->first[i]] : 0;
	b->first[i + 1] = at;
	return sum;
}

/* It is this process that lacks something, not the sample. */
static bool is_ours(int code)
{
	return code == -ENOMEM || code == -EMFILE || code == -ENFILE;
}

static int bad_sample(struct hpdsl_loader *l, struct hp_load_batch *b, size_t i,
		      int code, struct hpdsl_error *err)
{
	struct hpdsl_error why;

	hp_load_why(l, b, i, code, &why);
	if (!l->opt.skip_bad || is_ours(why.code))
		return hp_fail(err, why.code, "%s", why.msg);
	b->bad[i] = 1;
	if (b->mask[i])
		hp_load_tell_bad(l, b, i, &why);
	return 0;
}

int hp_load_fill(struct hpdsl_loader *l, struct hp_load_batch *b,
		 struct hp_load_counts *ret, struct hpdsl_error *err)
{
	struct hp_load_counts n = { 0 };
	int r = make_room(l, b, err);

	b->first[0] = 0;
	for (size_t i = 0; i < b->pub.n && r == 0; i++) {
		int code = code_of(b, i);
		uint64_t bytes;

		b->bad[i] = 0;
		if (code < 0)
			r = bad_sample(l, b, i, code, err);
		bytes = fill_sample(l, b, i);
		if (!b->mask[i])
			continue;
		n.samples++;
		n.bytes += bytes;
		n.bad += b->bad[i];
	}
	if (r < 0)
		return r;
	*ret = n;
	return 0;
}
