/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files of chunks, few of them open at a time. */
#include "write/parts.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/names.h"
#include "sys/pool.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum {
	SLOTS_MIN = 8,
	SLOTS_MAX = 1024,
	/* Descriptors that others need: inputs, readers, the caller. */
	OTHERS = 48,
	NO_SLOT = UINT16_MAX,
	/* Threads that wait for the disk. */
	SYNCERS = 8,
};

enum { MADE = 1, DIRTY = 2 };

/* An open file, if it is ready, or one that is being opened. */
struct hp_part_slot {
	struct hp_outfile out;
	uint32_t chunk;
	unsigned users;
	bool taken, ready;
	uint64_t used; /* when, by the clock */
};

static uint32_t count_slots(uint32_t n_chunks)
{
	struct rlimit limit;
	uint64_t n = SLOTS_MAX;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		n = limit.rlim_cur > OTHERS ? (limit.rlim_cur - OTHERS) / 2 : 0;
	if (n > n_chunks)
		n = n_chunks;
	return n < SLOTS_MIN ? SLOTS_MIN : n > SLOTS_MAX ? SLOTS_MAX : n;
}

int hp_parts_init(struct hp_parts *parts, const struct hp_writing *p,
		  struct hpdsl_error *err)
{
	uint32_t n = p->plan.n_chunks;

	*parts = (struct hp_parts){ .w = p, .n_slots = count_slots(n) };
	pthread_mutex_init(&parts->lock, NULL);
	pthread_cond_init(&parts->freed, NULL);
	parts->slots = calloc(parts->n_slots, sizeof *parts->slots);
	for (uint32_t i = 0; parts->slots && i < parts->n_slots; i++)
		parts->slots[i].out.fd = -1;
	parts->slot_of = hp_array(n, sizeof *parts->slot_of);
	parts->flags = calloc(n, sizeof *parts->flags);
	parts->old = calloc(n, sizeof *parts->old);
	if (!parts->slots || !parts->slot_of || !parts->flags || !parts->old) {
		hp_parts_release(parts);
		return hp_fail_nomem(err);
	}
	memset(parts->slot_of, 0xff, n * sizeof *parts->slot_of);
	return 0;
}

void hp_parts_release(struct hp_parts *parts)
{
	if (!parts->w)
		return;
	for (uint32_t i = 0; parts->slots && i < parts->n_slots; i++)
		if (parts->slots[i].out.fd >= 0)
			hp_outfile_close(&parts->slots[i].out, NULL);
	free(parts->slots);
	free(parts->slot_of);
	free(parts->flags);
	free(parts->old);
	pthread_cond_destroy(&parts->freed);
	pthread_mutex_destroy(&parts->lock);
	*parts = (struct hp_parts){ 0 };
}

static int reopen(const struct hp_parts *parts, uint32_t c,
		  struct hp_outfile *ret, struct hpdsl_error *err)
{
	const struct hp_writing *p = parts->w;
	char name[HP_CHUNK_NAME];

	hp_chunk_name(c, name);
	return hp_outfile_reopen(ret, p->io, p->dir, name, err);
}

static void remove_part(struct hp_parts *parts, uint32_t c)
{
	const struct hp_writing *p = parts->w;
	char name[HP_CHUNK_NAME], temp[HP_CHUNK_NAME + 8];
	int r;

	hp_chunk_name(c, name);
	snprintf(temp, sizeof temp, ".%s.part", name);
	r = p->io->unlink(p->io, p->dir, temp, 0);
	if (r < 0 && r != -ENOENT)
		return;
	pthread_mutex_lock(&parts->lock);
	parts->flags[c] = 0;
	pthread_mutex_unlock(&parts->lock);
}

void hp_parts_remove(struct hp_parts *parts)
{
	for (uint32_t c = 0; parts->w && c < parts->w->plan.n_chunks; c++)
		if (parts->flags[c] & MADE)
			remove_part(parts, c);
}

