/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LOCALDIR and DATASET have to be two places: staging would write into the
 * origin, or --clean look through it.  Asked of the directories themselves, by
 * device and inode, so links and mount points make no difference.
 */
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is it top, or in it?  Closes fd. */
static bool is_within(int fd, const struct stat *top)
{
	struct stat here, below = { 0 };
	bool found = false;

	for (;;) {
		int up;

		if (fstat(fd, &here) < 0 || is_same(&here, &below))
			break; /* the root is above itself */
		found = is_same(&here, top);
		if (found)
			break;
		below = here;
		up = openat(fd, "..", O_PATH | O_CLOEXEC);
		if (up < 0)
			break;
		close(fd);
		fd = up;
	}
	close(fd);
	return found;
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

int stage_apart(const char *dataset, const char *path, struct hpdsl_error *err)
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
