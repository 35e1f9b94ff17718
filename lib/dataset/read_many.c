/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members by number, many at once: sorted by where they lie, neighbours in one
 * read, on a few threads.  Through the page cache: who asks at random asks
 * again.
 */
#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "dataset/fetch.h"
#include "dataset/member_source.h"
#include "index/copy.h"
#include "sys/pool.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

enum {
	LARGE = 1 << 20,     /* members from this size are read in place */
	BLOCK_MIN = 1 << 18, /* bytes of a block, if threads are idle else */
	BLOCK_MAX = HP_FETCH_READ,
};

/* Memory for a block, used by one thread after the other. */
struct buffer {
	struct buffer *next;
	uint8_t *p;
};

struct many {
	const struct hpdsl_dataset *ds;
	struct hpdsl_request *req;
	/* Those that can be read, by place: n of them, and whose they are. */
	struct hp_block_member *member;
	size_t *of;
	size_t n;
	/* Block i is members block[i] .. block[i + 1] - 1. */
	size_t *block, blocks;
	size_t room; /* that a block may take */
	struct hp_fetch *fetch;
	pthread_mutex_t lock;
	struct buffer *idle; /* under the lock, as the next three */
	uint64_t done;
	/* The first block that has a bad one, and why; 0, too, if it was known
	 * before. */
	size_t failed;
	struct hpdsl_error why;
};

/* ---- Planning --------------------------------------------------------- */

struct item {
	struct hp_block_member m;
	size_t of;
};

static int by_place(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->m.chunk != y->m.chunk)
		return x->m.chunk < y->m.chunk ? -1 : 1;
	if (x->m.offset != y->m.offset)
		return x->m.offset < y->m.offset ? -1 : 1;
	return x->of < y->of ? -1 : x->of > y->of;
}

/* Its row: the one that is given, if it is a row at all, or the index's. */
static int get_row(const struct hpdsl_request *q, const struct hp_index *ix,
		   struct hpdsl_member *ret, struct hpdsl_error *err)
{
	struct hpdsl_chunk chunk;
	int r;

	if (!q->row)
		return hp_index_place(ix, q->member, ret, err);
	*ret = *q->row;
	if (ret->number != q->member)
		return hp_fail(err, HPDSL_EUSAGE,
			       "member %" PRIu64 ": a row of another one",
			       q->member);
	r = hp_index_chunk(ix, ret->chunk, &chunk, err);
	if (r == 0 && !hp_within(ret->offset, ret->size, chunk.plain_bytes))
		r = hp_index_bad_row(ix, "member", ret->number,
				     "lies outside of its chunk", err);
	return r;
}

/* The row of a member that can be read at all. */
static int get(const struct hpdsl_dataset *ds, struct hpdsl_request *q,
	       const struct hp_index *ix, struct hpdsl_member *ret,
	       struct hpdsl_error *err)
{
	int r = get_row(q, ix, ret, err);

	q->size = 0;
	if (r < 0)
		return hp_dataset_blame(ds, r, err);
	q->size = (size_t)ret->size;
	if (ret->size > q->room)
		return hp_fail(err, -ENOSPC,
			       "member %" PRIu64 " takes %" PRIu64
			       " bytes, there is room for %zu",
			       ret->number, ret->size, q->room);
	return 0;
}

/* Where the member is that a request wants. */
static int find(const struct many *k, const struct hp_index *ix, size_t i,
		struct item *ret, struct hpdsl_error *err)
{
	struct hpdsl_member m;
	int r = get(k->ds, &k->req[i], ix, &m, err);

	if (r < 0)
		return r;
	*ret = (struct item){
		.m = { .chunk = m.chunk,
		       .number = m.number,
		       .offset = m.offset,
		       .size = m.size,
		       .checksum = m.checksum },
		.of = i,
	};
	return 0;
}

static void find_all(struct many *k, const struct hp_index *ix,
		     struct item *items, size_t n)
{
	struct hpdsl_error why;

	k->n = 0;
	k->failed = SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		int r = find(k, ix, i, &items[k->n], &why);

		k->req[i].code = r;
		if (r == 0)
			k->n++;
		else if (k->failed)
			k->failed = 0, k->why = why;
	}
}

static int sort(struct many *k, size_t n, struct hpdsl_error *err)
{
	hp_auto_free struct item *items = hp_array(n, sizeof *items);
	hp_auto_index_copy c;
	int r = 0;

	hp_index_copy_begin_later(&c, k->ds->index);
	k->member = hp_array(n, sizeof *k->member);
	k->of = hp_array(n, sizeof *k->of);
	k->block = hp_array(n + 1, sizeof *k->block);
	if (!items || !k->member || !k->of || !k->block)
		return hp_fail_nomem(err);
	do
		find_all(k, &c.ix, items, n);
	while (hp_index_copy_again(&c, &r, err));
	if (r < 0)
		return r;
	qsort(items, k->n, sizeof *items, by_place);
	for (size_t i = 0; i < k->n; i++) {
		k->member[i] = items[i].m;
		k->of[i] = items[i].of;
	}
	return 0;
}

/* As many bytes for each thread, twice, within bounds. */
static size_t room_of_block(const struct many *k, uint32_t threads)
{
	uint64_t sum = 0, each;

	for (size_t i = 0; i < k->n; i++)
		if (__builtin_add_overflow(sum, k->member[i].size, &sum))
			sum = UINT64_MAX;
	threads = hp_threads(threads);
	each = threads == HPDSL_SERIAL ? sum : sum / threads / 2;
	return each < BLOCK_MIN ? BLOCK_MIN :
	       each > BLOCK_MAX ? BLOCK_MAX :
				  (size_t)each;
}

