/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of many members at once, for who asks for a million. */
#include "dataset/dataset.h"

#include "base/error.h"
#include "index/look.h"

#include <errno.h>
#include <inttypes.h>

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

/* So many of a sample's members from its first one to before end were files. */
struct counted {
	uint64_t sample, end, files;
};

/* Goes on from the one counted last, if it comes later in the same sample. */
static int count_files(const struct hp_index *ix, uint64_t sample, uint64_t end,
		       struct counted *c, struct hpdsl_error *err)
{
	if (c->sample != sample || c->end > end) {
		struct hp_sample_row row;
		int r = hp_index_sample_row(ix, sample, &row, err);

		if (r < 0)
			return r;
		if (end < row.first || end >= row.end)
			return hp_fail(err, HPDSL_ECORRUPT,
				       "sample %" PRIu64
				       " has no member %" PRIu64,
				       sample, end);
		*c = (struct counted){ sample, row.first, 0 };
	}
	for (; c->end < end; c->end++) {
		struct hpdsl_member m;
		int r = hp_index_place(ix, c->end, &m, err);

		if (r < 0)
			return r;
		c->files += !m.generated;
	}
	return 0;
}

int hpdsl_member_seats(const struct hpdsl_dataset *ds, const uint64_t *number,
		       size_t n, struct hpdsl_seat *ret,
		       struct hpdsl_error *err)
{
	struct counted c = { .sample = UINT64_MAX };

	for (size_t i = 0; i < n; i++) {
		struct hpdsl_member m;
		int r = hp_index_place(ds->index, number[i], &m, err);

		if (r == 0)
			r = count_files(ds->index, m.sample, number[i], &c,
					err);
		if (r < 0)
			return r;
		ret[i] = (struct hpdsl_seat){ m.sample, c.files };
	}
	return 0;
}
