/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The origin, which is read and never mapped: a mapped file can neither be
 * capped nor counted, and a read that does not return can be told.
 */
#include "stager/stager.h"

#include "sys/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TRIES = 3 };
static const double pause_seconds = 0.1;

struct wanted {
	struct hpdsl_stager *s;
	const struct hp_stager_chunk *c;
	int dir;
};

/* ---- Reading ---------------------------------------------------------- */

static int open_file(const struct wanted *w)
{
	const struct hp_io *io = w->s->io;
	const char *name = w->c->row.name;
	const int flags = O_RDONLY | O_NONBLOCK;
	int fd = -EINVAL;

	if (w->s->direct)
		fd = io->open(io, w->dir, name, flags | O_DIRECT, 0);
	if (fd == -EINVAL)
		fd = io->open(io, w->dir, name, flags, 0);
	return fd;
}

/* What is told of it, behind the chunk's name. */
static int fail_read(int code, struct hpdsl_error *why)
{
	if (code == -ENOENT)
		return hp_fail(why, code, "is missing");
	return hp_fail_errno(why, code, "cannot be read");
}

static int open_chunk(void *arg, struct hpdsl_error *why)
{
	const struct wanted *w = arg;
	const struct hp_io *io = w->s->io;
	hp_auto_fd f = { io, open_file(w) };
	struct stat st;
	int r = f.fd < 0 ? f.fd : hp_io_fstat(io, f.fd, &st);

	if (r < 0)
		return fail_read(r, why);
	if (!S_ISREG(st.st_mode))
		return hp_fail(why, HPDSL_ECORRUPT, "is no regular file");
	if ((uint64_t)st.st_size != w->c->row.bytes)
		return hp_fail(why, HPDSL_ECORRUPT,
			       "is %" PRIu64 " bytes, was %" PRIu64
			       " when packed",
			       (uint64_t)st.st_size, w->c->row.bytes);
	/* Advice; where it is not taken nothing is lost. */
	io->advise(io, f.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	r = f.fd;
	f.fd = -1;
	return r;
}

/* With O_DIRECT whole blocks are asked for, up to the end of the file. */
static ssize_t read_blocks(const struct hpdsl_stager *s, int fd,
			   const struct hp_job *j)
{
	size_t n = j->id.length;
	ssize_t r;

	if (s->direct)
		n = (n + HP_BUFFER_ALIGN - 1) / HP_BUFFER_ALIGN *
		    HP_BUFFER_ALIGN;
	r = hp_io_pread_full(s->io, fd, j->buffer->data, n, j->id.offset);
	if (r == -EINVAL && s->direct) {
		r = s->io->set_flags(s->io, fd, 0);
		if (r == 0)
			r = hp_io_pread_full(s->io, fd, j->buffer->data,
					     j->id.length, j->id.offset);
	}
	return r;
}

static int read_once(struct hpdsl_stager *s, struct hp_job *j,
		     struct hpdsl_error *why)
{
	struct wanted w = { s, j->chunk, hp_stager_origin_dir(s) };
	struct hp_cached_fd f;
	ssize_t got;
	int r;

	if (w.dir < 0)
		return fail_read(w.dir, why);
	r = hp_fd_cache_get(s->shared.origin_files, (uint32_t)j->chunk->number,
			    open_chunk, &w, &f, why);
	if (r < 0)
		return r;
	/* What is in memory may be what was wrong. */
	if (j->again)
		s->io->advise(s->io, f.fd, j->id.offset, j->id.length,
			      POSIX_FADV_DONTNEED);
	got = read_blocks(s, f.fd, j);
	hp_fd_cache_put(s->shared.origin_files, &f);
	if (got < 0)
		return fail_read((int)got, why);
	if ((size_t)got < j->id.length)
		return hp_fail(why, HPDSL_ECORRUPT, "ends too early");
	return 0;
}

/* What may go away by itself: another try cannot mend the other ones. */
static bool is_worth_a_try(int r)
{
	return r == -EIO || r == -EAGAIN || r == -EINTR || r == -ESTALE ||
	       r == -ETIMEDOUT || r == -ENOMEM;
}

static void wait_for_turn(struct hpdsl_stager *s, uint64_t n)
{
	double wait;

	pthread_mutex_lock(&s->shared.lock);
	wait = hp_pace_take(&s->shared.pace, hp_now(), n);
	pthread_mutex_unlock(&s->shared.lock);
	if (wait > 0)
		hp_stager_sleep(s, wait);
}

void hpdsl_stager_rate(struct hpdsl_stager *s, uint64_t rate)
{
	pthread_mutex_lock(&s->shared.lock);
	s->shared.pace.rate = (double)rate;
	pthread_mutex_unlock(&s->shared.lock);
}

static void count(struct hpdsl_stager *s, uint64_t bytes, double seconds,
		  uint64_t retries)
{
	pthread_mutex_lock(&s->shared.lock);
	s->shared.counts.origin_bytes += bytes;
	s->shared.counts.read_seconds += seconds;
	s->shared.counts.retries += retries;
	pthread_mutex_unlock(&s->shared.lock);
}

int hp_stager_read(struct hp_stager_thread *t, struct hp_job *j,
		   struct hpdsl_error *err)
{
	struct hpdsl_stager *s = t->s;
	struct hp_stager_chunk *c = j->chunk;
	struct hpdsl_error why;
	double since, seconds;
	int r = -EIO;

	wait_for_turn(s, j->id.length);
	for (int i = 0; i < TRIES && is_worth_a_try(r); i++) {
		if (i)
			hp_stager_sleep(s, pause_seconds);
		if (hp_stager_gives_up(s))
			return -ECANCELED;
		r = -ECANCELED;
		if (hp_operation_begin(t, "reading", c->row.name, &since))
			r = read_once(s, j, &why);
		seconds = hp_operation_end(t, since);
		count(s, r == 0 ? j->id.length : 0, seconds, i > 0);
	}
	if (r == 0)
		hp_stager_readable(s);
	if (r == 0 || r == -ECANCELED)
		return r;
	return hp_stager_unreadable(t, c, &why, err);
}
