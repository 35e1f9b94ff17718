/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the index become rows of a unit, and members of blocks.  A block is
 * as much as fits into a slot, or one sample that does not.
 */
#include "load/unit.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

/* So that numbers of a unit fit their type, with HP_LOAD_NONE left. */
#define MOST (UINT32_C(1) << 31)
/* No machine has memory for such a sample: the index is wrong, and sums of
 * these cannot be told from sums of sound ones. */
#define SAMPLE_MOST (UINT64_C(1) << 42)

/* Makes room for one more; -ENOMEM, -E2BIG. */
static int grow(void *array, uint32_t *room, uint32_t n, uint32_t more,
		size_t size)
{
	uint64_t want = (uint64_t)n + more;
	void *p;

	if (want <= *room)
		return 0;
	if (want > MOST)
		return -E2BIG;
	if (want < n + (uint64_t)n / 2)
		want = n + (uint64_t)n / 2;
	p = realloc(*(void **)array, want * size);
	if (!p)
		return -ENOMEM;
	*(void **)array = p;
	*room = (uint32_t)want;
	return 0;
}

int hp_load_make(struct hp_load_maker *m, const struct hp_load_plan *plan,
		 uint64_t rows)
{
	uint32_t first;
	int r;

	m->plan = plan;
	m->row_room = m->member_room = m->block_room = 0;
	m->room = (struct hp_fetch_room){ 0 };
	m->u = NULL;
	if (rows > MOST)
		return -E2BIG;
	m->u = calloc(1, sizeof *m->u);
	if (!m->u)
		return -ENOMEM;
	hp_index_copy_begin(&m->copy, plan->index, true);
	first = rows ? (uint32_t)rows : 1;
	r = grow(&m->u->row, &m->row_room, 0, first, sizeof *m->u->row);
	if (r == 0)
		r = grow(&m->u->member, &m->member_room, 0, first,
			 sizeof *m->u->member);
	if (r < 0)
		hp_load_make_release(m);
	return r;
}

void hp_load_make_release(struct hp_load_maker *m)
{
	hp_load_unit_free(m->u);
	m->u = NULL;
	hp_index_copy_end(&m->copy);
}

/* ---- Members ---------------------------------------------------------- */

static bool has_suffix(const struct hpdsl_member *m, const char *suffix)
{
	size_t key = hpdsl_key_length(m->path, m->path_len);

	/* The dot between them belongs to neither. */
	if (key < m->path_len)
		key++;
	return strlen(suffix) == m->path_len - key &&
	       !memcmp(m->path + key, suffix, m->path_len - key);
}

/* Is the member wanted?  Notes for what. */
static bool is_wanted(struct hp_load_maker *m, const struct hpdsl_member *is,
		      uint32_t *pick)
{
	const struct hp_load_plan *p = m->plan;
	bool wanted = false;

	if (!p->n_suffixes)
		return !is->generated;
	for (uint32_t i = 0; i < p->n_suffixes; i++)
		if (pick[i] == HP_LOAD_NONE && has_suffix(is, p->suffixes[i])) {
			pick[i] = m->u->members;
			wanted = true;
		}
	return wanted;
}

