/* SPDX-License-Identifier: Apache-2.0 */
#include "gateio.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define BASE hp_io_system

static struct gateio *self(const struct hp_io *io)
{
	return (struct gateio *)io;
}

static bool matches(const struct gateio *g, const char *name, bool tmp)
{
	for (size_t i = 0; i < sizeof g->name / sizeof *g->name; i++) {
		if (!g->name[i])
			continue;
		if (*g->name[i] ? strstr(name, g->name[i]) != NULL : tmp)
			return true;
	}
	return false;
}

static int g_open(const struct hp_io *io, int dir, const char *name, int flags,
		  mode_t mode)
{
	bool tmp = (flags & O_TMPFILE) == O_TMPFILE;
	struct gateio *g = self(io);
	int fd = BASE.open(io, dir, name, flags, mode);

	if (fd < 0 || fd >= GATEIO_FILES)
		return fd;
	pthread_mutex_lock(&g->lock);
	g->is[fd] = matches(g, name, tmp);
	g->is_tmp[fd] = tmp;
	g->opens += g->is[fd];
	pthread_mutex_unlock(&g->lock);
	return fd;
}

static int g_close(const struct hp_io *io, int fd)
{
	struct gateio *g = self(io);

	if (fd >= 0 && fd < GATEIO_FILES) {
		pthread_mutex_lock(&g->lock);
		g->is[fd] = g->is_tmp[fd] = false;
		pthread_mutex_unlock(&g->lock);
	}
	return BASE.close(io, fd);
}

static ssize_t g_pread(const struct hp_io *io, int fd, void *buf, size_t n,
		       uint64_t off)
{
	struct gateio *g = self(io);
	int fails = 0;

	pthread_mutex_lock(&g->lock);
	if (fd < GATEIO_FILES && g->is[fd]) {
		g->hang++;
		pthread_cond_broadcast(&g->opened);
		while (g->shut)
			pthread_cond_wait(&g->opened, &g->lock);
		g->hang--;
		fails = g->fails;
	}
	pthread_mutex_unlock(&g->lock);
	return fails ? fails : BASE.pread(io, fd, buf, n, off);
}

static ssize_t g_pwrite(const struct hp_io *io, int fd, const void *buf,
			size_t n, uint64_t off)
{
	const struct gateio *g = self(io);

	if (g->write_fails && fd < GATEIO_FILES && g->is_tmp[fd])
		return g->write_fails;
	return BASE.pwrite(io, fd, buf, n, off);
}

static int g_statvfs(const struct hp_io *io, int fd, struct statvfs *ret)
{
	const struct gateio *g = self(io);
	int r = BASE.statvfs(io, fd, ret);

	if (r == 0 && g->unused) {
		ret->f_frsize = 1;
		ret->f_bavail = g->unused;
	}
	return r;
}

static int g_allocate(const struct hp_io *io, int fd, uint64_t size)
{
	return self(io)->no_blocks ? -EOPNOTSUPP : BASE.allocate(io, fd, size);
}

void gateio_init(struct gateio *g)
{
	memset(g, 0, sizeof *g);
	g->io = BASE;
	g->io.open = g_open;
	g->io.close = g_close;
	g->io.pread = g_pread;
	g->io.pwrite = g_pwrite;
	g->io.statvfs = g_statvfs;
	g->io.allocate = g_allocate;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->opened, NULL);
}

void gateio_shut(struct gateio *g, bool shut)
{
	pthread_mutex_lock(&g->lock);
	g->shut = shut;
	pthread_cond_broadcast(&g->opened);
	pthread_mutex_unlock(&g->lock);
}

void gateio_await(struct gateio *g, unsigned n)
{
	pthread_mutex_lock(&g->lock);
	while (g->hang < n)
		pthread_cond_wait(&g->opened, &g->lock);
	pthread_mutex_unlock(&g->lock);
}
