/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One server a directory.  The lock is that of a process, and a file that stays
 * behind is none; what is in it is for people, and for --stop.
 */
#include "life.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Who only looks whether it is held, holds it for an instant. */
enum { TRIES = 20, PAUSE_MS = 25 };

static int fail(const struct serve_place *p, int code, const char *why,
		struct hpdsl_error *err)
{
	err->code = code;
	snprintf(err->msg, sizeof(err->msg), "%.800s/" HPDSL_SERVE_LOCK ": %s",
		 p->path, why);
	return code;
}

bool serve_lock_is_named(const struct serve_place *p, int fd)
{
	struct stat st, now;

	return fstat(fd, &st) == 0 &&
	       fstatat(p->dir, HPDSL_SERVE_LOCK, &now, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       st.st_dev == now.st_dev && st.st_ino == now.st_ino;
}

/* It is about to be written, or believed. */
static int check(const struct serve_place *p, int fd, struct hpdsl_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail(p, -errno, strerror(errno), err);
	if (!S_ISREG(st.st_mode))
		return fail(p, HPDSL_ENOTOURS, "is no regular file", err);
	if (st.st_uid != geteuid() || st.st_nlink > 1)
		return fail(p, -EPERM,
			    "belongs to another user, or has another name",
			    err);
	return 0;
}

static int open_lock(const struct serve_place *p, int flags,
		     struct hpdsl_error *err)
{
	int fd = openat(p->dir, HPDSL_SERVE_LOCK,
			flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
			0600);
	int r = errno;

	if (fd < 0 && r == ELOOP)
		return fail(p, -ELOOP, "is a symbolic link", err);
	if (fd < 0)
		return fail(p, -r, strerror(r), err);
	r = check(p, fd, err);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static bool read_holder(int fd, struct serve_holder *ret)
{
	char text[256];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return serve_holder_parse(text, ret);
}

static int fail_busy(const struct serve_place *p, int fd,
		     struct hpdsl_error *err)
{
	struct serve_holder h;

	err->code = -EBUSY;
	if (read_holder(fd, &h))
		snprintf(err->msg, sizeof(err->msg),
			 "%.800s: is served already, by pid %ld on %s since %s "
			 "UTC",
			 p->path, (long)h.pid, h.host, cmd_time(h.since).s);
	else
		snprintf(err->msg, sizeof(err->msg),
			 "%.800s: is served already", p->path);
	return err->code;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static int write_holder(const struct serve_place *p, int fd,
			struct hpdsl_error *err)
{
	struct serve_holder self = serve_holder_self();
	char text[256];
	int n = serve_holder_format(&self, text, sizeof(text));

	if (fchmod(fd, 0600) < 0 || ftruncate(fd, 0) < 0 ||
	    pwrite(fd, text, (size_t)n, 0) != n)
		return fail(p, errno ? -errno : -EIO, strerror(errno), err);
	return 0;
}

int serve_lock_take(const struct serve_place *p, struct hpdsl_error *err)
{
	for (int i = 0;; i++) {
		int fd = open_lock(p, O_RDWR | O_CREAT, err), r;

		if (fd < 0)
			return fd;
		r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
		if (r == 0 && serve_lock_is_named(p, fd)) {
			r = write_holder(p, fd, err);
			if (r == 0)
				return fd;
			close(fd);
			return r;
		}
		if (i == TRIES)
			r = r == -EWOULDBLOCK || r == 0 ?
				    fail_busy(p, fd, err) :
				    fail(p, r, strerror(-r), err);
		close(fd);
		if (i == TRIES)
			return r;
		pause_ms(PAUSE_MS);
	}
}

void serve_lock_release(int fd)
{
	if (fd < 0)
		return;
	/* what it says is true no longer */
	if (ftruncate(fd, 0) < 0)
		errno = 0;
	close(fd);
}

int serve_lock_look(const struct serve_place *p, struct serve_holder *ret,
		    struct hpdsl_error *err)
{
	int fd = open_lock(p, O_RDONLY, err), r;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
		r = 0;
	} else if (errno != EWOULDBLOCK) {
		r = fail(p, -errno, strerror(errno), err);
	} else {
		r = 1;
		if (!read_holder(fd, ret))
			*ret = (struct serve_holder){ 0 };
	}
	close(fd);
	return r;
}
