/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of our tar dialect.  A member's header is one ustar block, or three
 * parts: a pax header block, its data, the ustar block.  The reader takes the
 * fields out, writes the header again and compares: a byte that we would not
 * have written is damage.
 */
#include "chunk/tar.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/path.h"
#include "chunk/pax.h"

#define NAME_MAX_BYTES 100
#define PREFIX_MAX_BYTES 155

_Static_assert(HP_TAR_HEADER_MAX == 2 * HP_TAR_BLOCK + HP_PAX_MAX,
	       "a pax header's data fits");

/* Offsets of the fields of a ustar block. */
enum {
	AT_NAME = 0,
	AT_MODE = 100,
	AT_UID = 108,
	AT_GID = 116,
	AT_SIZE = 124,
	AT_MTIME = 136,
	AT_CHECKSUM = 148,
	AT_TYPE = 156,
	AT_MAGIC = 257,
	AT_DEVMAJOR = 329,
	AT_DEVMINOR = 337,
	AT_PREFIX = 345,
};

/* One block, before it is bytes. */
struct block {
	const char *name, *prefix;
	size_t name_len, prefix_len;
	uint64_t size, mtime;
	uint32_t mode;
	char type;
};

/* ---- Writing ---------------------------------------------------------- */

/* Returns the sum of its digits, less that of so many zeros. */
static uint32_t put_octal(uint8_t *field, unsigned digits, uint64_t v)
{
	uint32_t sum = 0;

	while (digits-- > 0) {
		sum += (uint32_t)(v & 7);
		field[digits] = (uint8_t)('0' + (v & 7));
		v >>= 3;
	}
	return sum;
}

/* The sum of the block's bytes, those of the checksum counted as blanks. */
static uint32_t block_sum(const uint8_t *block)
{
	uint32_t sum = 8 * ' ';

	for (unsigned i = 0; i < HP_TAR_BLOCK; i++)
		sum += block[i];
	for (unsigned i = 0; i < 8; i++)
		sum -= block[AT_CHECKSUM + i];
	return sum;
}

/* Copies n bytes, and returns their sum. */
static uint32_t put_bytes(uint8_t *out, const char *p, size_t n)
{
	uint32_t sum = 0;

	memcpy(out, p, n);
	for (size_t i = 0; i < n; i++)
		sum += (uint8_t)p[i];
	return sum;
}

/*
 * The checksum is made from what goes in: reading back bytes that were just
 * written one by one would take longer than all the rest.
 */
static void put_block(uint8_t *out, const struct block *b)
{
	uint32_t sum = 8 * ' ' + (uint8_t)b->type + (4 * 7 + 7 + 2 * 11) * '0';

	memset(out, 0, HP_TAR_BLOCK);
	sum += put_bytes(out + AT_NAME, b->name, b->name_len);
	sum += put_octal(out + AT_MODE, 7, b->mode);
	memcpy(out + AT_UID, "0000000", 8);
	memcpy(out + AT_GID, "0000000", 8);
	sum += put_octal(out + AT_SIZE, 11, b->size);
	sum += put_octal(out + AT_MTIME, 11, b->mtime);
	out[AT_TYPE] = (uint8_t)b->type;
	sum += put_bytes(out + AT_MAGIC, "ustar\00000", 8);
	memcpy(out + AT_DEVMAJOR, "0000000", 8);
	memcpy(out + AT_DEVMINOR, "0000000", 8);
	sum += put_bytes(out + AT_PREFIX, b->prefix, b->prefix_len);
	put_octal(out + AT_CHECKSUM, 6, sum);
	out[AT_CHECKSUM + 7] = ' ';
}

/*
 * Where ustar cuts the path: the length of the prefix, 0 for a path that fits
 * into the name; -1 if there is no place.  The last slash within reach leaves
 * the shortest name, so if that is too long, no other slash helps.
 */
static int split(const char *path, size_t len)
{
	size_t reach = len < PREFIX_MAX_BYTES + 1 ? len : PREFIX_MAX_BYTES + 1;
	const char *slash;

	if (len <= NAME_MAX_BYTES)
		return 0;
	if (len > PREFIX_MAX_BYTES + 1 + NAME_MAX_BYTES)
		return -1;
	slash = memrchr(path, '/', reach);
	if (!slash || slash == path)
		return -1;
	reach = (size_t)(slash - path);
	if (len - reach - 1 < 1 || len - reach - 1 > NAME_MAX_BYTES)
		return -1;
	return (int)reach;
}

