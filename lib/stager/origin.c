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
	struct hp_source from;
};

/* ---- Reading ---------------------------------------------------------- */

static int open_file(const struct wanted *w)
{
	const struct hp_source_ops *ops = w->from.ops;
	const char *name = w->c->row.name;
	int fd = -EINVAL;

	if (w->s->direct)
		fd = ops->open(w->s->io, w->dir, name, O_DIRECT);
	if (fd == -EINVAL)
		fd = ops->open(w->s->io, w->dir, name, 0);
	return fd;
}

/* What is told of it, behind the chunk's name. */
static int fail_read(int code, struct hpdsl_error *why)
{
	if (code == -ENOENT)
		return hp_fail(why, code, "is missing");
	return hp_fail_errno(why, code, "cannot be read");
}

static int check(const struct hp_source *from, const struct hpdsl_chunk *row,
		 struct hpdsl_error *why)
{
	uint64_t size;
	int r = from->ops->identity(from, row, &size);

	if (r < 0)
		return fail_read(r, why);
	if (r == HP_SOURCE_IS_ODD)
		return hp_fail(why, HPDSL_ECORRUPT, "is no regular file");
	if (r == HP_SOURCE_IS_SIZED)
		return hp_fail(why, HPDSL_ECORRUPT,
			       "is %" PRIu64 " bytes, was %" PRIu64
			       " when packed",
			       size, hp_source_size(from, row));
	return 0;
}

static int open_chunk(void *arg, struct hpdsl_error *why)
{
	const struct wanted *w = arg;
	const struct hp_io *io = w->s->io;
	struct hp_source from = w->from;
	hp_auto_fd f = { io, open_file(w) };
	int r;

	if (f.fd < 0)
		return fail_read(f.fd, why);
	from.fd.fd = f.fd;
	r = check(&from, &w->c->row, why);
	if (r < 0)
		return r;
	/* Advice; where it is not taken nothing is lost. */
	io->advise(io, f.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	r = f.fd;
	f.fd = -1;
	return r;
}

static int read_once(struct hpdsl_stager *s, struct hp_job *j,
		     struct hpdsl_error *why)
{
	struct wanted w = { s, j->chunk, hp_stager_origin_dir(s),
			    hp_stager_source(s, j->chunk, HP_AT_ORIGIN) };
	ssize_t got;
	int r;

	if (w.dir < 0)
		return fail_read(w.dir, why);
	r = hp_fd_cache_get(s->shared.origin_files, w.from.chunk, open_chunk,
			    &w, &w.from.fd, why);
	if (r < 0)
		return r;
	/* What is in memory may be what was wrong. */
	if (j->again)
		s->io->advise(s->io, w.from.fd.fd, j->id.offset, j->id.length,
			      POSIX_FADV_DONTNEED);
	got = hp_stager_segment(&w.from, j, s->direct);
	hp_fd_cache_put(s->shared.origin_files, &w.from.fd);
	if (got < 0)
		return fail_read((int)got, why);
	if ((size_t)got < j->id.length)
		return hp_fail(why, HPDSL_ECORRUPT, "ends too early");
	return 0;
}

/* What may go away by itself: another try cannot mend the other ones. */
static bool is_worth_a_try(const struct hpdsl_stager *s, int r)
{
	return s->sources->of[HP_AT_ORIGIN]->blame(r) & HP_BLAME_PASSES;
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
	for (int i = 0; i < TRIES && is_worth_a_try(s, r); i++) {
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
