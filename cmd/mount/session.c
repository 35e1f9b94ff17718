/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include "attrs.h"
#include "kept.h"
#include "reply.h"

#include "common/common.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* For an answer: a listing, or what a file has of a READ. */
enum { ROOM = MOUNT_HEAD + MOUNT_READ_MOST };

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
	atomic_fetch_add(&s->slots->counts.now, 1);
	mount_give(s, k->unique, buf, (size_t)n);
	return true;
}

/* The member, or the thing, of a node that is read. */
static int find_read(struct mount_session *s, struct mount_slot *in,
		     uint64_t node, uint64_t *ret)
{
	struct hpdsl_error err;
	struct hpdsl_entry e;
	int code;

	if (s->chunks)
		return mount_chunks_file(s->chunks, node, ret);
	code = mount_tree_file(s->tree, node, &e, &err);
	if (code == HPDSL_ECORRUPT)
		mount_errors_tell(&s->slots->errors, err.msg);
	if (code == 0) {
		atomic_store(&in->reads, e.member + 1);
		mount_store_want(s->store, *ret = e.member);
	}
	return code;
}

static void begin_read(struct mount_session *s, struct mount_slot *in,
		       const struct mount_request *r, uint8_t *buf)
{
	struct mount_kept k = { .unique = r->unique, .offset = r->offset };
	uint64_t what = 0;
	int code = find_read(s, in, r->node, &what);

	atomic_init(&k.member, what);
	k.size = r->size < MOUNT_READ_MOST ? r->size : MOUNT_READ_MOST;
	if (code == 0 && !read_now(s, &k, buf))
		code = mount_kept_add(s, &k);
	if (code < 0)
		mount_refuse(s, r->unique,
			     code == HPDSL_ECORRUPT ? -EIO : code);
}

static void begin(struct mount_session *s, const struct mount_request *r,
		  void *buf)
{
	const struct mount_offer offer = {
		.plus = s->plus,
		.give = mount_slots_decide(s->slots, false),
		.end = MOUNT_REQUEST_SECONDS,
	};
	struct mount_agreed agreed;
	size_t n;

	if (mount_answer_init(buf, r, &offer, &n, &agreed) < 0)
		cmd_message("the kernel speaks FUSE %u.%u, 7.%u is needed",
			    r->init.major, r->init.minor, MOUNT_MINOR_LEAST);
	mount_send(s, buf, n);
	if (s->ready)
		s->ready(s->arg);
	s->ready = NULL;
}

static void count(struct mount_session *s, uint32_t op)
{
	atomic_fetch_add(&s->slots->counts.all, 1);
	if (op == MOUNT_LOOKUP)
		atomic_fetch_add(&s->slots->counts.lookups, 1);
	if (op == MOUNT_READDIR || op == MOUNT_READDIRPLUS)
		atomic_fetch_add(&s->slots->counts.lists, 1);
	if (op == MOUNT_READ)
		atomic_fetch_add(&s->slots->counts.reads, 1);
}

static bool is_attr(uint32_t op)
{
	return op == MOUNT_GETXATTR || op == MOUNT_LISTXATTR;
}

static void answer(struct mount_session *s, struct mount_slot *in, size_t size,
		   uint8_t *buf)
{
	struct hpdsl_error err = { 0 };
	struct mount_request r;
	int code = mount_decode(in->bytes, size, &r);
	size_t n;

	count(s, r.op);
	if (code < 0) {
		if (r.unique && !mount_is_silent(r.op))
			mount_refuse(s, r.unique, code);
		return;
	}
	if (r.op == MOUNT_INIT) {
		begin(s, &r, buf);
	} else if (s->refuses) {
		if (!mount_is_silent(r.op) && r.op != MOUNT_INTERRUPT)
			mount_refuse(s, r.unique, -EIO);
	} else if (s->own && mount_own_is_asked(s->own, &r)) {
		n = mount_own_answer(s->own, &r, buf);
		mount_send(s, buf, n);
	} else if (r.op == MOUNT_READ) {
		begin_read(s, in, &r, buf);
	} else if (r.op == MOUNT_INTERRUPT) {
		mount_kept_interrupt(s, r.interrupted);
	} else {
		n = s->chunks ? mount_chunks_answer(s->chunks, &r, buf) :
		    s->attrs && is_attr(r.op) ?
				mount_attrs_answer(s->tree, s->attrs, &r, buf,
						   &err) :
				mount_tree_answer(s->tree, &r, buf, &err);
		if (err.code == HPDSL_ECORRUPT)
			mount_errors_tell(&s->slots->errors, err.msg);
		if (n)
			mount_send(s, buf, n);
	}
}

/* It is answered, or kept. */
static void empty(struct mount_slot *in)
{
	in->blame = (struct mount_blame){ 0 };
	atomic_store(&in->reads, 0);
	atomic_store(&in->size, 0);
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
			mount_refuse(s, unique, -ENOMEM);
		else if (mount_may_try(&in->blame))
			answer(s, in, size, buf);
		else
			mount_give_up(s, unique);
	}
	/* A page that is not there yet is none to be killed at. */
	empty(in);
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

		empty(in);
		n = read(s->fd, in->bytes, MOUNT_REQUEST_MOST);
		if (n >= 0)
			answer(s, in, (size_t)n, buf);
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

int mount_session_run(struct mount_session *s)
{
	struct front_of f[MOUNT_FRONT];
	pthread_t t[MOUNT_FRONT];
	unsigned n = 0;

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
	s->first = s->last = MOUNT_KEPT;
	atomic_store(&s->slots->serves, true);
	mount_kept_begin(s);
	answer_all_again(s);
	for (int i = 0; i < MOUNT_FRONT; i++)
		f[i] = (struct front_of){ s, &s->slots->slot[i] };
	while (n < MOUNT_FRONT - 1 &&
	       pthread_create(&t[n], NULL, front_thread, &f[n]) == 0)
		n++;
	front_thread(&f[MOUNT_FRONT - 1]);
	while (n)
		pthread_join(t[--n], NULL);
	mount_kept_end(s);
	return s->failed;
}
