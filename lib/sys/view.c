/* SPDX-License-Identifier: Apache-2.0 */
/* A whole file as memory: mapped, or read where that cannot be. */
#include "sys/view.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/huge.h"

#include <errno.h>
#include <sys/mman.h>

static int view_read(struct hp_view *v, int fd)
{
	hp_auto_free void *buf = hp_huge_array(v->size, 1);
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	n = hp_io_pread_full(v->io, fd, buf, v->size, 0);
	if (n < 0)
		return (int)n;
	v->size = (uint64_t)n;
	v->p = hp_take(buf);
	return 0;
}

/* A file system that cannot map can read; lack of memory is another matter. */
static int view_get(struct hp_view *v, int fd)
{
	int r = v->io->map(v->io, fd, v->size, &v->p);

	v->mapped = r == 0;
	return r == 0 || r == -ENOMEM ? r : view_read(v, fd);
}

/* The caller's descriptor becomes the view's. */
static int view_hold(struct hp_view *v, int fd)
{
	int r = view_get(v, fd);

	v->held = r == 0 && v->mapped;
	v->fd = fd;
	return r;
}

typedef int get_fn(struct hp_view *v, int fd);

static int view_open(struct hp_view *v, const struct hp_io *io, int dir,
		     const char *name, get_fn *get, struct hpdsl_error *err)
{
	hp_auto_fd f = { io,
			 io->open(io, dir, name, O_RDONLY | O_NONBLOCK, 0) };
	struct hp_view made = { .io = io };
	struct stat st;
	int r;

	*v = made;
	if (f.fd < 0)
		return hp_fail_errno(err, f.fd, "%s", name);
	r = hp_io_fstat(io, f.fd, &st);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	if (!S_ISREG(st.st_mode))
		return hp_fail(err, HPDSL_ECORRUPT, "%s: not a regular file",
			       name);
	if (!st.st_size)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: is empty", name);
	made.size = (uint64_t)st.st_size;
	r = get(&made, f.fd);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	if (made.held)
		f.fd = -1;
	*v = made;
	return 0;
}

int hp_view_hold(struct hp_view *v, const struct hp_io *io, int dir,
		 const char *name, struct hpdsl_error *err)
{
	return view_open(v, io, dir, name, view_hold, err);
}

int hp_view_open(struct hp_view *v, const struct hp_io *io, int dir,
		 const char *name, struct hpdsl_error *err)
{
	return view_open(v, io, dir, name, view_get, err);
}

int hp_view_read(struct hp_view *v, const struct hp_io *io, int dir,
		 const char *name, struct hpdsl_error *err)
{
	return view_open(v, io, dir, name, view_read, err);
}

bool hp_view_maps(const struct hp_view *v, const void *addr)
{
	uintptr_t first = (uintptr_t)v->p, at = (uintptr_t)addr;

	return v->mapped && v->p && at >= first && at - first < v->size;
}

void hp_view_close(struct hp_view *v)
{
	if (v->p && v->mapped)
		v->io->unmap(v->io, v->p, v->size);
	else if (v->p)
		free((void *)v->p);
	if (v->p && v->held)
		v->io->close(v->io, v->fd);
	v->p = NULL;
}
