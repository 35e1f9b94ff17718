/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking a stage directory: made or found, ours and nobody else's, locked.
 * What is no stage directory stays as it was.
 */
#include "stage/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/manifest.h"
#include "format/names.h"
#include "index/index.h"
#include "peers/names.h"
#include "sys/clock.h"
#include "sys/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 100, LOCK_TRIES = 5 };
#define LOCK_PAUSE UINT64_C(10000000) /* nanoseconds */
/* Nanoseconds between two touches of the lock, at least. */
#define TOUCH UINT64_C(500000000)

/* ---- The directory ---------------------------------------------------- */

static int fail_link(const struct hpdsl_stage *s, struct hpdsl_error *err)
{
	return hp_fail(err, -ELOOP,
		       "%s: is a symbolic link, and those are not followed to "
		       "a stage directory",
		       s->path);
}

static int open_dir(struct hpdsl_stage *s, struct hpdsl_error *err)
{
	struct stat st;
	int r = s->io->open(s->io, AT_FDCWD, s->path,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	if (r >= 0) {
		s->dir = r;
		return 0;
	}
	if ((r == -ELOOP || r == -ENOTDIR) &&
	    s->io->stat(s->io, AT_FDCWD, s->path, &st, AT_SYMLINK_NOFOLLOW) ==
		    0 &&
	    S_ISLNK(st.st_mode))
		return fail_link(s, err);
	return hp_fail_errno(err, r, "%s", s->path);
}

struct look {
	const struct hpdsl_stage *s;
	bool lock, state, index, manifest;
	/* name; "": it is empty, but for what a server may have left */
	char first[HP_PRINTABLE];
};

static int look_at(void *arg, const char *name)
{
	struct look *l = arg;

	if (!strcmp(name, HP_STAGE_LOCK) && hp_stage_is_file(l->s, name))
		l->lock = true;
	else if (!strcmp(name, HP_STATE_NAME) && l->s->has_old)
		l->state = true;
	else if (!strcmp(name, HP_INDEX_NAME))
		l->index = true;
	else if (!strcmp(name, HP_MANIFEST_NAME))
		l->manifest = true;
	if (!l->first[0] && !hp_peers_is_ours(l->s->io, l->s->dir, name))
		hp_printable(name, strlen(name), l->first);
	return 0;
}

/* Empty, or filled by a stager? */
static int check_contents(struct hpdsl_stage *s, struct hpdsl_error *err)
{
	struct look l = { .s = s };
	int r = hp_stage_list(s, look_at, &l);

	if (r < 0)
		return hp_fail_errno(err, r, "%s: cannot be listed", s->path);
	if (l.lock || l.state || !l.first[0])
		return 0;
	if (l.index && l.manifest)
		return hp_fail(err, HPDSL_ENOTOURS,
			       "%s: is a packed dataset, no stage directory",
			       s->path);
	return hp_fail(err, HPDSL_ENOTOURS,
		       "%s: is no stage directory, and not empty ('%s' is "
		       "there)",
		       s->path, l.first);
}

static int check_owner(struct hpdsl_stage *s, struct stat *st,
		       struct hpdsl_error *err)
{
	int r = hp_io_fstat(s->io, s->dir, st);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", s->path);
	if (st->st_uid != geteuid())
		return hp_fail(err, -EPERM,
			       "%s: belongs to another user (number %u)",
			       s->path, (unsigned)st->st_uid);
	return 0;
}

static int set_mode(struct hpdsl_stage *s, const struct stat *st,
		    struct hpdsl_error *err)
{
	int r = (st->st_mode & 0777) == 0700 ?
			0 :
			s->io->chmod(s->io, s->dir, 0700);

	return r < 0 ? hp_fail_errno(err, r, "%s: cannot make it private",
				     s->path) :
		       0;
}

/* ---- The lock --------------------------------------------------------- */

/* "Slurm job 4711 (pid 123 on nid7)", as the holder wrote it. */
static int fail_busy(const struct hpdsl_stage *s, int fd,
		     struct hpdsl_error *err)
{
	char text[HP_STAGE_HOLDER], shown[HP_PRINTABLE];
	ssize_t n = hp_io_pread_full(s->io, fd, text, sizeof text, 0);
	const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;

	if (!end)
		return hp_fail(err, -EBUSY, "%s: is in use by another stager",
			       s->path);
	return hp_fail(err, -EBUSY, "%s: is in use by %s", s->path,
		       hp_printable(text, (size_t)(end - text), shown));
}

/* Is the file that was locked the one of that name?  1, 0 or -errno. */
static int is_named(const struct hpdsl_stage *s, int fd, struct stat *st)
{
	struct stat now;
	int r = hp_io_fstat(s->io, fd, st);

	if (r == 0)
		r = s->io->stat(s->io, s->dir, HP_STAGE_LOCK, &now,
				AT_SYMLINK_NOFOLLOW);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return st->st_dev == now.st_dev && st->st_ino == now.st_ino;
}

/* Readers may try it for a moment, to see whether a stager is at work. */
static int lock(const struct hpdsl_stage *s, int fd)
{
	int r = s->io->lock(s->io, fd);

	for (int i = 0; r == -EWOULDBLOCK && i < LOCK_TRIES; i++) {
		hp_sleep(LOCK_PAUSE);
		r = s->io->lock(s->io, fd);
	}
	return r;
}

/* 1: locked; 0: it was removed meanwhile, try again. */
static int try_lock(struct hpdsl_stage *s, struct hpdsl_error *err)
{
	hp_auto_fd f = { s->io, s->io->open(s->io, s->dir, HP_STAGE_LOCK,
					    O_RDWR | O_CREAT | O_NOFOLLOW |
						    O_NONBLOCK | O_NOCTTY,
					    0600) };
	struct stat st;
	int r = f.fd;

	if (r == -ENOENT)
		return 0; /* so was the directory */
	if (r >= 0)
		r = lock(s, f.fd);
	if (r == -EWOULDBLOCK)
		return fail_busy(s, f.fd, err);
	if (r >= 0)
		r = is_named(s, f.fd, &st);
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s: cannot be locked", s->path,
				     HP_STAGE_LOCK);
	if (r == 0)
		return 0;
	if (!S_ISREG(st.st_mode))
		return hp_fail(err, HPDSL_ENOTOURS, "%s/%s: is no regular file",
			       s->path, HP_STAGE_LOCK);
	/* It is about to be written.  Until the directory was made private
	 * others may have put a file there, or linked one. */
	if (st.st_uid != geteuid() || st.st_nlink > 1)
		return hp_fail(err, -EPERM,
			       "%s/%s: belongs to another user, or has another "
			       "name",
			       s->path, HP_STAGE_LOCK);
	s->lock = f.fd;
	f.fd = -1;
	return 1;
}

