/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the bytes of an adopted chunk come from: other nodes that hold it, as
 * long as they give it, else the origin.
 */
#include "serve/adopt_private.h"

#include "base/mem.h"
#include "peers/whom.h"
#include "serve/held.h"

#include <errno.h>
#include <stdlib.h>

/* At a time, so that bytes are seen to come. */
#define STEP ((size_t)1 << 20)

/* ---- The origin ------------------------------------------------------- */

static int open_origin(struct hpdsl_serve *s, const struct hpdsl_chunk *row)
{
	struct hp_source o = hp_source_of(&hp_sources_files, HP_AT_ORIGIN,
					  s->io, row->number);
	hp_auto_free char *name =
		hp_stage_watch_origin(&s->ds->stage->watch, row->name);
	uint64_t size;
	int r;

	if (!name)
		return -ENOMEM;
	o.fd.fd = o.ops->open(s->io, s->ds->dir, name, 0);
	if (o.fd.fd < 0)
		return o.fd.fd;
	r = o.ops->identity(&o, row, &size);
	if (r == HP_SOURCE_IS_IT)
		return o.fd.fd;
	s->io->close(s->io, o.fd.fd);
	return r < 0 ? r : -ESTALE;
}

/* Of several who find that it is not open yet one keeps his. */
static int origin_of(struct hpdsl_serve *s, struct hp_adoptee *a)
{
	pthread_mutex_t *lock = &s->adoption->lock;
	int fd = -1, is;

	pthread_mutex_lock(lock);
	is = a->origin;
	pthread_mutex_unlock(lock);
	if (is >= 0)
		return is;
	fd = open_origin(s, &a->row);
	if (fd < 0)
		return fd;
	pthread_mutex_lock(lock);
	is = a->origin;
	if (is < 0)
		a->origin = is = fd;
	pthread_mutex_unlock(lock);
	if (is != fd)
		s->io->close(s->io, fd);
	return is;
}

static int read_origin(struct hpdsl_serve *s, int fd, uint8_t *buf, size_t n,
		       uint64_t at, uint64_t *moved)
{
	for (size_t done = 0; done < n;) {
		size_t step = n - done < STEP ? n - done : STEP;
		ssize_t got = hp_io_pread_full(s->io, fd, buf + done, step,
					       at + done);

		if (got < 0)
			return (int)got;
		hp_serve_add(&s->count.adopted_bytes, (uint64_t)got);
		if ((size_t)got < step)
			return -ESTALE;
		hp_fetcher_moves(moved);
		done += step;
	}
	return 0;
}

/* ---- Other nodes ------------------------------------------------------ */

static bool others_have(struct hpdsl_serve *s, const struct hp_adoptee *a)
{
	bool is;

	if (__atomic_load_n(&a->own, __ATOMIC_RELAXED))
		return false;
	pthread_rwlock_rdlock(&s->lock);
	is = hp_held_by_others(s, a->row.number);
	pthread_rwlock_unlock(&s->lock);
	return is;
}

static void note_sender(struct hp_adoptee *a, uint32_t node)
{
	uint32_t is = node == HP_NO_NODE ? 0 : node + 1;

	if (!__atomic_exchange_n(&a->sent, true, __ATOMIC_RELAXED))
		__atomic_store_n(&a->sender, is, __ATOMIC_RELAXED);
	else if (__atomic_load_n(&a->sender, __ATOMIC_RELAXED) != is)
		__atomic_store_n(&a->sender, 0, __ATOMIC_RELAXED);
}

/* -EHOSTUNREACH: nobody has it, or gives it in time. */
static int read_others(struct hpdsl_serve *s, struct hp_adoptee *a,
		       uint8_t *buf, size_t n, uint64_t at, uint64_t *moved)
{
	for (size_t done = 0; done < n;) {
		size_t step = n - done < STEP ? n - done : STEP;
		uint32_t node;
		ssize_t got = s->adoption->ask_others(s, &a->row, at + done,
						      buf + done, step, &node);

		if (got != (ssize_t)step)
			return -EHOSTUNREACH;
		note_sender(a, node);
		hp_serve_add(&s->count.adopted_peer_bytes, (uint64_t)got);
		hp_fetcher_moves(moved);
		done += step;
	}
	return 0;
}

/* ---- Either ----------------------------------------------------------- */

int hp_adoptee_open(struct hpdsl_serve *s, struct hp_adoptee *a)
{
	int r = 0;

	a->coming.held = others_have(s, a);
	__atomic_store_n(&a->own, !a->coming.held, __ATOMIC_RELAXED);
	if (!a->coming.held)
		r = origin_of(s, a);
	if (r >= 0)
		r = a->fd = hp_adoptee_make(s, a);
	return r < 0 ? r : 0;
}

int hp_adoptee_fetch(struct hpdsl_serve *s, struct hp_adoptee *a,
		     uint32_t piece, uint8_t *buf, uint64_t *moved)
{
	uint64_t at = (uint64_t)piece * HP_PIECE;
	size_t n = (size_t)hp_pieces_length(&a->coming.pieces, piece);
	int r = -EHOSTUNREACH;

	if (!__atomic_load_n(&a->own, __ATOMIC_RELAXED))
		r = read_others(s, a, buf, n, at, moved);
	if (r < 0) {
		__atomic_store_n(&a->own, true, __ATOMIC_RELAXED);
		r = origin_of(s, a);
		if (r >= 0)
			r = read_origin(s, r, buf, n, at, moved);
	}
	return r < 0 ? r : hp_io_pwrite_full(s->io, a->fd, buf, n, at);
}

/* It is not kept open: there may be many such chunks. */
static int pass_origin(struct hpdsl_serve *s, const struct hp_adoptee *a,
		       struct hp_passed *p, uint64_t *moved)
{
	hp_auto_fd f = { s->io, open_origin(s, &a->row) };

	return f.fd < 0 ? f.fd :
			  read_origin(s, f.fd, p->buf, hp_pass_bytes(p),
				      p->first, moved);
}

int hp_adoptee_pass_on(struct hpdsl_serve *s, struct hp_adoptee *a,
		       struct hp_passed *p, uint64_t *moved)
{
	size_t n = (size_t)hp_pass_bytes(p);
	int r = -EHOSTUNREACH;

	p->buf = malloc(n);
	if (!p->buf)
		return -ENOMEM;
	if (others_have(s, a))
		r = read_others(s, a, p->buf, n, p->first, moved);
	if (r < 0)
		r = pass_origin(s, a, p, moved);
	if (r == 0)
		hp_serve_add(&s->count.passed_bytes, n);
	return r;
}
