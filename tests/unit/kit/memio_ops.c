/* SPDX-License-Identifier: Apache-2.0 */
/* The operations: see sys/io.h for what each has to do. */
#include "memio_private.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int new_fd(struct memio *m, struct node *n, int flags)
{
	for (int i = 0; i < FDS; i++) {
		if (m->files[i].node)
			continue;
		m->files[i] =
			(struct file){ .node = n,
				       .append = (flags & O_APPEND) != 0 };
		n->refs++;
		m->open++;
		return FIRST_FD + i;
	}
	return -EMFILE;
}

static int open_node(struct memio *m, const char *path, int flags, mode_t mode)
{
	struct node *n = memio_find(m, path);
	int r;

	if (n && (flags & O_CREAT) && (flags & O_EXCL))
		return -EEXIST;
	if (!n && !(flags & O_CREAT))
		return (r = memio_check_parent(m, path)) < 0 ? r : -ENOENT;
	if (n && !n->dir && flags & O_DIRECTORY)
		return -ENOTDIR;
	if (n && n->dir && (flags & O_ACCMODE) != O_RDONLY)
		return -EISDIR;
	if (!n) {
		r = memio_check_parent(m, path);
		if (r < 0)
			return r;
		n = memio_node_new(m, path, false, mode);
	}
	r = new_fd(m, n, flags);
	if (r >= 0 && flags & O_TRUNC)
		memio_set_size(m, n, 0);
	return r;
}

static int mem_open(const struct hp_io *io, int dir, const char *name,
		    int flags, mode_t mode)
{
	struct memio *m = memio_enter(io);
	char path[PATH_ROOM];
	int r = *name ? memio_resolve(m, dir, name, path) : -ENOENT;

	return memio_leave(m, r < 0 ? r : open_node(m, path, flags, mode));
}

static int mem_close(const struct hp_io *io, int fd)
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);

	if (!f)
		return memio_leave(m, -EBADF);
	if (f->lock)
		f->node->locked = false;
	memio_node_put(m, f->node);
	f->node = NULL;
	m->open--;
	return memio_leave(m, 0);
}

static ssize_t read_node(const struct node *n, void *buf, size_t size,
			 uint64_t off)
{
	if (n->dir)
		return -EISDIR;
	if (off >= n->size)
		return 0;
	if (size > n->size - off)
		size = n->size - (size_t)off;
	memcpy(buf, n->b->p + off, size);
	return (ssize_t)size;
}

static ssize_t mem_read(const struct hp_io *io, int fd, void *buf, size_t n)
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);
	ssize_t r = f ? read_node(f->node, buf, n, f->at) : -EBADF;

	if (r > 0)
		f->at += (uint64_t)r;
	memio_leave(m, 0);
	return r;
}

static ssize_t mem_pread(const struct hp_io *io, int fd, void *buf, size_t n,
			 uint64_t off)
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);
	ssize_t r = f ? read_node(f->node, buf, n, off) : -EBADF;

	memio_leave(m, 0);
	return r;
}

static ssize_t write_node(struct memio *m, struct node *n, const void *buf,
			  size_t size, uint64_t off)
{
	int r = 0;

	if (size == 0)
		return 0;
	if (off + size > n->size)
		r = memio_set_size(m, n, (size_t)off + size);
	if (r < 0)
		return r;
	memcpy(n->b->p + off, buf, size);
	return (ssize_t)size;
}

static int64_t mem_cached(const struct hp_io *io, int fd, uint64_t off,
			  uint64_t n)
{
	struct memio *m = memio_enter(io);

	(void)off;
	if (!memio_get(m, fd))
		return memio_leave(m, -EBADF);
	memio_leave(m, 0);
	return (int64_t)n;
}

static int mem_advise(const struct hp_io *io, int fd, uint64_t off, uint64_t n,
		      int advice)
{
	struct memio *m = memio_enter(io);

	(void)off;
	(void)n;
	(void)advice;
	return memio_leave(m, memio_get(m, fd) ? 0 : -EBADF);
}

