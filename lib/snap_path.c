/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to one entry: its path, a link's target, a file's checksum. */
#include "snap_private.h"

#include "error.h"

#include <errno.h>
#include <inttypes.h>

int hp_snap_path(const struct hp_snap *s, uint64_t number, char *buf,
		 size_t *ret_len, struct hpdsl_error *err)
{
	char path[HPDSL_PATH_MAX + 1]; /* is filled from its end */
	size_t at = sizeof path - 1, len;

	if (number >= s->info.entries)
		return hp_snap_out_of_range(s, number, err);
	path[at] = '\0';
	for (uint64_t i = number; i;) {
		const uint8_t *row = hp_snap_row(s, i, err);
		const char *name = row ? hp_snap_name(s, i, row, err) : NULL;

		if (!name)
			return HPDSL_ECORRUPT;
		if (i != number && !S_ISDIR(hp_row_mode(row)))
			return hp_snap_bad_entry(
				s, i, "holds others, but is no folder", err);
		len = hp_row_name_len(row);
		if (len + (i != number) > at)
			return hp_snap_bad_entry(s, number,
						 "its path is too long", err);
		if (i != number)
			path[--at] = '/';
		at -= len;
		memcpy(path + at, name, len);
		i = hp_row_parent(row);
	}
	len = sizeof path - 1 - at;
	memcpy(buf, path + at, len + 1);
	*ret_len = len;
	return 0;
}

int hp_snap_target(const struct hp_snap *s, const struct hpdsl_entry *e,
		   const char **ret, struct hpdsl_error *err)
{
	const uint8_t *row, *target;
	uint64_t size;

	if (e->number >= s->info.entries)
		return hp_snap_out_of_range(s, e->number, err);
	row = hp_snap_row(s, e->number, err);
	if (!row)
		return HPDSL_ECORRUPT;
	if (!S_ISLNK(hp_row_mode(row)))
		return hp_fail(err, -EINVAL,
			       "%s: entry %" PRIu64 " is no symbolic link",
			       s->file.name, e->number);
	size = hp_get64(row);
	if (size >= hp_snap_section(s, HP_SNAP_TARGETS)->length)
		return hp_snap_bad_entry(s, e->number,
					 "its target is impossible", err);
	target = hp_snap_bytes(s, HP_SNAP_TARGETS, hp_row_link(row), size + 1,
			       err);
	if (!target)
		return HPDSL_ECORRUPT;
	if (target[size] || memchr(target, '\0', size))
		return hp_snap_bad_entry(s, e->number,
					 "its target is impossible", err);
	*ret = (const char *)target;
	return 0;
}

int hp_snap_checksum(const struct hp_snap *s, const struct hpdsl_entry *e,
		     uint64_t *ret, struct hpdsl_error *err)
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
