/* SPDX-License-Identifier: Apache-2.0 */
#include "figures_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIES = 1000 };

/* ---- Of anybody's ----------------------------------------------------- */

bool mount_figures_is_name(const char *name)
{
	char again[64];
	unsigned pid, i;

	if (sscanf(name, "mount-%9u-%9u", &pid, &i) != 2)
		return false;
	snprintf(again, sizeof(again), "mount-%u-%u.status", pid, i);
	return strcmp(name, again) == 0;
}

int mount_figures_open(int dir, const char *name, int flags)
{
	struct open_how how = {
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
	};
	long fd;

	flags |= O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	how.flags = (uint64_t)(unsigned)flags;
	fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));
	/* Linux before 5.6, or a container that does not know it */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(dir, name, flags);
	return fd < 0 ? -errno : (int)fd;
}

pid_t mount_figures_holder(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_GETLK, &l) < 0 || l.l_type == F_UNLCK)
		return -1;
	return l.l_pid > 0 ? l.l_pid : 0;
}

/* ---- The keeper's ----------------------------------------------------- */

/* Also of those that were about to get their name. */
static void sweep(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int fd;

		if (!mount_figures_is_name(e->d_name + (*e->d_name == '.')))
			continue;
		fd = mount_figures_open(dir, e->d_name, O_RDONLY);
		if (fd >= 0 && mount_figures_holder(fd) < 0)
			unlinkat(dir, e->d_name, 0);
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
	else if (copy >= 0)
		close(copy);
}

static int put(int fd, const uint8_t *bytes, size_t n)
{
	ssize_t r = pwrite(fd, bytes, n, 0);

	return r == (ssize_t)n ? 0 : r < 0 ? -errno : -ENOSPC;
}

/* It gets its name when it is held and whole: whoever finds one that is not
 * held takes it for a dead server's.  -EEXIST: it is another one's. */
static int make(struct mount_figures_file *f, int dir)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char early[80];
	int r;

	snprintf(early, sizeof(early), ".%s", f->name);
	f->fd = mount_figures_open(dir, early, O_RDWR | O_CREAT | O_EXCL);
	if (f->fd < 0)
		return f->fd;
	r = fcntl(f->fd, F_SETLK, &l) < 0 ? -errno : 0;
	if (r == 0)
		r = put(f->fd, f->is, sizeof(f->is));
	if (r == 0 && linkat(dir, early, dir, f->name, 0) < 0)
		/* swept before it was held */
		r = errno == ENOENT ? -EEXIST : -errno;
	unlinkat(dir, early, 0);
	if (r < 0) {
		close(f->fd);
		f->fd = -1;
	}
	return r;
}

/* SIGIO comes when somebody has read it; without that a second may pass. */
static void listen_to(struct mount_figures_file *f)
{
	char name[40];

	f->reads = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (f->reads < 0)
		return;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", f->fd);
	if (inotify_add_watch(f->reads, name, IN_ACCESS) >= 0 &&
	    fcntl(f->reads, F_SETOWN, getpid()) == 0 &&
	    fcntl(f->reads, F_SETFL, O_NONBLOCK | O_ASYNC) == 0)
		return;
	close(f->reads);
	f->reads = -1;
}

int mount_figures_make(struct mount_figures_file *f, int dir,
		       const struct mount_figures *first)
{
	int r = -EEXIST;

	sweep(dir);
	mount_figures_encode(first, f->is);
	/* numbers of processes may be those of a container */
	for (unsigned i = 0; r == -EEXIST && i < TRIES; i++) {
		snprintf(f->name, sizeof(f->name), "mount-%ld-%u.status",
			 (long)getpid(), i);
		r = make(f, dir);
	}
	f->reads = -1;
	if (r == 0)
		listen_to(f);
	return r;
}

bool mount_figures_was_read(struct mount_figures_file *f)
{
	char events[4096];
	bool any = f->reads < 0;

	while (f->reads >= 0 && read(f->reads, events, sizeof(events)) > 0)
		any = true;
	return any;
}

void mount_figures_renew(struct mount_figures_file *f,
			 const struct mount_figures *now, bool was_read)
{
	struct mount_figures turned = *now;
	uint8_t bytes[MOUNT_FIGURES_BYTES];

	if (f->fd < 0)
		return;
	f->turn += was_read;
	turned.turn = f->turn;
	mount_figures_encode(&turned, bytes);
	/* Strings never change.  Whoever reads meanwhile may get some numbers
	 * of before. */
	if (memcmp(bytes, f->is, MOUNT_FIGURES_NUMBERS) != 0 &&
	    put(f->fd, bytes, MOUNT_FIGURES_NUMBERS) == 0)
		memcpy(f->is, bytes, MOUNT_FIGURES_NUMBERS);
}

void mount_figures_remove(struct mount_figures_file *f, int dir)
{
	if (f->fd < 0)
		return;
	if (dir >= 0)
		unlinkat(dir, f->name, 0);
	if (f->reads >= 0)
		close(f->reads);
	close(f->fd);
	f->fd = -1;
}
