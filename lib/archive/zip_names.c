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
	/* Of a record: */
	AT_SYSTEM = 5,
	AT_CRC = 16,
	AT_STORED = 20,
	AT_PLAIN = 24,
	AT_NAME_LEN = 28,
	AT_EXTRA_LEN = 30,
	AT_COMMENT_LEN = 32,
	AT_OFFSET = 42,
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

/*
 * What is too large for its field is in an extra one, in this order: size,
 * stored bytes, offset.  UINT64_MAX: it is not there either.
 */
static uint64_t get_large(const uint8_t *p, int field)
{
	static const uint8_t fields[] = { AT_PLAIN, AT_STORED, AT_OFFSET };
	const uint8_t *x = p + RECORD + hp_get16(p + AT_NAME_LEN);
	const uint8_t *end = x + hp_get16(p + AT_EXTRA_LEN);
	size_t at = 0;

	if (hp_get32(p + field) != UINT32_MAX)
		return hp_get32(p + field);
	for (int i = 0; fields[i] != field; i++)
		at += 8 * (size_t)(hp_get32(p + fields[i]) == UINT32_MAX);
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

uint64_t hp_zip_hash_slashes(const uint8_t *name, size_t n)
{
	uint8_t same[UINT16_MAX];

	for (size_t i = 0; i < n; i++)
		same[i] = name[i] == '\\' ? '/' : name[i];
	return hp_hash64(same, n);
}

static struct hp_zip_name get_name(const uint8_t *p, uint64_t shift)
{
	size_t n = hp_get16(p + AT_NAME_LEN);
	struct hp_zip_name name = {
		.offset = get_large(p, AT_OFFSET),
		.hash = hp_hash64(p + RECORD, n),
		.stored = get_large(p, AT_STORED),
		.size = hp_get32(p + AT_PLAIN),
		.crc = hp_get32(p + AT_CRC),
		.system = p[AT_SYSTEM],
	};

	name.offset = name.offset > UINT64_MAX - shift ? UINT64_MAX :
							 name.offset + shift;
	name.same = memchr(p + RECORD, '\\', n) ?
			    hp_zip_hash_slashes(p + RECORD, n) :
			    name.hash;
	return name;
}

int hp_zip_load_names(struct hp_layer *l)
{
	struct hpdsl_error *err = &l->feed.a->failed;
	struct hp_zip *z = &l->zip;
	hp_auto_free uint8_t *buf = NULL;
	const uint8_t *p;
	size_t n = 0;

	/* One that is too large, or not there, is believed. */
	if (!z->placed || z->size > LARGEST)
		return 0;
	buf = malloc((size_t)z->size + 1);
	if (!buf)
		return hp_fail_nomem(err);
	if (hp_feed_peek(&l->feed, buf, (size_t)z->size, z->begin) !=
	    (ssize_t)z->size)
		return err->code;
	z->names =
		hp_array(count_records(buf, (size_t)z->size), sizeof *z->names);
	if (!z->names)
		return hp_fail_nomem(err);
	p = buf;
	for (size_t len, left = (size_t)z->size; (len = record_length(p, left));
	     p += len, left -= len)
		z->names[n++] = get_name(p, z->shift);
	z->n_names = n;
	if (n)
		qsort(z->names, n, sizeof *z->names, by_offset);
	return 0;
}

const struct hp_zip_name *hp_zip_find_name(const struct hp_layer *l,
					   uint64_t offset)
{
	struct hp_zip_name key = { .offset = offset };

	if (!l->zip.n_names)
		return NULL;
	return bsearch(&key, l->zip.names, l->zip.n_names, sizeof key,
		       by_offset);
}