static ssize_t mem_write(const struct hp_io *io, int fd, const void *buf,
			 size_t n)
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);
	ssize_t r = -EBADF;

	if (f && f->append)
		f->at = f->node->size;
	if (f)
		r = write_node(m, f->node, buf, n, f->at);
	if (r > 0)
		f->at += (uint64_t)r;
	memio_leave(m, 0);
	return r;
}

static ssize_t mem_pwrite(const struct hp_io *io, int fd, const void *buf,
			  size_t n, uint64_t off)
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);
	ssize_t r = f ? write_node(m, f->node, buf, n, off) : -EBADF;

	memio_leave(m, 0);
	return r;
}

static int mem_fsync(const struct hp_io *io, int fd)
{
	struct memio *m = memio_enter(io);

	return memio_leave(m, memio_get(m, fd) ? 0 : -EBADF);
}

static int mem_flush_range(const struct hp_io *io, int fd, uint64_t off,
			   uint64_t n)
{
	(void)off;
	(void)n;
	return mem_fsync(io, fd);
}

static int mem_truncate(const struct hp_io *io, int fd, uint64_t size)
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);

	return memio_leave(m, f ? memio_set_size(m, f->node, (size_t)size) :
				  -EBADF);
}

static int mem_allocate(const struct hp_io *io, int fd, uint64_t size)
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);
	int r = f ? 0 : -EBADF;

	if (f && size > f->node->size)
		r = memio_set_size(m, f->node, (size_t)size);
	return memio_leave(m, r);
}

static int mem_set_flags(const struct hp_io *io, int fd, int flags)
{
	(void)flags;
	return mem_fsync(io, fd);
}

static int mem_lock(const struct hp_io *io, int fd)
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);

	if (!f)
		return memio_leave(m, -EBADF);
	if (f->node->locked && !f->lock)
		return memio_leave(m, -EWOULDBLOCK);
	f->node->locked = f->lock = true;
	return memio_leave(m, 0);
}

static int mem_is_locked(const struct hp_io *io, int fd)
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);

	return memio_leave(m, !f ? -EBADF : f->node->locked && !f->lock);
}

static int mem_stat(const struct hp_io *io, int dir, const char *name,
		    struct stat *ret, int flags)
{
	struct memio *m = memio_enter(io);
	char path[PATH_ROOM];
	struct file *f = memio_get(m, dir);
	struct node *n = NULL;
	int r;

	if (!*name && flags & AT_EMPTY_PATH) {
		if (!f)
			return memio_leave(m, -EBADF);
		n = f->node;
	} else {
		r = *name ? memio_resolve(m, dir, name, path) : -ENOENT;
		if (r < 0)
			return memio_leave(m, r);
		n = memio_find(m, path);
		if (!n)
			return memio_leave(m, memio_check_parent(m, path) ==
							      -ENOTDIR ?
						      -ENOTDIR :
						      -ENOENT);
	}
	memset(ret, 0, sizeof *ret);
	ret->st_dev = 1;
	ret->st_ino = n->ino;
	ret->st_nlink = 1;
	ret->st_uid = geteuid();
	ret->st_mode = n->mode | (n->dir ? S_IFDIR : S_IFREG);
	ret->st_size = (off_t)n->size;
	ret->st_blksize = 4096;
	ret->st_blocks = (blkcnt_t)((n->size + 511) / 512);
	ret->st_mtim = n->mtime;
	return memio_leave(m, 0);
}

static int mem_statvfs(const struct hp_io *io, int fd, struct statvfs *ret)
{
	struct memio *m = memio_enter(io);
	uint64_t room = m->room ? m->room : UINT64_C(1) << 40;
	uint64_t taken = memio_used(m);

	(void)fd;
	memset(ret, 0, sizeof *ret);
	ret->f_bsize = ret->f_frsize = 1;
	ret->f_blocks = room;
	ret->f_bfree = ret->f_bavail = room > taken ? room - taken : 0;
	ret->f_files = ret->f_ffree = ret->f_favail = 1000000;
	ret->f_namemax = 255;
	return memio_leave(m, 0);
}

