/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

int hp_memfile_new(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : fd;
}

int hp_memfile_resize(int fd, uint64_t bytes)
{
	struct rlimit limit;

	/* Files that are longer than they may be are a signal, which kills. */
	if (bytes > INT64_MAX ||
	    (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur))
		return -EFBIG;
	return ftruncate(fd, (off_t)bytes) == 0 ? 0 : -errno;
}

int hp_memfile_seal(int fd)
{
	const int all =
		F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	return fcntl(fd, F_ADD_SEALS, all) == 0 ? 0 : -errno;
}

void hp_memfile_close(int fd)
{
	close(fd);
}
