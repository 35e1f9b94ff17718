/* SPDX-License-Identifier: Apache-2.0 */
/* The system's file operations as a table, and the loops around a table. */
#include "sys/io.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static int code(long r)
{
	return r < 0 ? -errno : (int)r;
}

/* Does the name itself lead out of the directory it is relative to? */
static bool leads_out(const char *name)
{
	if (name[0] == '/')
		return true;
	while (name) {
		if (!strncmp(name, "..", 2) && (!name[2] || name[2] == '/'))
			return true;
		name = strchr(name, '/');
		name += name ? 1 : 0;
	}
	return false;
}

static int open_resolving(int dir, const char *name, int flags, mode_t mode)
{
	struct open_how how = { .mode = mode };
	bool beneath = flags & HP_O_BENEATH;
	int r = -ENOSYS;

	if (beneath && leads_out(name))
		return -EXDEV;
	if (beneath)
		how.resolve |= RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
	if (flags & HP_O_NO_LINKS) {
		how.resolve |= RESOLVE_NO_SYMLINKS;
		flags |= O_NOFOLLOW;
	}
	flags = (flags & ~(HP_O_NO_LINKS | HP_O_BENEATH)) | O_CLOEXEC;
	how.flags = (uint64_t)flags;
	/* A single name that is no link leads nowhere else. */
	if (!(flags & O_NOFOLLOW) || strchr(name, '/'))
		r = code(syscall(SYS_openat2, dir, name, &how, sizeof how));
	/* Containers may know it less than their kernel does, and say EPERM. */
	return r == -ENOSYS || r == -EPERM ?
		       code(openat(dir, name, flags, mode)) :
		       r;
}

static int sys_open(const struct hp_io *io, int dir, const char *name,
		    int flags, mode_t mode)
{
	bool plain = !(flags & (HP_O_NO_LINKS | HP_O_BENEATH));
	int r;

	(void)io;
	do
		r = plain ? code(openat(dir, name, flags | O_CLOEXEC, mode)) :
			    open_resolving(dir, name, flags, mode);
	while (r == -EINTR);
	return r;
}

static int sys_close(const struct hp_io *io, int fd)
{
	int r = code(close(fd));

	(void)io;
	return r == -EINTR ? 0 : r; /* Linux has closed it all the same */
}

