/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes.h"

#include "common/common.h"

#include <errno.h>
#include <string.h>

enum {
	WHOLE = 16 << 20, /* members up to this are verified always */
	NOW = 256 << 10,  /* more is copied and hashed by threads of its own */
};

int mount_bytes_init(struct mount_bytes *b, const struct hpdsl_dataset *ds,
		     const char *dataset, bool all, uint64_t room)
{
	struct hpdsl_counts n;

	hpdsl_count(ds, &n);
	b->ds = ds;
	b->all = all;
	b->room = b->left = room;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->more, NULL);
	b->members = n.members;
	mount_bad_init(&b->bad, ds, dataset, n.members);
	b->good = calloc(n.members / 8 + 1, 1);
	return b->good ? 0 : -ENOMEM;
}

void mount_bytes_release(struct mount_bytes *b)
{
	free((void *)b->good);
	b->good = NULL;
	mount_bad_release(&b->bad);
}

bool mount_bytes_is_good(const struct mount_bytes *b, uint64_t member)
{
	return member < b->members &&
	       (atomic_load_explicit(&b->good[member / 8],
				     memory_order_relaxed) >>
			(member % 8) &
		1);
}

static void set_good(struct mount_bytes *b, uint64_t member)
{
	atomic_fetch_or_explicit(&b->good[member / 8],
				 (uint8_t)(1u << (member % 8)),
				 memory_order_relaxed);
}

void mount_bytes_verified(struct mount_bytes *b, uint64_t member)
{
	if (member < b->members)
		set_good(b, member);
}

/* ---- What is wrong ---------------------------------------------------- */

/* Whoever reads asks again for a part of what failed whole: told once. */
int64_t mount_bytes_tell(struct mount_bytes *b, uint64_t member,
			 const struct hpdsl_error *err)
{
	bool again = atomic_exchange(&b->told, member + 1) == member + 1;
	struct hpdsl_error first = *err;

	atomic_fetch_add(b->wrong, 1);
	if (mount_bad_tell(&b->bad, member, &first) || (!again && *first.msg))
		mount_errors_tell(b->errors, first.msg);
	return err->code == -ENOMEM ? -ENOMEM : -EIO;
}

int mount_bytes_known_bad(struct hpdsl_error *err)
{
	*err->msg = '\0';
	return err->code = HPDSL_ECORRUPT;
}

/* ---- Reading ---------------------------------------------------------- */

static int nowhere(void *arg, const void *buf, size_t n,
		   struct hpdsl_error *err)
{
	(void)arg;
	(void)buf;
	(void)n;
	(void)err;
	return 0;
}

/* For so many bytes; each thread has one such at a time.  Nobody is overtaken,
 * who wants more than others. */
static void take_room(struct mount_bytes *b, size_t n)
{
	uint64_t ticket;

	pthread_mutex_lock(&b->lock);
	ticket = b->tickets++;
	while (ticket != b->turn || b->left < n)
		pthread_cond_wait(&b->more, &b->lock);
	b->turn++;
	b->left -= n;
	pthread_cond_broadcast(&b->more);
	pthread_mutex_unlock(&b->lock);
}

static void put_room(struct mount_bytes *b, size_t n)
{
	pthread_mutex_lock(&b->lock);
	b->left += n;
	pthread_cond_broadcast(&b->more);
	pthread_mutex_unlock(&b->lock);
}

static int read_whole(struct mount_bytes *b, const struct hpdsl_member *m,
		      uint64_t offset, void *buf, size_t n,
		      struct hpdsl_error *err)
{
	uint8_t *all = malloc(m->size);
	int r;

	if (!all) {
		snprintf(err->msg, sizeof(err->msg), "out of memory");
		return err->code = -ENOMEM;
	}
	r = hpdsl_member_read(b->ds, m, 0, all, m->size, err);
	if (r == 0)
		memcpy(buf, all + offset, n);
	free(all);
	return r;
}

/* All of it is read once, for a part, unless somebody did so meanwhile. */
static int through_memory(struct mount_bytes *b, const struct hpdsl_member *m,
			  uint64_t offset, void *buf, size_t n,
			  struct hpdsl_error *err)
{
	const size_t size = (size_t)m->size;
	bool known;
	int r = 0;

	take_room(b, size);
	known = mount_bytes_is_good(b, m->number);
	if (!known)
		r = read_whole(b, m, offset, buf, n, err);
	if (r == 0)
		set_good(b, m->number);
	put_room(b, size);
	return known ? hpdsl_member_read(b->ds, m, offset, buf, n, err) : r;
}

static int read_first(struct mount_bytes *b, const struct hpdsl_member *m,
		      uint64_t offset, void *buf, size_t n,
		      struct hpdsl_error *err)
{
	const bool is_part = n < m->size, small = m->size <= WHOLE;
	int r;

