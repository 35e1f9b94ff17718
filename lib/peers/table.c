/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the table of a node's processes, as one of them sees them. */
#include "peers/table_rows.h"

#include "base/error.h"
#include "base/hash.h"
#include "peers/health.h"
#include "sys/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A row that was read is good for so long, and what changes all the time is
 * written no more often; longer where there are many nodes. */
#define FRESH UINT64_C(10000000)
#define FRESH_NODE UINT64_C(20000)
/* The last time a lock is waited for: so often, a millisecond each. */
enum { LAST_TRIES = 50 };

struct hp_table_node {
	struct hp_table_state state; /* check: not used */
	uint64_t suspect, bad;	     /* as the file has them */
	uint64_t read_at, written_at;
	bool read, written;
	struct hp_table_tally *owed; /* to be added; NULL: nothing ever was */
	bool listed;
	uint32_t next;
};

#define NONE UINT32_MAX

/* ---- A row in the file ------------------------------------------------ */

/*
 * Of n bytes, the last 8 of them the check: of this table, and of this place in
 * it.  A row of zeros, as it was made, says nothing, and is as good.
 */
static uint64_t check_of(const struct hp_table *t, uint32_t node, void *p,
			 size_t n)
{
	uint64_t base, is, check;

	memcpy(&base, t->file->head + sizeof t->file->head - 8, 8);
	base += node;
	memcpy(&is, (uint8_t *)p + n - 8, 8);
	memcpy((uint8_t *)p + n - 8, &base, 8);
	check = hp_hash64(p, n);
	memcpy((uint8_t *)p + n - 8, &is, 8);
	return check;
}

static bool is_zero(const void *p, size_t n)
{
	const uint8_t *b = p;

	return b[0] == 0 && memcmp(b, b + 1, n - 1) == 0;
}

static bool is_state(const struct hp_table *t, uint32_t node,
		     struct hp_table_state *s)
{
	return s->check == check_of(t, node, s, sizeof *s) ||
	       is_zero(s, sizeof *s);
}

static bool is_counts(const struct hp_table *t, uint32_t node,
		      struct hp_table_counts *c)
{
	return c->check == check_of(t, node, c, sizeof *c) ||
	       is_zero(c, sizeof *c);
}

static bool read_at(const struct hp_table *t, void *p, size_t n, uint64_t at)
{
	return t->fd >= 0 &&
	       hp_io_pread_full(t->file->io, t->fd, p, n, at) == (ssize_t)n;
}

/* What cannot be written is noticed when it is looked at. */
static bool write_at(struct hp_table *t, const void *p, size_t n, uint64_t at)
{
	const struct hp_io *io = t->file->io;

	if (t->fd < 0)
		return false;
	if (hp_io_pwrite_full(io, t->fd, p, n, at) == 0)
		return true;
	io->close(io, t->fd);
	t->fd = -1;
	return false;
}

/* ---- A row here ------------------------------------------------------- */

/* What this process heard last may not be in the file yet. */
static void take_state(struct hp_table_node *n, const struct hp_table_state *s)
{
	const struct hp_table_state old = n->state;

	n->state = *s;
	if (old.told > s->told) {
		n->state.told = old.told;
		n->state.load = old.load;
	}
}

static void read_row(struct hp_table *t, uint32_t node)
{
	struct hp_table_node *n = &t->node[node];
	struct hp_table_disk d;

	if (!read_at(t, &d, sizeof d, hp_table_row_at(node)))
		return;
	if (is_state(t, node, &d.state))
		take_state(n, &d.state);
	if (!is_counts(t, node, &d.counts))
		return;
	n->suspect = d.counts.tally.suspect;
	n->bad = d.counts.tally.bad;
}

static struct hp_table_node *row(struct hp_table *t, uint32_t node,
				 uint64_t now)
{
	struct hp_table_node *n = &t->node[node];

	if (!n->read || now < n->read_at || now - n->read_at >= t->fresh) {
		read_row(t, node);
		n->read_at = now;
		n->read = true;
	}
	return n;
}

/* What others have written into it by now stays. */
static struct hp_table_node *newest(struct hp_table *t, uint32_t node,
				    uint64_t now)
{
	t->node[node].read = false;
	return row(t, node, now);
}

static void write_state(struct hp_table *t, uint32_t node, uint64_t now)
{
	struct hp_table_node *n = &t->node[node];
	struct hp_table_state s = n->state;

	s.check = check_of(t, node, &s, sizeof s);
	write_at(t, &s, sizeof s, hp_table_row_at(node));
	n->written_at = now;
	n->written = true;
}

/* Of what changes with each answer: not again so soon. */
static bool is_due(const struct hp_table *t, const struct hp_table_node *n,
		   uint64_t now)
{
	return !n->written || now < n->written_at ||
	       now - n->written_at >= t->fresh;
}

