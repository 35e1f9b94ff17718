/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of each node in each candidate: who finds another node's there shares
 * it.  What no kind of file system tells, and no path, is found out so.
 */
#include "auto.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* ".hpdsl-auto-TOKEN-": how long that is. */
static int make_prefix(const struct auto_node *n, char *ret, size_t size)
{
	return snprintf(ret, size, ".hpdsl-auto-%s-", n->call->token);
}

static char *file_of(const struct auto_node *n, uint32_t place, uint32_t node)
{
	char prefix[64];
	char *path;

	make_prefix(n, prefix, sizeof(prefix));
	if (asprintf(&path, "%s/%s%u", n->path[place], prefix, node) < 0)
		cmd_no_memory();
	return path;
}

static bool is_good(const struct auto_node *n, uint32_t place)
{
	return n->found.of[place].state == CHOOSE_GOOD;
}

static void refuse(struct choose_look *l, int code)
{
	/* whatever room there is */
	if (l->holds && (code == -ENOSPC || code == -EDQUOT))
		return;
	l->state = CHOOSE_BAD;
	l->code = code;
}

void auto_put(struct auto_node *n, uint32_t node)
{
	for (uint32_t i = 0; i < CHOOSE_PLACES; i++) {
		cmd_auto_free char *file = NULL;
		int fd;

		if (!is_good(n, i))
			continue;
		file = file_of(n, i, node);
		fd = open(file,
			  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  0600);
		/* EEXIST: by another name it is the same folder */
		if (fd >= 0)
			close(fd);
		else if (errno != EEXIST)
			refuse(&n->found.of[i], -errno);
	}
}

/* 1: there is one of another node; -errno. */
static int has_another(const struct auto_node *n, uint32_t place, uint32_t node)
{
	DIR *dir = opendir(n->path[place]);
	char prefix[64], mine[80];
	size_t length = (size_t)make_prefix(n, prefix, sizeof(prefix));
	const struct dirent *d;
	int r = 0;

	if (!dir)
		return -errno;
	snprintf(mine, sizeof(mine), "%s%u", prefix, node);
	errno = 0;
	while (!r && (d = readdir(dir)))
		r = !strncmp(d->d_name, prefix, length) &&
		    strcmp(d->d_name, mine) != 0;
	if (!r && errno)
		r = -errno;
	closedir(dir);
	return r;
}

void auto_see(struct auto_node *n, uint32_t node)
{
	for (uint32_t i = 0; i < CHOOSE_PLACES; i++) {
		struct choose_look *l = &n->found.of[i];
		int r = is_good(n, i) ? has_another(n, i, node) : 0;

		if (r > 0)
			l->state = CHOOSE_SEEN;
		else if (r < 0)
			refuse(l, r);
	}
}

void auto_take_away(const struct auto_node *n, uint32_t node)
{
	for (uint32_t i = 0; i < CHOOSE_PLACES; i++) {
		cmd_auto_free char *file = NULL;
		uint8_t state = n->found.of[i].state;

		if (state != CHOOSE_GOOD && state != CHOOSE_SEEN &&
		    state != CHOOSE_BAD)
			continue;
		file = file_of(n, i, node);
		unlink(file);
	}
}