	if (is_part && small && m->size <= b->room) {
		r = through_memory(b, m, offset, buf, n, err);
	} else {
		/* twice, rather than more memory than there is to be */
		r = is_part && (small || b->all) ?
			    hpdsl_member_stream(b->ds, m, nowhere, NULL, err) :
			    0;
		if (r == 0)
			r = hpdsl_member_read(b->ds, m, offset, buf, n, err);
	}
	if (r == 0 && (n == m->size || m->size <= WHOLE || b->all))
		set_good(b, m->number);
	return r;
}

/* The member, and what of it is asked for: 1; 0: it has no such bytes. */
static int find(const struct mount_bytes *b, uint64_t member, uint64_t offset,
		size_t *n, struct hpdsl_member *ret, struct hpdsl_error *err)
{
	int r = hpdsl_member_get(b->ds, member, ret, err);

	if (r < 0)
		return r;
	if (offset >= ret->size || !*n)
		return 0;
	*n = ret->size - offset < *n ? (size_t)(ret->size - offset) : *n;
	return 1;
}

bool mount_bytes_is_unproven(const struct mount_bytes *b,
			     const struct hpdsl_member *m)
{
	return !mount_bytes_is_good(b, m->number) &&
	       (m->size <= WHOLE || b->all);
}

/*
 * All of it was verified, and is damaged, unless it has been made good
 * meanwhile: what is remembered of it is of a file that was looked at before it
 * was verified.
 */
static int read_again(struct mount_bytes *b, const struct hpdsl_member *m,
		      uint64_t offset, void *buf, size_t n,
		      struct hpdsl_error *err)
{
	struct mount_file is;
	int r;

	mount_bad_look(&b->bad, m->chunk, &is);
	r = read_first(b, m, offset, buf, n, err);
	if (r == HPDSL_ECORRUPT)
		mount_bad_add(&b->bad, m, &is, err);
	return r;
}

int64_t mount_bytes_try(struct mount_bytes *b, uint64_t member, uint64_t offset,
			void *buf, size_t n, struct hpdsl_error *err)
{
	struct hpdsl_member m;
	int r = find(b, member, offset, &n, &m, err);

	if (r <= 0)
		return r;
	if (mount_bytes_is_good(b, member))
		r = hpdsl_member_read(b->ds, &m, offset, buf, n, err);
	else if (mount_bad_is(&b->bad, &m))
		r = mount_bytes_known_bad(err);
	else
		r = read_first(b, &m, offset, buf, n, err);
	if (r == HPDSL_ECORRUPT && *err->msg && mount_bytes_is_unproven(b, &m))
		r = read_again(b, &m, offset, buf, n, err);
	return r < 0 ? r : (int64_t)n;
}

int64_t mount_bytes_read(struct mount_bytes *b, uint64_t member,
			 uint64_t offset, void *buf, size_t n)
{
	struct hpdsl_error err;
	int64_t r;

	if (member >= b->members)
		return -EIO;
	r = mount_bytes_try(b, member, offset, buf, n, &err);
	return r < 0 ? mount_bytes_tell(b, member, &err) : r;
}

/* Of one that nobody has verified so far all is needed. */
static int first_now(struct mount_bytes *b, const struct hpdsl_member *m,
		     uint64_t offset, void *buf, size_t n)
{
	struct hpdsl_error err;
	uint8_t *all = buf;
	int r;

	if (m->size > NOW)
		return -EAGAIN;
	if (n < m->size)
		all = malloc(m->size);
	if (!all)
		return -EAGAIN;
	r = hpdsl_member_read_now(b->ds, m, 0, all, m->size, &err);
	if (r == 0 && all != buf)
		memcpy(buf, all + offset, n);
	if (all != buf)
		free(all);
	if (r == 0)
		set_good(b, m->number);
	return r;
}

int64_t mount_bytes_now(struct mount_bytes *b, uint64_t member, uint64_t offset,
			void *buf, size_t n)
{
	struct hpdsl_error err;
	struct hpdsl_member m;
	int r;

	if (member >= b->members)
		return -EAGAIN;
	r = find(b, member, offset, &n, &m, &err);
	if (r <= 0)
		return r < 0 ? -EAGAIN : 0;
	if (mount_bad_has(&b->bad, m.chunk))
		return -EAGAIN;
	if (!mount_bytes_is_good(b, member))
		r = first_now(b, &m, offset, buf, n);
	else if (n <= NOW)
		r = hpdsl_member_read_now(b->ds, &m, offset, buf, n, &err);
	else
		r = -EAGAIN;
	return r < 0 ? -EAGAIN : (int64_t)n;
}
