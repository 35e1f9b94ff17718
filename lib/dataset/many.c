/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of many members at once, for who asks for a million. */
#include "dataset/dataset.h"

#include "base/error.h"
#include "index/look.h"

#include <errno.h>

int64_t hpdsl_member_paths(const struct hpdsl_dataset *ds,
			   const uint64_t *number, size_t n, char *buf,
			   size_t room, struct hpdsl_error *err)
{
	size_t i, at = 0;

	for (i = 0; i < n; i++) {
		struct hpdsl_member m;
		int r = hp_index_member(ds->index, number[i], &m, err);

		if (r < 0)
			return r;
		if (m.path_len >= room - at)
			break;
		memcpy(buf + at, m.path, m.path_len);
		at += m.path_len;
		buf[at++] = '\0';
	}
	if (n && !i)
		return hp_fail(err, -ENOSPC, "%s: no room for a path",
			       ds->path);
	return (int64_t)i;
}

/* Members from first to the one before end that were files. */
static int count_files(const struct hp_index *ix, uint64_t first, uint64_t end,
		       uint64_t *ret, struct hpdsl_error *err)
{
	*ret = 0;
	for (uint64_t i = first; i < end; i++) {
		struct hpdsl_member m;
		int r = hp_index_place(ix, i, &m, err);

		if (r < 0)
			return r;
		*ret += !m.generated;
	}
	return 0;
}

int hpdsl_member_seats(const struct hpdsl_dataset *ds, const uint64_t *number,
		       size_t n, struct hpdsl_seat *ret,
		       struct hpdsl_error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct hp_sample_row row;
		struct hpdsl_member m;
		int r = hp_index_place(ds->index, number[i], &m, err);

		if (r == 0)
			r = hp_index_sample_row(ds->index, m.sample, &row, err);
		if (r == 0)
			r = count_files(ds->index, row.first, number[i],
					&ret[i].before, err);
		if (r < 0)
			return r;
		ret[i].sample = m.sample;
	}
	return 0;
}