static int sys_dup(const struct hp_io *io, int fd)
{
	(void)io;
	return code(fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

static ssize_t sys_read(const struct hp_io *io, int fd, void *buf, size_t n)
{
	ssize_t r = read(fd, buf, n);

	(void)io;
	return r < 0 ? -errno : r;
}

static ssize_t sys_pread(const struct hp_io *io, int fd, void *buf, size_t n,
			 uint64_t off)
{
	ssize_t r = pread(fd, buf, n, (off_t)off);

	(void)io;
	return r < 0 ? -errno : r;
}

static int sys_advise(const struct hp_io *io, int fd, uint64_t off, uint64_t n,
		      int advice)
{
	(void)io;
	return -posix_fadvise(fd, (off_t)off, (off_t)n, advice);
}

static ssize_t sys_write(const struct hp_io *io, int fd, const void *buf,
			 size_t n)
{
	ssize_t r = write(fd, buf, n);

	(void)io;
	return r < 0 ? -errno : r;
}

static ssize_t sys_pwrite(const struct hp_io *io, int fd, const void *buf,
			  size_t n, uint64_t off)
{
	ssize_t r = pwrite(fd, buf, n, (off_t)off);

	(void)io;
	return r < 0 ? -errno : r;
}

static int sys_fsync(const struct hp_io *io, int fd)
{
	(void)io;
	return code(fsync(fd));
}

static int sys_flush_range(const struct hp_io *io, int fd, uint64_t off,
			   uint64_t n)
{
	(void)io;
	return code(sync_file_range(fd, (off_t)off, (off_t)n,
				    SYNC_FILE_RANGE_WRITE));
}

static int sys_truncate(const struct hp_io *io, int fd, uint64_t size)
{
	(void)io;
	return code(ftruncate(fd, (off_t)size));
}

static int sys_allocate(const struct hp_io *io, int fd, uint64_t size)
{
	(void)io;
	return code(fallocate(fd, 0, 0, (off_t)size));
}

static int sys_set_flags(const struct hp_io *io, int fd, int flags)
{
	(void)io;
	return code(fcntl(fd, F_SETFL, flags));
}

static int sys_lock(const struct hp_io *io, int fd)
{
	(void)io;
	return code(flock(fd, LOCK_EX | LOCK_NB));
}

static int sys_is_locked(const struct hp_io *io, int fd)
{
	int r = code(flock(fd, LOCK_SH | LOCK_NB));

	(void)io;
	if (r == 0)
		return code(flock(fd, LOCK_UN));
	return r == -EWOULDBLOCK ? 1 : r;
}

static int sys_lock_range(const struct hp_io *io, int fd, uint64_t off,
			  uint64_t n, bool on)
{
	struct flock l = { .l_type = on ? F_WRLCK : F_UNLCK,
			   .l_whence = SEEK_SET,
			   .l_start = (off_t)off,
			   .l_len = (off_t)n };
	int r = code(fcntl(fd, F_OFD_SETLK, &l));

	(void)io;
	return r == -EACCES ? -EAGAIN : r;
}

static int sys_stat(const struct hp_io *io, int dir, const char *name,
		    struct stat *ret, int flags)
{
	(void)io;
	return code(fstatat(dir, name, ret, flags));
}

static int sys_statvfs(const struct hp_io *io, int fd, struct statvfs *ret)
{
	(void)io;
	return code(fstatvfs(fd, ret));
}

static int sys_fs_type(const struct hp_io *io, int fd, uint64_t *ret)
{
	struct statfs fs;

	(void)io;
	if (fstatfs(fd, &fs) < 0)
		return -errno;
	*ret = (uint32_t)fs.f_type;
	return 0;
}

static ssize_t sys_readlink(const struct hp_io *io, int dir, const char *name,
			    char *buf, size_t n)
{
	ssize_t r = readlinkat(dir, name, buf, n);

	(void)io;
	return r < 0 ? -errno : r;
}

static ssize_t sys_listxattr(const struct hp_io *io, int fd, char *buf,
			     size_t n)
{
	ssize_t r = flistxattr(fd, buf, n);

	(void)io;
	return r < 0 ? -errno : r;
}

static ssize_t sys_getdents(const struct hp_io *io, int fd, void *buf, size_t n)
{
	(void)io;
	return code(syscall(SYS_getdents64, fd, buf, n));
}

static int sys_rename(const struct hp_io *io, int old_dir, const char *old_name,
		      int new_dir, const char *new_name, unsigned flags)
{
	(void)io;
	return code(renameat2(old_dir, old_name, new_dir, new_name, flags));
}

static int sys_unlink(const struct hp_io *io, int dir, const char *name,
		      int flags)
{
	(void)io;
	return code(unlinkat(dir, name, flags));
}

static int sys_mkdir(const struct hp_io *io, int dir, const char *name,
		     mode_t mode)
{
	(void)io;
	return code(mkdirat(dir, name, mode));
}

static int sys_chmod(const struct hp_io *io, int fd, mode_t mode)
{
	(void)io;
	return code(fchmod(fd, mode));
}

static int sys_set_times(const struct hp_io *io, int fd,
			 const struct timespec times[2])
{
	(void)io;
	return code(futimens(fd, times));
}

static int sys_map(const struct hp_io *io, int fd, size_t size,
		   const void **ret)
{
	void *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	(void)io;
	if (p == MAP_FAILED)
		return -errno;
	/* Maps are read at random: in large pages, where a file system has
	 * them, a place is found without asking memory for it. */
	madvise(p, size, MADV_HUGEPAGE);
	*ret = p;
	return 0;
}

static int sys_map_shared(const struct hp_io *io, int fd, size_t size,
			  void **ret)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	(void)io;
	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	return 0;
}

static void sys_unmap(const struct hp_io *io, const void *p, size_t size)
{
	(void)io;
	munmap((void *)p, size);
}

const struct hp_io hp_io_system = {
	.open = sys_open,
	.close = sys_close,
	.dup = sys_dup,
	.read = sys_read,
	.pread = sys_pread,
	.cached = hp_io_system_cached,
	.advise = sys_advise,
	.write = sys_write,
	.pwrite = sys_pwrite,
	.fsync = sys_fsync,
	.flush_range = sys_flush_range,
	.truncate = sys_truncate,
	.allocate = sys_allocate,
	.set_flags = sys_set_flags,
	.lock = sys_lock,
	.is_locked = sys_is_locked,
	.lock_range = sys_lock_range,
	.stat = sys_stat,
	.statvfs = sys_statvfs,
	.fs_type = sys_fs_type,
	.readlink = sys_readlink,
	.listxattr = sys_listxattr,
	.getdents = sys_getdents,
	.rename = sys_rename,
	.unlink = sys_unlink,
	.mkdir = sys_mkdir,
	.chmod = sys_chmod,
	.set_times = sys_set_times,
	.map = sys_map,
	.map_shared = sys_map_shared,
	.unmap = sys_unmap,
};

const struct hp_io *hp_io_or_system(const struct hp_io *io)
{
	return io ? io : &hp_io_system;
}

ssize_t hp_io_pread_full(const struct hp_io *io, int fd, void *buf, size_t n,
			 uint64_t off)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = io->pread(io, fd, (char *)buf + done, n - done,
				      off + done);

		if (r == -EINTR)
			continue;
		if (r < 0)
			return r;
		if (r == 0)
			break;
		done += (size_t)r;
	}
	return (ssize_t)done;
}

