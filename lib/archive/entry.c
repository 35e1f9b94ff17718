/* SPDX-License-Identifier: Apache-2.0 */
/* What a layer is at, in our words. */
#include "archive/private.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdio.h>
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

static void tell_half(struct hp_archive *a, const char *name, size_t n)
{
	char printed[HP_PRINTABLE], text[HP_PRINTABLE + 160];

	if (a->top->zip.told_half)
		return;
	a->top->zip.told_half = true;
	snprintf(text, sizeof text,
		 "names in no known encoding with a backslash that may be half "
		 "a letter, which is kept, first '%s': 'unzip -O CODEPAGE' "
		 "knows better",
		 hp_printable(name, n, printed));
	hp_archive_tell(a, text);
}

/* The path goes to its place, as the zip means it. */
static int fill_zip(struct hp_archive *a, struct hp_archive_entry *ret,
		    size_t *path_len, struct hpdsl_error *err)
{
	struct hp_zip_facts z;
	int r = hp_zip_facts(a->top, &z);

	if (r < 0)
		return hp_archive_fail(a, r, a->failed.msg, err);
	if (z.has_time) {
		ret->mtime = z.mtime;
		ret->nsec = 0;
	}
	ret->method = z.method;
	r = path_set(a, a->top->prefix_len, z.path, z.path_len, err);
	if (r < 0)
		return r;
	*path_len = z.path_len;
	if (hp_zip_part(&z, a->path + a->top->prefix_len, z.path_len))
		tell_half(a, z.path, z.path_len);
	/* libarchive does not know such names, but to have a slash at the end.
	 */
	if (ret->type == HP_ARCHIVE_FILE && !ret->size && z.path_len &&
	    a->path[a->top->prefix_len + z.path_len - 1] == '/')
		ret->type = HP_ARCHIVE_FOLDER;
	if (ret->type == HP_ARCHIVE_SYMLINK && z.target) {
		ret->target = z.target;
		ret->target_len = z.target_len;
	}
	ret->in_place = ret->in_place && z.stored;
	ret->has_crc = ret->in_place;
	ret->crc = z.crc;
	return 0;
}

/* They are UTF-16 there; and how a file is compressed nobody tells. */
static const char *name_of_seven(struct hp_archive_entry *ret,
				 struct archive_entry *e, size_t *len)
{
	const char *path = archive_entry_pathname_utf8(e);

	ret->method = UINT16_MAX;
	*len = path ? strlen(path) : 0;
	return path;
}

static int fail_encrypted(struct hp_archive *a,
			  const struct hp_archive_entry *e,
			  struct hpdsl_error *err)
{
	char name[HP_PRINTABLE], text[HP_PRINTABLE + 80];

	snprintf(text, sizeof text,
		 "member '%s' is encrypted: unpack it (7z x) and pack the tree",
		 hp_printable(e->path, e->path_len, name));
	return hp_archive_fail(a, -ENOTSUP, text, err);
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
	hp_headers_say(l, ret, &path, &len);
	ret->in_place = ret->type == HP_ARCHIVE_FILE && !ret->sparse &&
			!hp_headers_sparse(l) && !l->feed.seven &&
			l->feed.kind == HP_FEED_REGION && !l->feed.decoder;
	if (ret->type == HP_ARCHIVE_SYMLINK)
		set_target(ret, archive_entry_symlink(e));
	else if (ret->type == HP_ARCHIVE_HARDLINK)
		set_target(ret, archive_entry_hardlink(e));
	if (l->feed.seven)
		path = name_of_seven(ret, e, &len);
	if (!path && l->feed.seven)
		return hp_archive_fail(a, HPDSL_ECORRUPT, "a name is no text",
				       err);
	if (l->feed.zip)
		r = fill_zip(a, ret, &len, err);
	else
		r = path_set(a, l->prefix_len, path, len, err);
	if (r < 0)
		return r;
	ret->path = a->path;
	ret->path_len = l->prefix_len + len;
	if (size < 0)
		return hp_archive_fail(a, HPDSL_ECORRUPT, "a size is negative",
				       err);
	if (archive_entry_is_encrypted(e))
		return fail_encrypted(a, ret, err);
	if (ret->in_place &&
	    !hp_within(ret->offset - l->feed.base, ret->size, l->feed.len))
		return hp_archive_fail(a, HPDSL_ECORRUPT, "is cut off", err);
	return 0;
}
