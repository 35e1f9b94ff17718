/* SPDX-License-Identifier: Apache-2.0 */
/* The names in an open directory, one by one, from getdents64 records. */
#include "listdir.h"

#include "dents.h"
#include "mem.h"

#include <errno.h>

#define BUFFER 32768

static int each_name(const char *buf, size_t n,
		     int (*each)(void *arg, const char *name), void *arg)
{
	for (size_t at = 0, len; at < n; at += len) {
		struct hp_dent d;
		int r;

		len = hp_dent_take(buf + at, n - at, &d);
		if (!len)
			return -EIO;
		r = d.is_dots ? 0 : each(arg, d.name);
		if (r)
			return r;
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

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		r = each_name(buf, (size_t)n, each, arg);
		if (r)
			return r;
	}
}
