/* SPDX-License-Identifier: Apache-2.0 */
/* The names of archives. */
#include "base/archive_name.h"

#include <string.h>
#include <strings.h>

static const struct ending {
	const char *text;
	bool read; /* by other readers, as far as rules of theirs are known */
} endings[] = {
	{ ".tar", true },     { ".tar.gz", true },    { ".tgz", true },
	{ ".tar.bz2", true }, { ".tbz2", false },     { ".tbz", false },
	{ ".tar.xz", true },  { ".txz", false },      { ".tar.zst", true },
	{ ".tzst", false },   { ".zip", false },      { ".tar.lz", false },
	{ ".tlz", false },    { ".tar.lzma", false }, { ".7z", false },
};

/* The longest; NULL: it is called like none. */
static const struct ending *ending_of(const char *name, size_t len)
{
	const struct ending *best = NULL;

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t n = strlen(endings[i].text);

		if (n < len && name[len - n - 1] != '/' &&
		    !strncasecmp(name + len - n, endings[i].text, n) &&
		    (!best || n > strlen(best->text)))
			best = &endings[i];
	}
	return best;
}

size_t hp_archive_suffix(const char *name, size_t len)
{
	const struct ending *e = ending_of(name, len);

	return e ? strlen(e->text) : 0;
}

bool hp_archive_is_packed(const char *name, size_t len)
{
	const struct ending *e = ending_of(name, len);

	return e && e != endings;
}

bool hp_archive_is_read(const char *name, size_t len)
{
	const struct ending *e = ending_of(name, len);
	size_t n = e ? strlen(e->text) : 0;

	return e && e->read && !memcmp(name + len - n, e->text, n);
}
