/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a zip, which says where its directory is: found as other readers
 * find it, behind a comment of any length.  libarchive is handed the zip
 * without the comment, and with Windows Explorer's locator made right: both
 * would be damage to it.
 */
#include "archive/private.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

enum {
	END = 22,
	COMMENT_MAX = 65535,
	LOCATOR = 20,
	END64 = 56,
	/* Of the record at the end: */
	AT_DISK_END = 4,
	AT_COUNT = 10,
	AT_SIZE = 12,
	AT_BEGIN = 16,
	/* Of a zip64's locator, before it: */
	AT_DISK = 4,
	AT_END64 = 8,
	AT_DISKS = 16,
	/* Of a zip64's record: */
	AT_LENGTH64 = 4,
	AT_COUNT64 = 32,
	AT_SIZE64 = 40,
	AT_BEGIN64 = 48,
};

/* Of the last record of this kind, UINT64_MAX without one; *ret is a copy. */
static uint64_t find_end(struct hp_layer *l, uint8_t ret[END])
{
	struct hp_feed *f = &l->feed;
	uint64_t n = f->len < COMMENT_MAX + END ? f->len : COMMENT_MAX + END;
	hp_auto_free uint8_t *tail = malloc((size_t)n + 1);
	uint64_t at = UINT64_MAX;

	if (!tail) {
		hp_fail_nomem(&f->a->failed);
		return at;
	}
	if (hp_feed_peek(f, tail, (size_t)n, f->len - n) != (ssize_t)n)
		n = 0;
	for (size_t i = n < END ? 0 : (size_t)n - END + 1; i-- > 0;)
		if (!memcmp(tail + i, "PK\5\6", 4)) {
			memcpy(ret, tail + i, END);
			at = f->len - n + i;
			break;
		}
	return at;
}

bool hp_zip_find_disk(struct hp_layer *l, unsigned *ret)
{
	uint8_t e[END];

	if (find_end(l, e) == UINT64_MAX)
		return false;
	*ret = hp_get16(e + AT_DISK_END);
	return true;
}

/* Explorer counts no disks where all others count one. */
static void mend_locator(struct hp_feed *f, const uint8_t *locator, uint64_t at)
{
	if (hp_get32(locator + AT_DISK) || hp_get32(locator + AT_DISKS))
		return;
	if (f->kind == HP_FEED_MEMORY)
		f->memory[at + AT_DISKS] = 1;
	else
		f->one_at = at + AT_DISKS;
}

/* What the record of a zip64 says instead, if it is one. */
static void find_end64(struct hp_layer *l, uint64_t end, bool count)
{
	struct hp_zip *z = &l->zip;
	uint8_t locator[LOCATOR], more[END64];
	uint64_t at, len;

	if (end < LOCATOR ||
	    hp_feed_peek(&l->feed, locator, LOCATOR, end - LOCATOR) !=
		    LOCATOR ||
	    memcmp(locator, "PK\6\7", 4))
		return;
	at = hp_get64(locator + AT_END64);
	if (hp_feed_peek(&l->feed, more, END64, at) != END64 ||
	    memcmp(more, "PK\6\6", 4))
		return;
	mend_locator(&l->feed, locator, end - LOCATOR);
	z->end = at;
	z->size = hp_get64(more + AT_SIZE64);
	z->begin = hp_get64(more + AT_BEGIN64);
	z->shift = 0;
	if (count) {
		z->count = hp_get64(more + AT_COUNT64);
		z->modulo = 0;
	}
	len = hp_get64(more + AT_LENGTH64);
	if (len < end && at + 12 + len < end - LOCATOR) {
		z->rest[0] = at + 12 + len;
		z->rest[1] = end - LOCATOR;
	}
}

int hp_zip_begin(struct hp_layer *l)
{
	struct hp_zip *z = &l->zip;
	struct hpdsl_error *err = &l->feed.a->failed;
	uint8_t e[END];
	uint64_t at = find_end(l, e), begin;

	if (at == UINT64_MAX)
		return err->code;
	z->end = at;
	z->count = hp_get16(e + AT_COUNT);
	z->modulo = 0x10000;
	z->size = hp_get32(e + AT_SIZE);
	/* It ends where this record is, whatever was put before the zip. */
	begin = hp_get32(e + AT_BEGIN);
	z->begin = z->size < at ? at - z->size : 0;
	z->shift = z->begin > begin ? z->begin - begin : 0;
	find_end64(l, at, z->count == UINT16_MAX);
	if (err->code)
		return err->code;
	z->placed =
		z->size && z->begin <= z->end && z->size <= z->end - z->begin;
	if (z->placed) {
		uint8_t sign[4];

		z->placed = hp_feed_peek(&l->feed, sign, 4, z->begin) == 4 &&
			    !memcmp(sign, "PK\1\2", 4);
	}
	l->feed.len = at + END;
	return err->code;
}

bool hp_zip_is_empty(const struct hp_layer *l)
{
	return l->feed.len == END && l->zip.modulo && !l->zip.count;
}

int hp_zip_check_count(struct hp_layer *l)
{
	struct hp_zip *z = &l->zip;
	struct hpdsl_error *err = &l->feed.a->failed;
	uint64_t n = z->modulo ? l->entries % z->modulo : l->entries;

	/* All bits, and no zip64 record: so many, or more. */
	if (n != z->count && (z->modulo == 0 || z->count != UINT16_MAX ||
			      l->entries < UINT16_MAX))
		return hp_fail(err, HPDSL_ECORRUPT,
			       "the zip's directory has other members than it "
			       "says: %" PRIu64 ", not %" PRIu64,
			       n, z->count);
	return hp_zip_pass_end(l);
}
