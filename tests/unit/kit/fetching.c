/* SPDX-License-Identifier: Apache-2.0 */
#include "fetching.h"
#include "wrap.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Blocks ----------------------------------------------------------- */

enum { GUARD = 0x5c, GUARDS = 64 };

/* The test's own memory, allocated when nothing is made to fail. */
struct plan {
	struct fetching *t;
	struct hp_fetch *f;
	struct hp_block_member *member;
	struct hp_block *block;
	uint64_t n, blocks, next;
	pthread_mutex_t lock;
};

static void *must(void *p)
{
	assert_non_null(p);
	return p;
}

static void list_members(struct plan *p)
{
	struct fetching *t = p->t;
	struct hpdsl_counts n;

	hpdsl_count(t->ds, &n);
	p->member = must(calloc(n.members, sizeof *p->member));
	p->block = must(calloc(n.members, sizeof *p->block));
	t->is_bad = must(calloc(n.members, 1));
	for (uint64_t i = 0; i < n.members; i += t->every ? t->every : 1) {
		struct hpdsl_member m;

		assert_int_equal(hpdsl_member_get(t->good, i, &m, NULL), 0);
		p->member[p->n++] = (struct hp_block_member){
			.chunk = m.chunk,
			.number = i,
			.offset = m.offset,
			.size = m.size,
			.checksum = m.checksum,
			.code = 77,
		};
		t->bytes += m.size;
	}
	t->members = p->n;
}

static void cut_blocks(struct plan *p)
{
	size_t slot = p->t->slot ? p->t->slot : 1 << 20;
	struct hp_fetch_room r = { 0 }, more;
	struct hp_block *b = NULL;

	for (uint64_t i = 0; i < p->n; i++) {
		more = r;
		hp_fetch_room_add(&more, &p->member[i]);
		if (!b || more.bytes > slot) {
			b = &p->block[p->blocks++];
			b->member = &p->member[i];
			memset(&more, 0, sizeof more);
			hp_fetch_room_add(&more, &p->member[i]);
		}
		r = more;
		b->n++;
		b->room = r.bytes;
	}
	for (uint64_t i = 0; i < p->blocks; i++) {
		b = &p->block[i];
		assert_int_equal(hp_fetch_room(b->member, b->n), b->room);
		b->buf = must(
			aligned_alloc(HP_FETCH_PAGE, b->room + HP_FETCH_PAGE));
		memset((char *)b->buf + b->room, GUARD, GUARDS);
	}
}

static void *fetch_some(void *arg)
{
	struct plan *p = arg;

	for (;;) {
		uint64_t i = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);
		struct hp_block *b = &p->block[i];
		int r;

		if (i >= p->blocks)
			return NULL;
		memset(&b->why, 0, sizeof b->why);
		r = hp_fetch(p->f, b);
		pthread_mutex_lock(&p->lock);
		if (r)
			p->t->why = b->why;
		pthread_mutex_unlock(&p->lock);
	}
}

static void fetch_blocks(struct plan *p)
{
	pthread_t id[16];
	unsigned n = p->t->threads;

	if (!n)
		fetch_some(p);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(pthread_create(&id[i], NULL, fetch_some, p),
				 0);
	for (unsigned i = 0; i < n; i++)
		pthread_join(id[i], NULL);
}

static void check_member(struct fetching *t, const struct hp_block *b,
			 const struct hp_block_member *m)
{
	struct hpdsl_member row;
	char *want;

	if (m->code) {
		assert_true(m->code < 0);
		assert_null(m->data);
		t->bad++;
		t->is_bad[m->number] = 1;
		return;
	}
	assert_true((const char *)m->data >= (const char *)b->buf);
	assert_true((const char *)m->data + m->size <=
		    (const char *)b->buf + b->room);
	if (t->uncompared)
		return;
	assert_int_equal(hpdsl_member_get(t->good, m->number, &row, NULL), 0);
	want = must(malloc(row.size + 1));
	assert_int_equal(
		hpdsl_member_read(t->good, &row, 0, want, row.size, NULL), 0);
	assert_memory_equal(m->data, want, row.size);
	free(want);
}

