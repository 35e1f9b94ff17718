/* SPDX-License-Identifier: Apache-2.0 */
/* What there is beside what there is not. */
#include "index/beside.h"

#include "index/look.h"

#include <stdio.h>
#include <string.h>

enum {
	SAMPLES = 1000000,
	MEMBERS = 4096,
};

/* ---- A folder --------------------------------------------------------- */

/* How much of both is alike, to the end of a component; a folder's path has no
 * slash at its end. */
static size_t alike(const char *folder, size_t len, const char *path,
		    size_t path_len)
{
	size_t n = 0;

	for (size_t i = 0; i <= len && i < path_len; i++) {
		if (path[i] != (i < len ? folder[i] : '/'))
			break;
		if (path[i] == '/')
			n = i + 1;
	}
	return n;
}

static int first_path(const struct hp_index *ix, uint64_t sample,
		      struct hp_index_look *ret)
{
	struct hp_sample_row row;
	int r = hp_index_sample_row(ix, sample, &row, NULL);

	return r < 0 ? r : hp_index_look(ix, row.first, ret, NULL);
}

/* The folders there are, and where in the path the first part begins that
 * there is not. */
static size_t look_beside(const struct hp_index *ix, const char *folder,
			  size_t len, struct hp_near *near)
{
	struct hpdsl_counts n;
	size_t there = 0;

	hp_index_count(ix, &n);
	for (uint64_t s = 0; s < n.samples && s < SAMPLES; s++) {
		struct hp_index_look m;
		const char *name, *slash;
		size_t same;

		if (first_path(ix, s, &m) < 0)
			continue;
		same = alike(folder, len, m.path, m.path_len);
		if (same < there)
			continue;
		if (same > there || !s)
			hp_near_begin(near, folder + same,
				      same < len ? len - same : 0);
		there = same;
		name = m.path + there;
		slash = memchr(name, '/', m.path_len - there);
		if (slash)
			hp_near_add(near, name, (size_t)(slash - name));
	}
	return there;
}

const char *hp_index_beside(const struct hp_index *ix, const char *folder,
			    size_t len, char buf[HP_BESIDE])
{
	char shown[HP_PRINTABLE], text[HP_NEAR_TEXT];
	struct hp_near near;
	const char *list;
	size_t there;

	hp_near_begin(&near, folder, len);
	there = look_beside(ix, folder, len, &near);
	list = near.n ? hp_near_list(&near, text) : "no folders";
	if (there)
		snprintf(buf, HP_BESIDE, "in '%s' there are %s",
			 hp_printable(folder, there - 1, shown), list);
	else
		snprintf(buf, HP_BESIDE, "there are %s", list);
	return buf;
}

/* ---- A member --------------------------------------------------------- */

/* Someone may have put the folder in front that the dataset lies in. */
static bool add_rest(const struct hp_index *ix, const char *path, size_t len,
		     struct hp_near *near)
{
	for (size_t i = 0; i + 1 < len && i < HPDSL_PATH_MAX; i++) {
		uint64_t number;

		if (path[i] != '/' ||
		    hp_index_find(ix, path + i + 1, len - i - 1, &number,
				  NULL) < 0)
			continue;
		hp_near_add(near, path + i + 1, len - i - 1);
		return true;
	}
	return false;
}

static void add_members(const struct hp_index *ix, struct hp_near *near)
{
	struct hpdsl_counts n;
	struct hp_index_look m;

	hp_index_count(ix, &n);
	for (uint64_t i = 0; i < n.members && i < MEMBERS; i++)
		if (hp_index_look(ix, i, &m, NULL) == 0 && !m.generated)
			hp_near_add(near, m.path, m.path_len);
	near->more |= n.members > MEMBERS;
}

void hp_index_tell_near(const struct hp_index *ix, const char *path, size_t len,
			struct hpdsl_error *err)
{
	size_t at = err ? strlen(err->msg) : 0;
	char text[HP_NEAR_TEXT];
	struct hp_near near;

	if (!err)
		return;
	hp_near_begin(&near, path, len);
	if (!add_rest(ix, path, len, &near))
		add_members(ix, &near);
	/* three say how paths look */
	if (near.n > 3) {
		near.n = 3;
		near.more = true;
	}
	if (near.n)
		snprintf(err->msg + at, sizeof err->msg - at, "; there %s %s",
			 near.n > 1 || near.more ? "are" : "is",
			 hp_near_list(&near, text));
}
