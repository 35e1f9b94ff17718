/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names in a zip's directory, to be compared with those in front of the
 * contents, which are the ones that libarchive goes by: other programs go by
 * the directory, and a zip must not be two things.
 */
#include "archive/private.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

enum {
	RECORD = 46,
	LARGEST = 64 << 20, /* directory that is looked at */
	/* Of the record at the end: */
	AT_SIZE = 12,
	AT_BEGIN = 16,
	/* Of a record: */
	AT_SYSTEM = 5,
	AT_CRC = 16,
	AT_STORED = 20,
	AT_PLAIN = 24,
	AT_NAME_LEN = 28,
	AT_EXTRA_LEN = 30,
	AT_COMMENT_LEN = 32,
	AT_OFFSET = 42,
	/* Of a zip64, before that record: */
	LOCATOR = 20,
	AT_END64 = 8,
	END64 = 56,
	AT_SIZE64 = 40,
	AT_BEGIN64 = 48,
	EXTRA_ZIP64 = 1,
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

/* Where it is: of a zip64 another record says so. */
static int find_directory(struct hp_layer *l, const uint8_t *end, uint64_t *at,
			  uint64_t *size)
{
	struct hp_archive *a = l->feed.a;
	uint8_t more[END64];

	*size = hp_get32(end + AT_SIZE);
	*at = hp_get32(end + AT_BEGIN);
	if (end - a->window < LOCATOR || memcmp(end - LOCATOR, "PK\6\7", 4))
		return 0;
	if (hp_feed_peek(&l->feed, more, END64,
			 hp_get64(end - LOCATOR + AT_END64)) == END64 &&
	    !memcmp(more, "PK\6\6", 4)) {
		*size = hp_get64(more + AT_SIZE64);
		*at = hp_get64(more + AT_BEGIN64);
	}
	return a->failed.code;
}

/* Of the member's header; what is too large for its field is in an extra one,
 * behind the sizes that are. */
static uint64_t get_offset(const uint8_t *p)
{
	const uint8_t *x = p + RECORD + hp_get16(p + AT_NAME_LEN);
	const uint8_t *end = x + hp_get16(p + AT_EXTRA_LEN);
	size_t at = 8 * ((size_t)(hp_get32(p + AT_STORED) == UINT32_MAX) +
			 (hp_get32(p + AT_PLAIN) == UINT32_MAX));

	if (hp_get32(p + AT_OFFSET) != UINT32_MAX)
		return hp_get32(p + AT_OFFSET);
	while (end - x >= 4) {
		size_t n = hp_get16(x + 2);

		if (n > (size_t)(end - x) - 4)
			break;
		if (hp_get16(x) == EXTRA_ZIP64 && n >= at + 8)
			return hp_get64(x + 4 + at);
		x += 4 + n;
	}
	return UINT64_MAX;
}

int hp_zip_load_names(struct hp_layer *l, const uint8_t *end)
{
	struct hpdsl_error *err = &l->feed.a->failed;
	uint64_t at, size;
	hp_auto_free uint8_t *buf = NULL;
	const uint8_t *p;
	size_t n = 0;

	if (find_directory(l, end, &at, &size) < 0)
		return err->code;
	/* One that is too large, or not there, is believed. */
	if (size > LARGEST || !hp_within(at, size, l->feed.len))
		return 0;
	buf = malloc((size_t)size + 1);
	if (!buf)
		return hp_fail_nomem(err);
	if (hp_feed_peek(&l->feed, buf, (size_t)size, at) != (ssize_t)size)
		return err->code;
	l->names = hp_array(count_records(buf, (size_t)size), sizeof *l->names);
	if (!l->names)
		return hp_fail_nomem(err);
	p = buf;
	for (size_t len, left = (size_t)size; (len = record_length(p, left));
	     p += len, left -= len)
		l->names[n++] = (struct hp_zip_name){
			.offset = get_offset(p),
			.hash = hp_hash64(p + RECORD,
					  hp_get16(p + AT_NAME_LEN)),
			.stored = hp_get32(p + AT_STORED),
			.size = hp_get32(p + AT_PLAIN),
			.crc = hp_get32(p + AT_CRC),
			.system = p[AT_SYSTEM],
		};
	l->n_names = n;
	if (n)
		qsort(l->names, n, sizeof *l->names, by_offset);
	return 0;
}

const struct hp_zip_name *hp_zip_find_name(const struct hp_layer *l,
					   uint64_t offset)
{
	struct hp_zip_name key = { .offset = offset };

	if (!l->n_names)
		return NULL;
	return bsearch(&key, l->names, l->n_names, sizeof key, by_offset);
}