static int mem_fs_type(const struct hp_io *io, int fd, uint64_t *ret)
{
	(void)io;
	(void)fd;
	*ret = 0xef53; /* ext4 */
	return 0;
}

static ssize_t mem_readlink(const struct hp_io *io, int dir, const char *name,
			    char *buf, size_t n)
{
	(void)io;
	(void)dir;
	(void)name;
	(void)buf;
	(void)n;
	return -EINVAL;
}

struct dirent_raw {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

/* Adds one name to buf; 0: no room. */
static size_t put_name(uint8_t *buf, size_t room, const struct node *n,
		       const char *name, uint64_t off)
{
	size_t fixed = offsetof(struct dirent_raw, name);
	size_t len = (fixed + strlen(name) + 1 + 7) & ~(size_t)7;
	struct dirent_raw head = { .ino = n->ino,
				   .off = (int64_t)off,
				   .reclen = (uint16_t)len,
				   .type = n->dir ? DT_DIR : DT_REG };

	if (len > room)
		return 0;
	memset(buf, 0, len);
	memcpy(buf, &head, fixed);
	strcpy((char *)buf + fixed, name);
	return len;
}

static ssize_t mem_listxattr(const struct hp_io *io, int fd, char *buf,
			     size_t n)
{
	(void)io;
	(void)fd;
	(void)buf;
	(void)n;
	return -ENOTSUP;
}

static ssize_t mem_getdents(const struct hp_io *io, int fd, void *buf, size_t n)
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);
	uint64_t seen = 0;
	size_t done = 0;

	if (!f || !f->node->dir || !f->node->path)
		return memio_leave(m, f ? -ENOTDIR : -EBADF);
	for (struct node *k = m->nodes; k; k = k->next) {
		const char *name =
			k->path ? memio_below(k->path, f->node->path) : NULL;
		size_t len;

		if (!name || strchr(name, '/') || seen++ < f->at)
			continue;
		len = put_name((uint8_t *)buf + done, n - done, k, name, seen);
		if (!len && !done)
			return memio_leave(m, -EINVAL);
		if (!len)
			break;
		done += len;
		f->at++;
	}
	memio_leave(m, 0);
	return (ssize_t)done;
}

bool memio_no_exchange;

static int rename_node(struct memio *m, const char *from, const char *to,
		       unsigned flags)
{
	struct node *a = memio_find(m, from), *b = memio_find(m, to);
	int r = memio_check_parent(m, to);

	if (!a)
		return -ENOENT;
	if (r < 0)
		return r;
	if (flags & RENAME_EXCHANGE && memio_no_exchange)
		return -EINVAL;
	if (flags & RENAME_EXCHANGE) {
		if (!b)
			return -ENOENT;
		memio_move(m, from, "\n");
		memio_move(m, to, from);
		memio_move(m, "\n", to);
		return 0;
	}
	if (b && flags & RENAME_NOREPLACE)
		return -EEXIST;
	if (a == b)
		return 0;
	if (b && a->dir != b->dir)
		return b->dir ? -EISDIR : -ENOTDIR;
	if (b && b->dir && !memio_is_empty(m, b))
		return -ENOTEMPTY;
	if (b)
		memio_unlink_node(m, b);
	memio_move(m, from, to);
	return 0;
}

static int mem_rename(const struct hp_io *io, int old_dir, const char *old_name,
		      int new_dir, const char *new_name, unsigned flags)
{
	struct memio *m = memio_enter(io);
	char from[PATH_ROOM], to[PATH_ROOM];
	int r = memio_resolve(m, old_dir, old_name, from);

	if (r == 0)
		r = memio_resolve(m, new_dir, new_name, to);
	return memio_leave(m, r < 0 ? r : rename_node(m, from, to, flags));
}