/* ---- Opened, and looked at -------------------------------------------- */

int hp_table_open(const struct hp_table_file *f, struct hp_table *ret)
{
	const uint64_t rows = f->nodes + UINT64_C(1);
	struct hp_table t = { .file = f,
			      .nodes = f->nodes,
			      .fresh = FRESH + f->nodes * FRESH_NODE,
			      .owed = NONE };

	t.node = calloc(rows, sizeof *t.node);
	if (!t.node)
		return -ENOMEM;
	t.fd = hp_table_file_open(f, NULL);
	if (t.fd < 0)
		t.fd = -1;
	*ret = t;
	return 0;
}

void hp_table_disown(struct hp_table *t)
{
	if (t->file && t->fd >= 0)
		t->file->io->close(t->file->io, t->fd);
	t->fd = -1;
}

void hp_table_close(struct hp_table *t)
{
	hp_table_disown(t);
	for (uint64_t i = 0; t->node && i <= t->nodes; i++)
		free(t->node[i].owed);
	free(t->node);
	*t = (struct hp_table){ .fd = -1 };
}

bool hp_table_look(struct hp_table *t, uint64_t now, struct hpdsl_error *err)
{
	struct hpdsl_error why;

	if (t->fd >= 0 && !hp_table_file_is_still(t->file, t->fd))
		hp_table_disown(t);
	if (t->fd < 0) {
		t->fd = hp_table_file_open(t->file, &why);
		for (uint64_t i = 0; i <= t->nodes; i++)
			t->node[i].read = t->node[i].written = false;
	}
	t->looked = now;
	if (err)
		*err = (struct hpdsl_error){ 0 };
	if (t->fd >= 0) {
		hp_table_add(t, false);
		return true;
	}
	t->fd = -1;
	if (err && !t->told)
		*err = why;
	t->told = true;
	return false;
}

/* ---- What is seen ----------------------------------------------------- */

static uint64_t times_bad(const struct hp_table_node *n)
{
	return n->bad + (n->owed ? n->owed->bad : 0);
}

struct hp_table_row hp_table_get(struct hp_table *t, uint32_t node,
				 uint64_t now)
{
	const struct hp_table_node *n = row(t, node, now);

	return (struct hp_table_row){
		.until = n->state.until,
		.told = n->state.told,
		.load = n->state.load,
		.failures = n->suspect + (n->owed ? n->owed->suspect : 0),
		.bad = times_bad(n),
		.port = (uint16_t)n->state.port,
	};
}

static bool is_well(const struct hp_table_node *n, uint64_t now)
{
	const uint64_t until = n->state.until;

	/* Later than any probe would be: nobody meant that. */
	return times_bad(n) < HP_BAD_MOST &&
	       (until <= now || until - now > HP_PROBE_MOST);
}

bool hp_table_is_well(const struct hp_table *t, uint32_t node)
{
	struct hp_table_disk d;

	if (!read_at(t, &d, sizeof d, hp_table_row_at(node)))
		return true;
	return !(is_state(t, node, &d.state) && d.state.until) &&
	       !(is_counts(t, node, &d.counts) &&
		 d.counts.tally.bad >= HP_BAD_MOST);
}

bool hp_table_lives(struct hp_table *t, uint32_t node, uint64_t now)
{
	return is_well(row(t, node, now), now);
}

uint64_t hp_table_since(struct hp_table *t, uint64_t now)
{
	return row(t, t->nodes, now)->state.up;
}

bool hp_table_is_starting(struct hp_table *t, uint32_t node, uint64_t now)
{
	const uint64_t up = hp_table_since(t, now);

	return up && up <= now && now - up < HP_STARTING_FOR &&
	       !row(t, node, now)->state.told;
}

void hp_table_suspect(struct hp_table *t, uint32_t node, uint64_t now,
		      uint64_t until)
{
	const uint64_t most = now + HP_PROBE_MOST;
	struct hp_table_node *n = row(t, node, now);
	struct hp_table_tally *c;
	const bool was = is_well(n, now);

	if (was && (c = hp_table_count(t, node)))
		c->suspect++;
	until = until < most ? until : most;
	if (was || is_due(t, n, now)) {
		newest(t, node, now);
		n->state.until = until;
		write_state(t, node, now);
	}
	n->state.until = until;
}

void hp_table_well(struct hp_table *t, uint32_t node, uint64_t now)
{
	struct hp_table_node *n = newest(t, node, now);

	if (!n->state.until)
		return;
	n->state.until = 0;
	write_state(t, node, now);
}

