/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libarchive keeps to itself of a zip's member: its local header is found
 * again, just before the content, for the raw name, the CRC-32, and whether the
 * time is one of an unknown zone.
 */
#include "archive/private.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

enum {
	HEADER = 30,
	NEAR = 4096, /* nearly always enough */
	WINDOW = HEADER + 3 * 65535,
	/* Of the header: */
	AT_FLAGS = 6,
	AT_METHOD = 8,
	AT_TIME = 10,
	AT_DATE = 12,
	AT_CRC = 14,
	AT_STORED = 18,
	AT_PLAIN = 22,
	AT_NAME_LEN = 26,
	AT_EXTRA_LEN = 28,
	DEFLATED = 8, /* the method */
	/* Flags: */
	ENCRYPTED = 1,
	DESCRIPTOR = 8, /* CRC and sizes are behind the content */
	UTF8 = 0x800,
	/* Extra fields: */
	EXTRA_TIME = 0x5455,
	EXTRA_UNIX = 0x5855,
	EXTRA_PATH = 0x7075,
};

/* Bytes of the header with its name and extra fields. */
static size_t header_size(const uint8_t *h)
{
	return HEADER + (size_t)hp_get16(h + AT_NAME_LEN) +
	       hp_get16(h + AT_EXTRA_LEN);
}

/* Is it that of a member with libarchive's name, but for its slashes? */
static bool is_named(const uint8_t *h, const char *path)
{
	size_t n = hp_get16(h + AT_NAME_LEN);

	/* A name may hold a NUL, where the path ends. */
	for (size_t i = 0; path && i < n; i++)
		if (!path[i] || (path[i] != (char)h[HEADER + i] &&
				 (path[i] != '/' || h[HEADER + i] != '\\')))
			return false;
	return true;
}

/*
 * Does this one end n bytes on?  Of a link the target is behind it; where that
 * is deflated libarchive counts it twice.
 */
static bool ends_there(const uint8_t *h, size_t n, struct hp_layer *l,
		       uint64_t offset, bool link)
{
	const struct hp_zip_name *name;
	uint64_t stored;

	if (header_size(h) > n)
		return false;
	if (!link)
		return header_size(h) == n;
	name = hp_zip_find_name(l, offset);
	stored = name ? name->stored : hp_get32(h + AT_STORED);
	n -= header_size(h);
	return n == stored || (hp_get16(h + AT_METHOD) && n == stored * 2 &&
			       is_named(h, archive_entry_pathname(l->entry)));
}

/* A header that ends at offset at; the last one counts. */
static const uint8_t *find_header(struct hp_layer *l, size_t n, uint64_t at,
				  bool link)
{
	const uint8_t *w = l->feed.a->window;

	for (size_t i = n; i-- > 0;)
		if (n - i >= HEADER && !memcmp(w + i, "PK\3\4", 4) &&
		    ends_there(w + i, n - i, l, at - (n - i), link))
			return w + i;
	return NULL;
}

/*
 * The header, in a->window, and where it is; NULL: not found, or not to be
 * read.
 */
static const uint8_t *get_header(struct hp_layer *l, uint64_t at, bool link,
				 uint64_t *ret_offset)
{
	struct hp_archive *a = l->feed.a;
	const uint8_t *h = NULL;

	if (!a->window)
		a->window = malloc(WINDOW);
	if (!a->window) {
		hp_fail_nomem(&a->failed);
		return NULL;
	}
	for (uint64_t n = NEAR; !h; n = WINDOW) {
		ssize_t got;

		if (n > at)
			n = at;
		got = hp_feed_peek(&l->feed, a->window, (size_t)n, at - n);
		if (got != (ssize_t)n)
			return NULL;
		h = find_header(l, (size_t)n, at, link);
		if (h)
			*ret_offset = at - n + (uint64_t)(h - a->window);
		if (n == at || n == WINDOW)
			break;
	}
	return h;
}

/* An extra field by its number, or NULL. */
static const uint8_t *find_extra(const uint8_t *h, unsigned id, size_t *ret_n)
{
	const uint8_t *p = h + HEADER + hp_get16(h + AT_NAME_LEN);
	const uint8_t *end = p + hp_get16(h + AT_EXTRA_LEN);

	*ret_n = 0;
	while (end - p >= 4) {
		size_t n = hp_get16(p + 2);

		if (n > (size_t)(end - p) - 4)
			break;
		if (hp_get16(p) == id) {
			*ret_n = n;
			return p + 4;
		}
		p += 4 + n;
	}
	return NULL;
}

static void find_time(const uint8_t *h, struct hp_zip_facts *ret)
{
	unsigned t = hp_get16(h + AT_TIME), d = hp_get16(h + AT_DATE);
	struct tm tm = {
		.tm_year = (int)(d >> 9) + 80,
		.tm_mon = (int)(d >> 5 & 15) - 1,
		.tm_mday = (int)(d & 31),
		.tm_hour = (int)(t >> 11),
		.tm_min = (int)(t >> 5 & 63),
		.tm_sec = (int)(t & 31) * 2,
	};
	size_t n;
	const uint8_t *x = find_extra(h, EXTRA_TIME, &n);

	if ((x && n >= 5 && x[0] & 1) || find_extra(h, EXTRA_UNIX, &n))
		return; /* that is UTC, and what libarchive takes */
	ret->has_time = true;
	ret->mtime = timegm(&tm);
}

