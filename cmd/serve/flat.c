/* SPDX-License-Identifier: Apache-2.0 */
/* A member of a JSON object whose members are no objects, from memory. */
#include "life.h"

#include <stdlib.h>
#include <string.h>

static const char *skip(const char *s)
{
	return s + strspn(s, " \t\r\n");
}

static int unhex(const char *s)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef";
		const char *d = s[i] ? strchr(digits, s[i] | 0x20) : NULL;

		if (!d)
			return -1;
		v = v * 16 + (int)(d - digits);
	}
	return v;
}

/* What is behind a backslash; a character that is not ASCII becomes "?". */
static const char *unescape(const char *s, char *ret)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *at = *s ? strchr(from, *s) : NULL;
	int v;

	if (*s == 'u') {
		v = unhex(s + 1);
		*ret = v > 0 && v < 0x80 ? (char)v : '?';
		return v < 0 ? NULL : s + 5;
	}
	*ret = at ? to[at - from] : *s;
	return *s ? s + 1 : NULL;
}

/* s is behind the quote; gives what is behind the other one. */
static const char *string(const char *s, char *ret, size_t cap)
{
	size_t n = 0;

	while (s && *s && *s != '"') {
		char c = *s;

		s = c == '\\' ? unescape(s + 1, &c) : s + 1;
		if (n + 1 >= cap)
			return NULL;
		ret[n++] = c;
	}
	if (!s || *s != '"')
		return NULL;
	ret[n] = '\0';
	return s + 1;
}

static const char *word(const char *s, char *ret, size_t cap)
{
	size_t n = strcspn(s, " \t\r\n,}");

	if (!n || n >= cap)
		return NULL;
	memcpy(ret, s, n);
	ret[n] = '\0';
	return s + n;
}

bool serve_field(const char *json, const char *name, char *ret, size_t cap)
{
	char key[64], value[4200];
	const char *s = skip(json);

	if (*s != '{')
		return false;
	do {
		s = skip(s + 1);
		s = *s == '"' ? string(s + 1, key, sizeof(key)) : NULL;
		s = s ? skip(s) : NULL;
		if (!s || *s != ':')
			return false;
		s = skip(s + 1);
		s = *s == '"' ? string(s + 1, value, sizeof(value)) :
				word(s, value, sizeof(value));
		if (s && strcmp(key, name) == 0) {
			snprintf(ret, cap, "%s", value);
			return strlen(value) < cap;
		}
		s = s ? skip(s) : NULL;
	} while (s && *s == ',');
	return false;
}

uint64_t serve_number(const char *json, const char *name)
{
	char text[32], *end;
	unsigned long long n;

	if (!serve_field(json, name, text, sizeof(text)) || *text < '0' ||
	    *text > '9')
		return 0;
	n = strtoull(text, &end, 10);
	return *end ? 0 : n;
}
