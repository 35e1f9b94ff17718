/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a zip that belong to none of its members.  Of two zips in one file a
 * reader sees the files of one, and which one differs: that is refused.  Others
 * are what a writer left behind, and are told.
 */
#include "archive/private.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	PIECE = 64 << 10,
	DESCRIPTOR = 16,     /* mostly */
	DESCRIPTOR_MAX = 24, /* of a zip64 */
};

const uint8_t *hp_zip_find_sign(const uint8_t *p, size_t n)
{
	const uint8_t *end = p + n;

	while (end - p >= 4 && (p = memchr(p, 'P', (size_t)(end - p) - 3))) {
		if (!memcmp(p, "PK\1\2", 4) || !memcmp(p, "PK\5\6", 4) ||
		    !memcmp(p, "PK\6\6", 4))
			return p;
		p++;
	}
	return NULL;
}

static int refuse(struct hp_layer *l, uint64_t at)
{
	return hp_fail(&l->feed.a->failed, HPDSL_ECORRUPT,
		       "holds another zip's directory at offset %" PRIu64
		       ", whose files readers would not see: if two zips were "
		       "joined, split them, or unpack both and pack the tree",
		       l->feed.base + at);
}

/* Of a directory or an end that nothing points at. */
static int search(struct hp_layer *l, uint64_t from, uint64_t to)
{
	struct hp_archive *a = l->feed.a;
	hp_auto_free uint8_t *buf = malloc(PIECE);

	if (!buf)
		return hp_fail_nomem(&a->failed);
	while (from < to) {
		size_t n = to - from < PIECE ? (size_t)(to - from) : PIECE;
		const uint8_t *sign;

		if (a->stop && __atomic_load_n(a->stop, __ATOMIC_RELAXED))
			return hp_fail(&a->failed, HPDSL_ESTOPPED, "stopped");
		if (hp_feed_peek(&l->feed, buf, n, from) != (ssize_t)n)
			return a->failed.code;
		sign = hp_zip_find_sign(buf, n);
		if (sign)
			return refuse(l, from + (uint64_t)(sign - buf));
		/* A sign may lie across two pieces. */
		from += from + n < to ? n - 3 : n;
	}
	return 0;
}

static int look(struct hp_layer *l, uint64_t from, uint64_t to)
{
	struct hp_zip *z = &l->zip;
	int r;

	if (to > l->feed.len)
		to = l->feed.len;
	if (from >= to)
		return 0;
	r = search(l, from, to);
	if (r < 0)
		return r;
	/* The file begins with a member, and the directory begins behind it. */
	if (from == 0 && z->shift)
		return hp_fail(&l->feed.a->failed, HPDSL_ECORRUPT,
			       "begins with %" PRIu64
			       " bytes that are of no member: it was cut off, "
			       "or another zip was put behind it",
			       to);
	if (!z->gaps++)
		z->first_gap = from;
	z->gap_bytes += to - from;
	return 0;
}

/* From the last member to what comes next. */
static int look_behind(struct hp_layer *l, uint64_t next)
{
	struct hp_zip *z = &l->zip;
	uint64_t from = z->behind;

	if (z->lost || next <= from ||
	    (z->described && next - from <= DESCRIPTOR_MAX))
		return 0;
	return look(l, from + (z->described ? DESCRIPTOR : 0), next);
}

int hp_zip_pass(struct hp_layer *l, uint64_t offset, uint64_t end,
		bool described)
{
	struct hp_zip *z = &l->zip;
	int r = look_behind(l, offset);

	z->lost = end == UINT64_MAX;
	if (!z->lost && end >= z->behind) {
		z->behind = end;
		z->described = described;
	}
	return r;
}

int hp_zip_pass_end(struct hp_layer *l)
{
	struct hp_zip *z = &l->zip;
	int r = 0;

	if (z->placed || !z->count)
		r = look_behind(l, z->begin);
	if (r == 0 && z->placed)
		r = look(l, z->begin + z->size, z->end);
	return r < 0 ? r : look(l, z->rest[0], z->rest[1]);
}

bool hp_zip_say_gaps(const struct hp_layer *l, char *text, size_t n)
{
	const struct hp_zip *z = &l->zip;

	if (!z->gaps)
		return false;
	snprintf(text, n,
		 "%" PRIu64 " bytes that are of no member are passed over, "
		 "in %" PRIu64 " place%s, first at offset %" PRIu64,
		 z->gap_bytes, z->gaps, z->gaps == 1 ? "" : "s",
		 l->feed.base + z->first_gap);
	return true;
}