/* What the member needs a pax header for. */
static struct hp_pax pax_of(const struct hp_tar_member *m)
{
	bool long_path = split(m->path, m->path_len) < 0;

	return (struct hp_pax){
		.path = long_path ? m->path : NULL,
		.path_len = long_path ? m->path_len : 0,
		.has_size = m->size > HP_TAR_NUMBER_MAX,
		.size = m->size,
	};
}

size_t hp_tar_header_size(const struct hp_tar_member *m)
{
	struct hp_pax pax;
	size_t bytes;

	if (m->path_len <= NAME_MAX_BYTES && m->size <= HP_TAR_NUMBER_MAX)
		return HP_TAR_BLOCK;
	pax = pax_of(m);
	bytes = hp_pax_size(&pax);
	if (bytes == 0)
		return HP_TAR_BLOCK;
	return 2 * HP_TAR_BLOCK + (size_t)hp_tar_padded(bytes);
}

/*
 * The pax header and its data, if needed; returns their size.  The checksum of
 * a block does not cover its data: the name does, by the data's XXH3-64.
 */
static size_t put_pax(uint8_t *out, const struct hp_tar_member *m)
{
	struct hp_pax pax = pax_of(m);
	size_t bytes = hp_pax_size(&pax);
	size_t padded = (size_t)hp_tar_padded(bytes);
	uint8_t *data = out + HP_TAR_BLOCK;
	char name[32];
	struct block b = {
		.name = name,
		.prefix = "",
		.mode = 0644,
		.size = bytes,
		.mtime = (uint64_t)hp_tar_time(m->mtime),
		.type = 'x',
	};

	if (bytes == 0)
		return 0;
	memset(data, 0, padded);
	hp_pax_write(&pax, data);
	b.name_len =
		(size_t)snprintf(name, sizeof name, "PaxHeaders/%016" PRIx64,
				 hp_hash64(data, bytes));
	put_block(out, &b);
	return HP_TAR_BLOCK + padded;
}

/* Name and prefix of the ustar block. */
static void place_path(struct block *b, const struct hp_tar_member *m)
{
	int prefix = split(m->path, m->path_len);
	size_t skip = 0;

	b->prefix = m->path;
	if (prefix > 0) {
		b->prefix_len = (size_t)prefix;
		skip = (size_t)prefix + 1;
	} else if (prefix < 0) {
		/* Readers that know no pax get the end, unsplit. */
		skip = m->path_len - NAME_MAX_BYTES;
		if (m->path[skip] == '/')
			skip++;
	}
	b->name = m->path + skip;
	b->name_len = m->path_len - skip;
}

size_t hp_tar_header_write(const struct hp_tar_member *m, uint8_t *out)
{
	size_t n = put_pax(out, m);
	struct block b = {
		.size = m->size <= HP_TAR_NUMBER_MAX ? m->size : 0,
		.mtime = (uint64_t)hp_tar_time(m->mtime),
		.mode = m->mode & 0777,
		.type = '0',
	};

	assert(hp_path_valid(m->path, m->path_len));
	place_path(&b, m);
	put_block(out + n, &b);
	return n + HP_TAR_BLOCK;
}

/* ---- Reading ---------------------------------------------------------- */

static int corrupt(struct hpdsl_error *err, const char *why)
{
	return hp_fail(err, HPDSL_ECORRUPT, "%s", why);
}

static bool get_octal(const uint8_t *field, unsigned digits, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < digits; i++) {
		if (field[i] < '0' || field[i] > '7')
			return false;
		v = v << 3 | (uint64_t)(field[i] - '0');
	}
	*ret = v;
	return true;
}

/* Is it a block of ours by its checksum?  Its numbers, and its type. */
static int get_block(const uint8_t *p, struct block *ret,
		     struct hpdsl_error *err)
{
	uint64_t sum, mode;

