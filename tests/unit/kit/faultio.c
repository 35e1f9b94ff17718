/* SPDX-License-Identifier: Apache-2.0 */
#include "faultio.h"

#include <string.h>

#define BASE hp_io_system

static struct faultio *self(const struct hp_io *io)
{
	return (struct faultio *)io; /* its first member */
}

static bool fails(const struct hp_io *io)
{
	struct faultio *f = self(io);
	long n = __atomic_add_fetch(&f->count, 1, __ATOMIC_RELAXED);

	if (f->fail_at == 0 || n < f->fail_at ||
	    (n > f->fail_at && !f->forever))
		return false;
	__atomic_add_fetch(&f->failed, 1, __ATOMIC_RELAXED);
	return true;
}

static int f_open(const struct hp_io *io, int dir, const char *name, int flags,
		  mode_t mode)
{
	int fd = fails(io) ? self(io)->code :
			     BASE.open(io, dir, name, flags, mode);

	if (fd >= 0 && fd < (int)sizeof self(io)->broken)
		__atomic_store_n(&self(io)->broken[fd], 0, __ATOMIC_RELAXED);
	return fd;
}

static int f_close(const struct hp_io *io, int fd)
{
	/* It is closed, whatever it says. */
	int r = BASE.close(io, fd);

	return fails(io) ? self(io)->code : r;
}

static ssize_t f_read(const struct hp_io *io, int fd, void *buf, size_t n)
{
	return fails(io) ? self(io)->code : BASE.read(io, fd, buf, n);
}

static ssize_t f_pread(const struct hp_io *io, int fd, void *buf, size_t n,
		       uint64_t off)
{
	return fails(io) ? self(io)->code : BASE.pread(io, fd, buf, n, off);
}

static int64_t f_cached(const struct hp_io *io, int fd, uint64_t off,
			uint64_t n)
{
	return fails(io) ? self(io)->code : BASE.cached(io, fd, off, n);
}

static int f_dup(const struct hp_io *io, int fd)
{
	return fails(io) ? self(io)->code : BASE.dup(io, fd);
}

static int f_advise(const struct hp_io *io, int fd, uint64_t off, uint64_t n,
		    int advice)
{
	return fails(io) ? self(io)->code : BASE.advise(io, fd, off, n, advice);
}

static int f_flush_range(const struct hp_io *io, int fd, uint64_t off,
			 uint64_t n)
{
	return fails(io) ? self(io)->code : BASE.flush_range(io, fd, off, n);
}

static ssize_t f_write(const struct hp_io *io, int fd, const void *buf,
		       size_t n)
{
	return fails(io) ? self(io)->code : BASE.write(io, fd, buf, n);
}

static ssize_t f_pwrite(const struct hp_io *io, int fd, const void *buf,
			size_t n, uint64_t off)
{
	return fails(io) ? self(io)->code : BASE.pwrite(io, fd, buf, n, off);
}

static int f_fsync(const struct hp_io *io, int fd)
{
	struct faultio *f = self(io);

	if (__atomic_load_n(&f->broken[fd], __ATOMIC_RELAXED))
		f->synced_again = true;
	/* It is the caller's to ask for it; a test has no use for the disk's.
	 */
	if (!fails(io))
		return 0;
	__atomic_store_n(&f->broken[fd], 1, __ATOMIC_RELAXED);
	return f->code;
}

static int f_truncate(const struct hp_io *io, int fd, uint64_t size)
{
	return fails(io) ? self(io)->code : BASE.truncate(io, fd, size);
}

static int f_allocate(const struct hp_io *io, int fd, uint64_t size)
{
	return fails(io) ? self(io)->code : BASE.allocate(io, fd, size);
}

static int f_set_flags(const struct hp_io *io, int fd, int flags)
{
	return fails(io) ? self(io)->code : BASE.set_flags(io, fd, flags);
}

static int f_lock(const struct hp_io *io, int fd)
{
	return fails(io) ? self(io)->code : BASE.lock(io, fd);
}

static int f_is_locked(const struct hp_io *io, int fd)
{
	return fails(io) ? self(io)->code : BASE.is_locked(io, fd);
}

