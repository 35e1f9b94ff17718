/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include "wire.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	AT_ONCE = 1024, /* members */
	CLONE = 0,	/* the only descriptor of who gives */
};

/* A chunk, or the members that were decoded with one. */
struct task {
	bool is_chunk;
	uint32_t chunk;
	struct mount_run run;
};

/* Members of a chunk, one behind the other. */
struct mount_batch {
	struct task of;
	bool last; /* of the task */
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

/* Has the kernel got it, as far as anybody knows? */
static bool is_there(const struct mount_store *s, const struct task *t,
		     uint64_t member)
{
	return !t->is_chunk && !t->run.again &&
	       mount_bytes_is_good(s->bytes, member);
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
		    is_there(s, &b->of, *at) || !is_seen(s, &m))
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
		if (b->of.is_chunk && b->read[i].code == 0)
			mount_bytes_verified(s->bytes, b->member[i].number);
}

/* ---- The thread that reads -------------------------------------------- */

/* Under the lock.  What is decoded will not be for long. */
static bool next_task(struct mount_store *s, struct task *ret)
{
	ret->is_chunk = false;
	if (mount_frames_next(&s->near, &ret->run))
		return true;
	ret->is_chunk = s->on && mount_fill_next(&s->fill, &ret->chunk);
	return ret->is_chunk;
}

/* false: it is to end. */
static bool await_task(struct mount_store *s, struct task *ret)
{
	bool r = false;

	pthread_mutex_lock(&s->lock);
	while (!s->ends && !(r = next_task(s, ret)))
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

static struct mount_run members_of(const struct mount_store *s,
				   const struct task *t)
{
	const struct mount_run none = { .n = 0 };
	struct hpdsl_error err;
	struct hpdsl_chunk c;

	if (!t->is_chunk)
		return t->run;
	if (hpdsl_chunk_get(s->bytes->ds, t->chunk, &c, &err) < 0)
		return none;
	return (struct mount_run){ .first = c.first_member, .n = c.members };
}

/* The last batch of it may be empty, but there is one. */
static void read_task(struct mount_store *s, const struct task *t)
{
	const struct mount_run all = members_of(s, t);
	uint64_t at = all.first, end = at + all.n;
	struct mount_batch *b;

	do {
		b = await_room(s);
		if (!b)
			return;
		b->of = *t;
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
	struct task t;

	while (await_task(s, &t))
		read_task(s, &t);
	ended(s);
	return NULL;
}

/* ---- The thread that gives -------------------------------------------- */

/* In a table of descriptors of its own, with nothing but the clone in it; why:
 * store.h. */
static bool stand_apart(int clone)
{
	if (unshare(CLONE_FILES) < 0 || dup2(clone, CLONE) < 0)
		return false;
	closefrom(CLONE + 1);
	return true;
}

/* Is the kernel interested?  Pages of it are locked meanwhile. */
static bool give(struct mount_store *s, uint64_t entry, const void *buf,
		 size_t n)
{
	uint8_t head[MOUNT_STORE_HEAD];
	struct iovec v[2] = { { head, sizeof(head) }, { (void *)buf, n } };

	mount_notify_store(head, entry + 1, n);
	if (writev(CLONE, v, 2) < 0)
		return false;
	atomic_fetch_add(&s->slots->counts.stored, 1);
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
		    b->entry[i].member != b->member[i].number ||
		    mount_slots_has_read(s->slots, b->member[i].number))
			continue;
		g->tried++;
		if (!give(s, b->entry[i].number, b->read[i].buf,
			  b->read[i].size))
			continue;
		g->known++;
		mount_bytes_verified(s->bytes, b->member[i].number);
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

/* Under the lock. */
static void done(struct mount_store *s, const struct task *t,
		 const struct given *g)
{
	if (t->is_chunk)
		mount_fill_done(&s->fill, t->chunk, g->tried, g->known);
	else
		mount_frames_done(&s->near, g->tried, g->known);
}

static void give_all(struct mount_store *s)
{
	struct given g = { 0, 0 };
	const struct mount_batch *b;

	while ((b = await_batch(s))) {
		give_batch(s, b, &g);
		pthread_mutex_lock(&s->lock);
		if (b->last) {
			done(s, &b->of, &g);
			g = (struct given){ 0, 0 };
		}
		s->given++;
		pthread_cond_broadcast(&s->more);
		pthread_mutex_unlock(&s->lock);
	}
}

static void *give_thread(void *arg)
{
	struct mount_store *s = arg;

	if (stand_apart(s->clone)) {
		pthread_mutex_lock(&s->lock);
		s->apart = true;
		pthread_cond_broadcast(&s->more);
		pthread_mutex_unlock(&s->lock);
		give_all(s);
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

/* false: there is nobody who may give. */
static bool begin_to_give(struct mount_store *s)
{
	bool r;

	if (!begin(s, give_thread))
		return false;
	pthread_mutex_lock(&s->lock);
	while (s->runs && !s->apart)
		pthread_cond_wait(&s->more, &s->lock);
	r = s->apart;
	pthread_mutex_unlock(&s->lock);
	return r;
}

static bool has_frames(const struct hpdsl_dataset *ds, uint32_t chunks)
{
	struct hpdsl_error err;
	struct hpdsl_chunk c;

	for (uint32_t i = 0; i < chunks; i++)
		if (hpdsl_chunk_get(ds, i, &c, &err) == 0 && c.compressed)
			return true;
	return false;
}

void mount_store_begin(struct mount_store *s, enum mount_fill_when when)
{
	struct hpdsl_snapshot_info seen;
	struct hpdsl_counts n;
	bool can;

	s->memory = hpdsl_memory_left();
	hpdsl_count(s->bytes->ds, &n);
	hpdsl_snapshot_info(s->snap, &seen);
	s->part = seen.files < n.members;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
	s->on = when == MOUNT_FILL_ON ||
		(when == MOUNT_FILL_AUTO && has_room(s, &seen));
	s->frames = has_frames(s->bytes->ds, (uint32_t)n.chunks);
	/* One of them alone waits until the end. */
	can = (s->on || s->frames) && s->clone >= 0 &&
	      atomic_load(&s->slots->giver) != MOUNT_GIVER_NONE &&
	      prepare(s, (uint32_t)n.chunks) && begin_to_give(s) &&
	      begin(s, read_thread);
	if (!mount_slots_decide(s->slots, can) || !can)
		s->on = s->frames = false;
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

void mount_store_near(struct mount_store *s, uint64_t member, uint64_t bytes,
		      bool again)
{
	struct hpdsl_error err;
	struct hpdsl_member m;
	struct mount_run run = { .again = again };

	/* Of a larger file its reader wants more than its neighbours. */
	if (!s->frames ||
	    hpdsl_member_get(s->bytes->ds, member, &m, &err) < 0 ||
	    m.size != bytes ||
	    (s->on && !mount_fill_is_over(&s->fill, m.chunk)) ||
	    hpdsl_member_mates(s->bytes->ds, member, &run.first, &run.n, &err) <
		    0 ||
	    run.n < 2)
		return;
	pthread_mutex_lock(&s->lock);
	if (mount_frames_want(&s->near, &run))
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