	if (!get_octal(p + AT_CHECKSUM, 6, &sum) || sum != block_sum(p))
		return corrupt(err, "header checksum differs");
	if (memcmp(p + AT_MAGIC, "ustar\00000", 8) != 0)
		return corrupt(err, "no ustar header");
	if (!get_octal(p + AT_MODE, 7, &mode) ||
	    !get_octal(p + AT_SIZE, 11, &ret->size) ||
	    !get_octal(p + AT_MTIME, 11, &ret->mtime))
		return corrupt(err, "a header field is no octal number");
	ret->mode = (uint32_t)mode;
	ret->type = (char)p[AT_TYPE];
	return 0;
}

/*
 * A pax header, if p holds one: fills *pax, returns the size of header and
 * data, or 0 if it is no pax header.
 */
static ssize_t get_pax(const uint8_t *p, size_t n, struct hp_pax *pax,
		       struct hpdsl_error *err)
{
	struct block b;
	int rc = get_block(p, &b, err);

	if (rc < 0)
		return rc;
	if (b.type != 'x')
		return 0;
	if (b.size == 0 || b.size > HP_PAX_MAX)
		return corrupt(err, "pax header of a wrong size");
	if (n < 2 * HP_TAR_BLOCK + hp_tar_padded(b.size))
		return -EAGAIN;
	if (hp_pax_read(p + HP_TAR_BLOCK, (size_t)b.size, pax) < 0)
		return corrupt(err, "damaged pax header");
	return (ssize_t)(HP_TAR_BLOCK + hp_tar_padded(b.size));
}

/* The path of a ustar block; path_buf has room for every such. */
static size_t join_path(const uint8_t *p, char *path_buf)
{
	const char *prefix = (const char *)p + AT_PREFIX;
	const char *name = (const char *)p + AT_NAME;
	size_t n = strnlen(prefix, PREFIX_MAX_BYTES);
	size_t name_len = strnlen(name, NAME_MAX_BYTES);

	memcpy(path_buf, prefix, n);
	if (n > 0)
		path_buf[n++] = '/';
	memcpy(path_buf + n, name, name_len);
	return n + name_len;
}

/* The member that the ustar block p and what came before it describe. */
static int get_member(const uint8_t *p, const struct hp_pax *pax,
		      struct hp_tar_member *ret, char *path_buf,
		      struct hpdsl_error *err)
{
	struct block b;
	int rc = get_block(p, &b, err);

	if (rc < 0)
		return rc;
	if (b.type != '0')
		return corrupt(err, "not the header of a regular file");
	if (pax->has_size)
		b.size = pax->size;
	if (b.size > INT64_MAX)
		return corrupt(err, "a size that no file has");
	if (pax->path && pax->path_len > HPDSL_PATH_MAX)
		return corrupt(err, "path too long");
	if (pax->path)
		memcpy(path_buf, pax->path, pax->path_len);
	*ret = (struct hp_tar_member){
		.path = path_buf,
		.path_len = pax->path ? pax->path_len : join_path(p, path_buf),
		.size = b.size,
		.mtime = (int64_t)b.mtime,
		.mode = b.mode,
	};
	path_buf[ret->path_len] = '\0';
	if (!hp_path_valid(path_buf, ret->path_len))
		return corrupt(err, "a path that no member may have");
	return 0;
}

static bool is_zero_block(const uint8_t *p)
{
	return p[0] == 0 && memcmp(p, p + 1, HP_TAR_BLOCK - 1) == 0;
}

ssize_t hp_tar_header_read(const uint8_t *buf, size_t n,
			   struct hp_tar_member *ret, char *path_buf,
			   struct hpdsl_error *err)
{
	uint8_t again[HP_TAR_HEADER_MAX];
	struct hp_pax pax = { 0 };
	struct hp_tar_member m;
	ssize_t at, size;
	int rc;

	if (n < HP_TAR_BLOCK)
		return -EAGAIN;
	if (is_zero_block(buf))
		return 0;
	at = get_pax(buf, n, &pax, err);
	if (at < 0)
		return at;
	rc = get_member(buf + at, &pax, &m, path_buf, err);
	if (rc < 0)
		return rc;
	size = at + HP_TAR_BLOCK;
	if (hp_tar_header_size(&m) != (size_t)size)
		return corrupt(err, "header not in the form of this format");
	hp_tar_header_write(&m, again);
	if (memcmp(again, buf, (size_t)size) != 0)
		return corrupt(err, "header not in the form of this format");
	*ret = m;
	return size;
}
