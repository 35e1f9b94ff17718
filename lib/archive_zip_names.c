/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names in a zip's directory, to be compared with those in front of the
 * contents, which are the ones that libarchive goes by: other programs go by
 * the directory, and a zip must not be two things.
 */
#include "archive_private.h"

#include "bytes.h"
#include "hash.h"
#include "mem.h"

#include <string.h>

enum {
	RECORD = 46,
	LARGEST = 64 << 20, /* directory that is looked at */
	/* Of the record at the end: */
	AT_SIZE = 12,
	AT_BEGIN = 16,
	/* Of a record: */
	AT_NAME_LEN = 28,
	AT_EXTRA_LEN = 30,
	AT_COMMENT_LEN = 32,
	AT_OFFSET = 42,
};

struct hp_zip_name {
	uint32_t offset; /* of the member's header */
	uint64_t hash;	 /* XXH3-64 of the name */
};

static int by_offset(const void *a, const void *b)
{
	const struct hp_zip_name *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Length of the record at p, or 0: there is none. */
static size_t record_length(const uint8_t *p, size_t n)
{
	size_t len = RECORD;

	if (n < RECORD || memcmp(p, "PK\1\2", 4))
		return 0;
	len += (size_t)hp_get16(p + AT_NAME_LEN) + hp_get16(p + AT_EXTRA_LEN) +
	       hp_get16(p + AT_COMMENT_LEN);
	return len <= n ? len : 0;
}

static size_t count_records(const uint8_t *p, size_t n)
{
	size_t count = 0;

	for (size_t len; (len = record_length(p, n)); p += len, n -= len)
		count++;
	return count;
}

int hp_zip_load_names(struct hp_layer *l, const uint8_t *end)
{
	uint32_t size = hp_get32(end + AT_SIZE), at = hp_get32(end + AT_BEGIN);
	struct hpdsl_error *err = &l->feed.a->failed;
	hp_auto_free uint8_t *buf = NULL;
	const uint8_t *p;
	size_t n = 0;

	/* A directory that is elsewhere, in a zip64, is believed. */
	if (size > LARGEST || !hp_within(at, size, l->feed.len))
		return 0;
	buf = malloc((size_t)size + 1);
	if (!buf)
		return hp_fail_nomem(err);
	if (hp_feed_peek(&l->feed, buf, size, at) != (ssize_t)size)
		return err->code;
	l->names = hp_array(count_records(buf, size), sizeof *l->names);
	if (!l->names)
		return hp_fail_nomem(err);
	p = buf;
	for (size_t len, left = size; (len = record_length(p, left));
	     p += len, left -= len)
		l->names[n++] = (struct hp_zip_name){
			.offset = hp_get32(p + AT_OFFSET),
			.hash = hp_hash64(p + RECORD,
					  hp_get16(p + AT_NAME_LEN)),
		};
	l->n_names = n;
	if (n)
		qsort(l->names, n, sizeof *l->names, by_offset);
	return 0;
}

bool hp_zip_same_name(const struct hp_layer *l, uint64_t offset,
		      const uint8_t *name, size_t len)
{
	struct hp_zip_name key = { .offset = (uint32_t)offset };
	const struct hp_zip_name *found = NULL;

	if (offset < UINT32_MAX && l->n_names)
		found = bsearch(&key, l->names, l->n_names, sizeof key,
				by_offset);
	return !found || found->hash == hp_hash64(name, len);
}
