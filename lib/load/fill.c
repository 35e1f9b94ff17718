/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a batch, once all that it is of has been read. */
#include "load/load.h"

#include "base/error.h"

#include <errno.h>

/* What a batch is made of lies anywhere: all of it is fetched ahead, each first
 * and last field, which may be in two cache lines. */
static void find_rows(struct hp_load_batch *b)
{
	for (size_t i = 0; i < b->pub.n; i++) {
		struct hp_load_unit *u = b->of[i];

		b->row[i] = &u->row[hp_load_unit_row(u, b->x[i])];
		__builtin_prefetch(&b->row[i]->number);
		__builtin_prefetch(&b->row[i]->code);
	}
	for (size_t i = 0; i < b->pub.n; i++) {
		const struct hp_load_row *row = b->row[i];
		const struct hp_block_member *m =
			&b->of[i]->member[row->member];

		b->number[i] = row->number;
		b->label[i] = row->label;
		__builtin_prefetch(&m->code);
		__builtin_prefetch(&m->number);
	}
}

/* Members of a row, those it lacks too. */
static uint32_t width(const struct hpdsl_loader *l,
		      const struct hp_load_row *row)
{
	return l->opt.n_suffixes ? (uint32_t)l->opt.n_suffixes : row->members;
}

static const struct hp_block_member *member_at(const struct hpdsl_loader *l,
					       const struct hp_load_batch *b,
					       size_t i, uint32_t k)
{
	const struct hp_load_unit *u = b->of[i];
	uint32_t n = (uint32_t)l->opt.n_suffixes, at = b->row[i]->member + k;

	if (n)
		at = u->pick[(uint64_t)(b->row[i] - u->row) * n + k];
	return at == HP_LOAD_NONE ? NULL : &u->member[at];
}

/* The first code of the sample that is one. */
static int code_of(const struct hp_load_batch *b, size_t i)
{
	int code = b->row[i]->code;

	for (uint32_t k = 0; k < b->row[i]->members && code == 0; k++)
		code = b->of[i]->member[b->row[i]->member + k].code;
	return code;
}

static int make_room(const struct hpdsl_loader *l, struct hp_load_batch *b,
		     struct hpdsl_error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < b->pub.n; i++)
		n += width(l, b->row[i]);
	if (n > b->member_room && !hp_load_batch_members(b, n)) {
		b->member_room = 0;
		return hp_fail_nomem(err);
	}
	return 0;
}

/* Adds what it has, and what it lacks. */
static void fill_sample(struct hpdsl_loader *l, struct hp_load_batch *b,
			size_t i, struct hp_load_counts *sum)
{
	size_t at = b->first[i];
	uint32_t n = width(l, b->row[i]);

	for (uint32_t k = 0; k < n; k++, at++) {
		const struct hp_block_member *m = member_at(l, b, i, k);
		bool has = m && !b->bad[i];

		b->member_number[at] = m ? m->number : UINT64_MAX;
		b->member_data[at] = has ? m->data : NULL;
		b->member_size[at] = has ? m->size : 0;
		sum->bytes += b->member_size[at];
		if (m || b->bad[i] || !b->mask[i])
			continue;
		sum->lacking++;
		if (!l->caller.told_lacking[k])
			hp_load_tell_lacking(l, b, i, k);
	}
	b->data[i] = n ? b->member_data[b->first[i]] : NULL;
	b->size[i] = n ? b->member_size[b->first[i]] : 0;
	b->first[i + 1] = at;
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
	int r;

	for (uint32_t i = 0; i < b->units; i++)
		if (b->unit[i]->code < 0)
			return hp_fail_nomem(err);
	find_rows(b);
	r = make_room(l, b, err);
	b->first[0] = 0;
	for (size_t i = 0; i < b->pub.n && r == 0; i++) {
		int code = code_of(b, i);
		struct hp_load_counts of = { 0 };

		b->bad[i] = 0;
		if (code < 0)
			r = bad_sample(l, b, i, code, err);
		fill_sample(l, b, i, &of);
		if (!b->mask[i])
			continue;
		n.samples++;
		n.bytes += of.bytes;
		n.lacking += of.lacking;
		n.bad += b->bad[i];
	}
	if (r < 0)
		return r;
	*ret = n;
	return 0;
}
