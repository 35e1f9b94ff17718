/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the index become rows of a unit, and members of its block. */
#include "load/unit.h"

#include "base/mem.h"
#include "index/copy.h"

#include <errno.h>

/* No machine has memory for such a sample: the index is wrong, and sums of
 * these cannot be told from sums of sound ones. */
#define SAMPLE_MOST (UINT64_C(1) << 42)
/* Of so many members of a unit numbers fit their type. */
#define MOST (UINT32_C(1) << 31)

/* What a share with more rows reads of the index is whole blocks. */
enum { MANY_ROWS = 256 };

struct making {
	struct hp_load_unit *u;
	const struct hp_load_plan *p;
	struct hp_index_copy copy;
	uint32_t row_room, member_room;
	uint64_t end; /* of the members so far, in the chunk */
};

struct hp_load_unit *hp_load_unit_new(const struct hp_load_plan *p,
				      const struct hp_share *share)
{
	struct hp_load_unit *u = calloc(1, sizeof *u);

	if (!u)
		return NULL;
	u->plan = p;
	u->share = *share;
	u->made = sizeof *u;
	u->refs = 1;
	return u;
}

void hp_load_unit_free(struct hp_load_unit *u)
{
	if (!u)
		return;
	free(u->at);
	free(u->row);
	free(u->member);
	free(u->pick);
	free(u);
}

/* ---- Members ---------------------------------------------------------- */

/* Room for one more member; -ENOMEM, also if there are too many of them. */
static int grow_members(struct making *m)
{
	uint32_t room = m->member_room + m->member_room / 2 + 1;
	void *v;

	if (m->u->members < m->member_room)
		return 0;
	if (room > MOST)
		return -ENOMEM;
	v = reallocarray(m->u->member, room, sizeof *m->u->member);
	if (!v)
		return -ENOMEM;
	m->u->member = v;
	m->member_room = room;
	return 0;
}

/* Is the member wanted?  Notes for what. */
static bool is_wanted(const struct making *m, const struct hpdsl_member *is,
		      uint32_t *pick)
{
	const struct hp_load_wanted *w = &m->p->wanted;
	bool wanted = false;

	if (!w->n_suffixes)
		return !is->generated;
	for (uint32_t i = 0; i < w->n_suffixes; i++)
		if (pick[i] == HP_LOAD_NONE &&
		    hp_load_has_suffix(&m->copy.ix, is, w->suffixes[i])) {
			pick[i] = m->u->members;
			wanted = true;
		}
	return wanted;
}

/* One member of a row; its code tells if the index is damaged. */
static int add_member(struct making *m, uint64_t number, uint32_t *pick,
		      int *ret_code)
{
	struct hp_load_unit *u = m->u;
	struct hpdsl_member is;
	int r;

	/* Suffixes are of its path. */
	*ret_code = m->p->wanted.n_suffixes ?
			    hp_index_member(&m->copy.ix, number, &is, NULL) :
			    hp_index_place(&m->copy.ix, number, &is, NULL);
	if (*ret_code < 0 || !is_wanted(m, &is, pick))
		return 0;
	r = grow_members(m);
	if (r < 0)
		return r;
	u->member[u->members++] = (struct hp_block_member){
		.chunk = is.chunk,
		.number = number,
		.offset = is.offset,
		.size = is.size,
		.checksum = is.checksum,
	};
	return 0;
}

/* ---- Rows ------------------------------------------------------------- */

/*
 * Do the row's members lie behind those before them, where the share is?  An
 * index in which they go to and fro would make a share take any memory.
 */
static bool is_in_order(struct making *m, const struct hp_load_row *row)
{
	const struct hp_extent *at = &m->u->share.at;
	uint64_t end = m->end > at->begin ? m->end : at->begin;

	for (uint32_t i = row->member; i < m->u->members; i++) {
		const struct hp_block_member *is = &m->u->member[i];

		if (!is->size)
			continue;
		if (is->offset < end || is->offset > at->end ||
		    is->size > at->end - is->offset)
			return false;
		end = is->offset + is->size;
	}
	m->end = end;
	return true;
}

/* Nothing is read of it. */
static void spoil(struct making *m, struct hp_load_row *row, uint32_t *pick)
{
	for (uint32_t i = 0; i < m->p->wanted.n_suffixes; i++)
		pick[i] = HP_LOAD_NONE;
	m->u->members = row->member;
	row->members = 0;
}

static int add_members(struct making *m, struct hp_load_row *row)
{
	struct hp_load_unit *u = m->u;
	uint32_t n = m->p->wanted.n_suffixes;
	uint32_t *pick = n ? u->pick + (uint64_t)u->rows * n : NULL;
	struct hp_sample_row is = { .label = HPDSL_NO_LABEL };
	int r = 0;

	for (uint32_t i = 0; i < n; i++)
		pick[i] = HP_LOAD_NONE;
	row->code = hp_index_sample_row(&m->copy.ix, row->number, &is, NULL);
	row->label = is.label;
	for (uint64_t i = is.first; row->code == 0 && i < is.end && r == 0; i++)
		r = add_member(m, i, pick, &row->code);
	row->members = u->members - row->member;
	if (row->code == 0 && !is_in_order(m, row))
		row->code = HPDSL_ECORRUPT;
	if (row->code == 0 &&
	    hp_fetch_room(u->member + row->member, row->members) > SAMPLE_MOST)
		row->code = -EFBIG;
	if (row->code < 0)
		spoil(m, row, pick);
	return row->code == -ENOMEM ? -ENOMEM : r;
}

