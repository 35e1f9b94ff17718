/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that end at the last dot, but for suffixes that are double. */
#include "base/key.h"

#include <string.h>

/* What may stand before a compressor's suffix: as "nii", "tar", "json". */
enum { PACKED_MAX = 8 };

static const char *const compressors[] = { "gz",  "bz2", "xz",	 "zst",
					   "lz4", "br",	 "lzma", "Z" };

size_t hp_without_compressor(const char *s, size_t len)
{
	const char *dot = memrchr(s, '.', len);
	size_t n = dot ? len - (size_t)(dot + 1 - s) : 0;

	for (size_t i = 0; dot && i < sizeof compressors / sizeof *compressors;
	     i++)
		if (strlen(compressors[i]) == n &&
		    !memcmp(dot + 1, compressors[i], n))
			return (size_t)(dot - s);
	return len;
}

static bool is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_packed(const char *s, size_t len)
{
	if (len < 1 || len > PACKED_MAX || !is_letter(*s))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!is_letter(s[i]) && (s[i] < '0' || s[i] > '9'))
			return false;
	return true;
}

/* Where the suffix of a base name without leading dots begins: at its dot. */
static size_t last_dot(const char *s, size_t len)
{
	size_t end = hp_without_compressor(s, len);
	const char *dot = memrchr(s, '.', len), *before;

	if (!dot || end == len)
		return dot ? (size_t)(dot - s) : len;
	before = memrchr(s, '.', end);
	if (before && is_packed(before + 1, end - (size_t)(before + 1 - s)))
		dot = before;
	return (size_t)(dot - s);
}

/* The longest declared suffix that s ends in, with its dot, and more before. */
static size_t longest_double(const struct hp_key_rule *rule, const char *s,
			     size_t len)
{
	size_t most = 0;

	for (uint32_t i = 0; i < rule->n; i++) {
		size_t n = strlen(rule->doubles[i]);

		if (n > most && n + 1 < len && s[len - n - 1] == '.' &&
		    !memcmp(s + len - n, rule->doubles[i], n))
			most = n;
	}
	return most;
}

size_t hp_key_length(const struct hp_key_rule *rule, const char *path,
		     size_t len)
{
	const char *slash;
	size_t at, key, declared;

	if (!rule->last)
		return hpdsl_key_length(path, len);
	slash = memrchr(path, '/', len);
	at = slash ? (size_t)(slash - path) + 1 : 0;
	while (at < len && path[at] == '.')
		at++;
	key = at + last_dot(path + at, len - at);
	declared = longest_double(rule, path + at, len - at);
	/* The longer suffix counts. */
	return declared && len - declared - 1 < key ? len - declared - 1 : key;
}

bool hp_double_valid(const char *s, size_t len)
{
	return len >= 3 && len <= HP_DOUBLE_MAX && *s != '.' &&
	       s[len - 1] != '.' && memchr(s, '.', len) &&
	       !memchr(s, '/', len) && !memchr(s, '\0', len);
}

bool hp_key_rule_same(const struct hp_key_rule *a, const struct hp_key_rule *b)
{
	if (a->last != b->last || a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (strcmp(a->doubles[i], b->doubles[i]) != 0)
			return false;
	return true;
}
