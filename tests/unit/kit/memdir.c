/* SPDX-License-Identifier: Apache-2.0 */
/* One directory of files in memory, behind struct hp_io. */
#include "memdir.h"

#include "packed.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>

#include <cmocka.h>

enum { DIR_FD = 1000, FILE_FD = 1001 };

static struct memdir *of(const struct hp_io *io)
{
	return (struct memdir *)(uintptr_t)io;
}

struct memdir_file *memdir_find(struct memdir *m, const char *name)
{
	for (int i = 0; i < m->n; i++) {
		if (!strcmp(m->files[i].name, name) && !m->files[i].absent)
			return &m->files[i];
	}
	return NULL;
}

static int mem_open(const struct hp_io *io, int dir, const char *name,
		    int flags, mode_t mode)
{
	struct memdir *m = of(io);
	struct memdir_file *f;

	(void)mode;
	if (flags & O_ACCMODE)
		return -EROFS;
	if (dir == AT_FDCWD && !strcmp(name, MEMDIR_NAME)) {
		m->listed = false;
		return DIR_FD;
	}
	f = dir == DIR_FD ? memdir_find(m, name) : NULL;
	return f ? FILE_FD + (int)(f - m->files) : -ENOENT;
}

static int mem_close(const struct hp_io *io, int fd)
{
	(void)io;
	return fd >= DIR_FD ? 0 : -EBADF;
}

static ssize_t mem_pread(const struct hp_io *io, int fd, void *buf, size_t n,
			 uint64_t off)
{
	const struct memdir_file *f = &of(io)->files[fd - FILE_FD];

	if (off >= f->size)
		return 0;
	if (n > f->size - off)
		n = f->size - off;
	memcpy(buf, f->data + off, n);
	return (ssize_t)n;
}

static int mem_stat(const struct hp_io *io, int dir, const char *name,
		    struct stat *ret, int flags)
{
	const struct memdir_file *f;

	f = flags & AT_EMPTY_PATH ? &of(io)->files[dir - FILE_FD] :
				    memdir_find(of(io), name);
	if (!f)
		return -ENOENT;
	memset(ret, 0, sizeof *ret);
	ret->st_mode = S_IFREG | 0644;
	ret->st_size = (off_t)f->size;
	return 0;
}

static ssize_t mem_getdents(const struct hp_io *io, int fd, void *buf, size_t n)
{
	struct memdir *m = of(io);
	char *out = buf;
	size_t at = 0;

	(void)fd;
	for (int i = 0; i < m->n && !m->listed; i++) {
		uint16_t len = 96;

		if (m->files[i].absent)
			continue;
		assert_true(at + len <= n);
		memset(out + at, 0, len);
		memcpy(out + at + 16, &len, sizeof len);
		strcpy(out + at + 19, m->files[i].name);
		at += len;
	}
	m->listed = true;
	return (ssize_t)at;
}

static int mem_map(const struct hp_io *io, int fd, size_t size,
		   const void **ret)
{
	const struct memdir_file *f = &of(io)->files[fd - FILE_FD];

	assert_true(size <= f->size);
	*ret = f->data;
	return 0;
}

static void mem_unmap(const struct hp_io *io, const void *p, size_t size)
{
	(void)io;
	(void)p;
	(void)size;
}

static void load_file(struct memdir *m, const char *dir, const char *name)
{
	struct memdir_file *f = &m->files[m->n++];
	char path[PACKED_PATH];
	void *data;

	assert_true(m->n <= MEMDIR_FILES);
	assert_true(strlen(name) < sizeof f->name);
	strcpy(f->name, name);
	snprintf(path, sizeof path, "%s/%s", dir, name);
	data = packed_get(path, &f->size);
	f->data = data;
	f->absent = false;
}

void memdir_load(struct memdir *m, const char *dir)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, alphasort);

	memset(m, 0, sizeof *m);
	m->io = (struct hp_io){
		.open = mem_open,
		.close = mem_close,
		.pread = mem_pread,
		.stat = mem_stat,
		.getdents = mem_getdents,
		.map = mem_map,
		.unmap = mem_unmap,
	};
	assert_true(n > 2);
	for (int i = 0; i < n; i++) {
		if (strcmp(names[i]->d_name, ".") &&
		    strcmp(names[i]->d_name, ".."))
			load_file(m, dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

void memdir_free(struct memdir *m)
{
	for (int i = 0; i < m->n; i++)
		free(m->files[i].data);
	m->n = 0;
}
