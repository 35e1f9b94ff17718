/* SPDX-License-Identifier: Apache-2.0 */
/* What a layer is at, in our words. */
#include "archive/private.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int path_set(struct hp_archive *a, size_t at, const char *s, size_t n,
		    struct hpdsl_error *err)
{
	if (a->path_cap < at + n + 2) {
		char *more = realloc(a->path, at + n + 258);

		if (!more)
			return hp_fail_nomem(err);
		a->path = more;
		a->path_cap = at + n + 258;
	}
	if (n)
		memcpy(a->path + at, s, n);
	a->path[at + n] = '\0';
	return 0;
}

static void set_target(struct hp_archive_entry *ret, const char *s)
{
	ret->target = s;
	ret->target_len = s ? strlen(s) : 0;
}

static int fill_zip(struct hp_archive *a, struct hp_archive_entry *ret,
		    const char **path, size_t *path_len,
		    struct hpdsl_error *err)
{
	struct hp_zip_facts z;
	int r = hp_zip_facts(a->top, &z);

	if (r < 0)
		return hp_archive_fail(a, r, a->failed.msg, err);
	if (z.has_time) {
		ret->mtime = z.mtime;
		ret->nsec = 0;
	}
	/* libarchive takes backslashes for slashes, whoever made the zip. */
	if (!*path || (!z.dos && memchr(z.path, '\\', z.path_len))) {
		*path = z.path;
		*path_len = z.path_len;
	}
	if (ret->type == HP_ARCHIVE_SYMLINK && z.target) {
		ret->target = z.target;
		ret->target_len = z.target_len;
	}
	ret->in_place = ret->in_place && z.stored;
	ret->has_crc = ret->in_place;
	ret->crc = z.crc;
	return 0;
}

/* The layer's entry as ours; its path behind the layer's folder. */
int hp_layer_entry(struct hp_archive *a, struct hp_archive_entry *ret,
		   struct hpdsl_error *err)
{
	struct hp_layer *l = a->top;
	struct archive_entry *e = l->entry;
	const char *path = archive_entry_pathname(e);
	size_t len = path ? strlen(path) : 0;
	int64_t size = archive_entry_size(e);
	int r = 0;

	*ret = (struct hp_archive_entry){
		.type = hp_entry_type(e),
		.inner_len = l->prefix_len,
		.size = size > 0 ? (uint64_t)size : 0,
		.mtime = archive_entry_mtime(e),
		.nsec = (uint32_t)archive_entry_mtime_nsec(e),
		.mode = archive_entry_perm(e) & 07777,
		.sparse = archive_entry_sparse_count(e) > 0,
		.offset = l->feed.base +
			  (uint64_t)archive_filter_bytes(l->reader, 0),
	};
	/* "-1.25" is -1 and .25 to libarchive. */
	if (ret->mtime < 0 && ret->nsec && ret->nsec < 1000000000) {
		ret->mtime--;
		ret->nsec = 1000000000 - ret->nsec;
	}
	ret->in_place = ret->type == HP_ARCHIVE_FILE && !ret->sparse &&
			!hp_headers_sparse(l) &&
			l->feed.kind == HP_FEED_REGION && !l->feed.decoder;
	if (ret->type == HP_ARCHIVE_SYMLINK)
		set_target(ret, archive_entry_symlink(e));
	else if (ret->type == HP_ARCHIVE_HARDLINK)
		set_target(ret, archive_entry_hardlink(e));
	if (l->feed.zip)
		r = fill_zip(a, ret, &path, &len, err);
	if (r == 0)
		r = path_set(a, l->prefix_len, path, len, err);
	if (r < 0)
		return r;
	ret->path = a->path;
	ret->path_len = l->prefix_len + len;
	if (size < 0)
		return hp_archive_fail(a, HPDSL_ECORRUPT, "a size is negative",
				       err);
	if (archive_entry_is_encrypted(e))
		return hp_archive_fail(a, -ENOTSUP, "is encrypted", err);
	if (ret->in_place &&
	    !hp_within(ret->offset - l->feed.base, ret->size, l->feed.len))
		return hp_archive_fail(a, HPDSL_ECORRUPT, "is cut off", err);
	return 0;
}
