/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is around a tar: gzip through zlib, because libarchive's filter does not
 * check gzip's checksums; the others through libarchive's filters, over a
 * reader that takes their bytes for what they are.
 */
#include "archive/private.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

enum { OUT = 256 << 10 };

struct hp_filter {
	struct hp_feed *feed;
	hp_feed_taker *take;
	struct archive *filter; /* or, for gzip, NULL: */
	z_stream z;
	uint8_t *out;
	bool begun, ended; /* a gzip member; all of them */
};

void hp_filter_free(struct hp_filter *d)
{
	if (!d)
		return;
	if (d->filter)
		archive_read_free(d->filter);
	else
		inflateEnd(&d->z);
	free(d->out);
	free(d);
}

/* ---- gzip ------------------------------------------------------------- */

static ssize_t gzip_failed(struct hp_filter *d, int r)
{
	struct hpdsl_error *err = &d->feed->a->failed;

	if (r == Z_MEM_ERROR)
		return hp_fail_nomem(err);
	return hp_fail(err, HPDSL_ECORRUPT, "gzip data is damaged: %s",
		       d->z.msg ? d->z.msg : "unknown error");
}

/* More input: its bytes, 0 at the end. */
static ssize_t gzip_fill(struct hp_filter *d)
{
	const uint8_t *p = NULL;
	ssize_t n = d->z.avail_in;

	if (n)
		return n;
	n = d->take(d->feed, &p);
	if (n > 0) {
		d->z.next_in = (Bytef *)p;
		d->z.avail_in = (uInt)n;
	}
	return n;
}

/* Another member may follow; what is no gzip is passed over, as gzip does. */
static ssize_t gzip_next_member(struct hp_filter *d)
{
	ssize_t n = gzip_fill(d);

	if (n < 0)
		return n;
	if (n == 0 || d->z.next_in[0] != 0x1f) {
		d->ended = true;
		return 0;
	}
	inflateReset(&d->z);
	d->begun = true;
	return 1;
}

static ssize_t gzip_take(struct hp_filter *d, const uint8_t **ret)
{
	d->z.next_out = d->out;
	d->z.avail_out = OUT;
	while (d->z.avail_out == OUT && !d->ended) {
		ssize_t n = d->begun ? gzip_fill(d) : gzip_next_member(d);
		int r;

		if (n < 0)
			return n;
		if (d->ended)
			break;
		if (n == 0)
			return hp_fail(&d->feed->a->failed, HPDSL_ECORRUPT,
				       "gzip data is cut off");
		r = inflate(&d->z, Z_NO_FLUSH);
		if (r == Z_STREAM_END)
			d->begun = false;
		else if (r != Z_OK && r != Z_BUF_ERROR)
			return gzip_failed(d, r);
	}
	*ret = d->out;
	return (ssize_t)(OUT - d->z.avail_out);
}

static int gzip_begin(struct hp_filter *d)
{
	d->out = malloc(OUT);
	if (!d->out || inflateInit2(&d->z, 15 + 16) != Z_OK)
		return hp_fail_nomem(&d->feed->a->failed);
	d->begun = true;
	return 0;
}

/* ---- the others ------------------------------------------------------- */

static la_ssize_t filter_read(struct archive *filter, void *arg,
			      const void **ret)
{
	struct hp_filter *d = arg;
	const uint8_t *p = NULL;
	ssize_t n = d->take(d->feed, &p);

	*ret = p;
	if (n >= 0)
		return n;
	archive_set_error(filter, EIO, "%s", d->feed->a->failed.msg);
	return ARCHIVE_FATAL;
}

static ssize_t filter_failed(struct hp_filter *d)
{
	struct hpdsl_error *err = &d->feed->a->failed;
	const char *why = archive_error_string(d->filter);

	if (err->code)
		return err->code;
	if (archive_errno(d->filter) == ENOMEM)
		return hp_fail_nomem(err);
	/* All that there was are frames without anything in them. */
	if (why && !strcmp(why, "Unrecognized archive format"))
		return hp_fail(err, HPDSL_ENOTOURS, HP_NO_TAR_INSIDE);
	/* liblzma's words for data that end too early. */
	if (why && strstr(why, "No progress is possible"))
		why = "compressed data is cut off";
	return hp_fail(err, HPDSL_ECORRUPT, "%s",
		       why ? why : "compressed data is damaged");
}

static ssize_t filter_take(struct hp_filter *d, const uint8_t **ret)
{
	const void *p = NULL;
	la_int64_t offset;
	size_t n = 0;
	int r;

	do
		r = archive_read_data_block(d->filter, &p, &n, &offset);
	while (r == ARCHIVE_OK && n == 0);
	if (r == ARCHIVE_EOF)
		return 0;
	if (r != ARCHIVE_OK)
		return filter_failed(d);
	*ret = p;
	return (ssize_t)n;
}

