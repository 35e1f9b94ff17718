/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-stall run puts this in front of a job's libraries: counts what its
 * processes ask file systems for, and, while cold steps are played, has each
 * file that is opened dropped from the page cache before it is read.
 *
 * HPDSL_STALL_OPS names a file that the trainer and its workers map: 64-bit
 * words, of which the first is the phase that is played, as hpdsl/stall.h
 * counts them, the second the loader that is measured, as HPDSL_STALL_LOADER
 * has it, or 0, and ten times I words on, I from 1, are those of phase I - 1:
 * opens, stats, entries of folders, reads, bytes; bytes of files that were
 * opened, of these in the page cache, and of which that cannot be known;
 * nanoseconds that opens and stats took.
 * Without it nothing is done.
 */
#define _GNU_SOURCE 1
/* Both names of each function are here, and none as an inline function. */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS
#undef _FORTIFY_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 2, COLD = 3, REAL = 4, PHASES = 6 };
enum {
	OPENS,
	STATS,
	ENTRIES,
	READS,
	BYTES,
	ASKED,
	THERE,
	UNKNOWN,
	NAMES,
	WORDS = 10
};
enum { TRIES = 4, SYS_CACHESTAT = 451 };

#define SIZE ((PHASES + 1) * WORDS * sizeof(uint64_t))
#define PUBLIC __attribute__((visibility("default")))

/* The next one of that name, looked for once; who is first may be any thread.
 */
#define NEXT(name)                     \
	static __typeof__(&name) next; \
	if (!next)                     \
	next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static uint64_t *volatile page;
static volatile uint64_t loader; /* that this process works for, or 0 */

/* From now on, and in what is forked; a page that was there before stays, as
 * others may be writing into it. */
