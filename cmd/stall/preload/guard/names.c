/* SPDX-License-Identifier: Apache-2.0 */
/* Names of old files stay, whatever the job takes them for. */
#include "next.h"

#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_old(int dir, const char *path, struct guard_file *f, char *real)
{
	return guard_look(dir, path, false, f, real) == GUARD_OLD;
}

/* The folder of a name that stays: it cannot be removed, either. */
static void set_parent_gone(const char *real)
{
	char parent[GUARD_PATH], *slash;
	struct guard_file f;

	strcpy(parent, real);
	slash = strrchr(parent, '/');
	if (!slash || slash == parent)
		return;
	*slash = '\0';
	if (guard_stat(AT_FDCWD, parent, true, &f))
		guard_set_gone(&f);
}

/* 0, and nothing happens? */
static bool keeps(int dir, const char *path)
{
	struct guard_file f;
	char real[GUARD_PATH];
	int was = errno;
	bool is = guard_on() && is_old(dir, path, &f, real) && !S_ISDIR(f.mode);

	if (is) {
		guard_set_gone(&f);
		set_parent_gone(real);
		guard_tell(GUARD_KEPT, &f, real);
	}
	errno = was;
	return is;
}

/* Inodes are used again, by whomever. */
static bool last_name(int dir, const char *path, struct guard_file *ret)
{
	struct stat st;

	return guard_on() && guard_stat(dir, path, false, ret) &&
	       guard_was_made(ret) &&
	       fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISDIR(st.st_mode) || st.st_nlink == 1);
}

static int removed(int r, bool was_last, const struct guard_file *f)
{
	if (r == 0 && was_last)
		guard_forget_made(f);
	return r;
}

/* One that is not empty, for what was kept in it. */
static int removed_folder(int r, int dir, const char *path, bool was_last,
			  const struct guard_file *made)
{
	struct guard_file f;
	char real[GUARD_PATH];

	if (r == 0 || (errno != ENOTEMPTY && errno != EEXIST) || !guard_on() ||
	    !guard_stat(dir, path, false, &f) || !guard_is_gone(&f))
		return removed(r, was_last, made);
	guard_path(dir, path, false, real);
	set_parent_gone(real);
	return 0;
}

PUBLIC int unlink(const char *path)
{
	struct guard_file f;
	bool last = last_name(AT_FDCWD, path, &f);
	NEXT(unlink);

	return keeps(AT_FDCWD, path) ? 0 : removed(next(path), last, &f);
}

PUBLIC int rmdir(const char *path)
{
	struct guard_file f;
	bool last = last_name(AT_FDCWD, path, &f);
	NEXT(rmdir);

	return removed_folder(next(path), AT_FDCWD, path, last, &f);
}

PUBLIC int unlinkat(int dir, const char *path, int flags)
{
	struct guard_file f;
	bool last = last_name(dir, path, &f);
	NEXT(unlinkat);

	if (flags & AT_REMOVEDIR)
		return removed_folder(next(dir, path, flags), dir, path, last,
				      &f);
	return keeps(dir, path) ? 0 : removed(next(dir, path, flags), last, &f);
}

PUBLIC int remove(const char *path)
{
	struct guard_file f;

	return guard_stat(AT_FDCWD, path, false, &f) && S_ISDIR(f.mode) ?
		       rmdir(path) :
		       unlink(path);
}

/* What is to be moved stays, and what is to be replaced; then the new one
 * stands for it, or goes where it cannot, as who renames has no name left for
 * it. */
static bool keeps_both(int from_dir, const char *from, int to_dir,
		       const char *to, unsigned flags)
{
	struct guard_file f, target;
	char real[GUARD_PATH];

	if (is_old(from_dir, from, &f, real)) {
		guard_set_gone(&f);
		set_parent_gone(real);
		guard_tell(GUARD_KEPT, &f, real);
		return true;
	}
	if (flags & RENAME_NOREPLACE ||
	    !guard_stat(from_dir, from, false, &f) ||
	    !is_old(to_dir, to, &target, real))
		return false;
	/* A folder that the job takes for removed: the new one stays, too. */
	if (S_ISDIR(f.mode) && S_ISDIR(target.mode) &&
	    !(flags & RENAME_EXCHANGE) && guard_is_gone(&target)) {
		guard_set_gone(&f);
		return true;
	}
	if ((S_ISDIR(target.mode) && !(flags & RENAME_EXCHANGE)) ||
	    (S_ISDIR(f.mode) && !(flags & RENAME_EXCHANGE)))
		return false;
	guard_tell(GUARD_KEPT, &target, real);
	if (!(flags & RENAME_EXCHANGE) &&
	    !guard_move_aside(&target, from_dir, from))
		unlinkat(from_dir, from, 0);
	return true;
}

/* Names of what was made: of a folder, those of all that is in it. */
static void note_moved(int dir, const char *to)
{
	struct guard_file f;
	char real[GUARD_PATH];
	int was = errno;

	if (guard_stat(dir, to, false, &f) && guard_was_made(&f)) {
		guard_path(dir, to, false, real);
		guard_note(GUARD_MADE, &f, real);
	}
	errno = was;
}

