/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of foreign tars, one block at a time.  POSIX.1-2001 (pax), the GNU
 * tar manual's "Basic Tar Format"; the type \0 and names that end in a slash
 * are read as v7 meant them.
 */
#include "chunk/tar_foreign.h"

#include "base/error.h"
#include "chunk/tar.h"

#include <errno.h>
#include <string.h>

/* Offsets and lengths of the fields of a block. */
enum {
	AT_NAME = 0,
	NAME = 100,
	AT_MODE = 100,
	AT_SIZE = 124,
	AT_MTIME = 136,
	AT_CHECKSUM = 148,
	AT_TYPE = 156,
	AT_MAGIC = 257,
	AT_PREFIX = 345,
	PREFIX = 155,
	AT_MAP = 386,	   /* of type S */
	AT_MORE_MAP = 482, /* it goes on in the next block */
};

void hp_foreign_begin(struct hp_foreign *t)
{
	t->global = (struct hp_foreign_facts){ 0 };
	t->local = (struct hp_foreign_facts){ 0 };
	t->extra = '\0';
	t->pending = t->mapped = false;
	t->long_len = 0;
}

static int corrupt(struct hpdsl_error *err, const char *why)
{
	return hp_fail(err, HPDSL_ECORRUPT, "%s", why);
}

static int unsupported(struct hpdsl_error *err, const char *why)
{
	return hp_fail(err, -EOPNOTSUPP, "%s", why);
}

/* ---- Fields ----------------------------------------------------------- */

/* Big-endian two's complement; the first bit only says that it is one. */
static bool get_base256(const uint8_t *p, size_t n, int64_t *ret)
{
	bool negative = p[0] & 0x40;
	uint64_t v = negative ? UINT64_MAX : 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t byte = p[i];

		if (i == 0)
			byte = negative ? byte : byte & 0x7f;
		/* What is shifted out must be sign alone. */
		if ((int64_t)v >> 55 != (negative ? -1 : 0))
			return false;
		v = v << 8 | byte;
	}
	*ret = (int64_t)v;
	return negative == (*ret < 0);
}

/* Octal digits between blanks, ended by a blank, a NUL or the field. */
static bool get_number(const uint8_t *p, size_t n, int64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;

	if (p[0] & 0x80)
		return get_base256(p, n, ret);
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(p[i] - '0');
	*ret = (int64_t)v;
	return i == n || p[i] == ' ' || p[i] == '\0';
}

/* Some old writers summed signed characters. */
static bool sum_agrees(const uint8_t *block)
{
	int64_t sum, is = 8 * ' ', is_signed = 8 * ' ';

	for (int i = 0; i < HP_TAR_BLOCK; i++) {
		if (i == AT_CHECKSUM)
			i += 8;
		is += block[i];
		is_signed += (int8_t)block[i];
	}
	return get_number(block + AT_CHECKSUM, 8, &sum) &&
	       (sum == is || sum == is_signed);
}

static bool is_zero_block(const uint8_t *p)
{
	return p[0] == 0 && memcmp(p, p + 1, HP_TAR_BLOCK - 1) == 0;
}

/* ---- Members ---------------------------------------------------------- */

static enum hp_foreign_kind kind_of(char type)
{
	switch (type) {
	case 'x':
	case 'X':
	case 'g':
	case 'L':
	case 'K': /* a long target */
	case 'A': /* a Solaris ACL */
	case 'V': /* a volume's name */
		return HP_FOREIGN_EXTRA;
	case '1':
	case '2':
		return HP_FOREIGN_LINK;
	case '3':
	case '4':
	case '6':
		return HP_FOREIGN_SPECIAL;
	case '5':
	case 'D': /* of GNU's incremental dumps; names follow */
		return HP_FOREIGN_FOLDER;
	default:
		return HP_FOREIGN_FILE;
	}
}

/* Prefix and name; GNU has times where ustar has the prefix. */
static size_t join_name(const uint8_t *block, char *out)
{
	const char *magic = (const char *)block + AT_MAGIC;
	size_t n = 0, len;

	if (memcmp(magic, "ustar", 5) == 0 && magic[5] != ' ') {
		n = strnlen((const char *)block + AT_PREFIX, PREFIX);
		memcpy(out, block + AT_PREFIX, n);
		if (n)
			out[n++] = '/';
	}
	len = strnlen((const char *)block + AT_NAME, NAME);
	memcpy(out + n, block + AT_NAME, len);
	return n + len;
}

/* The pax header's, that of GNU's 'L', the global one, the block's own. */
static void take_name(struct hp_foreign *t, const uint8_t *block,
		      struct hp_foreign_member *m)
{
	const struct hp_foreign_facts *f = NULL;

