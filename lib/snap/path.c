/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to one entry: its path, a link's target, a file's checksum. */
#include "snap/private.h"

#include "base/error.h"
#include "base/path.h"

#include <errno.h>
#include <inttypes.h>

int hpdsl_snapshot_path(const struct hpdsl_snapshot *s, uint64_t number,
			char *buf, size_t *ret_len, struct hpdsl_error *err)
{
	char path[HPDSL_PATH_MAX + 1]; /* is filled from its end */
	size_t at = sizeof path - 1, len;

	if (number >= s->info.entries)
		return hp_snap_out_of_range(s, number, err);
	path[at] = '\0';
	for (uint64_t i = number; i;) {
		const char *name = NULL;
		struct hp_snap_row row;

		if (hp_snap_row(s, i, &row, err))
			name = hp_snap_name(s, i, &row, err);
		if (!name)
			return HPDSL_ECORRUPT;
		if (i != number && !S_ISDIR(row.mode))
			return hp_snap_bad_entry(
				s, i, "holds others, but is no folder", err);
		len = row.name_len;
		if (len + (i != number) > at)
			return hp_snap_bad_entry(s, number,
						 "its path is too long", err);
		if (i != number)
			path[--at] = '/';
		at -= len;
		hp_copy_once(path + at, name, len);
		i = row.parent;
	}
	len = sizeof path - 1 - at;
	/* Of names that were changed since they were looked at? */
	if (number && !hp_path_valid(path + at, len))
		return hp_snap_bad_entry(s, number, "its path is impossible",
					 err);
	memcpy(buf, path + at, len + 1);
	*ret_len = len;
	return 0;
}

/* The entry's size says how long it is, also to who is given it. */
int hpdsl_snapshot_target(const struct hpdsl_snapshot *s,
			  const struct hpdsl_entry *e, const char **ret,
			  struct hpdsl_error *err)
{
	const uint8_t *target;
	struct hp_snap_row row;

	if (e->number >= s->info.entries)
		return hp_snap_out_of_range(s, e->number, err);
	if (!hp_snap_row(s, e->number, &row, err))
		return HPDSL_ECORRUPT;
	if (!S_ISLNK(row.mode))
		return hp_fail(err, -EINVAL,
			       "%s: entry %" PRIu64 " is no symbolic link",
			       s->file.name, e->number);
	if (row.size != e->size ||
	    row.size >= hp_snap_section(s, HP_SNAP_TARGETS)->length)
		return hp_snap_bad_entry(s, e->number,
					 "its target is impossible", err);
	target = hp_snap_bytes(s, HP_SNAP_TARGETS, row.link, row.size + 1, err);
	if (!target)
		return HPDSL_ECORRUPT;
	if (target[row.size] || memchr(target, '\0', row.size))
		return hp_snap_bad_entry(s, e->number,
					 "its target is impossible", err);
	*ret = (const char *)target;
	return 0;
}

int hpdsl_snapshot_checksum(const struct hpdsl_snapshot *s,
			    const struct hpdsl_entry *e, uint64_t *ret,
			    struct hpdsl_error *err)
{
	const uint8_t *row;

	if (e->member >= s->members)
		return hp_fail(err, -ENODATA,
			       "%s: entry %" PRIu64 " has no checksum",
			       s->file.name, e->number);
	row = hp_snap_bytes(s, HP_SNAP_CHECKSUMS, e->member * 8, 8, err);
	if (!row)
		return HPDSL_ECORRUPT;
	*ret = hp_get64(row);
	return 0;
}
