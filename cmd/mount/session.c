/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include "attrs.h"

#include "common/common.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* For an answer: a listing, or what a file has of a READ. */
enum { ROOM = MOUNT_HEAD + MOUNT_READ_MOST };

/* ---- Answers ---------------------------------------------------------- */

static struct mount_counts *counts(struct mount_session *s)
{
	return &s->slots->counts;
}

/*
 * -ENOENT: whoever asked is gone, or has been answered.  The rest of what can
 * go wrong is ours, and leaves somebody waiting: he is told at least that.
 */
static void send(struct mount_session *s, const void *p, size_t n)
{
	uint8_t head[MOUNT_HEAD];
	uint64_t unique;

	atomic_fetch_add(&counts(s)->answered, 1);
	if (write(s->fd, p, n) >= 0 || errno == ENOENT || errno == ENODEV)
		return;
	cmd_message("an answer was not taken: %s", strerror(errno));
	memcpy(&unique, (const uint8_t *)p + 8, sizeof(unique));
	n = mount_answer(head, unique, -EIO);
	if (write(s->fd, head, n) < 0)
		errno = 0;
}

static void refuse(struct mount_session *s, uint64_t unique, int code)
{
	uint8_t head[MOUNT_HEAD];

	send(s, head, mount_answer(head, unique, code));
}

/* n bytes of a file, behind the head. */
static void give(struct mount_session *s, uint64_t unique, uint8_t *buf,
		 size_t n)
{
	atomic_fetch_add(&counts(s)->bytes, (uint64_t)n);
	send(s, buf, mount_answer_bytes(buf, unique, n));
}

/* What was at hand each time that a server failed. */
static void give_up(struct mount_session *s, uint64_t unique)
{
	atomic_fetch_add(&counts(s)->wrong, 1);
	mount_errors_tell(&s->slots->errors,
			  "servers failed with it at hand, one after the "
			  "other: a request is answered with an error");
	refuse(s, unique, -EIO);
}

/* ---- Reads, by threads of their own ----------------------------------- */

static void release(struct mount_kept *k)
{
	k->blame = (struct mount_blame){ 0 };
	atomic_store(&k->is, MOUNT_KEPT_FREE);
}

/* Of the other view a number is a thing's. */
static int64_t read_thing(struct mount_session *s, const struct mount_kept *k,
			  uint8_t *buf)
{
	const struct mount_thing *v = &s->chunks->v[k->member];

	return v->is == MOUNT_CHUNK ?
		       mount_stretch_read(s->stretches,
					  mount_chunk_of(k->member), k->offset,
					  buf, k->size) :
		       mount_beside_read(s->bytes, v, k->member, k->offset, buf,
					 k->size);
}

static int64_t read_any(struct mount_session *s, const struct mount_kept *k,
			uint8_t *buf)
{
	if (s->chunks)
		return k->member < s->chunks->n ? read_thing(s, k, buf) : -EIO;
	return mount_bytes_read(s->bytes, k->member, k->offset, buf, k->size);
}

static void read_kept(struct mount_session *s, struct mount_kept *k,
		      uint8_t *buf)
{
	const uint64_t thing = k->member, offset = k->offset;
	const bool again = s->store && mount_bytes_is_good(s->bytes, thing);
	int64_t n = read_any(s, k, buf + MOUNT_HEAD);

	if (n < 0)
		refuse(s, k->unique, (int)n);
	else
		give(s, k->unique, buf, (size_t)n);
	/* What comes is not this one's fault. */
	release(k);
	if (n > 0 && s->store && !offset)
		mount_store_near(s->store, thing, (uint64_t)n, again);
	if (n > 0 && s->chunks && s->chunks->v[thing].is == MOUNT_CHUNK)
		mount_stretch_ahead(s->stretches, mount_chunk_of(thing), offset,
				    (size_t)n);
}

/* Under the lock: the first one that waits, or MOUNT_KEPT. */
static uint32_t take_first(struct mount_session *s)
{
	const uint32_t i = s->first;

	if (i == MOUNT_KEPT)
		return i;
	s->first = s->next[i];
	if (s->first == MOUNT_KEPT)
		s->last = MOUNT_KEPT;
	atomic_store(&s->slots->kept[i].is, MOUNT_KEPT_BEGUN);
	return i;
}

