/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-stall run puts this in front of a job's libraries: a job that trains
 * nothing must not change what was there before, which guard.h calls old.
 *
 *	opened to be written anew, or only to be written	is set aside
 *	to be removed, replaced or moved			stays
 *	to be changed in place					EROFS
 *
 * So the job goes on as it would, but for the last.  Without HPDSL_STALL, or
 * with HPDSL_STALL_SAVES, nothing is done.
 */
#include "next.h"
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What of it is in force in this process: GUARD_VERSION, or 0. */
PUBLIC unsigned hpdsl_stall_guard(void);
PUBLIC unsigned hpdsl_stall_guard(void)
{
	return guard_on() && *guard_folder() ? GUARD_VERSION : 0;
}

/* ---- Opening ---------------------------------------------------------- */

/* What becomes of an open. */
enum how {
	READ,  /* the system's, to look */
	WRITE, /* the system's: what it opens is the job's own from now on */
	DONE,  /* a descriptor, or -1 and errno */
};

struct opening {
	enum how how;
	int fd;
};

static const struct opening read_it = { READ, -1 }, write_it = { WRITE, -1 };

static struct opening done(int fd)
{
	return (struct opening){ DONE, fd };
}

static bool writes(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
}

/* What was empty is as good as new. */
static void made_fd(int fd, bool has_name, bool is_new)
{
	char path[GUARD_PATH];
	struct guard_file f;
	int was = errno;

	if (guard_stat_fd(fd, &f) && S_ISREG(f.mode) && !f.size) {
		if (has_name)
			guard_path_fd(fd, path);
		guard_make(&f, has_name ? path : NULL, is_new);
	}
	errno = was;
}

/* The system refuses it, too.  Not by another error: where a container does not
 * know the call, it fails whatever the file is. */
static bool may_not_write(int dir, const char *path)
{
	return faccessat(dir, path, W_OK, AT_EACCESS) < 0 &&
	       (errno == EACCES || errno == EROFS);
}

/* One that is there. */
static struct opening open_old(int dir, const char *path, int flags)
{
	char real[GUARD_PATH];
	struct guard_file f;

	if (guard_look(dir, path, !(flags & O_NOFOLLOW), &f, real) !=
		    GUARD_OLD ||
	    !S_ISREG(f.mode) || may_not_write(dir, path))
		return write_it;
	if ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_TRUNC))
		return read_it;
	if ((flags & O_ACCMODE) != O_RDWR || flags & O_TRUNC ||
	    guard_is_aside(&f))
		return done(guard_open_aside(&f, real, flags));
	return guard_passes(&f) ? write_it : done(guard_refuse(&f, real));
}

/* What this call makes is told from what was there by O_EXCL. */
static struct opening open_new(int dir, const char *path, int flags,
			       mode_t mode)
{
	int fd = guard_raw_open(dir, path, flags | O_EXCL, mode);
	struct guard_file f;
	char real[GUARD_PATH];

	if (fd >= 0) {
		made_fd(fd, true, true);
		return done(fd);
	}
	if (errno != EEXIST)
		return flags & O_EXCL ? done(-1) : write_it;
	if (!(flags & O_EXCL))
		return open_old(dir, path, flags);
	/* The job takes it for removed. */
	if (guard_look(dir, path, false, &f, real) == GUARD_OLD &&
	    S_ISREG(f.mode) && guard_take_gone(&f))
		return done(guard_open_aside(&f, real, flags | O_TRUNC));
	errno = EEXIST;
	return done(-1);
}

static bool is_unnamed(int flags)
{
	return (flags & O_TMPFILE) == O_TMPFILE;
}

static struct opening opens(int dir, const char *path, int flags, mode_t mode)
{
	struct opening o = read_it;
	int was = errno;

