/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LOCALDIR and DATASET have to be two places: staging would write into the
 * origin, or --clean look through it; and LOCALDIR in no other stage directory,
 * which --clean would leave for it.  Asked of the directories themselves, by
 * device and inode, so links and mount points make no difference.
 */
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAGE_LOCK ".stage.lock"

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Of a folder and of all above it the first that is what is asked for, open;
 * -1: none.  Closes fd. */
static int find_above(int fd,
		      bool (*is)(int fd, const struct stat *here, void *arg),
		      void *arg)
{
	struct stat here, below = { 0 };
	int up;

	/* the root is above itself */
	while (fstat(fd, &here) == 0 && !is_same(&here, &below)) {
		if (is(fd, &here, arg))
			return fd;
		below = here;
		up = openat(fd, "..", O_PATH | O_CLOEXEC);
		if (up < 0)
			break;
		close(fd);
		fd = up;
	}
	close(fd);
	return -1;
}

static bool is_top(int fd, const struct stat *here, void *arg)
{
	(void)fd;
	return is_same(here, arg);
}

/* Is it top, or in it?  Closes fd. */
static bool is_within(int fd, struct stat *top)
{
	int found = find_above(fd, is_top, top);

	if (found >= 0)
		close(found);
	return found >= 0;
}

/* The path itself, or the nearest folder above it that is there. */
static int open_nearest(const char *path, bool *ret_itself)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	cmd_auto_free char *p = strdup(path);
	int fd = open(path, flags);

	if (!p)
		cmd_no_memory();
	*ret_itself = fd >= 0;
	while (fd < 0 && errno == ENOENT && strcmp(p, "/")) {
		char *slash;

		for (size_t n = strlen(p); n > 1 && p[n - 1] == '/';)
			p[--n] = '\0';
		slash = strrchr(p, '/');
		if (!slash)
			return open(".", flags);
		slash[slash == p] = '\0';
		fd = open(p, flags);
	}
	return fd;
}

static int refuse(struct hpdsl_error *err, const char *path, const char *what,
		  const char *dataset)
{
	err->code = HPDSL_EUSAGE;
	snprintf(err->msg, sizeof(err->msg), "%.450s: %s %.450s", path, what,
		 dataset);
	return err->code;
}

/* ---- Another stage directory ------------------------------------------ */

/* A lock of this user's, as a stager makes it, in a folder of this user's: what
 * others put into theirs is in nobody's way.  arg: LOCALDIR itself, or zeros.
 */
static bool is_stage(int fd, const struct stat *here, void *arg)
{
	struct stat lock;

	return !is_same(here, arg) && here->st_uid == geteuid() &&
	       fstatat(fd, STAGE_LOCK, &lock, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(lock.st_mode) && lock.st_uid == geteuid();
}

/* Closes fd, which is LOCALDIR's or that of the nearest folder above it. */
static int check_nested(int fd, bool itself, const char *path,
			struct hpdsl_error *err)
{
	struct stat local = { 0 };
	char link[40], above[PATH_MAX];
	ssize_t n;
	int found;

	if (itself && fstat(fd, &local) < 0) {
		close(fd);
		return 0;
	}
	found = find_above(fd, is_stage, &local);
	if (found < 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	n = readlink(link, above, sizeof(above) - 1);
	above[n > 0 ? n : 0] = '\0';
	close(found);
	return refuse(err, path, "is in another stage directory,",
		      n > 0 ? above : "one above it");
}

/* ---- All of it -------------------------------------------------------- */

static int check_dataset(const char *dataset, const char *path,
			 struct hpdsl_error *err)
{
	struct stat top, local;
	bool itself;
	int from = open(dataset, O_PATH | O_DIRECTORY | O_CLOEXEC), to;

	/* what is not there is told by those who need it */
	if (from < 0 || fstat(from, &top) < 0) {
		if (from >= 0)
			close(from);
		return 0;
	}
	to = open_nearest(path, &itself);
	itself = itself && fstat(to, &local) == 0;
	if (to >= 0 && is_within(to, &top)) {
		close(from);
		return refuse(err, path, "is in the dataset", dataset);
	}
	if (!itself)
		close(from);
	else if (is_within(from, &local))
		return refuse(err, path, "holds the dataset", dataset);
	return 0;
}

int stage_apart(const char *dataset, const char *path, struct hpdsl_error *err)
{
	int ret = check_dataset(dataset, path, err), fd;
	bool itself;

	if (ret < 0)
		return ret;
	fd = open_nearest(path, &itself);
	return fd < 0 ? 0 : check_nested(fd, itself, path, err);
}
