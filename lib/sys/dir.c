/* SPDX-License-Identifier: Apache-2.0 */
/* The names in an open directory, one by one, from getdents64 records. */
#include "sys/dir.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#define BUFFER 32768

/* Fields of a raw record. */
enum {
	AT_LENGTH = offsetof(struct dirent64, d_reclen),
	AT_TYPE = offsetof(struct dirent64, d_type),
	AT_NAME = offsetof(struct dirent64, d_name),
};

size_t hp_dent_take(const char *p, size_t n, struct hp_dent *ret)
{
	struct hp_dent d = { .name = p + AT_NAME };
	uint16_t len;

	if (n <= AT_NAME)
		return 0;
	memcpy(&len, p + AT_LENGTH, sizeof len);
	if (len <= AT_NAME || len > n)
		return 0;
	d.len = strnlen(d.name, (size_t)len - AT_NAME);
	if (!d.len || d.len == (size_t)len - AT_NAME)
		return 0;
	d.type = (unsigned char)p[AT_TYPE];
	d.is_dots = d.name[0] == '.' &&
		    (d.len == 1 || (d.len == 2 && d.name[1] == '.'));
	*ret = d;
	return len;
}

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