static void check_block(struct fetching *t, const struct hp_block *b)
{
	int first = 0;

	for (size_t i = 0; i < GUARDS; i++)
		assert_int_equal(((char *)b->buf)[b->room + i], GUARD);
	for (uint32_t i = 0; i < b->n; i++) {
		check_member(t, b, &b->member[i]);
		if (!first)
			first = b->member[i].code;
	}
	assert_int_equal(b->why.code, first);
	assert_true(!first == !b->why.msg[0]);
}

int fetching_run(struct fetching *t)
{
	struct plan p = { .t = t };

	t->members = t->bytes = t->bad = 0;
	memset(&t->why, 0, sizeof t->why);
	pthread_mutex_init(&p.lock, NULL);
	list_members(&p);
	cut_blocks(&p);
	wrap_fail_at(t->fail_allocation, false);
	p.f = hp_fetch_new(t->ds, &t->opt);
	if (p.f) {
		fetch_blocks(&p);
		hp_fetch_count(p.f, &t->counts);
		hp_fetch_free(p.f);
	}
	t->allocations = wrap_count();
	wrap_fail_at(0, false);
	for (uint64_t i = 0; p.f && i < p.blocks; i++)
		check_block(t, &p.block[i]);
	for (uint64_t i = 0; i < p.blocks; i++)
		free(p.block[i].buf);
	free(p.block);
	free(p.member);
	pthread_mutex_destroy(&p.lock);
	return p.f ? 0 : -ENOMEM;
}

void fetching_end(struct fetching *t)
{
	free(t->is_bad);
	t->is_bad = NULL;
}

/* ---- File systems ----------------------------------------------------- */

#define BASE hp_io_system

static struct odd_io *self(const struct hp_io *io)
{
	return (struct odd_io *)io; /* its first member */
}

static int o_open(const struct hp_io *io, int dir, const char *name, int flags,
		  mode_t mode)
{
	struct odd_io *o = self(io);
	bool direct = flags & O_DIRECT;
	int fd;

	if (direct && o->open_direct)
		return o->open_direct;
	/* Any file system will do. */
	fd = BASE.open(io, dir, name, flags & ~O_DIRECT, mode);
	if (fd >= 0 && fd < (int)sizeof o->direct)
		__atomic_store_n(&o->direct[fd], direct, __ATOMIC_RELAXED);
	return fd;
}

static ssize_t read_direct(struct odd_io *o, int fd, void *buf, size_t n,
			   uint64_t off)
{
	__atomic_fetch_add(&o->direct_reads, 1, __ATOMIC_RELAXED);
	if ((uintptr_t)buf % 512 || n % 512 || off % 512)
		return -EINVAL;
	if (o->read_direct < 0)
		return o->read_direct;
	return BASE.pread(&o->io, fd, buf, n, off);
}

static ssize_t o_pread(const struct hp_io *io, int fd, void *buf, size_t n,
		       uint64_t off)
{
	struct odd_io *o = self(io);

	if (off + n > o->bad_from && off < o->bad_to)
		return -EIO;
	if (o->dribble && n >= 1024)
		n = n / 2 / 512 * 512;
	if (__atomic_load_n(&o->direct[fd], __ATOMIC_RELAXED))
		return read_direct(o, fd, buf, n, off);
	return BASE.pread(io, fd, buf, n, off);
}

static int64_t o_cached(const struct hp_io *io, int fd, uint64_t off,
			uint64_t n)
{
	int cached = self(io)->cached;

	(void)fd;
	(void)off;
	return cached > 0 ? (int64_t)n : cached;
}

void odd_io_init(struct odd_io *o)
{
	memset(o, 0, sizeof *o);
	o->io = hp_io_system;
	o->io.open = o_open;
	o->io.pread = o_pread;
	o->io.cached = o_cached;
}
