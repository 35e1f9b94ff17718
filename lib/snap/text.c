/* SPDX-License-Identifier: Apache-2.0 */
/* How names stand on the lines of a snapshot's text. */
#include "snap/text.h"

#include "base/utf8.h"

#include <string.h>

static const struct {
	char letter;
	uint32_t type;
} types[] = {
	{ 'f', S_IFREG }, { 'd', S_IFDIR }, { 'l', S_IFLNK },  { 'p', S_IFIFO },
	{ 'c', S_IFCHR }, { 'b', S_IFBLK }, { 's', S_IFSOCK },
};

char hp_snap_type_letter(uint32_t mode)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].type == (mode & S_IFMT))
			return types[i].letter;
	return 0;
}

uint32_t hp_snap_type_of(char letter)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].letter == letter)
			return types[i].type;
	return 0;
}

/* May it stand there as it is, with nothing behind it looked at? */
static inline bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '\\';
}

/* Bytes at the beginning of s that stand as they are. */
static size_t plain_length(const unsigned char *s, size_t len)
{
	size_t at = 0, n;

	for (;;) {
		while (at < len && is_plain(s[at]))
			at++;
		if (at == len || s[at] < 0x80)
			return at;
		n = hp_utf8_char(s + at, len - at);
		if (!n)
			return at;
		at += n;
	}
}

static size_t put_escape(unsigned char c, char *out)
{
	static const char digit[] = "0123456789abcdef";
	char letter = c == '\\' ? '\\' :
		      c == '\n' ? 'n' :
		      c == '\t' ? 't' :
				  'x';

	out[0] = '\\';
	out[1] = letter;
	if (letter != 'x')
		return 2;
	out[2] = digit[c >> 4];
	out[3] = digit[c & 15];
	return 4;
}

size_t hp_snap_escape(const char *text, size_t len, char *out)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + len;
	size_t done = 0;

	for (;;) {
		size_t n = plain_length(s, (size_t)(end - s));

		if (n)
			memcpy(out + done, s, n);
		done += n;
		s += n;
		if (s == end)
			return done;
		done += put_escape(*s++, out + done);
	}
}

/* Value of a digit as the dump writes it; -1: none. */
static int hex_value(unsigned char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
				      -1;
}

/* The escape at s to *out; returns its bytes, 0: it is none. */
static size_t take_escape(const unsigned char *s, size_t len, char *out)
{
	int high, low;

	if (len < 2 || s[0] != '\\')
		return 0;
	if (s[1] == '\\' || s[1] == 'n' || s[1] == 't') {
		*out = s[1] == 'n' ? '\n' : s[1] == 't' ? '\t' : '\\';
		return 2;
	}
	if (s[1] != 'x' || len < 4)
		return 0;
	high = hex_value(s[2]);
	low = hex_value(s[3]);
	if (high < 0 || low < 0 || !(high | low))
		return 0;
	*out = (char)(high << 4 | low);
	return 4;
}

ssize_t hp_snap_unescape(const char *text, size_t len, char *out,
			 const char **ret_bad)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + len;
	size_t done = 0;

	for (;;) {
		size_t n = plain_length(s, (size_t)(end - s));

		if (n)
			memmove(out + done, s, n);
		done += n;
		s += n;
		if (s == end)
			return (ssize_t)done;
		n = take_escape(s, (size_t)(end - s), out + done);
		if (!n) {
			*ret_bad = (const char *)s;
			return -1;
		}
		s += n;
		done++;
	}
}
