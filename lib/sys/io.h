/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every file operation of the library goes through one table, so that tests
 * can make the k-th one fail, play a file system in memory, or list names in
 * another order.  Operations return -errno, never errno; those that return a
 * count may do less than asked.  hp_io_* below are the loops around them.
 *
 * Names are relative to an open directory or AT_FDCWD.  A table may keep state:
 * it gets itself as first argument, and must allow calls from many threads.
 */
#ifndef HP_IO_H
#define HP_IO_H

#include "hpdsl/core.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/*
 * A flag of open beside the system's: no symbolic link on the way, nor at the
 * end (-ELOOP).  Where the kernel is too old the way is not looked at.
 */
#define HP_O_NO_LINKS (1 << 30)
/*
 * Another: nothing but what lies below dir, whatever name and links say
 * (-EXDEV).  Where the kernel is too old the name alone is looked at.
 */
#define HP_O_BENEATH (1 << 29)

struct hp_io {
	int (*open)(const struct hp_io *io, int dir, const char *name,
		    int flags, mode_t mode);
	int (*close)(const struct hp_io *io, int fd);
	/* Another descriptor of the same open file. */
	int (*dup)(const struct hp_io *io, int fd);
	ssize_t (*read)(const struct hp_io *io, int fd, void *buf, size_t n);
	ssize_t (*pread)(const struct hp_io *io, int fd, void *buf, size_t n,
			 uint64_t off);
	/*
	 * Of n bytes from off those that the page cache has, about: 0 to n.
	 * -EOPNOTSUPP: it cannot be asked.
	 */
	int64_t (*cached)(const struct hp_io *io, int fd, uint64_t off,
			  uint64_t n);
	/* posix_fadvise; n 0: to the end. */
	int (*advise)(const struct hp_io *io, int fd, uint64_t off, uint64_t n,
		      int advice);
	ssize_t (*write)(const struct hp_io *io, int fd, const void *buf,
			 size_t n);
	ssize_t (*pwrite)(const struct hp_io *io, int fd, const void *buf,
			  size_t n, uint64_t off);
	int (*fsync)(const struct hp_io *io, int fd);
	/* On their way to the disk, not waited for. */
	int (*flush_range)(const struct hp_io *io, int fd, uint64_t off,
			   uint64_t n);
	int (*truncate)(const struct hp_io *io, int fd, uint64_t size);
	/* Reserves space for a file that will get size bytes. */
	int (*allocate)(const struct hp_io *io, int fd, uint64_t size);
	/* F_SETFL; for O_DIRECT on and off. */
	int (*set_flags)(const struct hp_io *io, int fd, int flags);
	/* An exclusive flock, not waited for: -EWOULDBLOCK. */
	int (*lock)(const struct hp_io *io, int fd);
	/* Has another open file such a lock?  1 or 0; it is tried for no longer
	 * than that takes, also for children that are forked meanwhile. */
	int (*is_locked)(const struct hp_io *io, int fd);
	/* An exclusive lock of n bytes, of the open file and not the process,
	 * or its end; not waited for: -EAGAIN. */
	int (*lock_range)(const struct hp_io *io, int fd, uint64_t off,
			  uint64_t n, bool on);
	/* fstatat; with name "" and AT_EMPTY_PATH the open file itself. */
	int (*stat)(const struct hp_io *io, int dir, const char *name,
		    struct stat *ret, int flags);
	int (*statvfs)(const struct hp_io *io, int fd, struct statvfs *ret);
	/* What kind of file system: statfs's f_type. */
	int (*fs_type)(const struct hp_io *io, int fd, uint64_t *ret);
	ssize_t (*readlink)(const struct hp_io *io, int dir, const char *name,
			    char *buf, size_t n);
	/* flistxattr: names, a NUL behind each. */
	ssize_t (*listxattr)(const struct hp_io *io, int fd, char *buf,
			     size_t n);
	/* Raw getdents64 records; 0 at the end. */
	ssize_t (*getdents)(const struct hp_io *io, int fd, void *buf,
			    size_t n);
	/* renameat2; flags 0, RENAME_NOREPLACE or RENAME_EXCHANGE. */
	int (*rename)(const struct hp_io *io, int old_dir, const char *old_name,
		      int new_dir, const char *new_name, unsigned flags);
	/* unlinkat; AT_REMOVEDIR for directories. */
	int (*unlink)(const struct hp_io *io, int dir, const char *name,
		      int flags);
	int (*mkdir)(const struct hp_io *io, int dir, const char *name,
		     mode_t mode);
	int (*chmod)(const struct hp_io *io, int fd, mode_t mode);
	/* futimens: access and modification time. */
	int (*set_times)(const struct hp_io *io, int fd,
			 const struct timespec times[2]);
	/* Read-only shared mapping of the first size bytes; size > 0. */
	int (*map)(const struct hp_io *io, int fd, size_t size,
		   const void **ret);
	/* The same to write to, of a file that is open for both. */
	int (*map_shared)(const struct hp_io *io, int fd, size_t size,
			  void **ret);
	void (*unmap)(const struct hp_io *io, const void *p, size_t size);
};

extern const struct hp_io hp_io_system;
/* Its cached: io_cached.c. */
int64_t hp_io_system_cached(const struct hp_io *io, int fd, uint64_t off,
			    uint64_t n);

/* io, or the system's table for NULL. */
const struct hp_io *hp_io_or_system(const struct hp_io *io);

/* Reads until n bytes, the end (fewer is no error) or -errno. */
ssize_t hp_io_pread_full(const struct hp_io *io, int fd, void *buf, size_t n,
			 uint64_t off);
/* Writes all n bytes: 0 or -errno (a write of nothing is -EIO). */
int hp_io_write_full(const struct hp_io *io, int fd, const void *buf, size_t n);
int hp_io_pwrite_full(const struct hp_io *io, int fd, const void *buf, size_t n,
		      uint64_t off);
int hp_io_fstat(const struct hp_io *io, int fd, struct stat *ret);
/* io->stat, asked again when a signal came. */
int hp_io_stat(const struct hp_io *io, int dir, const char *name,
	       struct stat *ret, int flags);
/* Real path of an open file, malloc'ed: 0 or -errno. */
int hp_io_real_path(const struct hp_io *io, int fd, char **ret);

/*
 * A whole small file into a fresh buffer with a NUL behind it; at most max
 * bytes, else -EFBIG.  The caller frees *ret.
 */
int hp_io_slurp(const struct hp_io *io, int dir, const char *name, size_t max,
		char **ret, size_t *ret_len);
/* The same of an open file. */
int hp_io_slurp_open(const struct hp_io *io, int fd, size_t max, char **ret,
		     size_t *ret_len);
/* As hp_fail_errno, for what these return: -EINVAL is no regular file. */
__attribute__((format(printf, 3, 4))) int hp_io_slurp_fail(
	struct hpdsl_error *err, int code, const char *fmt, ...);

/* A descriptor that closes itself: struct hp_fd f = HP_FD(io, fd). */
struct hp_fd {
	const struct hp_io *io;
	int fd;
};

void hp_fd_release(struct hp_fd *f);
#define hp_auto_fd __attribute__((cleanup(hp_fd_release))) struct hp_fd

#endif
