/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Open MPI's daemon of a node leaves in TMPDIR when it is killed: Slurm
 * sends SIGTERM to the srun of mpirun, too, which ends the daemons.  Its folder
 * is known from the environment of the rank that it has started; nobody else
 * has it, and it goes when nothing of the step is left here.
 */
#include "launch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 100000000
#define TICKS 30 /* for daemons that are being ended */

/* Depth of what is there, and more than that. */
enum { DEEP = 8 };

/* Closes fd, which is a folder of this user's. */
static void empty(int fd, int depth)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *e;

	if (!dir) {
		close(fd);
		return;
	}
	while ((e = readdir(dir))) {
		int below;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		below = depth < DEEP ? openat(fd, e->d_name,
					      O_RDONLY | O_DIRECTORY |
						      O_NOFOLLOW | O_CLOEXEC) :
				       -1;
		if (below >= 0)
			empty(below, depth + 1);
		unlinkat(fd, e->d_name, below >= 0 ? AT_REMOVEDIR : 0);
	}
	closedir(dir);
}

void launch_remove(const char *path)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	const char *name = strrchr(path, '/') + 1;
	char above[PATH_MAX];
	int top, fd;

	snprintf(above, sizeof(above), "%.*s", (int)(name - 1 - path), path);
	top = open(above, flags);
	if (top < 0)
		return;
	fd = launch_is_mine(top) ? openat(top, name, flags) : -1;
	if (fd >= 0 && launch_is_mine(fd)) {
		empty(fd, 0);
		unlinkat(top, name, AT_REMOVEDIR);
		rmdir(above);
	} else if (fd >= 0) {
		close(fd);
	}
	close(top);
}

void launch_tidy(const struct launch_rank *r)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	struct stat st;

	if (!*r->session)
		return;
	/* mostly its daemon has removed it */
	for (int left = TICKS; lstat(r->session, &st) == 0; left--) {
		if (!launch_rank_any(r->step)) {
			launch_remove(r->session);
			return;
		}
		if (!left)
			return;
		nanosleep(&tick, NULL);
	}
}
