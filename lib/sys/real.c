/* SPDX-License-Identifier: Apache-2.0 */
/* Where an open file really is. */
#include "sys/io.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hp_io_real_path(const struct hp_io *io, int fd, char **ret)
{
	char name[32], real[PATH_MAX + 1];
	ssize_t n;

	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	n = io->readlink(io, AT_FDCWD, name, real, sizeof real);
	if (n < 0)
		return (int)n;
	if ((size_t)n == sizeof real)
		return -ENAMETOOLONG;
	*ret = strndup(real, (size_t)n);
	return *ret ? 0 : -ENOMEM;
}
