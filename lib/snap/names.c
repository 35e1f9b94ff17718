/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a folder in one piece, for languages in which one long string is
 * made and cut in less time than many short ones are made.
 */
#include "snap/private.h"

#include "base/error.h"

static int add(const struct hpdsl_snapshot *s, uint64_t folder, uint64_t number,
	       struct hpdsl_name_list *names, struct hpdsl_error *err)
{
	struct hp_snap_row row;
	uint8_t *type = &names->types[number - names->first];

	if (!hp_snap_row(s, number, &row, err))
		return HPDSL_ECORRUPT;
	if (row.parent != folder)
		return hp_snap_bad_entry(s, number, "is in two folders", err);
	if (names->room - names->used <= row.name_len)
		return 0;
	if (!hp_snap_copy_name(s, number, &row, names->buf + names->used, err))
		return HPDSL_ECORRUPT;
	*type = (uint8_t)(row.mode >> 12);
	names->used += row.name_len + 1u;
	return 1;
}

int64_t hpdsl_snapshot_names(const struct hpdsl_snapshot *s, uint64_t folder,
			     uint64_t *cursor, struct hpdsl_name_list *names,
			     struct hpdsl_error *err)
{
	uint64_t first, n, end, i = 0;
	int r = hpdsl_snapshot_folder(s, folder, &first, &n, &end, err);

	if (r < 0)
		return r;
	if (names->room <= HPDSL_PATH_MAX || !names->most)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: no room for a name of %d bytes",
			       s->file.name, HPDSL_PATH_MAX);
	names->total = n;
	names->used = 0;
	if (*cursor >= n)
		return 0;
	names->first = first + *cursor;
	n -= *cursor;
	for (r = 1; i < n && i < names->most; i++) {
		r = add(s, folder, names->first + i, names, err);
		if (r <= 0)
			break;
	}
	if (r < 0)
		return r;
	*cursor += i;
	return (int64_t)i;
}