static int f_lock_range(const struct hp_io *io, int fd, uint64_t off,
			uint64_t n, bool on)
{
	return fails(io) ? self(io)->code : BASE.lock_range(io, fd, off, n, on);
}

static int f_stat(const struct hp_io *io, int dir, const char *name,
		  struct stat *ret, int flags)
{
	return fails(io) ? self(io)->code :
			   BASE.stat(io, dir, name, ret, flags);
}

static int f_statvfs(const struct hp_io *io, int fd, struct statvfs *ret)
{
	return fails(io) ? self(io)->code : BASE.statvfs(io, fd, ret);
}

static int f_fs_type(const struct hp_io *io, int fd, uint64_t *ret)
{
	return fails(io) ? self(io)->code : BASE.fs_type(io, fd, ret);
}

static ssize_t f_readlink(const struct hp_io *io, int dir, const char *name,
			  char *buf, size_t n)
{
	return fails(io) ? self(io)->code :
			   BASE.readlink(io, dir, name, buf, n);
}

static ssize_t f_listxattr(const struct hp_io *io, int fd, char *buf, size_t n)
{
	return fails(io) ? self(io)->code : BASE.listxattr(io, fd, buf, n);
}

static ssize_t f_getdents(const struct hp_io *io, int fd, void *buf, size_t n)
{
	return fails(io) ? self(io)->code : BASE.getdents(io, fd, buf, n);
}

static int f_rename(const struct hp_io *io, int old_dir, const char *old_name,
		    int new_dir, const char *new_name, unsigned flags)
{
	return fails(io) ? self(io)->code :
			   BASE.rename(io, old_dir, old_name, new_dir, new_name,
				       flags);
}

static int f_unlink(const struct hp_io *io, int dir, const char *name,
		    int flags)
{
	return fails(io) ? self(io)->code : BASE.unlink(io, dir, name, flags);
}

static int f_mkdir(const struct hp_io *io, int dir, const char *name,
		   mode_t mode)
{
	return fails(io) ? self(io)->code : BASE.mkdir(io, dir, name, mode);
}

static int f_chmod(const struct hp_io *io, int fd, mode_t mode)
{
	return fails(io) ? self(io)->code : BASE.chmod(io, fd, mode);
}

static int f_set_times(const struct hp_io *io, int fd,
		       const struct timespec times[2])
{
	return fails(io) ? self(io)->code : BASE.set_times(io, fd, times);
}

static int f_map(const struct hp_io *io, int fd, size_t size, const void **ret)
{
	return fails(io) ? self(io)->code : BASE.map(io, fd, size, ret);
}

static int f_map_shared(const struct hp_io *io, int fd, size_t size, void **ret)
{
	return fails(io) ? self(io)->code : BASE.map_shared(io, fd, size, ret);
}

void faultio_init(struct faultio *f, long fail_at, bool forever, int code)
{
	memset(f, 0, sizeof *f);
	f->io = (struct hp_io){
		.open = f_open,
		.close = f_close,
		.dup = f_dup,
		.read = f_read,
		.pread = f_pread,
		.cached = f_cached,
		.advise = f_advise,
		.write = f_write,
		.pwrite = f_pwrite,
		.fsync = f_fsync,
		.flush_range = f_flush_range,
		.truncate = f_truncate,
		.allocate = f_allocate,
		.set_flags = f_set_flags,
		.lock = f_lock,
		.is_locked = f_is_locked,
		.lock_range = f_lock_range,
		.stat = f_stat,
		.statvfs = f_statvfs,
		.fs_type = f_fs_type,
		.readlink = f_readlink,
		.listxattr = f_listxattr,
		.getdents = f_getdents,
		.rename = f_rename,
		.unlink = f_unlink,
		.mkdir = f_mkdir,
		.chmod = f_chmod,
		.set_times = f_set_times,
		.map = f_map,
		.map_shared = f_map_shared,
		.unmap = hp_io_system.unmap,
	};
	f->fail_at = fail_at;
	f->forever = forever;
	f->code = code;
}

const struct hp_io *faultio_none(void)
{
	static struct faultio f;

	if (!f.io.open)
		faultio_init(&f, 0, false, 0);
	return &f.io;
}