/* Where the members of chunk c end; the rest of the file is zeros. */
static uint64_t members_end(const struct hp_plan *plan, uint32_t c)
{
	struct hp_plan_place place = { 0 };
	struct hp_plan_walk w;

	hp_plan_walk_chunk(&w, plan, c);
	while (hp_plan_walk_next(&w, &place))
		;
	return place.next;
}

int hp_parts_make(struct hp_parts *parts, uint32_t c, struct hpdsl_error *err)
{
	const struct hp_writing *p = parts->w;
	uint64_t size = hp_plan_chunk_bytes(&p->plan, c);
	char name[HP_CHUNK_NAME];
	struct hp_outfile f;
	int r = reopen(parts, c, &f, NULL), closed;
	bool old = r == 0;

	hp_chunk_name(c, name);
	/* Nobody writes or looks at what is behind the members. */
	if (old)
		r = hp_outfile_resize(&f, members_end(&p->plan, c), err);
	else
		r = hp_outfile_open(&f, p->io, p->dir, name, size, false, err);
	if (r < 0 && !old)
		return r;
	parts->flags[c] = MADE;
	parts->old[c] = old;
	if (r == 0)
		r = hp_outfile_resize(&f, size, err);
	closed = hp_outfile_close(&f, r == 0 ? err : NULL);
	return r < 0 ? r : closed;
}

bool hp_parts_old(const struct hp_parts *parts, uint32_t c)
{
	return parts->old[c];
}

/* ---- Open ones -------------------------------------------------------- */

/* A slot that is empty, or the one that nobody has used for longest. */
static struct hp_part_slot *find_idle(struct hp_parts *parts)
{
	struct hp_part_slot *best = NULL;

	for (uint32_t i = 0; i < parts->n_slots; i++) {
		struct hp_part_slot *s = &parts->slots[i];

		if (!s->taken)
			return s;
		if (s->users == 0 && (!best || s->used < best->used))
			best = s;
	}
	return best;
}

static void leave_slot(struct hp_parts *parts, struct hp_part_slot *s)
{
	if (s->taken)
		parts->slot_of[s->chunk] = NO_SLOT;
	s->taken = s->ready = false;
	s->users = 0;
}

/* Under the lock, which it gives up meanwhile: s is for chunk c from now on. */
static int fill_slot(struct hp_parts *parts, struct hp_part_slot *s, uint32_t c,
		     struct hpdsl_error *err)
{
	int r = 0;

	leave_slot(parts, s);
	s->taken = true;
	s->chunk = c;
	s->users = 1;
	parts->slot_of[c] = (uint16_t)(s - parts->slots);
	pthread_mutex_unlock(&parts->lock);
	/* What closing tells would be lost with it. */
	if (s->out.fd >= 0)
		r = hp_outfile_close(&s->out, err);
	if (r == 0)
		r = reopen(parts, c, &s->out, err);
	pthread_mutex_lock(&parts->lock);
	s->ready = r == 0;
	if (r < 0)
		leave_slot(parts, s);
	pthread_cond_broadcast(&parts->freed);
	return r;
}

int hp_parts_get(struct hp_parts *parts, uint32_t c, struct hp_outfile **ret,
		 struct hpdsl_error *err)
{
	struct hp_part_slot *s;
	int r = 0;

	pthread_mutex_lock(&parts->lock);
	for (;;) {
		uint16_t at = parts->slot_of[c];

		s = at == NO_SLOT ? find_idle(parts) : &parts->slots[at];
		if (s && (at == NO_SLOT || s->ready))
			break;
		pthread_cond_wait(&parts->freed, &parts->lock);
	}
	if (s->ready && s->chunk == c)
		s->users++;
	else
		r = fill_slot(parts, s, c, err);
	if (r == 0) {
		s->used = ++parts->clock;
		*ret = &s->out;
	}
	pthread_mutex_unlock(&parts->lock);
	return r;
}

