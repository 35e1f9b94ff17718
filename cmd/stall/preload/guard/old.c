/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are old, and which of these are left to the job. */
#define _GNU_SOURCE 1
#include "guard.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* /dev/shm has files as any folder has; /dev/stdout is what it leads to. */
static bool is_device(const char *path)
{
	return (begins(path, "/dev/") && !begins(path, "/dev/shm/")) ||
	       begins(path, "/proc/");
}

/* A descriptor that may be written to, by a name that leads to it: to open that
 * anew changes no more than it did.  By another one, or by a working directory,
 * /proc leads to any file. */
static bool is_writable_fd(const char *path)
{
	static const char *const names[] = { "/dev/stdin", "/dev/stdout",
					     "/dev/stderr" };
	char fd[] = "/proc/self/fd/0", real[GUARD_PATH];
	struct guard_file f;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(path, names[i]) == 0) {
			fd[sizeof(fd) - 2] = (char)('0' + i);
			path = fd;
		}
	guard_path(AT_FDCWD, path, false, real);
	return begins(real, "/proc/") && strstr(real, "/fd/") &&
	       guard_stat(AT_FDCWD, path, false, &f) && S_ISLNK(f.mode) &&
	       f.mode & S_IWUSR;
}

/* ---- Caches, which do not depend on what was trained ------------------- */

static bool is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return n > 1 && strncmp(path, folder, n) == 0 && path[n] == '/';
}

/* In this folder, as it is called in the end?  One that has the working
 * directory in it is no cache, whatever a variable says. */
static bool is_in(const char *path, const char *folder)
{
	char real[GUARD_PATH], here[GUARD_PATH];
	ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/cwd", here,
			    sizeof(here) - 1);

	here[n > 0 ? n : 0] = '\0';
	guard_path(AT_FDCWD, folder, true, real);
	return is_below(path, real) && strcmp(here, real) != 0 &&
	       !is_below(here, real);
}

static bool is_in_home(const char *path, const char *name)
{
	const char *home = getenv("HOME");
	char folder[GUARD_PATH];

	if (!home || strlen(home) + strlen(name) + 2 > sizeof(folder))
		return false;
	stpcpy(stpcpy(stpcpy(folder, home), "/"), name);
	return is_in(path, folder);
}

static bool is_cache(const char *path)
{
	/* The last two: where a daemon that nobody guards meets its ranks. */
	static const char *const named[] = { "XDG_CACHE_HOME",
					     "TRITON_CACHE_DIR",
					     "TORCHINDUCTOR_CACHE_DIR",
					     "CUDA_CACHE_PATH",
					     "NUMBA_CACHE_DIR",
					     "MPLCONFIGDIR",
					     "HF_HOME",
					     "PMIX_SERVER_TMPDIR",
					     "PMIX_DSTORE_ESH_BASE_PATH" };
	const char *xdg = getenv(named[0]);

	if (strstr(path, "/__pycache__/"))
		return true;
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		const char *folder = getenv(named[i]);

		if (folder && *folder && is_in(path, folder))
			return true;
	}
	return ((!xdg || !*xdg) && is_in_home(path, ".cache")) ||
	       is_in_home(path, ".triton") || is_in_home(path, ".nv");
}

/* Lines, of which hpdsl-stall has made each a glob of whole paths. */
static bool is_allowed(const char *path)
{
	const char *at = getenv("HPDSL_STALL_ALLOW");

	while (at && *at) {
		size_t n = strcspn(at, "\n");
		char glob[GUARD_PATH];

		if (n < sizeof(glob)) {
			memcpy(glob, at, n);
			glob[n] = '\0';
			if (fnmatch(glob, path, 0) == 0)
				return true;
		}
		at += n + (at[n] == '\n');
	}
	return false;
}

bool guard_leaves(const char *path)
{
	return is_device(path) || is_below(path, guard_folder()) ||
	       is_cache(path) || is_allowed(path);
}

/* ---- Old -------------------------------------------------------------- */

static bool has_entries(int dir, const char *path)
{
	char entries[1024];
	int fd = guard_raw_open(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				0);
	long n = 0, all = 0;

	if (fd < 0)
		return true;
	/* "." and ".." take 24 bytes each. */
	while (all <= 48 &&
	       (n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		all += n;
	guard_raw_close(fd);
	return all > 48;
}

static bool may_be_old(int dir, const char *path, const struct guard_file *f)
{
	switch (f->mode & S_IFMT) {
	case S_IFREG:
		return f->size > 0;
	case S_IFLNK:
		return true;
	case S_IFDIR:
		return has_entries(dir, path);
	default:
		return false;
	}
}

enum guard_is guard_look(int dir, const char *path, bool follow,
			 struct guard_file *ret, char *ret_path)
{
	*ret_path = '\0';
	/* First: a path that nobody can read from fails there. */
	if (!guard_stat(dir, path, follow, ret) ||
	    (is_device(path) && is_writable_fd(path)))
		return GUARD_NONE;
	if (guard_was_made(ret) || !may_be_old(dir, path, ret))
		return GUARD_FREE;
	guard_path(dir, path, follow, ret_path);
	if (!*ret_path && strlen(path) < GUARD_PATH)
		strcpy(ret_path, path); /* better than none */
	return guard_leaves(ret_path) ||
			       guard_was_made_elsewhere(ret, ret_path) ?
		       GUARD_FREE :
		       GUARD_OLD;
}