static int mem_unlink(const struct hp_io *io, int dir, const char *name,
		      int flags)
{
	struct memio *m = memio_enter(io);
	char path[PATH_ROOM];
	int r = memio_resolve(m, dir, name, path);
	struct node *n;

	if (r < 0)
		return memio_leave(m, r);
	n = memio_find(m, path);
	if (!n)
		return memio_leave(m, -ENOENT);
	if (n->dir != ((flags & AT_REMOVEDIR) != 0))
		return memio_leave(m, n->dir ? -EISDIR : -ENOTDIR);
	if (n->dir && !memio_is_empty(m, n))
		return memio_leave(m, -ENOTEMPTY);
	memio_unlink_node(m, n);
	return memio_leave(m, 0);
}

static int mem_mkdir(const struct hp_io *io, int dir, const char *name,
		     mode_t mode)
{
	struct memio *m = memio_enter(io);
	char path[PATH_ROOM];
	int r = memio_resolve(m, dir, name, path);

	if (r == 0)
		r = memio_find(m, path) ? -EEXIST : memio_check_parent(m, path);
	if (r == 0)
		memio_node_new(m, path, true, mode);
	return memio_leave(m, r);
}

static int mem_chmod(const struct hp_io *io, int fd, mode_t mode)
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);

	if (f)
		f->node->mode = mode & 07777;
	return memio_leave(m, f ? 0 : -EBADF);
}

static int mem_set_times(const struct hp_io *io, int fd,
			 const struct timespec times[2])
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);

	if (f && times && times[1].tv_nsec != UTIME_OMIT)
		f->node->mtime = times[1];
	return memio_leave(m, f ? 0 : -EBADF);
}

static int mem_map(const struct hp_io *io, int fd, size_t size,
		   const void **ret)
{
	struct memio *m = memio_enter(io);
	struct file *f = memio_get(m, fd);
	struct map *map;

	if (!f || m->map_code)
		return memio_leave(m, f ? m->map_code : -EBADF);
	if (f->node->dir || size == 0 || size > f->node->size)
		return memio_leave(m, -EINVAL);
	map = memio_alloc(sizeof *map);
	map->b = f->node->b;
	map->b->refs++;
	map->next = m->maps;
	m->maps = map;
	*ret = map->b->p;
	return memio_leave(m, 0);
}

static int mem_map_shared(const struct hp_io *io, int fd, size_t size,
			  void **ret)
{
	const void *p;
	int r = mem_map(io, fd, size, &p);

	if (r == 0)
		*ret = (void *)(uintptr_t)p;
	return r;
}

static void mem_unmap(const struct hp_io *io, const void *p, size_t size)
{
	struct memio *m = memio_enter(io);
	struct map **at = &m->maps, *map;

	(void)size;
	while (*at && (*at)->b->p != p)
		at = &(*at)->next;
	assert(*at);
	map = *at;
	*at = map->next;
	memio_bytes_put(map->b);
	free(map);
	memio_leave(m, 0);
}

const struct hp_io memio_table = {
	.open = mem_open,
	.close = mem_close,
	.read = mem_read,
	.pread = mem_pread,
	.cached = mem_cached,
	.advise = mem_advise,
	.write = mem_write,
	.pwrite = mem_pwrite,
	.fsync = mem_fsync,
	.flush_range = mem_flush_range,
	.truncate = mem_truncate,
	.allocate = mem_allocate,
	.set_flags = mem_set_flags,
	.lock = mem_lock,
	.is_locked = mem_is_locked,
	.stat = mem_stat,
	.statvfs = mem_statvfs,
	.fs_type = mem_fs_type,
	.readlink = mem_readlink,
	.listxattr = mem_listxattr,
	.getdents = mem_getdents,
	.rename = mem_rename,
	.unlink = mem_unlink,
	.mkdir = mem_mkdir,
	.chmod = mem_chmod,
	.set_times = mem_set_times,
	.map = mem_map,
	.map_shared = mem_map_shared,
	.unmap = mem_unmap,
};