	if (!path || !writes(flags) || flags & O_PATH)
		return o;
	guard_end_if_alone(dir, path, flags & O_APPEND && !(flags & O_TRUNC));
	if (!guard_on())
		return o;
	if (is_unnamed(flags))
		return write_it;
	o = flags & O_CREAT ? open_new(dir, path, flags, mode) :
			      open_old(dir, path, flags);
	if (o.how != DONE || o.fd >= 0)
		errno = was;
	return o;
}

/* What the job has written to an old file is what it reads from it. */
static void turn_aside(int fd, int flags)
{
	struct guard_file f;
	char path[GUARD_PATH];
	int was = errno, aside;

	if (guard_stat_fd(fd, &f) && S_ISREG(f.mode) && guard_is_aside(&f)) {
		guard_aside_path(&f, path);
		aside = guard_raw_open(AT_FDCWD, path, flags & ~O_NOFOLLOW, 0);
		if (aside >= 0) {
			dup3(aside, fd, flags & O_CLOEXEC);
			guard_raw_close(aside);
		}
	}
	errno = was;
}

static int opened(struct opening o, int fd, int flags)
{
	if (fd >= 0 && o.how == WRITE)
		made_fd(fd, !is_unnamed(flags), is_unnamed(flags));
	else if (fd >= 0 && guard_has_aside() &&
		 !(flags & (O_DIRECTORY | O_PATH)))
		turn_aside(fd, flags);
	return fd;
}

/* What a mode comes from, if there is one. */
static mode_t mode_of(int flags, va_list ap)
{
	return flags & O_CREAT || is_unnamed(flags) ? va_arg(ap, mode_t) : 0;
}

#define OPEN(name)                                                        \
	PUBLIC int name(const char *path, int flags, ...)                 \
	{                                                                 \
		struct opening o;                                         \
		va_list ap;                                               \
		mode_t mode;                                              \
		NEXT(name);                                               \
                                                                          \
		va_start(ap, flags);                                      \
		mode = mode_of(flags, ap);                                \
		va_end(ap);                                               \
		o = opens(AT_FDCWD, path, flags, mode);                   \
		return o.how == DONE ?                                    \
			       o.fd :                                     \
			       opened(o, next(path, flags, mode), flags); \
	}
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                           \
	PUBLIC int name(int dir, const char *path, int flags, ...)             \
	{                                                                      \
		struct opening o;                                              \
		va_list ap;                                                    \
		mode_t mode;                                                   \
		NEXT(name);                                                    \
                                                                               \
		va_start(ap, flags);                                           \
		mode = mode_of(flags, ap);                                     \
		va_end(ap);                                                    \
		o = opens(dir, path, flags, mode);                             \
		return o.how == DONE ?                                         \
			       o.fd :                                          \
			       opened(o, next(dir, path, flags, mode), flags); \
	}
OPENAT(openat)
OPENAT(openat64)

/* What programs that were compiled with _FORTIFY_SOURCE call. */
#define OPEN_2(name)                                                        \
	PUBLIC int name(const char *path, int flags);                       \
	PUBLIC int name(const char *path, int flags)                        \
	{                                                                   \
		struct opening o = opens(AT_FDCWD, path, flags, 0);         \
		NEXT(name);                                                 \
                                                                            \
		return o.how == DONE ? o.fd :                               \
				       opened(o, next(path, flags), flags); \
	}
OPEN_2(__open_2)
OPEN_2(__open64_2)

#define OPENAT_2(name)                                                   \
	PUBLIC int name(int dir, const char *path, int flags);           \
	PUBLIC int name(int dir, const char *path, int flags)            \
	{                                                                \
		struct opening o = opens(dir, path, flags, 0);           \
		NEXT(name);                                              \
                                                                         \
		return o.how == DONE ?                                   \
			       o.fd :                                    \
			       opened(o, next(dir, path, flags), flags); \
	}
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

#define CREAT(name)                                                        \
	PUBLIC int name(const char *path, mode_t mode)                     \
	{                                                                  \
		const int flags = O_CREAT | O_WRONLY | O_TRUNC;            \
		struct opening o = opens(AT_FDCWD, path, flags, mode);     \
		NEXT(name);                                                \
                                                                           \
		return o.how == DONE ? o.fd :                              \
				       opened(o, next(path, mode), flags); \
	}
