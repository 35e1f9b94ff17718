/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include "wire.h"

#include <stdlib.h>
#include <sys/uio.h>

enum { AT_ONCE = 1024 /* members */ };

/* Members of a chunk, one behind the other. */
struct mount_batch {
	uint32_t chunk;
	bool last; /* of the chunk */
	uint32_t n;
	size_t bytes;
	uint8_t *buf;
	struct hpdsl_member member[AT_ONCE];
	struct hpdsl_request read[AT_ONCE];
	struct hpdsl_path path[AT_ONCE];
	struct hpdsl_entry entry[AT_ONCE];
	int code[AT_ONCE];
};

static bool ends(struct mount_store *s)
{
	bool r;

	pthread_mutex_lock(&s->lock);
	r = s->ends;
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* ---- A batch is read -------------------------------------------------- */

static void add(struct mount_batch *b, const struct hpdsl_member *m)
{
	uint32_t i = b->n++;

	b->member[i] = *m;
	b->read[i] = (struct hpdsl_request){
		.member = m->number,
		.buf = b->buf + b->bytes,
		.room = (size_t)m->size,
	};
	b->path[i] = (struct hpdsl_path){ m->path, m->path_len };
	b->bytes += (size_t)m->size;
}

static bool is_seen(const struct mount_store *s, const struct hpdsl_member *m)
{
	struct hpdsl_entry e;

	return !s->part || hpdsl_snapshot_lookup(s->snap, m->path, m->path_len,
						 &e, NULL) == 0;
}

/* From member *at on, as many as there is room for. */
static void collect(struct mount_store *s, struct mount_batch *b, uint64_t *at,
		    uint64_t end)
{
	struct hpdsl_error err;
	struct hpdsl_member m;

	b->n = 0;
	b->bytes = 0;
	for (; *at < end && b->n < AT_ONCE; ++*at) {
		if (hpdsl_member_get(s->bytes->ds, *at, &m, &err) < 0 ||
		    m.generated || !m.size || m.size > s->room ||
		    !is_seen(s, &m))
			continue;
		if (m.size > s->room - b->bytes)
			return;
		add(b, &m);
	}
}

/* What has been collected, and which entries it is; if it fails, nothing. */
static void read_batch(struct mount_store *s, struct mount_batch *b)
{
	struct hpdsl_error err;

	if (hpdsl_read_many(s->bytes->ds, b->read, b->n, 1, &err) < 0 ||
	    hpdsl_snapshot_lookup_many(s->snap, b->path, b->n, b->entry,
				       b->code, &err) < 0)
		b->n = 0;
	for (uint32_t i = 0; i < b->n; i++)
		/* Who reads it is told what is wrong. */
		if (b->read[i].code == 0)
			mount_bytes_verified(s->bytes, b->member[i].number);
}

/* ---- The thread that reads -------------------------------------------- */

/* The next chunk; false: it is to end. */
static bool await_chunk(struct mount_store *s, uint32_t *ret)
{
	bool r = false;

	pthread_mutex_lock(&s->lock);
	while (!s->ends && !(r = mount_fill_next(&s->fill, ret)))
		pthread_cond_wait(&s->more, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* One that has been given, and may be read anew; NULL: it is to end. */
static struct mount_batch *await_room(struct mount_store *s)
{
	struct mount_batch *r;

	pthread_mutex_lock(&s->lock);
	while (!s->ends && s->read - s->given == MOUNT_BATCHES)
		pthread_cond_wait(&s->more, &s->lock);
	r = s->ends ? NULL : s->batch[s->read % MOUNT_BATCHES];
	pthread_mutex_unlock(&s->lock);
	return r;
}

static void put(struct mount_store *s)
{
	pthread_mutex_lock(&s->lock);
	s->read++;
	pthread_cond_broadcast(&s->more);
	pthread_mutex_unlock(&s->lock);
}

static bool goes_on(const struct mount_store *s)
{
	const struct mount_memory memory = { s->memory, hpdsl_memory_left() };

	return mount_fill_goes_on(&memory);
}

/* The last batch of it may be empty, but there is one. */
static void read_chunk(struct mount_store *s, uint32_t chunk)
{
	struct hpdsl_chunk c = { .members = 0 };
	struct mount_batch *b;
	struct hpdsl_error err;
	uint64_t at, end;

	if (hpdsl_chunk_get(s->bytes->ds, chunk, &c, &err) < 0)
		c.members = 0;
	at = c.first_member;
	end = at + c.members;
	do {
		b = await_room(s);
		if (!b)
			return;
		b->chunk = chunk;
		if (at < end && !goes_on(s))
			end = at;
		collect(s, b, &at, end);
		if (b->n)
			read_batch(s, b);
		b->last = at >= end;
		put(s);
	} while (at < end);
}

static void ended(struct mount_store *s)
{
	pthread_mutex_lock(&s->lock);
	s->runs--;
	pthread_cond_broadcast(&s->more);
	pthread_mutex_unlock(&s->lock);
}

static void *read_thread(void *arg)
{
	struct mount_store *s = arg;
	uint32_t chunk;

	while (await_chunk(s, &chunk))
		read_chunk(s, chunk);
	ended(s);
	return NULL;
}

/* ---- The thread that gives -------------------------------------------- */

/* Is the kernel interested?  Pages of it are locked meanwhile. */
static bool give(struct mount_store *s, uint64_t entry, const void *buf,
		 size_t n)
{
	uint8_t head[MOUNT_STORE_HEAD];
	struct iovec v[2] = { { head, sizeof(head) }, { (void *)buf, n } };

	mount_notify_store(head, entry + 1, n);
	if (writev(s->fd, v, 2) < 0)
		return false;
	atomic_fetch_add(s->stored, 1);
	return true;
}

/* Files that were given, or would have been, so far. */
struct given {
	uint64_t tried, known;
};

static void give_batch(struct mount_store *s, const struct mount_batch *b,
		       struct given *g)
{
	for (uint32_t i = 0; i < b->n && !ends(s); i++) {
		if (b->read[i].code < 0 || b->code[i] < 0 ||
		    b->entry[i].member != b->member[i].number)
			continue;
		g->tried++;
		g->known += give(s, b->entry[i].number, b->read[i].buf,
				 b->read[i].size);
	}
}

/* The next that has been read; NULL: it is to end. */
static const struct mount_batch *await_batch(struct mount_store *s)
{
	const struct mount_batch *r;

	pthread_mutex_lock(&s->lock);
	while (!s->ends && s->read == s->given)
		pthread_cond_wait(&s->more, &s->lock);
	r = s->ends ? NULL : s->batch[s->given % MOUNT_BATCHES];
	pthread_mutex_unlock(&s->lock);
	return r;
}

static void *give_thread(void *arg)
{
	struct mount_store *s = arg;
	struct given g = { 0, 0 };
	const struct mount_batch *b;

	while ((b = await_batch(s))) {
		give_batch(s, b, &g);
		pthread_mutex_lock(&s->lock);
		if (b->last) {
			mount_fill_done(&s->fill, b->chunk, g.tried, g.known);
			g = (struct given){ 0, 0 };
		}
		s->given++;
		pthread_cond_broadcast(&s->more);
		pthread_mutex_unlock(&s->lock);
	}
	ended(s);
	return NULL;
}

/* ---- Both ------------------------------------------------------------- */

static bool has_room(const struct mount_store *s,
		     const struct hpdsl_snapshot_info *seen)
{
	const struct mount_memory m = { s->memory, s->memory };

	return mount_fill_fits(&m, seen->bytes, seen->files);
}

static void release(struct mount_store *s)
{
	mount_fill_release(&s->fill);
	for (int i = 0; i < MOUNT_BATCHES; i++) {
		if (s->batch[i])
			free(s->batch[i]->buf);
		free(s->batch[i]);
	}
}

static bool prepare(struct mount_store *s, uint32_t chunks)
{
	bool r = mount_fill_init(&s->fill, chunks) == 0;

	for (int i = 0; i < MOUNT_BATCHES; i++) {
		s->batch[i] = malloc(sizeof(*s->batch[i]));
		if (s->batch[i])
			s->batch[i]->buf = malloc(s->room);
		r = r && s->batch[i] && s->batch[i]->buf;
	}
	return r;
}

static bool begin(struct mount_store *s, void *(*what)(void *))
{
	pthread_t t;
	bool r;

	pthread_mutex_lock(&s->lock);
	r = pthread_create(&t, NULL, what, s) == 0;
	if (r) {
		pthread_detach(t);
		s->runs++;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

void mount_store_begin(struct mount_store *s, enum mount_fill_when when)
{
	struct hpdsl_snapshot_info seen;
	struct hpdsl_counts n;

	s->memory = hpdsl_memory_left();
	hpdsl_count(s->bytes->ds, &n);
	hpdsl_snapshot_info(s->snap, &seen);
	s->part = seen.files < n.members;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
	if (when == MOUNT_FILL_OFF ||
	    (when == MOUNT_FILL_AUTO && !has_room(s, &seen)))
		return;
	/* One of them alone waits until the end. */
	s->on = prepare(s, (uint32_t)n.chunks) && begin(s, give_thread) &&
		begin(s, read_thread);
}

void mount_store_want(struct mount_store *s, uint64_t member)
{
	struct hpdsl_error err;
	struct hpdsl_member m;

	if (!s->on || hpdsl_member_get(s->bytes->ds, member, &m, &err) < 0 ||
	    !mount_fill_is_new(&s->fill, m.chunk))
		return;
	pthread_mutex_lock(&s->lock);
	/* Both threads may wait, and only one of them for this. */
	if (mount_fill_want(&s->fill, m.chunk))
		pthread_cond_broadcast(&s->more);
	pthread_mutex_unlock(&s->lock);
}

bool mount_store_end(struct mount_store *s, const struct timespec *until)
{
	bool gone;

	pthread_mutex_lock(&s->lock);
	s->ends = true;
	pthread_cond_broadcast(&s->more);
	while (s->runs &&
	       pthread_cond_timedwait(&s->more, &s->lock, until) == 0)
		;
	gone = !s->runs;
	pthread_mutex_unlock(&s->lock);
	if (gone)
		release(s);
	return gone;
}
