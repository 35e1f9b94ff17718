/* SPDX-License-Identifier: Apache-2.0 */
/* Names and ranges in requests of tools. */
#include "serve/local.h"

#include <string.h>
#include <strings.h>

/* ---- The name --------------------------------------------------------- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* One byte at *p, which goes on behind it; -1: it is none. */
static int take(const char **p)
{
	const char *s = *p;
	int high, low;

	*p = s + 1;
	if (*s != '%')
		return (unsigned char)*s;
	high = digit(s[1]);
	low = high < 0 ? -1 : digit(s[2]);
	*p = s + 3;
	return low < 0 ? -1 : high * 16 + low;
}

/* A proxy's form of the request line has the host as well. */
static const char *behind_host(const char *path)
{
	const char *scheme = "http://";

	if (strncasecmp(path, scheme, strlen(scheme)) != 0)
		return path;
	return strchr(path + strlen(scheme), '/');
}

bool hp_local_name(const char *path, char *ret, size_t n)
{
	const char *p = behind_host(path);
	size_t k = 0;

	if (!p || *p++ != '/')
		return false;
	/* A query is for nobody here. */
	while (*p && *p != '?' && *p != '#') {
		int c = take(&p);

		if (c <= 0 || k + 1 >= n)
			return false;
		ret[k++] = (char)c;
	}
	ret[k] = '\0';
	return k > 0;
}

/* ---- The range -------------------------------------------------------- */

/* Digits at *p; too many are as good as the highest number. */
static bool number(const char **p, uint64_t *ret)
{
	const char *s = *p;
	uint64_t n = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			n = UINT64_MAX;
	if (s == *p)
		return false;
	*p = s;
	*ret = n;
	return true;
}

static enum hp_local_range suffix(const char *p, uint64_t size,
				  uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t n;

	if (!number(&p, &n) || *p)
		return HP_RANGE_NONE;
	if (!n || !size)
		return HP_RANGE_BAD;
	*ret_first = n < size ? size - n : 0;
	*ret_last = size - 1;
	return HP_RANGE_SOME;
}

enum hp_local_range hp_local_range(const char *text, uint64_t size,
				   uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t first, last = UINT64_MAX;
	const char *p = text;

	if (!p || strncasecmp(p, "bytes=", 6) != 0)
		return HP_RANGE_NONE;
	p += 6;
	if (*p == '-')
		return suffix(p + 1, size, ret_first, ret_last);
	if (!number(&p, &first) || *p++ != '-')
		return HP_RANGE_NONE;
	if (*p && (!number(&p, &last) || *p || last < first))
		return HP_RANGE_NONE;
	if (first >= size)
		return HP_RANGE_BAD;
	*ret_first = first;
	*ret_last = last < size ? last : size - 1;
	return HP_RANGE_SOME;
}