static void put_last(struct mount_session *s, uint32_t i)
{
	s->next[i] = MOUNT_KEPT;
	if (s->last == MOUNT_KEPT)
		s->first = i;
	else
		s->next[s->last] = i;
	s->last = i;
}

/* NULL: it is to end. */
static struct mount_kept *take(struct mount_session *s)
{
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	s->idle++;
	while ((i = take_first(s)) == MOUNT_KEPT && !s->ends)
		pthread_cond_wait(&s->more, &s->lock);
	s->idle--;
	pthread_mutex_unlock(&s->lock);
	return i == MOUNT_KEPT ? NULL : &s->slots->kept[i];
}

static void *reader(void *arg)
{
	struct mount_session *s = arg;
	uint8_t *buf = malloc(MOUNT_HEAD + MOUNT_READ_MOST);
	struct mount_kept *k;

	while ((k = take(s))) {
		if (buf) {
			read_kept(s, k, buf);
			continue;
		}
		refuse(s, k->unique, -ENOMEM);
		release(k);
	}
	free(buf);
	pthread_mutex_lock(&s->lock);
	s->readers--;
	pthread_cond_broadcast(&s->more);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Under the lock: one thread more, if all there are have something to do. */
static void enough_readers(struct mount_session *s)
{
	pthread_t t;

	if (s->idle || s->readers == s->most)
		return;
	if (pthread_create(&t, NULL, reader, s) == 0) {
		pthread_detach(t);
		s->readers++;
	}
}

/* Under the lock: one that is free, or MOUNT_KEPT. */
static uint32_t find_free(struct mount_session *s)
{
	for (uint32_t n = 0; n < MOUNT_KEPT; n++) {
		const uint32_t i = s->free++ % MOUNT_KEPT;

		if (atomic_load(&s->slots->kept[i].is) == MOUNT_KEPT_FREE)
			return i;
	}
	return MOUNT_KEPT;
}

static int keep(struct mount_session *s, const struct mount_kept *what)
{
	struct mount_kept *k;
	int r = -ENOMEM;
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	enough_readers(s);
	i = s->readers ? find_free(s) : MOUNT_KEPT;
	if (i != MOUNT_KEPT) {
		k = &s->slots->kept[i];
		k->unique = what->unique;
		k->member = what->member;
		k->offset = what->offset;
		k->size = what->size;
		atomic_store(&k->is, MOUNT_KEPT_WAITS);
		put_last(s, i);
		pthread_cond_signal(&s->more);
		r = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Under the lock: one that waits, and does so no more; NULL: none. */
static struct mount_kept *take_out(struct mount_session *s, uint64_t unique)
{
	uint32_t before = MOUNT_KEPT, i = s->first;

	for (; i != MOUNT_KEPT; before = i, i = s->next[i])
		if (s->slots->kept[i].unique == unique)
			break;
	if (i == MOUNT_KEPT)
		return NULL;
	if (before == MOUNT_KEPT)
		s->first = s->next[i];
	else
		s->next[before] = s->next[i];
	if (s->last == i)
		s->last = before;
	return &s->slots->kept[i];
}

/* Who waits for a read that nobody has begun may go at once. */
static void interrupt(struct mount_session *s, uint64_t unique)
{
	struct mount_kept *k;

	pthread_mutex_lock(&s->lock);
	k = take_out(s, unique);
	pthread_mutex_unlock(&s->lock);
	if (!k)
		return;
	atomic_fetch_add(&counts(s)->interrupted, 1);
	refuse(s, unique, -EINTR);
	release(k);
}

/* Under the lock: it waits, as before; false: there is nobody to read it. */
static bool begin_again(struct mount_session *s, uint32_t i)
{
	enough_readers(s);
	if (!s->readers)
		return false;
	atomic_store(&s->slots->kept[i].is, MOUNT_KEPT_WAITS);
	put_last(s, i);
	pthread_cond_signal(&s->more);
	return true;
}

/* What a worker has left that died; one that failed may have done so by it. */
static void begin_kept(struct mount_session *s)
{
	for (uint32_t i = 0; i < MOUNT_KEPT; i++) {
		struct mount_kept *k = &s->slots->kept[i];
		bool begun = false;

		if (atomic_load(&k->is) == MOUNT_KEPT_FREE)
			continue;
		if (!s->refuses && !mount_may_try(&k->blame)) {
			give_up(s, k->unique);
			release(k);
			continue;
		}
		pthread_mutex_lock(&s->lock);
		if (!s->refuses)
			begun = begin_again(s, i);
		pthread_mutex_unlock(&s->lock);
		if (begun)
			continue;
		refuse(s, k->unique, s->refuses ? -EIO : -ENOMEM);
		release(k);
	}
}

/* ---- The queue -------------------------------------------------------- */

/* Is it answered, as it is at hand? */
static bool read_now(struct mount_session *s, const struct mount_kept *k,
		     uint8_t *buf)
{
	int64_t n;

	if (!s->chunks)
		n = mount_bytes_now(s->bytes, k->member, k->offset,
				    buf + MOUNT_HEAD, k->size);
	else if (s->chunks->v[k->member].is == MOUNT_CHUNK)
		n = mount_stretch_now(s->stretches, mount_chunk_of(k->member),
				      k->offset, buf + MOUNT_HEAD, k->size);
	else
		n = -EAGAIN;
	if (n < 0)
		return false;
	atomic_fetch_add(&counts(s)->now, 1);
	give(s, k->unique, buf, (size_t)n);
	return true;
}

/* The member, or the thing, of a node that is read. */
static int find_read(struct mount_session *s, uint64_t node, uint64_t *ret)
{
	struct hpdsl_error err;
	struct hpdsl_entry e;
	int code;

	if (s->chunks)
		return mount_chunks_file(s->chunks, node, ret);
	code = mount_tree_file(s->tree, node, &e, &err);
	if (code == HPDSL_ECORRUPT)
		mount_errors_tell(&s->slots->errors, err.msg);
	if (code == 0)
		mount_store_want(s->store, *ret = e.member);
	return code;
}

static void begin_read(struct mount_session *s, const struct mount_request *r,
		       uint8_t *buf)
{
	struct mount_kept k = { .unique = r->unique, .offset = r->offset };
	int code = find_read(s, r->node, &k.member);

	k.size = r->size < MOUNT_READ_MOST ? r->size : MOUNT_READ_MOST;
	if (code == 0 && !read_now(s, &k, buf))
		code = keep(s, &k);
	if (code < 0)
		refuse(s, r->unique, code == HPDSL_ECORRUPT ? -EIO : code);
}

static void begin(struct mount_session *s, const struct mount_request *r,
		  void *buf)
{
	struct mount_agreed agreed;
	size_t n;

	if (mount_answer_init(buf, r, s->plus, &n, &agreed) < 0)
		cmd_message("the kernel speaks FUSE %u.%u, 7.%u is needed",
			    r->init.major, r->init.minor, MOUNT_MINOR_LEAST);
	send(s, buf, n);
	if (s->ready)
		s->ready(s->arg);
	s->ready = NULL;
}

static void count(struct mount_session *s, uint32_t op)
{
	atomic_fetch_add(&counts(s)->all, 1);
	if (op == MOUNT_LOOKUP)
		atomic_fetch_add(&counts(s)->lookups, 1);
	if (op == MOUNT_READDIR || op == MOUNT_READDIRPLUS)
		atomic_fetch_add(&counts(s)->lists, 1);
	if (op == MOUNT_READ)
		atomic_fetch_add(&counts(s)->reads, 1);
}

static bool is_attr(uint32_t op)
{
	return op == MOUNT_GETXATTR || op == MOUNT_LISTXATTR;
}

static void answer(struct mount_session *s, const void *p, size_t size,
		   uint8_t *buf)
{
	struct hpdsl_error err = { 0 };
	struct mount_request r;
	int code = mount_decode(p, size, &r);
	size_t n;

	count(s, r.op);
	if (code < 0) {
		if (r.unique && !mount_is_silent(r.op))
			refuse(s, r.unique, code);
		return;
	}
	if (r.op == MOUNT_INIT) {
		begin(s, &r, buf);
	} else if (s->refuses) {
		if (!mount_is_silent(r.op) && r.op != MOUNT_INTERRUPT)
			refuse(s, r.unique, -EIO);
	} else if (s->own && mount_own_is_asked(s->own, &r)) {
		n = mount_own_answer(s->own, &r, buf);
		send(s, buf, n);
	} else if (r.op == MOUNT_READ) {
		begin_read(s, &r, buf);
	} else if (r.op == MOUNT_INTERRUPT) {
		interrupt(s, r.interrupted);
	} else {
		n = s->chunks ? mount_chunks_answer(s->chunks, &r, buf) :
		    s->attrs && is_attr(r.op) ?
				mount_attrs_answer(s->tree, s->attrs, &r, buf,
						   &err) :
				mount_tree_answer(s->tree, &r, buf, &err);
		if (err.code == HPDSL_ECORRUPT)
			mount_errors_tell(&s->slots->errors, err.msg);
		if (n)
			send(s, buf, n);
	}
}

/* What a thread had read, in a worker that died. */
static void answer_again(struct mount_session *s, struct mount_slot *in,
			 uint8_t *buf)
{
	const uint32_t size = atomic_load(&in->size);
	uint64_t unique;

	if (size && size <= MOUNT_REQUEST_MOST) {
		memcpy(&unique, in->bytes + 8, sizeof(unique));
		if (!buf)
			refuse(s, unique, -ENOMEM);
		else if (mount_may_try(&in->blame))
			answer(s, in->bytes, size, buf);
		else
			give_up(s, unique);
	}
	in->blame = (struct mount_blame){ 0 };
	/* A page that is not there yet is none to be killed at. */
	atomic_store(&in->size, 0);
	memset(in->bytes, 0, sizeof(in->bytes));
}

/* Before there are threads that may not come to be. */
static void answer_all_again(struct mount_session *s)
{
	uint8_t *buf = malloc(ROOM);

	for (int i = 0; i < MOUNT_FRONT; i++)
		answer_again(s, &s->slots->slot[i], buf);
	free(buf);
}

/* 0: it is mounted no more; else what else ended it. */
static int front(struct mount_session *s, struct mount_slot *in)
{
	uint8_t *buf = malloc(ROOM);
	int r = buf ? 0 : -ENOMEM;

	while (buf) {
		ssize_t n;

		in->blame = (struct mount_blame){ 0 };
		atomic_store(&in->size, 0);
		n = read(s->fd, in->bytes, MOUNT_REQUEST_MOST);
		if (n >= 0)
			answer(s, in->bytes, (size_t)n, buf);
		else if (errno == ENODEV)
			break;
		/* ENOENT: who asked was gone before it was read. */
		else if (errno != EINTR && errno != ENOENT && errno != EAGAIN) {
			r = -errno;
			break;
		}
	}
	free(buf);
	return r;
}

struct front_of {
	struct mount_session *s;
	struct mount_slot *in;
};

static void *front_thread(void *arg)
{
	const struct front_of *f = arg;
	int r = front(f->s, f->in);

	pthread_mutex_lock(&f->s->lock);
	if (r < 0 && !f->s->failed)
		f->s->failed = r;
	pthread_mutex_unlock(&f->s->lock);
	return NULL;
}

/* Nobody waits any more for what they read, nor for long for them. */
static void end_readers(struct mount_session *s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	pthread_mutex_lock(&s->lock);
	s->ends = true;
	pthread_cond_broadcast(&s->more);
	while (s->readers &&
	       pthread_cond_timedwait(&s->more, &s->lock, &until) == 0)
		;
	s->hangs = s->readers;
	pthread_mutex_unlock(&s->lock);
	if (s->store)
		s->hangs = !mount_store_end(s->store, &until) || s->hangs;
}

int mount_session_run(struct mount_session *s)
{
	struct front_of f[MOUNT_FRONT];
	pthread_t t[MOUNT_FRONT];
	unsigned n = 0;

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
	s->first = s->last = MOUNT_KEPT;
	atomic_store(&s->slots->serves, true);
	begin_kept(s);
	answer_all_again(s);
	for (int i = 0; i < MOUNT_FRONT; i++)
		f[i] = (struct front_of){ s, &s->slots->slot[i] };
	while (n < MOUNT_FRONT - 1 &&
	       pthread_create(&t[n], NULL, front_thread, &f[n]) == 0)
		n++;
	front_thread(&f[MOUNT_FRONT - 1]);
	while (n)
		pthread_join(t[--n], NULL);
	end_readers(s);
	return s->failed;
}