void hp_table_told(struct hp_table *t, uint32_t node, uint64_t now,
		   uint64_t load)
{
	struct hp_table_node *n = &t->node[node];
	const bool due = is_due(t, n, now);

	if (due)
		newest(t, node, now);
	n->state.load = load;
	n->state.told = now;
	if (due)
		write_state(t, node, now);
}

void hp_table_found(struct hp_table *t, uint32_t node, uint64_t now,
		    uint16_t port)
{
	struct hp_table_node *n = row(t, node, now);

	if (n->state.port == port)
		return;
	newest(t, node, now);
	n->state.port = port;
	write_state(t, node, now);
}

void hp_table_up(struct hp_table *t, uint64_t now)
{
	newest(t, t->nodes, now)->state.up = now;
	write_state(t, t->nodes, now);
}

void hp_table_down(struct hp_table *t, uint64_t now)
{
	newest(t, t->nodes, now)->state.up = 0;
	write_state(t, t->nodes, now);
}

/* ---- Counted ---------------------------------------------------------- */

struct hp_table_tally *hp_table_count(struct hp_table *t, uint32_t node)
{
	struct hp_table_node *n = &t->node[node];

	if (!n->owed)
		n->owed = calloc(1, sizeof *n->owed);
	if (n->owed && !n->listed) {
		n->listed = true;
		n->next = t->owed;
		t->owed = node;
	}
	return n->owed;
}

unsigned hp_table_time(uint64_t ns)
{
	unsigned i = 0;

	for (uint64_t us = ns / 1000; us > 1 && i < HP_TABLE_TIMES - 1; i++)
		us /= 2;
	return i;
}

void hp_table_tally(const struct hp_table *t, uint32_t node,
		    struct hp_table_tally *ret)
{
	const uint64_t at =
		hp_table_row_at(node) + offsetof(struct hp_table_disk, counts);
	struct hp_table_counts c;

	*ret = (struct hp_table_tally){ 0 };
	if (read_at(t, &c, sizeof c, at) && is_counts(t, node, &c))
		*ret = c.tally;
}

/* Both are words alone. */
static void sum(struct hp_table_tally *to, const struct hp_table_tally *more)
{
	uint64_t a[sizeof *to / 8], b[sizeof *to / 8];

	memcpy(a, to, sizeof a);
	memcpy(b, more, sizeof b);
	for (size_t i = 0; i < sizeof a / sizeof *a; i++)
		a[i] += b[i];
	memcpy(to, a, sizeof a);
}

/* It is locked: a row that nobody can read begins anew. */
static bool add_locked(struct hp_table *t, uint32_t node, uint64_t at)
{
	struct hp_table_node *n = &t->node[node];
	struct hp_table_counts c;

	if (!read_at(t, &c, sizeof c, at))
		return false;
	if (!is_counts(t, node, &c))
		memset(&c, 0, sizeof c);
	sum(&c.tally, n->owed);
	c.check = check_of(t, node, &c, sizeof c);
	if (!write_at(t, &c, sizeof c, at))
		return false;
	memset(n->owed, 0, sizeof *n->owed);
	n->suspect = c.tally.suspect;
	n->bad = c.tally.bad;
	return true;
}

static bool add_row(struct hp_table *t, uint32_t node)
{
	const uint64_t at =
		hp_table_row_at(node) + offsetof(struct hp_table_disk, counts);
	const uint64_t n = sizeof(struct hp_table_counts);
	const struct hp_io *io = t->file->io;
	bool done;

	if (t->fd < 0 || io->lock_range(io, t->fd, at, n, true) < 0)
		return false;
	done = add_locked(t, node, at);
	if (t->fd >= 0)
		io->lock_range(io, t->fd, at, n, false);
	return done;
}

/* What could not be added is listed again. */
static void add_all(struct hp_table *t)
{
	uint32_t i = t->owed;

	t->owed = NONE;
	while (i != NONE) {
		struct hp_table_node *n = &t->node[i];
		const uint32_t next = n->next;

		n->listed = false;
		if (!add_row(t, i))
			hp_table_count(t, i);
		i = next;
	}
}

void hp_table_add(struct hp_table *t, bool last)
{
	add_all(t);
	for (int i = 0; last && t->fd >= 0 && t->owed != NONE && i < LAST_TRIES;
	     i++) {
		hp_sleep(1000000);
		add_all(t);
	}
}

bool hp_table_owes(const struct hp_table *t)
{
	return t->fd >= 0 && t->owed != NONE;
}

void hp_table_bad(struct hp_table *t, uint32_t node)
{
	struct hp_table_tally *c = hp_table_count(t, node);

	if (!c)
		return;
	c->bad++;
	/* Others are to know at once. */
	if (add_row(t, node))
		t->node[node].read = false;
}
