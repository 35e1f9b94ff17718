/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A zip's symbolic link whose target is deflated, as 7-Zip writes them.
 * libarchive does not compare its length and CRC-32, and cannot hand out a
 * target that is not in the locale's encoding.
 */
#include "archive/private.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>
#include <zlib.h>

enum { TARGET_MAX = 64 << 10 };

static int fail(struct hp_layer *l)
{
	return hp_fail(&l->feed.a->failed, HPDSL_ECORRUPT,
		       "a symbolic link's target is damaged");
}

/* All of p inflates to *n bytes at most; true: it does, and to as many. */
static bool inflate_all(const uint8_t *p, size_t len, uint8_t *out, size_t *n)
{
	z_stream z = { .next_in = (Bytef *)p,
		       .avail_in = (uInt)len,
		       .next_out = out,
		       .avail_out = (uInt)*n };
	int r;

	if (inflateInit2(&z, -15) != Z_OK)
		return false;
	r = inflate(&z, Z_FINISH);
	*n = z.total_out;
	inflateEnd(&z);
	return r == Z_STREAM_END && !z.avail_in;
}

int hp_zip_inflate_target(struct hp_layer *l, const struct hp_zip_stored *s,
			  struct hp_zip_facts *ret)
{
	struct hp_archive *a = l->feed.a;
	hp_auto_free uint8_t *in = NULL;
	size_t n = TARGET_MAX;

	if (s->len > TARGET_MAX)
		return fail(l);
	in = malloc(s->len + 1);
	if (!a->target)
		a->target = malloc(TARGET_MAX);
	if (!in || !a->target)
		return hp_fail_nomem(&a->failed);
	if (hp_feed_peek(&l->feed, in, s->len, s->at) != (ssize_t)s->len)
		return a->failed.code ? a->failed.code : fail(l);
	if (!inflate_all(in, s->len, a->target, &n) || n != s->size ||
	    crc32_z(0, a->target, n) != s->crc || memchr(a->target, '\0', n))
		return fail(l);
	ret->target = (const char *)a->target;
	ret->target_len = n;
	return 0;
}