	if (t->local.path_len)
		f = &t->local;
	else if (!t->long_len && t->global.path_len)
		f = &t->global;
	if (f)
		memcpy(t->name, f->path, f->path_len);
	m->name = t->name;
	m->name_len = f		  ? f->path_len :
		      t->long_len ? t->long_len :
				    join_name(block, t->name);
	t->name[m->name_len] = '\0';
}

static void take_mtime(const struct hp_foreign *t, const uint8_t *block,
		       struct hp_foreign_member *m)
{
	const struct hp_foreign_facts *f =
		t->local.has_mtime ? &t->local : &t->global;

	if (f->has_mtime) {
		m->mtime = f->mtime;
		m->nsec = f->nsec;
	} else if (!get_number(block + AT_MTIME, 12, &m->mtime)) {
		m->mtime = 0;
	}
}

/* Links and the like have no content, whatever their size says. */
static bool has_content(char type)
{
	return type < '1' || type > '6';
}

static int refuse_sparse(struct hp_foreign *t, const uint8_t *block,
			 uint64_t size, struct hpdsl_error *err)
{
	bool holes = t->local.holes || t->global.holes;

	t->stored = t->local.has_size ? t->local.size : size;
	t->mapped = !holes;
	if (block[AT_TYPE] == 'S')
		t->mapped &= block[AT_MAP] || block[AT_MORE_MAP];
	else
		t->mapped &= t->local.map || t->global.map;
	return unsupported(err, holes	  ? "a sparse file with SUN.holesdata" :
				t->mapped ? "a sparse file" :
					    "a sparse file without a map");
}

static int take_member(struct hp_foreign *t, const uint8_t *block,
		       struct hp_foreign_member *m, struct hpdsl_error *err)
{
	char type = (char)block[AT_TYPE];
	int64_t mode = 0;

	take_name(t, block, m);
	t->mapped = false;
	if (type == 'S' || t->local.sparse || t->global.sparse)
		return refuse_sparse(t, block, m->size, err);
	/* libarchive goes by it, others by the type alone. */
	if (has_content(type) && block[AT_MAP] &&
	    memcmp(block + AT_MAGIC, "ustar  ", 8) == 0)
		return corrupt(err, "a map of holes in what is no sparse file");
	if (type == 'M' || type == 'N')
		return unsupported(err, type == 'M' ?
						"the rest of a file that began "
						"in another archive" :
						"names of the oldest GNU tar");
	if (t->local.has_size)
		m->size = t->local.size;
	if (m->size > INT64_MAX)
		return corrupt(err, "a size that no file has");
	if (!has_content(type))
		m->size = 0;
	take_mtime(t, block, m);
	if (get_number(block + AT_MODE, 8, &mode))
		m->mode = (uint32_t)mode & 07777;
	if (m->kind == HP_FOREIGN_FILE && m->name_len &&
	    m->name[m->name_len - 1] == '/') {
		/* Some go past it, others read it as the next header. */
		if (m->size)
			return corrupt(err, "a file with content has the name "
					    "of a folder");
		m->kind = HP_FOREIGN_FOLDER;
	}
	return 0;
}

static int take_extra(struct hp_foreign *t, char type,
		      const struct hp_foreign_member *m,
		      struct hpdsl_error *err)
{
	if (m->size > HP_FOREIGN_EXTRA_MAX)
		return corrupt(err, "an extended header is too large");
	/* Some go past it, others read it as the next header. */
	if (type == 'V' && m->size)
		return corrupt(err, "a volume's name has a content");
	t->extra = type;
	t->pending |= type != 'g' && type != 'V';
	return 0;
}

/* What was said of this member alone. */
static void forget(struct hp_foreign *t)
{
	t->local.sparse = t->local.map = t->local.holes = false;
	t->local.has_size = t->local.has_mtime = false;
	t->local.path_len = t->long_len = 0;
	t->pending = false;
}

int hp_foreign_header(struct hp_foreign *t, const uint8_t *block,
		      struct hp_foreign_member *ret, struct hpdsl_error *err)
{
	struct hp_foreign_member m = { .kind = HP_FOREIGN_END };
	int64_t size;
	int r;

	if (is_zero_block(block)) {
		if (t->pending)
			return corrupt(err, "the archive ends before a file "
					    "whose name is there");
		*ret = m;
		return 0;
	}
	if (!sum_agrees(block))
		return corrupt(err, "no tar header: its checksum differs");
	if (!get_number(block + AT_SIZE, 12, &size) || size < 0)
		return corrupt(err, "a size is no number");
	m.size = (uint64_t)size;
	m.kind = kind_of((char)block[AT_TYPE]);
	if (m.kind == HP_FOREIGN_EXTRA) {
		r = take_extra(t, (char)block[AT_TYPE], &m, err);
	} else {
		r = take_member(t, block, &m, err);
		forget(t);
	}
	if (r == 0)
		*ret = m;
	return r;
}
