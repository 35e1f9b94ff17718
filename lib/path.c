/* SPDX-License-Identifier: Apache-2.0 */
/* Which paths a member may have, and how an input's path becomes one. */
#include "path.h"

#include "bytes.h"

#include <errno.h>
#include <string.h>

/* Length of the component that path begins with. */
static size_t component(const char *path, size_t len)
{
	const char *slash = memchr(path, '/', len);

	return slash ? (size_t)(slash - path) : len;
}

static bool is_dot(const char *s, size_t len)
{
	return len == 1 && s[0] == '.';
}

static bool is_dot_dot(const char *s, size_t len)
{
	return len == 2 && s[0] == '.' && s[1] == '.';
}

int hp_path_clean(const char *path, size_t len, char *out)
{
	size_t n = 0;

	if (memchr(path, '\0', len))
		return -EINVAL;
	for (size_t at = 0, step; at < len; at += step + 1) {
		step = component(path + at, len - at);
		if (is_dot_dot(path + at, step))
			return -EINVAL;
		if (step == 0 || is_dot(path + at, step))
			continue;
		if (n > 0)
			out[n++] = '/';
		memmove(out + n, path + at, step);
		n += step;
	}
	if (n == 0)
		return -EINVAL;
	if (n > HPDSL_PATH_MAX)
		return -ENAMETOOLONG;
	out[n] = '\0';
	return (int)n;
}

bool hp_path_valid(const char *path, size_t len)
{
	if (len < 1 || len > HPDSL_PATH_MAX || memchr(path, '\0', len))
		return false;
	for (size_t at = 0, step; at <= len; at += step + 1) {
		step = component(path + at, len - at);
		if (step == 0 || is_dot(path + at, step) ||
		    is_dot_dot(path + at, step))
			return false;
	}
	return true;
}

bool hp_path_copy(const char *path, size_t len, char buf[HPDSL_PATH_MAX + 1])
{
	if (len > HPDSL_PATH_MAX)
		return false;
	hp_copy_once(buf, path, len);
	buf[len] = '\0';
	return hp_path_valid(buf, len);
}
