/* SPDX-License-Identifier: Apache-2.0 */
/* The status of an old file that is set aside is that of what is read from its
 * path: programs compare both, and look how large a file became. */
#include "next.h"

#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* What next() has told of is such a one: its path in the run's folder. */
static bool is_aside(mode_t mode, uint64_t dev, uint64_t ino, char *ret)
{
	const struct guard_file f = { .dev = dev, .ino = ino };

	if (!guard_has_aside() || !S_ISREG(mode) || !guard_is_aside(&f))
		return false;
	guard_aside_path(&f, ret);
	return true;
}

#define IS_ASIDE(r, st, ret)                                                 \
	((r) == 0 &&                                                         \
	 is_aside((st)->st_mode,                                             \
		  (uint64_t)major((st)->st_dev) << 32 | minor((st)->st_dev), \
		  (st)->st_ino, ret))

#define STAT(name, type)                                             \
	PUBLIC int name(const char *of, type *ret)                   \
	{                                                            \
		char path[GUARD_PATH];                               \
		int r;                                               \
		NEXT(name);                                          \
                                                                     \
		r = next(of, ret);                                   \
		return IS_ASIDE(r, ret, path) ? next(path, ret) : r; \
	}
STAT(stat, struct stat)
STAT(lstat, struct stat)
STAT(stat64, struct stat64)
STAT(lstat64, struct stat64)

#define FSTATAT(name, type)                                                    \
	PUBLIC int name(int dir, const char *of, type *ret, int flags)         \
	{                                                                      \
		char path[GUARD_PATH];                                         \
		int r;                                                         \
		NEXT(name);                                                    \
                                                                               \
		r = next(dir, of, ret, flags);                                 \
		return IS_ASIDE(r, ret, path) ? next(AT_FDCWD, path, ret, 0) : \
						r;                             \
	}
FSTATAT(fstatat, struct stat)
FSTATAT(fstatat64, struct stat64)

/* The C library's before 2.33, which programs of that time call. */
#define XSTAT(name, type)                                                     \
	PUBLIC int name(int version, const char *of, type *ret);              \
	PUBLIC int name(int version, const char *of, type *ret)               \
	{                                                                     \
		char path[GUARD_PATH];                                        \
		int r;                                                        \
		NEXT(name);                                                   \
                                                                              \
		r = next(version, of, ret);                                   \
		return IS_ASIDE(r, ret, path) ? next(version, path, ret) : r; \
	}
XSTAT(__xstat, struct stat)
XSTAT(__lxstat, struct stat)
XSTAT(__xstat64, struct stat64)
XSTAT(__lxstat64, struct stat64)

#define XSTATAT(name, type)                                              \
	PUBLIC int name(int version, int dir, const char *of, type *ret, \
			int flags);                                      \
	PUBLIC int name(int version, int dir, const char *of, type *ret, \
			int flags)                                       \
	{                                                                \
		char path[GUARD_PATH];                                   \
		int r;                                                   \
		NEXT(name);                                              \
                                                                         \
		r = next(version, dir, of, ret, flags);                  \
		return IS_ASIDE(r, ret, path) ?                          \
			       next(version, AT_FDCWD, path, ret, 0) :   \
			       r;                                        \
	}
XSTATAT(__fxstatat, struct stat)
XSTATAT(__fxstatat64, struct stat64)

PUBLIC int statx(int dir, const char *of, int flags, unsigned mask,
		 struct statx *ret)
{
	char path[GUARD_PATH];
	int r;
	NEXT(statx);

	r = next(dir, of, flags, mask | STATX_TYPE | STATX_INO, ret);
	return r == 0 && is_aside(ret->stx_mode,
				  (uint64_t)ret->stx_dev_major << 32 |
					  ret->stx_dev_minor,
				  ret->stx_ino, path) ?
		       next(AT_FDCWD, path, 0, mask, ret) :
		       r;
}
