/* SPDX-License-Identifier: Apache-2.0 */
/* Past whatever stands in front of the C library's. */
#define _GNU_SOURCE 1
#include "guard.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int guard_raw_open(int dir, const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, dir, path, flags | O_LARGEFILE, mode);
}

void guard_raw_close(int fd)
{
	syscall(SYS_close, fd);
}

static bool stat_at(int dir, const char *path, int flags,
		    struct guard_file *ret)
{
	struct statx st;

	if (syscall(SYS_statx, dir, path, flags,
		    STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MTIME, &st) < 0)
		return false;
	*ret = (struct guard_file){
		.dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor,
		.ino = st.stx_ino,
		.size = st.stx_size,
		.mtime = st.stx_mtime.tv_sec,
		.mode = st.stx_mode,
	};
	return true;
}

bool guard_stat(int dir, const char *path, bool follow, struct guard_file *ret)
{
	return stat_at(dir, path, follow ? 0 : AT_SYMLINK_NOFOLLOW, ret);
}

bool guard_stat_fd(int fd, struct guard_file *ret)
{
	return stat_at(fd, "", AT_EMPTY_PATH, ret);
}

void guard_path_fd(int fd, char *ret)
{
	char name[40];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, name, ret, GUARD_PATH - 1);
	ret[n > 0 && *ret == '/' ? n : 0] = '\0';
}

void guard_path(int dir, const char *path, bool follow, char *ret)
{
	int fd = guard_raw_open(
		dir, path, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW), 0);

	*ret = '\0';
	if (fd < 0)
		return;
	guard_path_fd(fd, ret);
	guard_raw_close(fd);
}