PUBLIC void hpdsl_stall_counts(const char *path, uint64_t number);
PUBLIC void hpdsl_stall_counts(const char *path, uint64_t number)
{
	void *at;
	int fd;
	NEXT(open);

	loader = number;
	fd = next(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		page = at;
}

/* A worker that is no fork of the trainer; nobody changes the environment yet.
 */
__attribute__((constructor)) static void begin(void)
{
	const char *path = secure_getenv("HPDSL_STALL_OPS");
	const char *number = secure_getenv("HPDSL_STALL_LOADER");

	if (path && *path && number)
		hpdsl_stall_counts(path, strtoull(number, NULL, 10));
}

static uint64_t *words(void)
{
	return page;
}

static unsigned phase_of(const uint64_t *w)
{
	uint64_t phase = __atomic_load_n(w, __ATOMIC_RELAXED);
	uint64_t measured = __atomic_load_n(w + 1, __ATOMIC_RELAXED);

	/* A job may have several loaders, of which one is measured. */
	if (measured && measured != loader)
		return PHASES - 1;
	return phase < PHASES ? (unsigned)phase : PHASES - 1;
}

static void add(unsigned what, uint64_t n)
{
	uint64_t *w = words();

	if (w)
		__atomic_fetch_add(w + (phase_of(w) + 1) * WORDS + what, n,
				   __ATOMIC_RELAXED);
}

/* 0: nobody counts. */
static uint64_t since(void)
{
	struct timespec t;

	if (!words())
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void took(unsigned what, uint64_t begin)
{
	int was = errno;

	if (begin) {
		add(what, 1);
		add(NAMES, since() - begin);
	}
	errno = was;
}

/* ---- Files that are opened -------------------------------------------- */

/* How much of it the page cache has: since Linux 6.5 that is counted, else, and
 * of files of others, a byte of each quarter is tried; -1: this file system
 * does not tell. */
static int64_t cached(int fd, uint64_t size)
{
	struct {
		uint64_t off, len;
	} range = { 0, size };
	struct {
		uint64_t cached, dirty, writeback, evicted, recently_evicted;
	} pages;
	uint64_t part = size / TRIES, found = 0;

	if (syscall(SYS_CACHESTAT, fd, &range, &pages, 0) == 0) {
		uint64_t n = pages.cached * (uint64_t)sysconf(_SC_PAGESIZE);

		return (int64_t)(n < size ? n : size);
	}
	for (unsigned i = 0; i < TRIES; i++) {
		char byte;
		struct iovec v = { &byte, 1 };
		off_t at = (off_t)(i * part + part / 2);
		ssize_t r = preadv2(fd, &v, 1, at, RWF_NOWAIT);

		if (r < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		found += r > 0;
	}
	return (int64_t)(size / TRIES * found +
			 (found == TRIES ? size % TRIES : 0));
}

static void look(int fd)
{
	uint64_t *w = words();
	unsigned phase = w ? phase_of(w) : 0;
	int was = errno;
	struct statx st;
	int64_t there;

	if (phase < WARM || phase > REAL)
		return;
	/* Not by the function, which counts. */
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE,
		    &st) == 0 &&
	    S_ISREG(st.stx_mode) && st.stx_size) {
		if (phase == COLD)
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		there = cached(fd, st.stx_size);
		add(ASKED, st.stx_size);
		if (there < 0)
			add(UNKNOWN, st.stx_size);
		else
			add(THERE, (uint64_t)there);
	}
	errno = was;
}

/* Descriptors that were opened by a path, unlike pipes and sockets. */
enum { FDS = 1 << 16 };
static uint64_t files[FDS / 64];

static void mark(int fd, bool is_file)
{
	uint64_t bit = UINT64_C(1) << (fd & 63);

	if (fd < 0 || fd >= FDS)
		return;
	if (is_file)
		__atomic_fetch_or(&files[fd / 64], bit, __ATOMIC_RELAXED);
	else if (__atomic_load_n(&files[fd / 64], __ATOMIC_RELAXED) & bit)
		__atomic_fetch_and(&files[fd / 64], ~bit, __ATOMIC_RELAXED);
}

static bool is_marked(int fd)
{
	return fd >= 0 && fd < FDS &&
	       __atomic_load_n(&files[fd / 64], __ATOMIC_RELAXED) >> (fd & 63) &
		       1;
}

static int opened(int fd, int flags, uint64_t begin)
{
	mark(fd, true);
	took(OPENS, begin);
	if (fd >= 0 && (flags & O_ACCMODE) == O_RDONLY &&
	    !(flags & (O_DIRECTORY | O_PATH)))
		look(fd);
	return fd;
}

static FILE *opened_file(FILE *f, const char *mode, uint64_t begin)
{
	took(OPENS, begin);
	if (f && *mode == 'r')
		look(fileno(f));
	return f;
}

/* What a mode comes from, if there is one. */
static mode_t mode_of(int flags, va_list ap)
{
	bool has = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;

	return has ? va_arg(ap, mode_t) : 0;
}

#define OPEN(name)                                                    \
	PUBLIC int name(const char *path, int flags, ...)             \
	{                                                             \
		uint64_t begin = since();                             \
		va_list ap;                                           \
		mode_t mode;                                          \
		NEXT(name);                                           \
                                                                      \
		va_start(ap, flags);                                  \
		mode = mode_of(flags, ap);                            \
		va_end(ap);                                           \
		return opened(next(path, flags, mode), flags, begin); \
	}
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                       \
	PUBLIC int name(int dir, const char *path, int flags, ...)         \
	{                                                                  \
		uint64_t begin = since();                                  \
		va_list ap;                                                \
		mode_t mode;                                               \
		NEXT(name);                                                \
                                                                           \
		va_start(ap, flags);                                       \
		mode = mode_of(flags, ap);                                 \
		va_end(ap);                                                \
		return opened(next(dir, path, flags, mode), flags, begin); \
	}
OPENAT(openat)
OPENAT(openat64)

/* What programs that were compiled with _FORTIFY_SOURCE call. */
#define OPEN_2(name)                                            \
	PUBLIC int name(const char *path, int flags);           \
	PUBLIC int name(const char *path, int flags)            \
	{                                                       \
		uint64_t begin = since();                       \
		NEXT(name);                                     \
                                                                \
		return opened(next(path, flags), flags, begin); \
	}
OPEN_2(__open_2)
OPEN_2(__open64_2)

#define OPENAT_2(name)                                               \
	PUBLIC int name(int dir, const char *path, int flags);       \
	PUBLIC int name(int dir, const char *path, int flags)        \
	{                                                            \
		uint64_t begin = since();                            \
		NEXT(name);                                          \
                                                                     \
		return opened(next(dir, path, flags), flags, begin); \
	}
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

#define FOPEN(name)                                                \
	PUBLIC FILE *name(const char *path, const char *mode)      \
	{                                                          \
		uint64_t begin = since();                          \
		NEXT(name);                                        \
                                                                   \
		return opened_file(next(path, mode), mode, begin); \
	}
FOPEN(fopen)
FOPEN(fopen64)

/* ---- Status and names ------------------------------------------------- */

#define STAT(name, type)                             \
	PUBLIC int name(const char *path, type *ret) \
	{                                            \
		uint64_t begin = since();            \
		int r;                               \
		NEXT(name);                          \
                                                     \
		r = next(path, ret);                 \
		took(STATS, begin);                  \
		return r;                            \
	}
STAT(stat, struct stat)
STAT(lstat, struct stat)
STAT(stat64, struct stat64)
STAT(lstat64, struct stat64)

#define FSTAT(name, type)                  \
	PUBLIC int name(int fd, type *ret) \
	{                                  \
		uint64_t begin = since();  \
		int r;                     \
		NEXT(name);                \
                                           \
		r = next(fd, ret);         \
		took(STATS, begin);        \
		return r;                  \
	}
FSTAT(fstat, struct stat)
FSTAT(fstat64, struct stat64)

#define FSTATAT(name, type)                                              \
	PUBLIC int name(int dir, const char *path, type *ret, int flags) \
	{                                                                \
		uint64_t begin = since();                                \
		int r;                                                   \
		NEXT(name);                                              \
                                                                         \
		r = next(dir, path, ret, flags);                         \
		took(STATS, begin);                                      \
		return r;                                                \
	}
FSTATAT(fstatat, struct stat)
FSTATAT(fstatat64, struct stat64)

PUBLIC int statx(int dir, const char *path, int flags, unsigned mask,
		 struct statx *ret)
{
	uint64_t begin = since();
	int r;
	NEXT(statx);

	r = next(dir, path, flags, mask, ret);
	took(STATS, begin);
	return r;
}

/* The C library's before 2.33, which programs of that time call. */
#define XSTAT(name, what, type)                           \
	PUBLIC int name(int version, what of, type *ret); \
	PUBLIC int name(int version, what of, type *ret)  \
	{                                                 \
		uint64_t begin = since();                 \
		int r;                                    \
		NEXT(name);                               \
                                                          \
		r = next(version, of, ret);               \
		took(STATS, begin);                       \
		return r;                                 \
	}
XSTAT(__xstat, const char *, struct stat)
XSTAT(__lxstat, const char *, struct stat)
XSTAT(__fxstat, int, struct stat)
XSTAT(__xstat64, const char *, struct stat64)
XSTAT(__lxstat64, const char *, struct stat64)
XSTAT(__fxstat64, int, struct stat64)

#define XSTATAT(name, type)                                                \
	PUBLIC int name(int version, int dir, const char *path, type *ret, \
			int flags);                                        \
	PUBLIC int name(int version, int dir, const char *path, type *ret, \
			int flags)                                         \
	{                                                                  \
		uint64_t begin = since();                                  \
		int r;                                                     \
		NEXT(name);                                                \
                                                                           \
		r = next(version, dir, path, ret, flags);                  \
		took(STATS, begin);                                        \
		return r;                                                  \
	}
XSTATAT(__fxstatat, struct stat)
XSTATAT(__fxstatat64, struct stat64)

#define READDIR(name, type)                  \
	PUBLIC type *name(DIR *dir)          \
	{                                    \
		type *entry;                 \
		NEXT(name);                  \
                                             \
		entry = next(dir);           \
		add(ENTRIES, entry != NULL); \
		return entry;                \
	}
READDIR(readdir, struct dirent)
READDIR(readdir64, struct dirent64)

/* ---- Bytes ------------------------------------------------------------ */

PUBLIC int close(int fd)
{
	NEXT(close);

	mark(fd, false);
	return next(fd);
}

static ssize_t was_read(int fd, ssize_t n)
{
	int was = errno;

	if (!is_marked(fd))
		return n;
	add(READS, 1);
	errno = was;
	if (n > 0)
		add(BYTES, (uint64_t)n);
	return n;
}

PUBLIC ssize_t read(int fd, void *buf, size_t n)
{
	NEXT(read);

	return was_read(fd, next(fd, buf, n));
}

#define PREAD(name, type)                                         \
	PUBLIC ssize_t name(int fd, void *buf, size_t n, type at) \
	{                                                         \
		NEXT(name);                                       \
                                                                  \
		return was_read(fd, next(fd, buf, n, at));        \
	}
PREAD(pread, off_t)
PREAD(pread64, off64_t)

PUBLIC ssize_t readv(int fd, const struct iovec *v, int n)
{
	NEXT(readv);

	return was_read(fd, next(fd, v, n));
}

#define PREADV(name, type)                                                 \
	PUBLIC ssize_t name(int fd, const struct iovec *v, int n, type at) \
	{                                                                  \
		NEXT(name);                                                \
                                                                           \
		return was_read(fd, next(fd, v, n, at));                   \
	}
PREADV(preadv, off_t)
PREADV(preadv64, off64_t)

#define PREAD_CHK(name, type)                                                  \
	PUBLIC ssize_t name(int fd, void *buf, size_t n, type at,              \
			    size_t room);                                      \
	PUBLIC ssize_t name(int fd, void *buf, size_t n, type at, size_t room) \
	{                                                                      \
		NEXT(name);                                                    \
                                                                               \
		return was_read(fd, next(fd, buf, n, at, room));               \
	}
PREAD_CHK(__pread_chk, off_t)
PREAD_CHK(__pread64_chk, off64_t)

PUBLIC ssize_t __read_chk(int fd, void *buf, size_t n, size_t room);
PUBLIC ssize_t __read_chk(int fd, void *buf, size_t n, size_t room)
{
	NEXT(__read_chk);

	return was_read(fd, next(fd, buf, n, room));
}