static int moved(int r, int dir, const char *to)
{
	if (r == 0 && guard_on())
		note_moved(dir, to);
	return r;
}

static bool stays(int from_dir, const char *from, int to_dir, const char *to,
		  unsigned flags)
{
	int was = errno;
	bool is;

	guard_end_if_alone(to_dir, to, false);
	is = guard_on() && keeps_both(from_dir, from, to_dir, to, flags);
	errno = was;
	return is;
}

PUBLIC int rename(const char *from, const char *to)
{
	NEXT(rename);

	return stays(AT_FDCWD, from, AT_FDCWD, to, 0) ?
		       0 :
		       moved(next(from, to), AT_FDCWD, to);
}

PUBLIC int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	NEXT(renameat);

	return stays(from_dir, from, to_dir, to, 0) ?
		       0 :
		       moved(next(from_dir, from, to_dir, to), to_dir, to);
}

PUBLIC int renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags)
{
	NEXT(renameat2);

	return stays(from_dir, from, to_dir, to, flags) ?
		       0 :
		       moved(next(from_dir, from, to_dir, to, flags), to_dir,
			     to);
}

/* ---- Making ----------------------------------------------------------- */

/* A name that could not be made, as it is one that the job has removed; or one
 * that was. */
static int made_name(int r, int dir, const char *path, bool is_listed)
{
	struct guard_file f;
	char real[GUARD_PATH];
	int was = errno;

	if (!guard_on() || (r < 0 && errno != EEXIST) ||
	    !guard_stat(dir, path, false, &f))
		return r;
	if (r < 0) {
		errno = was;
		return guard_is_gone(&f) ? 0 : -1;
	}
	guard_path(dir, path, false, real);
	guard_make(&f, is_listed ? real : NULL, true);
	errno = was;
	return r;
}

PUBLIC int mkdir(const char *path, mode_t mode)
{
	NEXT(mkdir);

	return made_name(next(path, mode), AT_FDCWD, path, false);
}

PUBLIC int mkdirat(int dir, const char *path, mode_t mode)
{
	NEXT(mkdirat);

	return made_name(next(dir, path, mode), dir, path, false);
}

PUBLIC char *mkdtemp(char *path)
{
	char *made;
	NEXT(mkdtemp);

	made = next(path);
	if (made)
		made_name(0, AT_FDCWD, made, false);
	return made;
}

PUBLIC int symlink(const char *to, const char *path)
{
	NEXT(symlink);

	guard_end_if_alone(AT_FDCWD, path, false);
	return made_name(next(to, path), AT_FDCWD, path, true);
}

PUBLIC int symlinkat(const char *to, int dir, const char *path)
{
	NEXT(symlinkat);

	guard_end_if_alone(dir, path, false);
	return made_name(next(to, dir, path), dir, path, true);
}

/* A name of an old file is the job's, the file is not. */
static int made_link(int r, int dir, const char *path)
{
	struct guard_file f;
	char real[GUARD_PATH];
	int was = errno;

	if (!guard_on())
		return r;
	if (r == 0 && guard_stat(dir, path, false, &f)) {
		guard_path(dir, path, false, real);
		guard_note(GUARD_LINK, &f, real);
	} else if (r < 0 && errno == EEXIST &&
		   guard_stat(dir, path, false, &f) && guard_is_gone(&f)) {
		r = 0;
	}
	errno = was;
	return r;
}

PUBLIC int link(const char *from, const char *to)
{
	NEXT(link);

	guard_end_if_alone(AT_FDCWD, to, false);
	return made_link(next(from, to), AT_FDCWD, to);
}

PUBLIC int linkat(int from_dir, const char *from, int to_dir, const char *to,
		  int flags)
{
	NEXT(linkat);

	guard_end_if_alone(to_dir, to, false);
	return made_link(next(from_dir, from, to_dir, to, flags), to_dir, to);
}

/* 1: the system's; else what truncate() returns. */
static int truncates(const char *path, off64_t size)
{
	struct guard_file f;
	char real[GUARD_PATH];
	int was = errno;

	guard_end_if_alone(AT_FDCWD, path, false);
	if (!guard_on() ||
	    guard_look(AT_FDCWD, path, true, &f, real) != GUARD_OLD ||
	    !S_ISREG(f.mode)) {
		errno = was;
		return 1;
	}
	if (guard_is_aside(&f))
		return guard_truncate_aside(&f, size);
	if (!guard_passes(&f))
		return guard_refuse(&f, real);
	errno = was;
	return 1;
}

#define TRUNCATE(name, type)                          \
	PUBLIC int name(const char *path, type size)  \
	{                                             \
		int r = truncates(path, size);        \
		NEXT(name);                           \
                                                      \
		return r == 1 ? next(path, size) : r; \
	}
TRUNCATE(truncate, off_t)
TRUNCATE(truncate64, off64_t)