static int add_row(struct making *m, uint64_t sample)
{
	struct hp_load_unit *u = m->u;
	/* In its place: a copy would wait for what was just written. */
	struct hp_load_row *row = &u->row[u->rows];
	int r;

	*row = (struct hp_load_row){ .number = sample, .member = u->members };
	r = add_members(m, row);
	u->rows++;
	return r;
}

enum { AT_ONCE = 256 };

/* Samples x .. x + n - 1 of the lane, n at most AT_ONCE. */
static int add_rows(struct making *m, uint64_t x, uint64_t n)
{
	const struct hp_share *s = &m->u->share;
	const struct hp_own *own = m->p->own;
	uint64_t number[AT_ONCE];
	int r = 0;

	hp_epoch_list_samples(m->p->e, s->list, s->index + (x - s->x), n,
			      number);
	for (uint64_t i = 0; i < n && r == 0; i++) {
		uint32_t *at = m->u->at ? &m->u->at[x + i - s->x] : NULL;

		if (at)
			*at = HP_LOAD_NONE;
		if (at && !hp_own_has(own, s->lane, x + i))
			continue;
		if (at)
			*at = m->u->rows;
		r = add_row(m, number[i]);
	}
	return r;
}

static bool is_dense(const struct hp_share *s, const struct hp_own *own)
{
	return s->lane == HP_SHARE_APART || s->samples == 1 ||
	       (own->in_step == 1 && own->stride == 1);
}

/* ---- A unit ----------------------------------------------------------- */

/* Members there is room for from the beginning. */
static uint32_t members_of(const struct hp_load_unit *u)
{
	uint64_t n = u->members_most ? u->members_most : 1;
	uint32_t picks = u->plan->wanted.n_suffixes;

	if (picks && n > u->share.samples * picks)
		n = u->share.samples * picks;
	return n < MOST ? (uint32_t)n : MOST;
}

uint64_t hp_load_unit_arrays(const struct hp_load_unit *u)
{
	uint64_t row =
		sizeof *u->row + u->plan->wanted.n_suffixes * sizeof *u->pick;

	if (!is_dense(&u->share, u->plan->own))
		row += sizeof *u->at;
	return u->share.samples * row + members_of(u) * sizeof *u->member;
}

static int begin(struct making *m)
{
	struct hp_load_unit *u = m->u;
	uint32_t n = (uint32_t)u->share.samples;
	uint32_t picks = m->p->wanted.n_suffixes;

	if (!is_dense(&u->share, m->p->own)) {
		u->at = hp_array(n, sizeof *u->at);
		if (!u->at)
			return -ENOMEM;
	}
	m->row_room = n;
	m->member_room = members_of(u);
	u->row = hp_array(n, sizeof *u->row);
	u->member = hp_array(m->member_room, sizeof *u->member);
	u->pick = picks ? hp_array((uint64_t)n * picks, sizeof *u->pick) : NULL;
	return u->row && u->member && (u->pick || !picks) ? 0 : -ENOMEM;
}

static int add_all(struct making *m)
{
	const struct hp_share *s = &m->u->share;
	int r = 0;

	for (uint64_t i = 0; i < s->samples && r == 0; i += AT_ONCE) {
		uint64_t left = s->samples - i;

		r = add_rows(m, s->x + i, left < AT_ONCE ? left : AT_ONCE);
	}
	return r;
}

/* Others may be wanted, or are of rows that are not the reader's. */
static void give_back(struct making *m)
{
	uint32_t n = m->u->members ? m->u->members : 1;
	void *v;

	if (n > m->member_room / 4 * 3)
		return;
	v = reallocarray(m->u->member, n, sizeof *m->u->member);
	if (!v)
		return;
	m->u->member = v;
	m->member_room = n;
}

static uint64_t bytes_of(const struct making *m)
{
	const struct hp_load_unit *u = m->u;

	return sizeof *u + (u->at ? u->share.samples * sizeof *u->at : 0) +
	       (uint64_t)m->row_room * sizeof *u->row +
	       (uint64_t)m->member_room * sizeof *u->member +
	       (uint64_t)m->row_room * m->p->wanted.n_suffixes *
		       sizeof *u->pick;
}

int hp_load_unit_make(struct hp_load_unit *u)
{
	struct making m = { .u = u, .p = u->plan };
	int r;

	/* Shares are cut so that they have fewer. */
	if (u->share.samples > MOST)
		return -ENOMEM;
	r = begin(&m);
	if (r < 0)
		return r;
	hp_index_copy_begin(&m.copy, m.p->index, u->share.samples > MANY_ROWS);
	r = add_all(&m);
	hp_index_copy_end(&m.copy);
	give_back(&m);
	u->b.member = u->member;
	u->b.n = u->members;
	u->b.room = hp_fetch_room(u->member, u->members);
	u->made = bytes_of(&m);
	return r;
}