void hp_parts_put(struct hp_parts *parts, uint32_t c, bool wrote)
{
	struct hp_part_slot *s;

	pthread_mutex_lock(&parts->lock);
	assert(parts->slot_of[c] != NO_SLOT);
	s = &parts->slots[parts->slot_of[c]];
	if (wrote)
		parts->flags[c] |= DIRTY;
	if (--s->users == 0)
		pthread_cond_broadcast(&parts->freed);
	pthread_mutex_unlock(&parts->lock);
}

int hp_parts_take(struct hp_parts *parts, uint32_t c, struct hp_outfile *ret,
		  struct hpdsl_error *err)
{
	struct hp_outfile *out;
	int r = hp_parts_get(parts, c, &out, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&parts->lock);
	*ret = *out;
	out->fd = -1;
	leave_slot(parts, &parts->slots[parts->slot_of[c]]);
	parts->flags[c] = 0;
	pthread_cond_broadcast(&parts->freed);
	pthread_mutex_unlock(&parts->lock);
	return 0;
}

int hp_parts_read(struct hp_parts *parts, uint32_t c, void *buf, size_t n,
		  uint64_t off, struct hpdsl_error *err)
{
	struct hp_outfile *f;
	ssize_t got;
	int r = hp_parts_get(parts, c, &f, err);

	if (r < 0)
		return r;
	got = hp_io_pread_full(f->io, f->fd, buf, n, off);
	if (got < 0)
		r = hp_fail_errno(err, (int)got, "%s: cannot read", f->name);
	else if ((size_t)got != n)
		r = hp_fail(err, HPDSL_ECORRUPT, "%s: is cut off", f->temp);
	hp_parts_put(parts, c, false);
	return r;
}

void hp_parts_drop(struct hp_parts *parts, uint32_t c)
{
	uint16_t at;
	bool made;

	pthread_mutex_lock(&parts->lock);
	made = parts->flags[c] & MADE;
	at = parts->slot_of[c];
	if (at != NO_SLOT) {
		hp_outfile_close(&parts->slots[at].out, NULL);
		leave_slot(parts, &parts->slots[at]);
		pthread_cond_broadcast(&parts->freed);
	}
	pthread_mutex_unlock(&parts->lock);
	if (made)
		remove_part(parts, c);
}

/* ---- Syncing ---------------------------------------------------------- */

struct syncing {
	struct hp_parts *parts;
	const uint32_t *chunks;
};

static int sync_one(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct syncing *z = arg;
	struct hp_parts *parts = z->parts;
	uint32_t c = z->chunks[number];
	struct hp_outfile *f;
	int r = hp_parts_get(parts, c, &f, err);

	if (r < 0)
		return r;
	r = f->io->fsync(f->io, f->fd);
	if (r < 0)
		hp_fail_errno(err, r, "%s: cannot sync", f->name);
	hp_parts_put(parts, c, false);
	if (r < 0)
		remove_part(parts, c);
	return r;
}

/* The dirty ones, which are clean from now on; *ret is malloc'ed. */
static int64_t find_dirty(struct hp_parts *parts, uint32_t **ret)
{
	uint32_t n_chunks = parts->w->plan.n_chunks;
	uint32_t *v = hp_array(n_chunks, sizeof *v);
	int64_t n = 0;

	if (!v)
		return -ENOMEM;
	pthread_mutex_lock(&parts->lock);
	for (uint32_t c = 0; c < n_chunks; c++) {
		if (!(parts->flags[c] & DIRTY))
			continue;
		parts->flags[c] &= (uint8_t)~DIRTY;
		v[n++] = c;
	}
	pthread_mutex_unlock(&parts->lock);
	*ret = v;
	return n;
}

int hp_parts_sync(struct hp_parts *parts, struct hpdsl_error *err)
{
	bool serial = parts->w->opt->threads == HPDSL_SERIAL;
	hp_auto_free uint32_t *chunks = NULL;
	struct syncing z = { .parts = parts };
	int64_t n = find_dirty(parts, &chunks);

	if (n < 0)
		return hp_fail_nomem(err);
	z.chunks = chunks;
	return hp_pool_run(serial ? HPDSL_SERIAL : SYNCERS, (uint64_t)n,
			   sync_one, &z, NULL, err);
}
