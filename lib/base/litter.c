/* SPDX-License-Identifier: Apache-2.0 */
/* The list of litter, as a table. */
#include "base/litter.h"

#include <stdio.h>
#include <string.h>

enum tail { NOTHING, DIGITS, HEX24, TWIN };

static const struct row {
	const char *name; /* or how it begins */
	const char *shown;
	bool is_folder, top;
	enum tail tail; /* what follows */
} rows[] = {
	{ "__MACOSX", "__MACOSX/", true, false, NOTHING },
	[HPDSL_LITTER_TWIN] = { "._", "._*", false, false, TWIN },
	{ ".DS_Store", ".DS_Store", false, false, NOTHING },
	{ "Thumbs.db", "Thumbs.db", false, false, NOTHING },
	{ "desktop.ini", "desktop.ini", false, false, NOTHING },
	{ ".nfs", ".nfs*", false, false, HEX24 },
	{ "PaxHeaders.", "PaxHeaders.*/", true, false, DIGITS },
	{ "lost+found", "/lost+found/", true, true, NOTHING },
	{ ".Trash-", "/.Trash-*/", true, true, DIGITS },
	{ "$RECYCLE.BIN", "/$RECYCLE.BIN/", true, true, NOTHING },
	{ "System Volume Information", "/System Volume Information/", true,
	  true, NOTHING },
	{ "@eaDir", "@eaDir/", true, false, NOTHING },
	{ ".ipynb_checkpoints", ".ipynb_checkpoints/", true, false, NOTHING },
	{ ".snapshot", ".snapshot/", true, false, NOTHING },
	{ ".snapshots", ".snapshots/", true, false, NOTHING },
	{ ".zfs", ".zfs/", true, false, NOTHING },
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Of millions of names hardly one begins so. */
static bool may_begin(char c)
{
	switch (c) {
	case '.':
	case '_':
	case '@':
	case '$':
	case 'P':
	case 'S':
	case 'T':
	case 'd':
	case 'l':
		return true;
	default:
		return false;
	}
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool all(const char *s, size_t n, bool (*is)(char))
{
	for (size_t i = 0; i < n; i++)
		if (!is(s[i]))
			return false;
	return n > 0;
}

/* The n bytes behind the name of the row. */
static bool fits(enum tail tail, const char *s, size_t n)
{
	switch (tail) {
	case DIGITS:
		return all(s, n, is_digit);
	case HEX24:
		return n == 24 && all(s, n, is_hex);
	case TWIN:
		/* Neither "." nor "..", which are always there. */
		return n > 0 &&
		       !(s[0] == '.' && (n == 1 || (n == 2 && s[1] == '.')));
	default:
		return n == 0;
	}
}

int hpdsl_litter_name(const char *name, size_t len, bool is_folder, bool at_top)
{
	if (!len || !may_begin(*name))
		return -1;
	for (int i = 0; i < ROWS; i++) {
		const struct row *r = &rows[i];
		size_t n = strlen(r->name);

		if (r->is_folder == is_folder && (at_top || !r->top) &&
		    len >= n && !memcmp(name, r->name, n) &&
		    fits(r->tail, name + n, len - n))
			return i;
	}
	return -1;
}

int hp_litter_path(const char *path, size_t len, bool is_folder)
{
	size_t begin = 0, end;
	int row = -1;

	for (; row < 0 && begin < len; begin = end + 1) {
		const char *slash = memchr(path + begin, '/', len - begin);

		end = slash ? (size_t)(slash - path) : len;
		row = hpdsl_litter_name(path + begin, end - begin,
					slash || is_folder, begin == 0);
	}
	return row;
}

const char *hpdsl_litter_text(unsigned kinds, char ret[HPDSL_LITTER_TEXT])
{
	size_t n = 0;

	*ret = '\0';
	for (int i = 0; i < ROWS; i++)
		if (kinds & 1u << i)
			n += (size_t)snprintf(ret + n, HPDSL_LITTER_TEXT - n,
					      "%s%s", n ? " " : "",
					      rows[i].shown);
	return ret;
}

_Static_assert(ROWS <= 32, "they are bits of struct hpdsl_litter");