/* One member of a row; its code tells if the index is damaged. */
static int add_member(struct hp_load_maker *m, uint64_t number, uint32_t *pick,
		      int *ret_code)
{
	struct hp_load_unit *u = m->u;
	struct hpdsl_member is;
	int r;

	*ret_code = hp_index_member(&m->copy.ix, number, &is, NULL);
	if (*ret_code < 0 || !is_wanted(m, &is, pick))
		return 0;
	r = grow(&u->member, &m->member_room, u->members, 1, sizeof *u->member);
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

/* ---- Blocks ----------------------------------------------------------- */

static void close_block(struct hp_load_maker *m)
{
	struct hp_load_unit *u = m->u;

	if (!u->blocks)
		return;
	u->block[u->blocks - 1].b.room = m->room.bytes;
	u->room += hp_slots_cost(m->plan->slot, m->room.bytes);
}

static int open_block(struct hp_load_maker *m)
{
	struct hp_load_unit *u = m->u;
	int r;

	close_block(m);
	r = grow(&u->block, &m->block_room, u->blocks, 1, sizeof *u->block);
	if (r < 0)
		return r;
	u->block[u->blocks++] = (struct hp_load_block){
		.first = UINT64_MAX,
		.b.bits = u->late,
	};
	m->room = (struct hp_fetch_room){ .bits = u->late };
	return 0;
}

static void add_room(struct hp_load_maker *m, const struct hp_load_row *row)
{
	const struct hp_block_member *v = m->u->member + row->member;

	for (uint32_t i = 0; i < row->members; i++)
		hp_fetch_room_add(&m->room, &v[i]);
}

/* Adds the row's members to the last block, or to a new one. */
static int place_row(struct hp_load_maker *m, struct hp_load_row *row)
{
	struct hp_load_unit *u = m->u;
	size_t before = m->room.bytes;
	int r;

	add_room(m, row);
	if (!u->blocks ||
	    (m->room.bytes > m->plan->slot && u->block[u->blocks - 1].b.n)) {
		m->room.bytes = before; /* it is not in the last one */
		r = open_block(m);
		if (r < 0)
			return r;
		add_room(m, row);
	}
	row->block = u->blocks - 1;
	u->block[row->block].b.n += row->members;
	return 0;
}

/* ---- Rows ------------------------------------------------------------- */

static int add_members(struct hp_load_maker *m, struct hp_load_row *row)
{
	struct hp_load_unit *u = m->u;
	uint32_t n = m->plan->n_suffixes;
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
	if (row->code == 0 &&
	    hp_fetch_room(u->member + row->member, row->members) > SAMPLE_MOST)
		row->code = -EFBIG;
	if (row->code == 0 || r < 0)
		return r;
	if (row->code == -ENOMEM)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		pick[i] = HP_LOAD_NONE;
	u->members = row->member;
	row->members = 0;
	return 0;
}

/* Room for one more row, and for what is noted of its suffixes. */
static int grow_rows(struct hp_load_maker *m)
{
	struct hp_load_unit *u = m->u;
	uint32_t picks = m->row_room;
	int r = grow(&u->row, &m->row_room, u->rows, 1, sizeof *u->row);
	void *p;

	if (r < 0 || !m->plan->n_suffixes || (u->pick && picks == m->row_room))
		return r;
	p = realloc(u->pick, (uint64_t)m->row_room * m->plan->n_suffixes *
				     sizeof *u->pick);
	u->pick = p ? p : u->pick;
	return p ? 0 : -ENOMEM;
}

int hp_load_make_row(struct hp_load_maker *m, uint64_t sample, uint32_t *ret)
{
	struct hp_load_unit *u = m->u;
	struct hp_load_row *row;
	int r;

	if (u->rows && u->row[u->rows - 1].number == sample) {
		*ret = u->rows - 1;
		return 0;
	}
	r = grow_rows(m);
	if (r < 0)
		return r;
	/* In its place: a copy would wait for what was just written. */
	row = &u->row[u->rows];
	*row = (struct hp_load_row){ .number = sample,
				     .member = u->members,
				     .block = HP_LOAD_NONE };
	r = add_members(m, row);
	if (r == 0 && row->members)
		r = place_row(m, row);
	if (r < 0)
		return r;
	*ret = u->rows++;
	return 0;
}

void hp_load_make_use(struct hp_load_maker *m, uint32_t row, uint64_t turn)
{
	uint32_t i = m->u->row[row].block;
	struct hp_load_block *b;

	if (i == HP_LOAD_NONE)
		return;
	b = &m->u->block[i];
	if (b->first == UINT64_MAX)
		b->first = turn;
	else if (b->last == turn)
		return;
	b->last = turn;
	b->uses++;
}

struct hp_load_unit *hp_load_make_end(struct hp_load_maker *m)
{
	struct hp_load_unit *u = m->u;
	uint32_t member = 0;

	hp_index_copy_end(&m->copy);
	close_block(m);
	for (uint32_t i = 0; i < u->blocks; i++) {
		u->block[i].unit = u;
		u->block[i].b.member = u->member + member;
		member += u->block[i].b.n;
	}
	u->refs = u->blocks + 1;
	u->bytes =
		sizeof *u + (uint64_t)m->row_room * sizeof *u->row +
		(uint64_t)m->member_room * sizeof *u->member +
		(uint64_t)m->block_room * sizeof *u->block +
		(u->end - u->begin) * sizeof *u->at +
		(uint64_t)m->row_room * m->plan->n_suffixes * sizeof *u->pick;
	m->u = NULL;
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
	free(u->block);
	free(u);
}
