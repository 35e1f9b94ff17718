/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file as readers see it.  What a look costs under the lock is a read
 * of one byte, so that a file that was replaced can be closed at once; and
 * where no stager has beaten for a while, now and then a look at its lock.
 */
#include "dataset/stage_watch.h"

#include "base/error.h"
#include "sys/boot.h"
#include "sys/clock.h"
#include "sys/owner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Nanoseconds without a beat, of which there is one a second, before the lock
 * is looked at.  Some file systems of containers may not show the one that is
 * held, so a stager that beats is believed. */
#define FRESH_BEAT UINT64_C(1500000000)
/* The lock is not looked at again before so many nanoseconds have passed. */
#define PROBE_AGE UINT64_C(250000000)

/* Before a byte of it is looked at; fd is -1 if there is only a directory. */
static int check_owner(const struct hp_stage_watch *w, int fd,
		       struct hpdsl_error *err)
{
	int r = 0;

	if (w->foreign_owner)
		return 0;
	if (fd >= 0)
		r = hp_owner_check(w->io, fd, HP_STATE_NAME, err);
	return r < 0 ? r :
		       hp_owner_check(w->io, w->dir,
				      HP_STATE_NAME ": its directory", err);
}

/* The fixed part of the open file, checked. */
static int read_header(const struct hp_stage_watch *w, int fd,
		       struct hp_state_header *ret, struct hpdsl_error *err)
{
	uint8_t fixed[HP_STATE_CHUNKS];
	struct stat st;
	ssize_t n;
	int r = hp_io_fstat(w->io, fd, &st);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", HP_STATE_NAME);
	if (!S_ISREG(st.st_mode))
		return hp_fail(err, HPDSL_ECORRUPT, "%s: not a regular file",
			       HP_STATE_NAME);
	if (!st.st_size)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: is empty",
			       HP_STATE_NAME);
	n = hp_io_pread_full(w->io, fd, fixed, sizeof fixed, 0);
	if (n < 0)
		return hp_fail_errno(err, (int)n, "%s", HP_STATE_NAME);
	/* Cut short since it was asked for its size? */
	if ((size_t)n < sizeof fixed)
		st.st_size = n;
	return hp_state_parse(fixed, (uint64_t)st.st_size, HP_STATE_NAME, ret,
			      err);
}

/* The file that has the name now, open; the caller closes *ret_fd. */
static int load(const struct hp_stage_watch *w, int *ret_fd,
		struct hp_state_header *header, struct hpdsl_error *err)
{
	hp_auto_fd f = { w->io, w->io->open(w->io, w->dir, HP_STATE_NAME,
					    O_RDONLY | O_NONBLOCK, 0) };
	int r;

	if (f.fd < 0)
		return hp_fail_errno(err, f.fd, "%s", HP_STATE_NAME);
	r = check_owner(w, f.fd, err);
	if (r == 0)
		r = read_header(w, f.fd, header, err);
	if (r < 0)
		return r;
	if (header->chunks != w->chunks)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: is about %" PRIu64
			       " chunks, the dataset has %" PRIu64,
			       HP_STATE_NAME, header->chunks, w->chunks);
	*ret_fd = f.fd;
	f.fd = -1;
	return 0;
}

static void close_file(const struct hp_stage_watch *w, int fd)
{
	if (fd >= 0)
		w->io->close(w->io, fd);
}

static bool has_lock(const struct hp_stage_watch *w)
{
	struct stat st;

	return w->io->stat(w->io, w->dir, HP_STAGE_LOCK, &st,
			   AT_SYMLINK_NOFOLLOW) == 0;
}

int hp_stage_watch_open(struct hp_stage_watch *w, const struct hp_io *io,
			int dir, uint64_t chunks, struct hpdsl_error *err)
{
	int r;

	w->io = io;
	w->dir = dir;
	w->chunks = chunks;
	w->fd = -1;
	w->looked = hp_monotonic();
	r = load(w, &w->fd, &w->header, err);
	if (r == -ENOENT && has_lock(w))
		r = check_owner(w, -1, err);
	if (r < 0)
		return r;
	/* Where the system does not tell, it is zeros, and nothing counts. */
	(void)hp_boot_id(io, w->boot_id);
	if (pthread_mutex_init(&w->lock, NULL)) {
		close_file(w, w->fd);
		return hp_fail_nomem(err);
	}
	return 0;
}

void hp_stage_watch_close(struct hp_stage_watch *w)
{
	close_file(w, w->fd);
	pthread_mutex_destroy(&w->lock);
}

