/* SPDX-License-Identifier: Apache-2.0 */
/* The names in an open directory, one by one, from getdents64 records. */
#include "listdir.h"

#include "bytes.h"
#include "mem.h"

#include <errno.h>

#define BUFFER 32768
/* linux_dirent64: inode 8, offset 8, record length 2, type 1, name. */
#define LENGTH_AT 16
#define NAME_AT 19

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static int each_name(const char *buf, size_t n,
		     int (*each)(void *arg, const char *name), void *arg)
{
	size_t at = 0;

	while (at + NAME_AT < n) {
		uint16_t len;
		int r;

		memcpy(&len, buf + at + LENGTH_AT, sizeof len);
		if (len <= NAME_AT || len > n - at)
			return -EIO;
		r = is_dots(buf + at + NAME_AT) ? 0 :
						  each(arg, buf + at + NAME_AT);
		if (r)
			return r;
		at += len;
	}
	return 0;
}

int hp_listdir(const struct hp_io *io, int dir,
	       int (*each)(void *arg, const char *name), void *arg)
{
	hp_auto_free char *buf = malloc(BUFFER);

	if (!buf)
		return -ENOMEM;
	for (;;) {
		ssize_t n = io->getdents(io, dir, buf, BUFFER);
		int r;

		if (n <= 0)
			return (int)n;
		r = each_name(buf, (size_t)n, each, arg);
		if (r)
			return r;
	}
}
