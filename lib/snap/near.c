/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot has in place of a path that it has not, for a message. */
#include "snap/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/near.h"

#include <stdio.h>
#include <string.h>

enum { NAMES = 4096 };
_Static_assert(HPDSL_SNAPSHOT_NEAR >= HP_NEAR_TEXT + HP_PRINTABLE + 32,
	       "it has room for both");

/* The names of the folder, nearest to the first of path that is not there. */
static void list(const struct hpdsl_snapshot *s, uint64_t folder,
		 struct hp_near *near)
{
	struct hpdsl_entry e;
	uint64_t cursor = 0;

	for (int i = 0; i < NAMES; i++) {
		if (hpdsl_snapshot_readdir(s, folder, &cursor, &e, 1, NULL) <=
		    0)
			return;
		hp_near_add(near, e.name, e.name_len);
	}
	near->more = true;
}

/* The last folder of path that there is, and how many bytes of path it has. */
static size_t descend(const struct hpdsl_snapshot *s, const char *path,
		      size_t len, struct hpdsl_entry *e)
{
	size_t at = 0;

	while (at < len) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t n = slash ? (size_t)(slash - path) - at : len - at;
		struct hpdsl_entry in;

		if (hpdsl_snapshot_child(s, e->number, path + at, n, &in,
					 NULL) < 0 ||
		    !slash)
			break;
		*e = in;
		at += n + 1;
		if (!S_ISDIR(in.mode))
			break;
	}
	return at;
}

const char *hpdsl_snapshot_near(const struct hpdsl_snapshot *s,
				const char *path, size_t len,
				char buf[HPDSL_SNAPSHOT_NEAR])
{
	char shown[HP_PRINTABLE], text[HP_NEAR_TEXT];
	struct hpdsl_entry e = { .mode = 0 };
	struct hp_near near;
	const char *end;
	size_t at;

	*buf = '\0';
	if (hpdsl_snapshot_stat(s, 0, &e, NULL) < 0)
		return buf;
	at = descend(s, path, len, &e);
	hp_printable(path, at - (at > 0), shown);
	if (!S_ISDIR(e.mode)) {
		snprintf(buf, HPDSL_SNAPSHOT_NEAR, "'%s' is no folder", shown);
		return buf;
	}
	end = memchr(path + at, '/', len - at);
	hp_near_begin(&near, path + at,
		      end ? (size_t)(end - path) - at : len - at);
	list(s, e.number, &near);
	snprintf(buf, HPDSL_SNAPSHOT_NEAR, "%s%s%sthere %s", at ? "in '" : "",
		 at ? shown : "", at ? "' " : "",
		 near.n ? "is " : "is nothing");
	strcat(buf, near.n ? hp_near_list(&near, text) : "");
	return buf;
}
