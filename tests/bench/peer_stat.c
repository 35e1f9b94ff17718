/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside a snapshot: the live tree, asked through stat.  The FILE is the top
 * of the tree; there is nothing to build.
 */
#include "keys.h"

#include <fcntl.h>

static void build(const char *file, const struct keys *list)
{
	(void)list;
	if (access(file, R_OK))
		die("%s: not there", file);
}

static void *open_tree(const char *file)
{
	int *fd = malloc(sizeof *fd);

	if (!fd || (*fd = open(file, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		die("%s: cannot be opened", file);
	return fd;
}

static uint64_t find(void *handle, const struct keys *keys)
{
	int fd = *(int *)handle;
	uint64_t sum = 0;
	struct stat st;

	for (size_t i = 0; i < keys->n; i++) {
		if (fstatat(fd, keys->v[i].path, &st, AT_SYMLINK_NOFOLLOW))
			die("peer_stat: no '%s'", keys->v[i].path);
		sum += (uint64_t)st.st_size;
	}
	return sum;
}

int main(int argc, char **argv)
{
	const struct finder f = { "peer_stat", build, open_tree, find };

	return finder_main(&f, argc, argv);
}