static int filter_begin(struct hp_filter *d,
			int (*support)(struct archive *filter))
{
	struct archive_entry *entry;
	int r;

	d->filter = archive_read_new();
	if (!d->filter)
		return hp_fail_nomem(&d->feed->a->failed);
	r = archive_read_support_format_raw(d->filter);
	if (r == ARCHIVE_OK)
		r = support(d->filter);
	if (r == ARCHIVE_OK)
		r = archive_read_open(d->filter, d, NULL, filter_read, NULL);
	if (r == ARCHIVE_OK)
		r = archive_read_next_header(d->filter, &entry);
	return r == ARCHIVE_OK ? 0 : (int)filter_failed(d);
}

/* ---- which one -------------------------------------------------------- */

/* bzip2's is "BZh", a digit, then that of a block or of the end. */
static bool is_bzip2(const uint8_t *p, size_t n)
{
	return n >= 10 && !memcmp(p, "BZh", 3) && p[3] >= '1' && p[3] <= '9' &&
	       (!memcmp(p + 4, "\x31\x41\x59\x26\x53\x59", 6) ||
		!memcmp(p + 4, "\x17\x72\x45\x38\x50\x90", 6));
}

/* A frame, or one to be passed over, with which pzstd begins. */
static bool is_zstd(const uint8_t *p, size_t n)
{
	return n >= 4 &&
	       (!memcmp(p, "\x28\xb5\x2f\xfd", 4) ||
		((p[0] & 0xf0) == 0x50 && !memcmp(p + 1, "\x2a\x4d\x18", 3)));
}

static bool is_gzip(const uint8_t *p, size_t n)
{
	return n >= 3 && !memcmp(p, "\x1f\x8b\x08", 3);
}

static bool is_xz(const uint8_t *p, size_t n)
{
	return n >= 6 && !memcmp(p, "\3757zXZ\0", 6);
}

/* Of a dictionary of 4 KiB to 512 MiB: a tar may begin with a file LZIP. */
static bool is_lzip(const uint8_t *p, size_t n)
{
	return n >= 6 && !memcmp(p, "LZIP", 4) && p[4] <= 1 &&
	       (p[5] & 31) >= 12 && (p[5] & 31) <= 29;
}

/*
 * No magic: the properties that nearly all have, a dictionary of 4 KiB to 1 GiB
 * that is a power of two or half as much more, and no size or a sound one.
 */
static bool is_lzma(const uint8_t *p, size_t n)
{
	uint32_t dict = n >= 13 ? hp_get32(p + 1) : 0, rest = dict & (dict - 1);
	uint64_t size = n >= 13 ? hp_get64(p + 5) : 0;

	return n >= 13 && p[0] == 0x5d && dict >= 1 << 12 && dict <= 1 << 30 &&
	       (!rest || (rest & (rest - 1)) == 0) &&
	       (size == UINT64_MAX || (size && size < UINT64_C(1) << 48));
}

static const struct magic {
	bool (*is)(const uint8_t *p, size_t n);
	int (*support)(struct archive *filter); /* NULL: gzip */
} magics[] = {
	{ is_gzip, NULL },
	{ is_bzip2, archive_read_support_filter_bzip2 },
	{ is_xz, archive_read_support_filter_xz },
	{ is_zstd, archive_read_support_filter_zstd },
	{ is_lzip, archive_read_support_filter_lzip },
	{ is_lzma, archive_read_support_filter_lzma },
};

static const struct magic *magic_of(const uint8_t *head, size_t n)
{
	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if (magics[i].is(head, n))
			return &magics[i];
	return NULL;
}

bool hp_archive_is_compressed(const void *head, size_t n)
{
	return magic_of(head, n);
}

int hp_filter_new(struct hp_feed *f, hp_feed_taker *take, const uint8_t *head,
		  size_t n, struct hp_filter **ret)
{
	const struct magic *m = magic_of(head, n);
	struct hp_filter *d;
	int r;

	*ret = NULL;
	if (!m)
		return 0;
	d = calloc(1, sizeof *d);
	if (!d)
		return hp_fail_nomem(&f->a->failed);
	d->feed = f;
	d->take = take;
	*ret = d;
	r = m->support ? filter_begin(d, m->support) : gzip_begin(d);
	return r;
}

ssize_t hp_filter_take(struct hp_filter *d, const uint8_t **ret)
{
	return d->filter ? filter_take(d, ret) : gzip_take(d, ret);
}
