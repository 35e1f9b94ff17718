/* SPDX-License-Identifier: Apache-2.0 */
/* Which names end in one of some suffixes. */
#include "base/suffix.h"

#include <endian.h>
#include <string.h>

enum { AT_ONCE = 8 };

static bool is_small(char c)
{
	return c >= 'a' && c <= 'z';
}

static char small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

struct hp_suffix hp_suffix(const char *text)
{
	struct hp_suffix s = { .text = text, .len = strlen(text) };

	for (size_t i = 0; i < s.len; i++) {
		s.is = s.is << 8 | (unsigned char)text[i];
		s.fold = s.fold << 8 | (is_small(text[i]) ? 0x20 : 0);
		s.mask = s.mask << 8 | 0xff;
		if (s.len > AT_ONCE || small(text[i]) != text[i]) {
			s.mask = 0;
			break;
		}
	}
	return s;
}

static bool ends_in(const char *name, size_t len, const struct hp_suffix *s)
{
	if (s->len > len)
		return false;
	for (size_t i = 1; i <= s->len; i++)
		if (small(name[len - i]) != s->text[s->len - i])
			return false;
	return true;
}

bool hp_has_suffix(const char *path, size_t path_len, size_t len,
		   const struct hp_suffix *suffix, size_t n)
{
	const char *end = path + path_len;
	bool at_once = path_len >= AT_ONCE;
	uint64_t tail = 0;

	if (at_once) {
		memcpy(&tail, end - AT_ONCE, AT_ONCE);
		tail = be64toh(tail);
	}
	for (size_t i = 0; i < n; i++) {
		const struct hp_suffix *s = &suffix[i];

		if (!at_once || !s->mask) {
			if (ends_in(end - len, len, s))
				return true;
		} else if (((tail | s->fold) & s->mask) == s->is &&
			   s->len <= len) {
			return true;
		}
	}
	return false;
}