/*
 * By the lock an unfinished directory is known for one: it has to be there
 * whenever something else is, also after a power failure.
 */
static int sync_lock(struct hpdsl_stage *s, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	struct stat st;
	int r = hp_io_fstat(s->io, s->lock, &st);

	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", s->path, HP_STAGE_LOCK);
	if (st.st_size)
		return 0;
	r = hp_sync_dir(s->io, s->dir, &why);
	return r < 0 ? hp_fail(err, r, "%s: %s", s->path, why.msg) : 0;
}

/* For those who find it locked. */
static int write_holder(struct hpdsl_stage *s, struct hpdsl_error *err)
{
	char text[HP_STAGE_HOLDER];
	bool job = s->job[0] != '\0';
	int n = snprintf(text, sizeof text, "%s%spid %ld on %s%s\n", s->job,
			 job ? " (" : "", (long)getpid(), s->host,
			 job ? ")" : "");
	int r = hp_io_pwrite_full(s->io, s->lock, text, (size_t)n, 0);

	if (r == 0)
		r = s->io->truncate(s->io, s->lock, (uint64_t)n);
	return r < 0 ? hp_fail_errno(err, r, "%s/%s: cannot be written",
				     s->path, HP_STAGE_LOCK) :
		       0;
}

void hp_stage_touch(struct hpdsl_stage *s)
{
	uint64_t now = hp_monotonic();
	uint64_t was = __atomic_load_n(&s->touched, __ATOMIC_RELAXED);

	if (was && now - was < TOUCH)
		return;
	__atomic_store_n(&s->touched, now, __ATOMIC_RELAXED);
	/* Where it cannot be done those who wait lose patience. */
	(void)s->io->set_times(s->io, s->lock, NULL);
}

/* ---- Both ------------------------------------------------------------- */

/* 1: it is ours and locked; 0: it was removed meanwhile. */
static int try_take(struct hpdsl_stage *s, bool make, bool *made,
		    struct hpdsl_error *err)
{
	struct stat st;
	int r = make ? s->io->mkdir(s->io, AT_FDCWD, s->path, 0700) : -EEXIST;

	*made = r == 0;
	if (r < 0 && r != -EEXIST)
		return hp_fail_errno(err, r, "%s: cannot be made", s->path);
	r = open_dir(s, err);
	if (r == -ENOENT && make)
		return 0;
	if (r == 0)
		r = check_owner(s, &st, err);
	if (r == 0)
		r = hp_stage_load(s, err);
	if (r == 0)
		r = check_contents(s, err);
	if (r == 0)
		r = set_mode(s, &st, err);
	return r < 0 ? r : try_lock(s, err);
}

static void let_go(struct hpdsl_stage *s)
{
	if (s->lock >= 0)
		s->io->close(s->io, s->lock);
	if (s->dir >= 0)
		s->io->close(s->io, s->dir);
	s->lock = s->dir = -1;
}

/* Nothing but the lock, and what servers have left. */
static int see_other(void *arg, const char *name)
{
	struct hpdsl_stage *s = arg;

	s->bare = s->bare && (strcmp(name, HP_STAGE_LOCK) == 0 ||
			      hp_peers_is_ours(s->io, s->dir, name));
	return 0;
}

int hp_stage_take(struct hpdsl_stage *s, bool make, struct hpdsl_error *err)
{
	int r = 0;
	bool made = false;

	for (int i = 0; i < TRIES && r == 0; i++) {
		let_go(s);
		r = try_take(s, make, &made, err);
	}
	if (r == 0)
		r = hp_fail(err, -EBUSY, "%s: comes and goes", s->path);
	/* What was there before the lock may have changed until then. */
	if (r > 0)
		r = hp_stage_load(s, err);
	if (r == 0)
		r = sync_lock(s, err);
	if (r == 0)
		r = write_holder(s, err);
	if (r < 0) {
		let_go(s);
		if (made)
			s->io->unlink(s->io, AT_FDCWD, s->path, AT_REMOVEDIR);
		return r;
	}
	s->made = made;
	s->bare = true;
	if (hp_stage_list(s, see_other, s) < 0)
		s->bare = false;
	return r;
}
