/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry by its name in a folder: by its path, which takes as long in a
 * folder of a million names as in one of two.
 */
#include "snap/private.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int none(const char *name, size_t len, struct hpdsl_error *err)
{
	char buf[HP_PRINTABLE];

	if (!err)
		return -ENOENT;
	return hp_fail(err, -ENOENT, "no entry '%s'",
		       hp_printable(name, len, buf));
}

int hpdsl_snapshot_child(const struct hpdsl_snapshot *s, uint64_t folder,
			 const char *name, size_t name_len,
			 struct hpdsl_entry *ret, struct hpdsl_error *err)
{
	char path[2 * HPDSL_PATH_MAX + 2];
	struct hpdsl_entry e;
	size_t len;
	int r = hpdsl_snapshot_stat(s, folder, &e, err);

	if (r < 0)
		return r;
	if (!S_ISDIR(e.mode))
		return hp_fail(err, -ENOTDIR,
			       "%s: entry %" PRIu64 " is no folder",
			       s->file.name, folder);
	r = hpdsl_snapshot_path(s, folder, path, &len, err);
	if (r < 0)
		return r;
	if (!name_len || len + name_len + (len > 0) > HPDSL_PATH_MAX ||
	    memchr(name, '/', name_len))
		return none(name, name_len, err);
	if (len)
		path[len++] = '/';
	memcpy(path + len, name, name_len);
	return hpdsl_snapshot_lookup(s, path, len + name_len, ret, err);
}
