/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include "wire.h"

#include <stdlib.h>
#include <sys/uio.h>

enum {
	AT_ONCE = 1024,	    /* members, and .. */
	READ_MOST = 4 << 20 /* .. bytes of them; larger ones are left out */
};

/* Members of a chunk, one behind the other. */
struct batch {
	uint32_t n;
	size_t bytes;
	uint8_t *buf; /* READ_MOST */
	struct hpdsl_member member[AT_ONCE];
	struct hpdsl_request read[AT_ONCE];
	struct hpdsl_path path[AT_ONCE];
	struct hpdsl_entry entry[AT_ONCE];
	int code[AT_ONCE];
	uint64_t tried, known; /* of the chunk, so far */
};

static bool ends(struct mount_store *s)
{
	bool r;

	pthread_mutex_lock(&s->lock);
	r = s->ends;
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* ---- A batch ---------------------------------------------------------- */

/* Is the kernel interested?  Pages of it are locked meanwhile. */
static bool store(struct mount_store *s, uint64_t entry, const void *buf,
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

static void store_batch(struct mount_store *s, struct batch *b)
{
	struct hpdsl_error err;

	if (hpdsl_read_many(s->bytes->ds, b->read, b->n, 1, &err) < 0 ||
	    hpdsl_snapshot_lookup_many(s->snap, b->path, b->n, b->entry,
				       b->code, &err) < 0)
		return;
	for (uint32_t i = 0; i < b->n && !ends(s); i++) {
		/* Who reads it is told what is wrong. */
		if (b->read[i].code < 0 || b->code[i] < 0 ||
		    b->entry[i].member != b->member[i].number)
			continue;
		mount_bytes_verified(s->bytes, b->member[i].number);
		b->tried++;
		b->known += store(s, b->entry[i].number, b->read[i].buf,
				  b->read[i].size);
	}
}

static void add(struct batch *b, const struct hpdsl_member *m)
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
static void collect(struct mount_store *s, struct batch *b, uint64_t *at,
		    uint64_t end)
{
	struct hpdsl_error err;
	struct hpdsl_member m;

	b->n = 0;
	b->bytes = 0;
	for (; *at < end && b->n < AT_ONCE; ++*at) {
		if (hpdsl_member_get(s->bytes->ds, *at, &m, &err) < 0 ||
		    m.generated || !m.size || m.size > READ_MOST ||
		    !is_seen(s, &m))
			continue;
		if (m.size > READ_MOST - b->bytes)
			return;
		add(b, &m);
	}
}

/* ---- The thread ------------------------------------------------------- */

static void fill_chunk(struct mount_store *s, struct batch *b, uint32_t chunk)
{
	struct mount_memory memory = { .all = s->memory };
	struct hpdsl_error err;
	struct hpdsl_chunk c;
	uint64_t at, end;

	b->tried = b->known = 0;
	if (hpdsl_chunk_get(s->bytes->ds, chunk, &c, &err) < 0)
		return;
	at = c.first_member;
	end = at + c.members;
	while (at < end && !ends(s)) {
		memory.available = hpdsl_memory_left();
		if (!mount_fill_goes_on(&memory))
			return;
		collect(s, b, &at, end);
		if (b->n)
			store_batch(s, b);
	}
}

/* The next chunk; false: it is to end. */
static bool await(struct mount_store *s, uint32_t *ret)
{
	bool r = false;

	pthread_mutex_lock(&s->lock);
	while (!s->ends && !(r = mount_fill_next(&s->fill, ret)))
		pthread_cond_wait(&s->more, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return r;
}

static void *filler(void *arg)
{
	struct mount_store *s = arg;
	struct batch *b = malloc(sizeof(*b));
	uint8_t *buf = malloc(READ_MOST);
	uint32_t chunk;

	while (b && buf && await(s, &chunk)) {
		b->buf = buf;
		fill_chunk(s, b, chunk);
		pthread_mutex_lock(&s->lock);
		mount_fill_done(&s->fill, chunk, b->tried, b->known);
		pthread_mutex_unlock(&s->lock);
	}
	free(buf);
	free(b);
	pthread_mutex_lock(&s->lock);
	s->runs = false;
	pthread_cond_broadcast(&s->more);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static bool has_room(const struct mount_store *s,
		     const struct hpdsl_snapshot_info *seen)
{
	const struct mount_memory m = { s->memory, s->memory };

	return mount_fill_fits(&m, seen->bytes, seen->files);
}

void mount_store_begin(struct mount_store *s, enum mount_fill_when when)
{
	struct hpdsl_snapshot_info seen;
	struct hpdsl_counts n;
	pthread_t t;

	s->memory = hpdsl_memory_left();
	hpdsl_count(s->bytes->ds, &n);
	hpdsl_snapshot_info(s->snap, &seen);
	s->part = seen.files < n.members;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
	if (when == MOUNT_FILL_OFF ||
	    (when == MOUNT_FILL_AUTO && !has_room(s, &seen)) ||
	    mount_fill_init(&s->fill, (uint32_t)n.chunks) < 0)
		return;
	s->runs = true;
	s->on = pthread_create(&t, NULL, filler, s) == 0;
	if (s->on)
		pthread_detach(t);
	else
		s->runs = false;
}

void mount_store_want(struct mount_store *s, uint64_t member)
{
	struct hpdsl_error err;
	struct hpdsl_member m;

	if (!s->on || hpdsl_member_get(s->bytes->ds, member, &m, &err) < 0 ||
	    !mount_fill_is_new(&s->fill, m.chunk))
		return;
	pthread_mutex_lock(&s->lock);
	if (mount_fill_want(&s->fill, m.chunk))
		pthread_cond_signal(&s->more);
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
		mount_fill_release(&s->fill);
	return gone;
}
