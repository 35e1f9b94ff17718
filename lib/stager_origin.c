/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The origin, which is read and never mapped: a mapped file can neither be
 * capped nor counted, and a read that does not return can be told.
 */
#include "stager.h"

#include "manifest.h"
#include "mem.h"
#include "meter.h"

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

/* The origin's directory: opened by who needs it first, kept to the end. */
static int open_dir(struct hpdsl_stager *s)
{
	int fd, is;

	pthread_mutex_lock(&s->lock);
	is = s->origin_dir;
	pthread_mutex_unlock(&s->lock);
	if (is >= 0)
		return is;
	fd = s->io->open(s->io, AT_FDCWD, s->origin, O_RDONLY | O_DIRECTORY, 0);
	pthread_mutex_lock(&s->lock);
	is = s->origin_dir;
	if (is < 0)
		s->origin_dir = fd;
	pthread_mutex_unlock(&s->lock);
	if (is >= 0 && fd >= 0)
		s->io->close(s->io, fd);
	return is >= 0 ? is : fd;
}

/* ---- Was it replaced? --------------------------------------------------- */

/* Is the origin's manifest no longer the one that was staged? */
static bool has_changed(struct hpdsl_stager *s)
{
	int dir = open_dir(s);
	hp_auto_free char *now = NULL, *was = NULL;
	size_t n_now = 0, n_was = 0;
	int r = hp_io_slurp(s->io, s->dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX,
			    &was, &n_was);

	if (r < 0 || dir < 0)
		return dir == -ENOENT;
	r = hp_io_slurp(s->io, dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX, &now,
			&n_now);
	/* Whether it is there at all can be told; otherwise it is not known. */
	return r == -ENOENT ||
	       (r == 0 && (n_now != n_was || memcmp(now, was, n_now) != 0));
}

/* The chunk is not what it was: damage, or another dataset by now. */
static int fail_origin(struct hpdsl_stager *s, const struct hp_stager_chunk *c,
		       const char *why, struct hpdsl_error *err)
{
	if (has_changed(s))
		return hp_fail(err, HPDSL_ECHANGED,
			       "%s: the dataset was replaced while it was "
			       "staged",
			       s->origin);
	return hp_fail(err, HPDSL_ECORRUPT, "%s/%s: %s", s->origin, c->row.name,
		       why);
}

int hp_stager_blame(struct hp_stager_thread *t, struct hp_job *j,
		    struct hpdsl_error *err)
{
	double since;
	int r = -ECANCELED;

	if (hp_operation_begin(t, "reading", HP_MANIFEST_NAME, &since))
		r = fail_origin(t->s, j->chunk,
				"is damaged: its checksum differs", err);
	hp_operation_end(t, since);
	return r;
}

/* ---- Reading ------------------------------------------------------------ */

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

static int open_chunk(void *arg, struct hpdsl_error *err)
{
	const struct wanted *w = arg;
	const struct hp_io *io = w->s->io;
	hp_auto_fd f = { io, open_file(w) };
	char why[96];
	struct stat st;
	int r = f.fd < 0 ? f.fd : hp_io_fstat(io, f.fd, &st);

	if (r == -ENOENT && has_changed(w->s))
		return fail_origin(w->s, w->c, "", err);
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", w->s->origin,
				     w->c->row.name);
	if (!S_ISREG(st.st_mode))
		return fail_origin(w->s, w->c, "not a regular file", err);
	if ((uint64_t)st.st_size != w->c->row.bytes) {
		snprintf(why, sizeof why,
			 "is %" PRIu64 " bytes, was %" PRIu64 " when packed",
			 (uint64_t)st.st_size, w->c->row.bytes);
		return fail_origin(w->s, w->c, why, err);
	}
	/* Advice; where it is not taken nothing is lost. */
	posix_fadvise(f.fd, 0, 0, POSIX_FADV_SEQUENTIAL);
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
		     struct hpdsl_error *err)
{
	struct wanted w = { s, j->chunk, open_dir(s) };
	struct hp_cached_fd f;
	ssize_t got;
	int r;

	if (w.dir < 0)
		return hp_fail_errno(err, w.dir, "%s", s->origin);
	r = hp_fd_cache_get(s->origin_files, (uint32_t)j->chunk->number,
			    open_chunk, &w, &f, err);
	if (r < 0)
		return r;
	/* What is in memory may be what was wrong. */
	if (j->again)
		posix_fadvise(f.fd, (off_t)j->id.offset, (off_t)j->id.length,
			      POSIX_FADV_DONTNEED);
	got = read_blocks(s, f.fd, j);
	hp_fd_cache_put(s->origin_files, &f);
	/* An NFS server knows no more of a file that was removed. */
	if (got == -ESTALE && has_changed(s))
		return fail_origin(s, j->chunk, "", err);
	if (got < 0)
		return hp_fail_errno(err, (int)got, "%s/%s", s->origin,
				     j->chunk->row.name);
	if ((size_t)got < j->id.length)
		return fail_origin(s, j->chunk, "was cut short", err);
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

	pthread_mutex_lock(&s->lock);
	wait = hp_pace_take(&s->pace, hp_now(), n);
	pthread_mutex_unlock(&s->lock);
	if (wait > 0)
		hp_stager_sleep(s, wait);
}

void hpdsl_stager_rate(struct hpdsl_stager *s, uint64_t rate)
{
	pthread_mutex_lock(&s->lock);
	s->pace.rate = (double)rate;
	pthread_mutex_unlock(&s->lock);
}

static void count(struct hpdsl_stager *s, uint64_t bytes, double seconds,
		  uint64_t retries)
{
	pthread_mutex_lock(&s->lock);
	s->counts.origin_bytes += bytes;
	s->counts.read_seconds += seconds;
	s->counts.retries += retries;
	pthread_mutex_unlock(&s->lock);
}

int hp_stager_read(struct hp_stager_thread *t, struct hp_job *j,
		   struct hpdsl_error *err)
{
	struct hpdsl_stager *s = t->s;
	struct hp_stager_chunk *c = j->chunk;
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
			r = read_once(s, j, err);
		seconds = hp_operation_end(t, since);
		count(s, r == 0 ? j->id.length : 0, seconds, i > 0);
	}
	return r;
}