static void cut(struct many *k)
{
	struct hp_fetch_room room = { 0 }, more;
	bool alone = false;

	for (size_t i = 0; i < k->n; i++) {
		const struct hp_block_member *m = &k->member[i];

		more = room;
		hp_fetch_room_add(&more, m);
		if (i == 0 || alone || m->size >= LARGE ||
		    more.bytes > k->room) {
			k->block[k->blocks++] = i;
			memset(&more, 0, sizeof more);
			hp_fetch_room_add(&more, m);
		}
		alone = m->size >= LARGE;
		room = more;
	}
	k->block[k->blocks] = k->n;
}

/* ---- Memory ----------------------------------------------------------- */

static void buffer_free(struct buffer *b)
{
	if (b)
		free(b->p);
	free(b);
}

static struct buffer *buffer_get(struct many *k)
{
	struct buffer *b;

	pthread_mutex_lock(&k->lock);
	b = k->idle;
	if (b)
		k->idle = b->next;
	pthread_mutex_unlock(&k->lock);
	if (b)
		return b;
	b = calloc(1, sizeof *b);
	if (b)
		b->p = aligned_alloc(HP_FETCH_PAGE, BLOCK_MAX);
	if (b && b->p)
		return b;
	buffer_free(b);
	return NULL;
}

static void buffer_put(struct many *k, struct buffer *b)
{
	pthread_mutex_lock(&k->lock);
	b->next = k->idle;
	k->idle = b;
	pthread_mutex_unlock(&k->lock);
}

static void release(struct many *k)
{
	while (k->idle) {
		struct buffer *b = k->idle;

		k->idle = b->next;
		buffer_free(b);
	}
	hp_fetch_free(k->fetch);
	pthread_mutex_destroy(&k->lock);
	free(k->member);
	free(k->of);
	free(k->block);
}

/* ---- Reading ---------------------------------------------------------- */

/* Straight to where it is wanted. */
static int read_alone(struct many *k, size_t i, struct hpdsl_error *err)
{
	hp_auto_index_copy c;
	struct hpdsl_member m;
	int r;

	hp_index_copy_begin_later(&c, k->ds->index);
	do
		r = get_row(&k->req[k->of[i]], &c.ix, &m, err);
	while (hp_index_copy_again(&c, &r, err));
	if (r == 0)
		r = hp_member_read(k->ds, &m, k->req[k->of[i]].buf, err);
	else
		r = hp_dataset_blame(k->ds, r, err);
	k->member[i].code = r;
	return r;
}

static int read_together(struct many *k, size_t from, size_t to,
			 struct hpdsl_error *err)
{
	struct buffer *buf = buffer_get(k);
	struct hp_block b = {
		.member = &k->member[from],
		.n = (uint32_t)(to - from),
		.room = BLOCK_MAX,
	};

	if (!buf) {
		for (size_t i = from; i < to; i++)
			k->member[i].code = -ENOMEM;
		return hp_fail_nomem(err);
	}
	b.buf = buf->p;
	hp_fetch(k->fetch, &b);
	for (size_t i = from; i < to; i++)
		if (k->member[i].code == 0 && k->member[i].size)
			memcpy(k->req[k->of[i]].buf, k->member[i].data,
			       (size_t)k->member[i].size);
	buffer_put(k, buf);
	*err = b.why;
	return b.why.code;
}

/* Never fails: each request has its own code. */
static int read_block(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct many *k = arg;
	size_t from = k->block[number], to = k->block[number + 1];
	uint64_t done = 0;
	int r = to - from == 1 ? read_alone(k, from, err) :
				 read_together(k, from, to, err);

	for (size_t i = from; i < to; i++) {
		k->req[k->of[i]].code = k->member[i].code;
		done += k->member[i].code == 0;
	}
	pthread_mutex_lock(&k->lock);
	k->done += done;
	if (r < 0 && number < k->failed) {
		k->failed = (size_t)number;
		k->why = *err;
	}
	pthread_mutex_unlock(&k->lock);
	return 0;
}

static int64_t read_several(const struct hpdsl_dataset *ds,
			    struct hpdsl_request *req, size_t n,
			    uint32_t threads, struct hpdsl_error *err)
{
	struct hp_fetch_options opt = { .cache = HPDSL_CACHE_KEEP };
	struct many k = { .ds = ds, .req = req };
	int r;

	pthread_mutex_init(&k.lock, NULL);
	r = sort(&k, n, err);
	if (r == 0 && k.n) {
		k.room = room_of_block(&k, threads);
		cut(&k);
		k.fetch = hp_fetch_new(ds, &opt);
		r = k.fetch ? 0 : hp_fail_nomem(err);
	}
	if (r == 0 && k.n)
		hp_pool_run(threads, k.blocks, read_block, &k, NULL, NULL);
	if (r == 0 && k.done < n && err)
		*err = k.why;
	for (size_t i = 0; r < 0 && i < n; i++)
		req[i].code = r;
	release(&k);
	return r < 0 ? r : (int64_t)k.done;
}

/* Nothing to sort, nothing to share. */
static int64_t read_one(const struct hpdsl_dataset *ds, struct hpdsl_request *q,
			struct hpdsl_error *err)
{
	hp_auto_index_copy c;
	struct hpdsl_member m;
	int r;

	hp_index_copy_begin_later(&c, ds->index);
	do
		r = get(ds, q, &c.ix, &m, err);
	while (hp_index_copy_again(&c, &r, err));
	if (r == 0)
		r = hp_member_read(ds, &m, q->buf, err);
	q->code = r;
	return r == 0;
}

int64_t hpdsl_read_many(const struct hpdsl_dataset *ds,
			struct hpdsl_request *req, size_t n, uint32_t threads,
			struct hpdsl_error *err)
{
	if (n == 1)
		return read_one(ds, req, err);
	return read_several(ds, req, n, threads, err);
}
