/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of paths, and names on lines: newline and backslash escaped. */
#include "hpdsl.h"

#include <string.h>

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
