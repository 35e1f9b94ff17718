/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which paths a member may have, how an input's path becomes one, their keys;
 * names on lines, newline and backslash escaped.
 */
#include "base/path.h"

#include "base/bytes.h"

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

size_t hpdsl_key_length(const char *path, size_t path_len)
{
	const char *slash = memrchr(path, '/', path_len);
	size_t at = slash ? (size_t)(slash - path) + 1 : 0;
	const char *dot;

	while (at < path_len && path[at] == '.')
		at++;
	dot = memchr(path + at, '.', path_len - at);
	return dot ? (size_t)(dot - path) : path_len;
}

size_t hpdsl_name_escape(const char *name, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (name[i] != '\n' && name[i] != '\\') {
			out[n++] = name[i];
			continue;
		}
		out[n++] = '\\';
		out[n++] = name[i] == '\n' ? 'n' : '\\';
	}
	out[n] = '\0';
	return n;
}

size_t hpdsl_name_unescape(char *name, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++, n++) {
		name[n] = name[i];
		if (name[i] != '\\')
			continue;
		if (++i == len || (name[i] != 'n' && name[i] != '\\'))
			return (size_t)-1;
		name[n] = name[i] == 'n' ? '\n' : '\\';
	}
	return n;
}
