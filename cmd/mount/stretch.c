/* SPDX-License-Identifier: Apache-2.0 */
#include "stretch.h"

#include "common/common.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AHEAD = 2 }; /* windows */

void mount_stretches_init(struct mount_stretches *s, struct mount_bytes *bytes,
			  unsigned windows)
{
	*s = (struct mount_stretches){ .bytes = bytes,
				       .windows = { .n = windows } };
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
}

void mount_stretches_release(struct mount_stretches *s)
{
	for (int i = 0; i < MOUNT_WINDOWS; i++)
		free(s->buf[i]);
	pthread_cond_destroy(&s->more);
	pthread_mutex_destroy(&s->lock);
}

/* ---- Bytes ------------------------------------------------------------ */

/* What is read, and of which member something is wrong. */
struct part {
	struct mount_bytes *b;
	const struct hpdsl_chunk *chunk;
	uint64_t begin, end;
	uint8_t *buf;
	uint64_t member; /* or behind all of them: of none */
	struct hpdsl_error *err;
};

/* The first member that ends behind that byte, or the chunk's last one and 1.
 */
static int find(struct part *p, uint64_t offset, uint64_t *ret)
{
	uint64_t low = p->chunk->first_member;
	uint64_t high = low + p->chunk->members;

	while (low < high) {
		const uint64_t mid = low + (high - low) / 2;
		struct hpdsl_member m;
		int r = hpdsl_member_get(p->b->ds, mid, &m, p->err);

		if (r < 0)
			return r;
		if (m.offset + m.size <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	*ret = low;
	return 0;
}

/* What there is of the member, into its place. */
static int read_member(struct part *p, const struct hpdsl_member *m)
{
	const uint64_t end =
		m->offset + m->size < p->end ? m->offset + m->size : p->end;
	const uint64_t begin = m->offset > p->begin ? m->offset : p->begin;
	int64_t n = begin < end ?
			    mount_bytes_try(p->b, m->number, begin - m->offset,
					    p->buf + (begin - p->begin),
					    (size_t)(end - begin), p->err) :
			    0;

	if (n < 0)
		p->member = m->number;
	return n < 0 ? (int)n : 0;
}

/* All members that are there, whole or in part. */
static int read_members(struct part *p)
{
	const uint64_t end = p->chunk->first_member + p->chunk->members;
	uint64_t i;
	int r = find(p, p->begin, &i);

	for (; r == 0 && i < end; i++) {
		struct hpdsl_member m;

		r = hpdsl_member_get(p->b->ds, i, &m, p->err);
		if (r == 0 && m.offset >= p->end)
			break;
		if (r == 0)
			r = read_member(p, &m);
	}
	return r;
}

/* One that is cut off there, at the part's begin or end. */
static int prove_at(struct part *p, uint64_t offset)
{
	const uint64_t end = p->chunk->first_member + p->chunk->members;
	struct hpdsl_member m;
	uint64_t i;
	int r = find(p, offset, &i);

	if (r < 0 || i == end)
		return r;
	r = hpdsl_member_get(p->b->ds, i, &m, p->err);
	if (r < 0 || m.offset >= p->end ||
	    (m.offset >= p->begin && m.offset + m.size <= p->end) ||
	    !mount_bytes_is_unproven(p->b, &m))
		return r;
	return read_member(p, &m);
}

/* One that is there, in part or whole, and known to be damaged. */
static int find_bad(struct part *p)
{
	const uint64_t end = p->chunk->first_member + p->chunk->members;
	uint64_t i;
	int r;

	if (!mount_bad_has(&p->b->bad, p->chunk->number))
		return 0;
	r = find(p, p->begin, &i);
	for (; r == 0 && i < end; i++) {
		struct hpdsl_member m;

		r = hpdsl_member_get(p->b->ds, i, &m, p->err);
		if (r == 0 && m.offset >= p->end)
			break;
		if (r == 0 && m.size && mount_bad_is(&p->b->bad, &m)) {
			p->member = i;
			r = mount_bytes_known_bad(p->err);
		}
	}
	return r;
}

static int read_part(struct part *p)
{
	struct hpdsl_error why;
	int r;

	p->member = p->b->members + p->chunk->number;
	r = find_bad(p);
	if (r < 0)
		return r;
	r = hpdsl_chunk_read(p->b->ds, p->chunk->number, p->begin, p->buf,
			     (size_t)(p->end - p->begin), &why);
	if (r == 0) {
		r = prove_at(p, p->begin);
		return r == 0 ? prove_at(p, p->end - 1) : r;
	}
	/* Which member's fault is it? */
	r = read_members(p);
	if (r == 0) {
		*p->err = why;
		r = why.code;
	}
	return r;
}

/* ---- Windows ---------------------------------------------------------- */

/* Bytes of a window of the chunk. */
static size_t size_of(const struct hpdsl_chunk *c, uint64_t number)
{
	const uint64_t left = c->plain_bytes - number * MOUNT_WINDOW;

	return left < MOUNT_WINDOW ? (size_t)left : MOUNT_WINDOW;
}

/* Under the lock, which others get meanwhile. */
static void load(struct mount_stretches *s, const struct hpdsl_chunk *c, int i)
{
	struct mount_window *w = &s->windows.v[i];
	const uint64_t begin = w->number * MOUNT_WINDOW;
	struct hpdsl_error err;
	struct part p = {
		.b = s->bytes,
		.chunk = c,
		.begin = begin,
		.end = begin + w->size,
		.err = &err,
	};
	bool good;

	if (!s->buf[i])
		s->buf[i] = malloc(MOUNT_WINDOW);
	p.buf = s->buf[i];
	pthread_mutex_unlock(&s->lock);
	/* What is wrong is told to who reads that. */
	good = p.buf && read_part(&p) == 0;
	pthread_mutex_lock(&s->lock);
	w->is = good ? MOUNT_WINDOW_HERE : MOUNT_WINDOW_BAD;
	pthread_cond_broadcast(&s->more);
}

/*
 * Under the lock: n bytes, all of one window, out of that; false: not so.  Who
 * loads it, or waits for who does, has it until it is copied.
 */
static bool take(struct mount_stretches *s, const struct hpdsl_chunk *c,
		 uint64_t offset, uint8_t *buf, size_t n)
{
	const uint64_t number = offset / MOUNT_WINDOW;
	int i = mount_windows_find(&s->windows, c->number, number);
	const bool is_new = i < 0;
	struct mount_window *w;
	bool here;

	if (is_new)
		i = mount_windows_take(&s->windows, c->number, number,
				       size_of(c, number));
	if (i < 0)
		return false;
	w = &s->windows.v[i];
	w->users++;
	if (is_new)
		load(s, c, i);
	while (w->is == MOUNT_WINDOW_COMING)
		pthread_cond_wait(&s->more, &s->lock);
	here = w->is == MOUNT_WINDOW_HERE;
	if (here) {
		pthread_mutex_unlock(&s->lock);
		memcpy(buf, s->buf[i] + offset % MOUNT_WINDOW, n);
		pthread_mutex_lock(&s->lock);
	}
	w->users--;
	mount_windows_given(&s->windows, i, (size_t)(offset % MOUNT_WINDOW), n);
	return here;
}

/* Bytes from offset on that are of its window. */
static size_t in_window(uint64_t offset, size_t n)
{
	const size_t left = (size_t)(MOUNT_WINDOW - offset % MOUNT_WINDOW);

	return n < left ? n : left;
}

/* ---- Reads ------------------------------------------------------------ */

static int read_alone(struct mount_stretches *s, const struct hpdsl_chunk *c,
		      uint64_t offset, uint8_t *buf, size_t n)
{
	struct hpdsl_error err;
	struct part p = { s->bytes, c, offset, offset + n, buf, 0, &err };
	int r = read_part(&p);

	return r < 0 ? (int)mount_bytes_tell(s->bytes, p.member, &err) : 0;
}

static bool read_on(struct mount_stretches *s, const struct hpdsl_chunk *c,
		    uint64_t offset, uint8_t *buf, size_t n)
{
	bool all = false;

	pthread_mutex_lock(&s->lock);
	if (mount_windows_goes_on(&s->windows, c->number, offset, n)) {
		all = true;
		for (size_t at = 0; all && at < n;) {
			const size_t k = in_window(offset + at, n - at);

			all = take(s, c, offset + at, buf + at, k);
			at += k;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return all;
}

/* The chunk, and what it has of n bytes. */
static int find_chunk(const struct mount_stretches *s, uint32_t number,
		      uint64_t offset, size_t *n, struct hpdsl_chunk *ret)
{
	struct hpdsl_error err;
	int r = hpdsl_chunk_get(s->bytes->ds, number, ret, &err);

	if (r < 0)
		return (int)mount_bytes_tell(s->bytes,
					     s->bytes->members + number, &err);
	if (offset >= ret->plain_bytes)
		*n = 0;
	else if (*n > ret->plain_bytes - offset)
		*n = (size_t)(ret->plain_bytes - offset);
	return 0;
}

int64_t mount_stretch_read(struct mount_stretches *s, uint32_t chunk,
			   uint64_t offset, void *buf, size_t n)
{
	struct hpdsl_chunk c;
	int r = find_chunk(s, chunk, offset, &n, &c);

	if (r == 0 && n && !read_on(s, &c, offset, buf, n))
		r = read_alone(s, &c, offset, buf, n);
	return r < 0 ? r : (int64_t)n;
}

/* ---- Before it is asked for ------------------------------------------- */

/*
 * Under the lock: the next windows of who reads on; of the first of them that
 * nobody has, whether it is there to be had.
 */
static bool find_ahead(struct mount_stretches *s, const struct hpdsl_chunk *c,
		       uint64_t offset, uint64_t *ret)
{
	const uint64_t here = offset / MOUNT_WINDOW;

	if (mount_windows_find(&s->windows, c->number, here) < 0)
		return false;
	for (uint64_t i = here + 1; i <= here + AHEAD; i++) {
		*ret = i;
		if (i * MOUNT_WINDOW >= c->plain_bytes)
			return false;
		if (mount_windows_find(&s->windows, c->number, i) < 0)
			return true;
	}
	return false;
}

void mount_stretch_ahead(struct mount_stretches *s, uint32_t chunk,
			 uint64_t offset, size_t n)
{
	struct hpdsl_chunk c;
	uint64_t number;

	if (find_chunk(s, chunk, offset, &n, &c) < 0 || !n)
		return;
	pthread_mutex_lock(&s->lock);
	while (find_ahead(s, &c, offset, &number)) {
		int i = mount_windows_take(&s->windows, chunk, number,
					   size_of(&c, number));

		if (i < 0)
			break;
		load(s, &c, i);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Out of a window that is there, if no other one is to be loaded. */
static bool take_now(struct mount_stretches *s, const struct hpdsl_chunk *c,
		     uint64_t offset, uint8_t *buf, size_t n)
{
	int i = mount_windows_find(&s->windows, c->number,
				   offset / MOUNT_WINDOW);
	uint64_t number;

	if (i < 0 || s->windows.v[i].is != MOUNT_WINDOW_HERE ||
	    in_window(offset, n) < n || find_ahead(s, c, offset, &number))
		return false;
	mount_windows_goes_on(&s->windows, c->number, offset, n);
	return take(s, c, offset, buf, n);
}

int64_t mount_stretch_now(struct mount_stretches *s, uint32_t chunk,
			  uint64_t offset, void *buf, size_t n)
{
	struct hpdsl_error err;
	struct hpdsl_chunk c;
	bool taken;

	if (hpdsl_chunk_get(s->bytes->ds, chunk, &c, &err) < 0)
		return -EAGAIN;
	if (offset >= c.plain_bytes || !n)
		return 0;
	if (n > c.plain_bytes - offset)
		n = (size_t)(c.plain_bytes - offset);
	pthread_mutex_lock(&s->lock);
	taken = take_now(s, &c, offset, buf, n);
	pthread_mutex_unlock(&s->lock);
	return taken ? (int64_t)n : -EAGAIN;
}

/* ---- Other files ------------------------------------------------------ */

static bool is_what_it_was(int fd, const struct mount_thing *v)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == v->dev &&
	       st.st_ino == v->ino && (uint64_t)st.st_size == v->size &&
	       st.st_mtim.tv_sec == v->mtime &&
	       (uint32_t)st.st_mtim.tv_nsec == v->mtime_nsec;
}

/* Bytes, or -errno. */
static ssize_t read_fully(int fd, uint64_t offset, uint8_t *buf, size_t n)
{
	size_t at = 0;
	ssize_t k = 1;

	while (at < n && k > 0) {
		k = pread(fd, buf + at, n - at, (off_t)(offset + at));
		at += k > 0 ? (size_t)k : 0;
	}
	return k < 0 ? -errno : (ssize_t)at;
}

int64_t mount_beside_read(struct mount_bytes *b, const struct mount_thing *v,
			  uint64_t thing, uint64_t offset, void *buf, size_t n)
{
	int fd = open(v->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct hpdsl_error err = { .code = -EIO };
	ssize_t r = fd < 0 ? -errno : 0;

	if (r == 0 && !is_what_it_was(fd, v))
		r = -ESTALE;
	if (r == 0)
		r = read_fully(fd, offset, buf, n);
	if (fd >= 0)
		close(fd);
	if (r >= 0)
		return r;
	snprintf(err.msg, sizeof(err.msg), "%.900s: %s", v->path,
		 r == -ESTALE ? "it is not what it was when it was mounted" :
				strerror((int)-r));
	return mount_bytes_tell(b, b->members + thing, &err);
}
