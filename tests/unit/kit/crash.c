/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: every operation that changes something, and every sync. */
#include "crash.h"

#include "memio_private.h"

#include <errno.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct crash *recording; /* one at a time */

static struct crash_op *add(struct crash *c, enum crash_kind kind, uint64_t ino)
{
	struct crash_op *op = &c->op[c->n];

	assert_true(c->n++ < CRASH_OPS);
	*op = (struct crash_op){ .kind = kind, .ino = ino };
	return op;
}

static void add_data(struct crash *c, uint64_t ino, const void *bytes, size_t n,
		     uint64_t off)
{
	struct crash_op *op = add(c, CRASH_DATA, ino);

	op->off = off;
	op->n = n;
	op->bytes = memio_alloc(n);
	memcpy(op->bytes, bytes, n);
}

/* What was stored through mappings since the last operation. */
static void look_at_maps(struct crash *c)
{
	for (size_t i = 0; i < sizeof c->map / sizeof *c->map; i++) {
		struct crash_map *m = &c->map[i];
		size_t from = 0, to = m->n;

		if (!m->p || !memcmp(m->p, m->was, m->n))
			continue;
		while (m->p[from] == m->was[from])
			from++;
		while (m->p[to - 1] == m->was[to - 1])
			to--;
		add_data(c, m->ino, m->p + from, to - from, from);
		memcpy(m->was, m->p, m->n);
	}
}

/* 0: there is none. */
static uint64_t ino_of(const struct hp_io *io, int dir, const char *name)
{
	struct stat st;
	int r = memio_table.stat(io, dir, name, &st, *name ? 0 : AT_EMPTY_PATH);

	return r < 0 ? 0 : st.st_ino;
}

static struct crash_place place_of(const struct hp_io *io, int dir,
				   const char *name)
{
	struct crash_place p = { .dir = 0 };
	char folder[PATH_ROOM], *slash;
	size_t n = strlen(strcpy(folder, name));

	while (n > 1 && folder[n - 1] == '/')
		folder[--n] = '\0';
	slash = strrchr(folder, '/');
	name = slash ? slash + 1 : folder;
	assert_true(strlen(name) < CRASH_NAME);
	memcpy(p.name, name, strlen(name));
	if (!slash) {
		p.dir = ino_of(io, dir, dir == AT_FDCWD ? "." : "");
	} else {
		folder[slash == folder ? 1 : slash - folder] = '\0';
		p.dir = ino_of(io, dir, folder);
	}
	assert_true(p.dir);
	return p;
}

static int c_open(const struct hp_io *io, int dir, const char *name, int flags,
		  mode_t mode)
{
	struct crash *c = recording;
	bool there = ino_of(io, dir, name) != 0;
	int fd;

	look_at_maps(c);
	fd = memio_table.open(io, dir, name, flags, mode);
	if (fd < 0 || !(flags & O_CREAT))
		return fd;
	if (!there)
		add(c, CRASH_MAKE, ino_of(io, fd, ""))->place[1] =
			place_of(io, dir, name);
	else if (flags & O_TRUNC)
		add(c, CRASH_SIZE, ino_of(io, fd, ""));
	return fd;
}

static ssize_t c_pwrite(const struct hp_io *io, int fd, const void *buf,
			size_t n, uint64_t off)
{
	ssize_t r;

	look_at_maps(recording);
	r = memio_table.pwrite(io, fd, buf, n, off);
	if (r > 0)
		add_data(recording, ino_of(io, fd, ""), buf, (size_t)r, off);
	return r;
}

static int c_fsync(const struct hp_io *io, int fd)
{
	look_at_maps(recording);
	add(recording, CRASH_SYNC, ino_of(io, fd, ""));
	return memio_table.fsync(io, fd);
}

static int c_truncate(const struct hp_io *io, int fd, uint64_t size)
{
	look_at_maps(recording);
	add(recording, CRASH_SIZE, ino_of(io, fd, ""))->off = size;
	return memio_table.truncate(io, fd, size);
}

static int c_allocate(const struct hp_io *io, int fd, uint64_t size)
{
	struct stat st;

	look_at_maps(recording);
	if (hp_io_fstat(io, fd, &st) == 0 && size > (uint64_t)st.st_size)
		add(recording, CRASH_SIZE, st.st_ino)->off = size;
	return memio_table.allocate(io, fd, size);
}

static int c_rename(const struct hp_io *io, int old_dir, const char *old_name,
		    int new_dir, const char *new_name, unsigned flags)
{
	struct crash_op op = { .kind = CRASH_MOVE,
			       .ino = ino_of(io, old_dir, old_name) };
	int r;

	look_at_maps(recording);
	if (op.ino) {
		op.place[0] = place_of(io, old_dir, old_name);
		op.place[1] = place_of(io, new_dir, new_name);
	}
	if (flags & RENAME_EXCHANGE) {
		op.kind = CRASH_SWAP;
		op.other = ino_of(io, new_dir, new_name);
	}
	r = memio_table.rename(io, old_dir, old_name, new_dir, new_name, flags);
	if (r == 0)
		*add(recording, op.kind, op.ino) = op;
	return r;
}

static int c_unlink(const struct hp_io *io, int dir, const char *name,
		    int flags)
{
	struct crash_op op = { .kind = CRASH_GONE,
			       .ino = ino_of(io, dir, name) };
	int r;

	look_at_maps(recording);
	if (op.ino)
		op.place[0] = place_of(io, dir, name);
	r = memio_table.unlink(io, dir, name, flags);
	if (r == 0)
		*add(recording, op.kind, op.ino) = op;
	return r;
}

static int c_mkdir(const struct hp_io *io, int dir, const char *name,
		   mode_t mode)
{
	struct crash_op *op;
	int r = memio_table.mkdir(io, dir, name, mode);

	if (r < 0)
		return r;
	op = add(recording, CRASH_MAKE, ino_of(io, dir, name));
	op->place[1] = place_of(io, dir, name);
	op->folder = true;
	return 0;
}

static int c_map_shared(const struct hp_io *io, int fd, size_t size, void **ret)
{
	struct crash_map *m = recording->map;
	int r = memio_table.map_shared(io, fd, size, ret);

	if (r < 0)
		return r;
	while (m->p)
		m++;
	assert_true(m < recording->map + 4);
	*m = (struct crash_map){ ino_of(io, fd, ""), *ret, memio_alloc(size),
				 size };
	memcpy(m->was, *ret, size);
	return 0;
}

static void c_unmap(const struct hp_io *io, const void *p, size_t size)
{
	struct crash_map *m = recording->map;

	look_at_maps(recording);
	for (size_t i = 0; i < 4; i++)
		if (m[i].p == p) {
			free(m[i].was);
			m[i] = (struct crash_map){ .p = NULL };
		}
	memio_table.unmap(io, p, size);
}

void crash_begin(struct crash *c, struct memio *m)
{
	*c = (struct crash){ .m = m, .before = memio_copy(m) };
	m->io.open = c_open;
	m->io.write = NULL; /* without a place */
	m->io.pwrite = c_pwrite;
	m->io.fsync = c_fsync;
	m->io.truncate = c_truncate;
	m->io.allocate = c_allocate;
	m->io.rename = c_rename;
	m->io.unlink = c_unlink;
	m->io.mkdir = c_mkdir;
	m->io.map_shared = c_map_shared;
	m->io.unmap = c_unmap;
	recording = c;
}

void crash_end(struct crash *c)
{
	look_at_maps(c);
	c->m->io = memio_table;
	recording = NULL;
}

void crash_release(struct crash *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->op[i].bytes);
	memio_free(c->before);
}