/* A lock that is there and that nobody has is of a stager that is no more. */
static bool is_lock_free(const struct hp_stage_watch *w)
{
	hp_auto_fd f = { w->io, w->io->open(w->io, w->dir, HP_STAGE_LOCK,
					    O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
						    O_NOCTTY,
					    0) };

	return f.fd >= 0 && w->io->is_locked(w->io, f.fd) == 0;
}

/* Who waits looks again and again. */
static bool is_orphan(struct hp_stage_watch *w, uint64_t now)
{
	if (!w->probed || now - w->probed >= PROBE_AGE) {
		w->orphan = is_lock_free(w);
		w->probed = now;
	}
	return w->orphan;
}

/* By what changes in the file, and where that is of a while ago by the lock: is
 * a stager at work? */
static bool is_alive(struct hp_stage_watch *w)
{
	/* As the whole file, of which no more is looked at. */
	uint8_t p[HP_STATE_CHUNKS] __attribute__((aligned(8)));
	const size_t n = HP_STATE_CHUNKS - HP_STATE_FIXED;
	const uint64_t now = hp_monotonic();

	if (w->fd < 0)
		return !is_orphan(w, now);
	if (hp_io_pread_full(w->io, w->fd, p + HP_STATE_FIXED, n,
			     HP_STATE_FIXED) != (ssize_t)n ||
	    !hp_state_alive(p, &w->header, w->boot_id, now))
		return false;
	return hp_state_last_beat(p) + FRESH_BEAT > now || !is_orphan(w, now);
}

bool hp_stage_watch_alive(struct hp_stage_watch *w)
{
	bool alive;

	pthread_mutex_lock(&w->lock);
	alive = is_alive(w);
	pthread_mutex_unlock(&w->lock);
	return alive;
}

void hp_stage_watch_see(struct hp_stage_watch *w, uint64_t chunk,
			struct hp_stage_seen *ret)
{
	uint8_t byte;

	*ret = (struct hp_stage_seen){ 0 };
	pthread_mutex_lock(&w->lock);
	ret->born = w->fd >= 0;
	if (ret->born && hp_io_pread_full(w->io, w->fd, &byte, 1,
					  HP_STATE_CHUNKS + chunk) == 1) {
		ret->state = hp_state_of(byte);
		ret->counts = hp_state_same_boot(&w->header, w->boot_id);
	}
	ret->alive =
		(!ret->born || ret->state == HP_CHUNK_COMING) && is_alive(w);
	pthread_mutex_unlock(&w->lock);
}

bool hp_stage_watch_all(struct hp_stage_watch *w, uint8_t *ret)
{
	ssize_t n = -1;

	pthread_mutex_lock(&w->lock);
	if (w->fd >= 0 && hp_state_same_boot(&w->header, w->boot_id))
		n = hp_io_pread_full(w->io, w->fd, ret, w->chunks,
				     HP_STATE_CHUNKS);
	pthread_mutex_unlock(&w->lock);
	if (n >= 0 && (uint64_t)n == w->chunks)
		return true;
	memset(ret, 0, w->chunks);
	return false;
}

/* Whose turn it is to look. */
static bool is_due(struct hp_stage_watch *w, uint64_t age)
{
	uint64_t now = hp_monotonic();
	bool due;

	pthread_mutex_lock(&w->lock);
	due = now - w->looked >= age || w->fd < 0;
	if (due)
		w->looked = now;
	pthread_mutex_unlock(&w->lock);
	return due;
}

bool hp_stage_watch_renew(struct hp_stage_watch *w, uint64_t age)
{
	struct hp_state_header header;
	int fd = -1, old;

	if (!is_due(w, age) || load(w, &fd, &header, NULL) < 0)
		return false;
	pthread_mutex_lock(&w->lock);
	old = w->fd;
	/* Threads that look at the same time may come here in any order, and
	 * so an older one last: until the next look. */
	if (w->fd < 0 ||
	    memcmp(header.pack, w->header.pack, sizeof header.pack) == 0) {
		w->fd = fd;
		w->header = header;
	} else {
		old = fd;
	}
	pthread_mutex_unlock(&w->lock);
	close_file(w, old);
	return true;
}

char *hp_stage_watch_origin(struct hp_stage_watch *w, const char *name)
{
	char *path;
	int n;

	pthread_mutex_lock(&w->lock);
	/* Adopted tars may be anywhere. */
	n = asprintf(&path, "%s%s%s", name[0] == '/' ? "" : w->header.origin,
		     name[0] == '/' ? "" : "/", name);
	pthread_mutex_unlock(&w->lock);
	return n < 0 ? NULL : path;
}
