/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/json_field.h"

#include <string.h>

struct json {
	const char *at, *end;
};

static char next(const struct json *j)
{
	return j->at < j->end ? *j->at : '\0';
}

/* Past blanks; is c the next character?  Then past that, too. */
static bool take(struct json *j, char c)
{
	while (j->at < j->end && strchr(" \t\r\n", *j->at))
		j->at++;
	if (next(j) != c || j->at == j->end)
		return false;
	j->at++;
	return true;
}

static bool take_hex(struct json *j, uint32_t *ret)
{
	static const char digits[] = "0123456789abcdef";

	*ret = 0;
	for (int i = 0; i < 4; i++, j->at++) {
		const char *d = next(j) ? strchr(digits, next(j) | 0x20) : NULL;

		if (!d || (*d >= '0' && *d <= '9' && *d != next(j)))
			return false;
		*ret = *ret << 4 | (uint32_t)(d - digits);
	}
	return true;
}

static void add_utf8(struct hp_text *ret, uint32_t c)
{
	char b[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		b[i] = (char)(0x80 | (c & 0x3f));
	b[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xf0u) | c);
	hp_text_add(ret, b, n);
}

/* Behind "\u"; what has no character, alone or at all, is refused. */
static bool take_unicode(struct json *j, struct hp_text *ret)
{
	uint32_t c, low;

	if (!take_hex(j, &c) || c == 0 || (c >= 0xdc00 && c < 0xe000))
		return false;
	if (c >= 0xd800 && c < 0xdc00) {
		if (j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u')
			return false;
		j->at += 2;
		if (!take_hex(j, &low) || low < 0xdc00 || low >= 0xe000)
			return false;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	add_utf8(ret, c);
	return true;
}

static bool take_escape(struct json *j, struct hp_text *ret)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *e = next(j) ? strchr(from, next(j)) : NULL;

	j->at += j->at < j->end;
	if (e)
		hp_text_add(ret, &to[e - from], 1);
	return e || (j->at[-1] == 'u' && take_unicode(j, ret));
}

/* Behind the opening quote.  ret is emptied before. */
static bool take_string(struct json *j, struct hp_text *ret)
{
	ret->n = 0;
	for (;;) {
		const char *from = j->at;

		while (j->at < j->end && *j->at && *j->at != '"' &&
		       *j->at != '\\')
			j->at++;
		hp_text_add(ret, from, (size_t)(j->at - from));
		if (!next(j))
			return false;
		if (*j->at++ == '"')
			return true;
		if (!take_escape(j, ret))
			return false;
	}
}

/* A word or number, to what may stand behind it; *ret has it. */
static bool take_word(struct json *j, struct hp_text *ret)
{
	const char *from = j->at;

	while (j->at < j->end && !strchr(" \t\r\n,:]}[{\"", *j->at))
		j->at++;
	ret->n = 0;
	hp_text_add(ret, from, (size_t)(j->at - from));
	return j->at > from;
}

/* A list or an object, past its end; scratch is used up. */
static bool skip_nested(struct json *j, struct hp_text *scratch)
{
	size_t depth = 0;

	while (j->at < j->end) {
		char c = *j->at++;

		if (c == '"' && !take_string(j, scratch))
			return false;
		depth += c == '[' || c == '{';
		depth -= c == ']' || c == '}';
		if (!depth)
			return true;
	}
	return false;
}

static bool is_whole(const struct hp_text *t)
{
	size_t i = t->n && t->p[0] == '-', first = i;

	while (i < t->n && t->p[i] >= '0' && t->p[i] <= '9')
		i++;
	return i == t->n && i > first && (t->p[first] != '0' || i == first + 1);
}

/* Any value; *is: it is one that *ret has now. */
static bool take_value(struct json *j, struct hp_text *ret, bool *is)
{
	*is = false;
	if (take(j, '"')) {
		if (!take_string(j, ret))
			return false;
		*is = ret->n > 0;
		return true;
	}
	if (next(j) == '[' || next(j) == '{')
		return skip_nested(j, ret);
	if (!take_word(j, ret))
		return false;
	*is = is_whole(ret);
	return true;
}

static bool find(struct json *j, const char *field, struct hp_text *ret,
		 struct hp_text *scratch)
{
	bool found = false, is;

	if (!take(j, '{'))
		return false;
	if (take(j, '}'))
		return false;
	do {
		bool wanted;

		if (!take(j, '"') || !take_string(j, scratch) || !take(j, ':'))
			return false;
		/* An empty text has no bytes to point at. */
		wanted =
			scratch->n == strlen(field) &&
			(!scratch->n || !memcmp(scratch->p, field, scratch->n));
		if (!take_value(j, wanted ? ret : scratch, &is))
			return false;
		if (wanted)
			found = is;
	} while (take(j, ','));
	return take(j, '}') && found;
}

bool hp_json_field(const char *s, size_t n, const char *field,
		   struct hp_text *ret)
{
	struct json j = { s, s + n };
	struct hp_text scratch = { 0 };
	bool found;

	if (n >= 3 && !memcmp(s, "\xef\xbb\xbf", 3))
		j.at += 3;
	found = find(&j, field, ret, &scratch);
	ret->failed |= scratch.failed;
	hp_text_release(&scratch);
	return found && !ret->failed;
}