int hp_io_write_full(const struct hp_io *io, int fd, const void *buf, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r =
			io->write(io, fd, (const char *)buf + done, n - done);

		if (r == -EINTR)
			continue;
		if (r <= 0)
			return r < 0 ? (int)r : -EIO;
		done += (size_t)r;
	}
	return 0;
}

int hp_io_pwrite_full(const struct hp_io *io, int fd, const void *buf, size_t n,
		      uint64_t off)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = io->pwrite(io, fd, (const char *)buf + done,
				       n - done, off + done);

		if (r == -EINTR)
			continue;
		if (r <= 0)
			return r < 0 ? (int)r : -EIO;
		done += (size_t)r;
	}
	return 0;
}

int hp_io_fstat(const struct hp_io *io, int fd, struct stat *ret)
{
	return io->stat(io, fd, "", ret, AT_EMPTY_PATH);
}

int hp_io_stat(const struct hp_io *io, int dir, const char *name,
	       struct stat *ret, int flags)
{
	int r;

	do
		r = io->stat(io, dir, name, ret, flags);
	while (r == -EINTR);
	return r;
}

int hp_io_slurp(const struct hp_io *io, int dir, const char *name, size_t max,
		char **ret, size_t *ret_len)
{
	hp_auto_fd f = { io,
			 io->open(io, dir, name, O_RDONLY | O_NONBLOCK, 0) };

	return f.fd < 0 ? f.fd : hp_io_slurp_open(io, f.fd, max, ret, ret_len);
}

int hp_io_slurp_open(const struct hp_io *io, int fd, size_t max, char **ret,
		     size_t *ret_len)
{
	hp_auto_free char *buf = NULL;
	struct stat st;
	ssize_t n;
	int r;

	r = hp_io_fstat(io, fd, &st);
	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	buf = hp_array((uint64_t)st.st_size + 1, 1);
	if (!buf)
		return -ENOMEM;
	n = hp_io_pread_full(io, fd, buf, (size_t)st.st_size, 0);
	if (n < 0)
		return (int)n;
	buf[n] = '\0';
	*ret_len = (size_t)n;
	*ret = hp_take(buf);
	return 0;
}

int hp_io_slurp_fail(struct hpdsl_error *err, int code, const char *fmt, ...)
{
	char name[sizeof err->msg];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof name, fmt, ap);
	va_end(ap);
	return code == -EINVAL ?
		       hp_fail(err, code, "%s: not a regular file", name) :
		       hp_fail_errno(err, code, "%s", name);
}

void hp_fd_release(struct hp_fd *f)
{
	if (f->fd >= 0)
		f->io->close(f->io, f->fd);
	f->fd = -1;
}