static void find_path(const uint8_t *h, struct hp_zip_facts *ret)
{
	size_t n;
	const uint8_t *x = find_extra(h, EXTRA_PATH, &n);

	ret->path = (const char *)h + HEADER;
	ret->path_len = hp_get16(h + AT_NAME_LEN);
	ret->utf8 = hp_get16(h + AT_FLAGS) & UTF8;
	/* One that was renamed by who does not know the field has a stale one.
	 */
	if (x && n > 5 && !ret->utf8 && x[0] == 1 &&
	    hp_get32(x + 1) == crc32_z(0, h + HEADER, ret->path_len)) {
		ret->path = (const char *)x + 5;
		ret->path_len = n - 5;
		ret->utf8 = true;
	}
}

/*
 * As libarchive has it where it can: of a name without a slash.  In the code
 * pages of East Asia 0x5c is the second half of many letters, and a zip does
 * not say which one is its own.
 */
bool hp_zip_part(const struct hp_zip_facts *z, char *path, size_t n)
{
	enum { LEAD = 0x81 }; /* the least first half of a letter */
	bool left = false;

	if (!z->slashes && (!z->dos || memchr(path, '/', n)))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (path[i] != '\\')
			continue;
		if (!z->utf8 && i && (uint8_t)path[i - 1] >= LEAD)
			left = true;
		else
			path[i] = '/';
	}
	return left;
}

/* The CRC of a stored content; false: then it is not in place. */
static bool find_crc(struct hp_layer *l, const uint8_t *h, uint64_t at,
		     uint64_t size, uint32_t *ret)
{
	uint8_t d[8];

	if (!(hp_get16(h + AT_FLAGS) & DESCRIPTOR)) {
		uint32_t stored = hp_get32(h + AT_STORED);

		*ret = hp_get32(h + AT_CRC);
		return stored == size || stored == UINT32_MAX;
	}
	if (hp_feed_peek(&l->feed, d, sizeof d, at + size) != sizeof d)
		return false;
	*ret = hp_get32(memcmp(d, "PK\7\x8", 4) ? d : d + 4);
	return true;
}

/* Does a backslash part folders there? */
static bool is_dos(const struct hp_zip_name *name)
{
	enum { FAT = 0, HPFS = 6, NTFS = 10, VFAT = 14 };

	return name && (name->system == FAT || name->system == HPFS ||
			name->system == NTFS || name->system == VFAT);
}

/* As it is, or inflated; another method is libarchive's alone. */
static int find_target(struct hp_layer *l, const uint8_t *h, uint64_t offset,
		       struct hp_zip_facts *ret)
{
	const struct hp_zip_name *name = hp_zip_find_name(l, offset);
	struct hp_zip_stored s = {
		.at = offset + header_size(h),
		.len = (uint32_t)(name ? name->stored :
					 hp_get32(h + AT_STORED)),
		.size = name ? name->size : hp_get32(h + AT_PLAIN),
		.crc = name ? name->crc : hp_get32(h + AT_CRC),
	};

	if (ret->stored) {
		ret->target = (const char *)h + header_size(h);
		ret->target_len = s.len;
	}
	return hp_get16(h + AT_METHOD) == DEFLATED ?
		       hp_zip_inflate_target(l, &s, ret) :
		       0;
}

static int check_name(struct hp_layer *l, const uint8_t *h,
		      const struct hp_zip_name *name, struct hp_zip_facts *ret)
{
	size_t n = hp_get16(h + AT_NAME_LEN);
	char text[HP_PRINTABLE];

	if (!name || name->hash == hp_hash64(h + HEADER, n))
		return 0;
	/* Some writers part folders so here and so there. */
	ret->slashes = name->same == hp_zip_hash_slashes(h + HEADER, n);
	if (ret->slashes)
		return 0;
	return hp_fail(&l->feed.a->failed, HPDSL_ECORRUPT,
		       "member '%s': the zip's directory has another name for "
		       "it than its header",
		       hp_printable((const char *)h + HEADER, n, text));
}

/* Where the content ends; UINT64_MAX: the header does not say. */
static uint64_t content_end(const uint8_t *h, const struct hp_zip_name *name,
			    uint64_t offset)
{
	uint64_t stored = name ? name->stored : hp_get32(h + AT_STORED);
	bool known = name || !(hp_get16(h + AT_FLAGS) & DESCRIPTOR);

	if (!known || stored == UINT32_MAX ||
	    __builtin_add_overflow(offset + header_size(h), stored, &stored))
		return UINT64_MAX;
	return stored;
}

int hp_zip_facts(struct hp_layer *l, struct hp_zip_facts *ret)
{
	uint64_t at = (uint64_t)archive_filter_bytes(l->reader, 0);
	uint64_t size = (uint64_t)archive_entry_size(l->entry);
	bool link = archive_entry_filetype(l->entry) == AE_IFLNK;
	uint64_t offset = 0;
	const uint8_t *h = get_header(l, at, link, &offset);
	const struct hp_zip_name *name;
	struct hpdsl_error *err = &l->feed.a->failed;

	*ret = (struct hp_zip_facts){ .stored = false };
	if (err->code)
		return err->code;
	if (!h)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "a member's header is not where it should be");
	name = hp_zip_find_name(l, offset);
	if (check_name(l, h, name, ret) < 0 ||
	    hp_zip_pass(l, offset, content_end(h, name, offset),
			hp_get16(h + AT_FLAGS) & DESCRIPTOR) < 0)
		return err->code;
	find_time(h, ret);
	find_path(h, ret);
	if (memchr(ret->path, '\0', ret->path_len))
		return hp_fail(err, HPDSL_ECORRUPT,
			       "member at offset %" PRIu64
			       ": its name holds a NUL byte",
			       offset);
	ret->dos = is_dos(name);
	ret->method = hp_get16(h + AT_METHOD);
	ret->stored = !ret->method && !(hp_get16(h + AT_FLAGS) & ENCRYPTED);
	if (link)
		return find_target(l, h, offset, ret);
	ret->stored = ret->stored && find_crc(l, h, at, size, &ret->crc);
	return 0;
}