CREAT(creat)
CREAT(creat64)

#define MADE(name, args, call)                             \
	PUBLIC int name args;                              \
	PUBLIC int name args                               \
	{                                                  \
		int fd;                                    \
		NEXT(name);                                \
                                                           \
		guard_end_if_alone(AT_FDCWD, path, false); \
		fd = next call;                            \
		if (fd >= 0 && guard_on())                 \
			made_fd(fd, true, true);           \
		return fd;                                 \
	}
MADE(mkstemp, (char *path), (path))
MADE(mkstemp64, (char *path), (path))
MADE(mkostemp, (char *path, int flags), (path, flags))
MADE(mkostemp64, (char *path, int flags), (path, flags))
MADE(mkstemps, (char *path, int n), (path, n))
MADE(mkstemps64, (char *path, int n), (path, n))
MADE(mkostemps, (char *path, int n, int flags), (path, n, flags))
MADE(mkostemps64, (char *path, int n, int flags), (path, n, flags))

/* ---- Streams ---------------------------------------------------------- */

static int flags_of(const char *mode)
{
	int flags = *mode == 'r' ? 0 :
		    *mode == 'w' ? O_CREAT | O_TRUNC :
				   O_CREAT | O_APPEND;
	bool more = strchr(mode, '+') != NULL;

	flags |= more ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
	return flags | (strchr(mode, 'x') ? O_EXCL : 0) |
	       (strchr(mode, 'e') ? O_CLOEXEC : 0);
}

static struct opening opens_stream(const char *path, const char *mode)
{
	return path && *mode && strchr("rwa", *mode) ?
		       opens(AT_FDCWD, path, flags_of(mode), 0666) :
		       read_it;
}

static FILE *opened_stream(struct opening o, FILE *f, const char *mode)
{
	if (f)
		opened(o, fileno(f), flags_of(mode));
	return f;
}

#define FOPEN(name)                                                  \
	PUBLIC FILE *name(const char *path, const char *mode)        \
	{                                                            \
		struct opening o = opens_stream(path, mode);         \
		NEXT(name);                                          \
                                                                     \
		if (o.how == DONE)                                   \
			return o.fd < 0 ? NULL : fdopen(o.fd, mode); \
		return opened_stream(o, next(path, mode), mode);     \
	}
FOPEN(fopen)
FOPEN(fopen64)

/* By the path of what was opened: there is no other way, and so that all that a
 * mode may say is the C library's. */
static FILE *reopen(FILE *(*next)(const char *, const char *, FILE *), int fd,
		    const char *mode, FILE *was)
{
	char path[40], again[80];
	size_t n = 0;
	FILE *f;

	if (fd < 0) {
		int why = errno;

		fclose(was);
		errno = why;
		return NULL;
	}
	/* It is not new any more. */
	for (; *mode && n + 1 < sizeof(again); mode++)
		if (*mode != 'x')
			again[n++] = *mode;
	again[n] = '\0';
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	f = next(path, again, was);
	guard_raw_close(fd);
	return f;
}

/* Without a path the file that it has is opened anew. */
static struct opening opens_again(const char *path, const char *mode, FILE *was)
{
	char name[40];

	snprintf(name, sizeof(name), "/proc/self/fd/%d",
		 path ? -1 : fileno_unlocked(was));
	return opens_stream(path ? path : name, mode);
}

#define FREOPEN(name)                                                    \
	PUBLIC FILE *name(const char *path, const char *mode, FILE *was) \
	{                                                                \
		struct opening o = opens_again(path, mode, was);         \
		NEXT(name);                                              \
                                                                         \
		if (o.how == DONE)                                       \
			return reopen(next, o.fd, mode, was);            \
		return opened_stream(o, next(path, mode, was), mode);    \
	}
FREOPEN(freopen)
FREOPEN(freopen64)
