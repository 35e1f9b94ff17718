/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include "native.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum {
	REQUEST_HEAD = 40,
	ATTR = 88,
	ENTRY = 40 + ATTR,
	DIRENT = 24,
};

/* The kernel adds what it is told to the clock: for ever is not too long. */
static const uint64_t for_ever = UINT64_C(1) << 31;

/* ---- What the kernel asks --------------------------------------------- */

static int take_name(const uint8_t *p, size_t n, struct mount_request *ret)
{
	const uint8_t *end = memchr(p, '\0', n);

	if (!end)
		return -EPROTO;
	ret->name = (const char *)p;
	ret->name_len = (size_t)(end - p);
	return 0;
}

static int take_read(const uint8_t *p, size_t n, struct mount_request *ret)
{
	if (n < 40)
		return -EPROTO;
	ret->offset = mount_get64(p + 8);
	ret->size = mount_get32(p + 16);
	return 0;
}

static int take_attr(const uint8_t *p, size_t n, struct mount_request *ret)
{
	if (n < 8)
		return -EPROTO;
	ret->attr.room = mount_get32(p);
	if (ret->op == MOUNT_LISTXATTR)
		return 0;
	if (!memchr(p + 8, '\0', n - 8))
		return -EPROTO;
	ret->attr.name = (const char *)p + 8;
	return 0;
}

static int take_init(const uint8_t *p, size_t n, struct mount_request *ret)
{
	if (n < 16)
		return -EPROTO;
	ret->init.major = mount_get32(p);
	ret->init.minor = mount_get32(p + 4);
	ret->init.max_readahead = mount_get32(p + 8);
	ret->init.flags = mount_get32(p + 12);
	if (n >= 20 && ret->init.flags & MOUNT_INIT_EXT)
		ret->init.flags2 = mount_get32(p + 16);
	return 0;
}

static int take_body(const uint8_t *p, size_t n, struct mount_request *ret)
{
	switch (ret->op) {
	case MOUNT_LOOKUP:
		return take_name(p, n, ret);
	case MOUNT_READ:
	case MOUNT_READDIR:
	case MOUNT_READDIRPLUS:
		return take_read(p, n, ret);
	case MOUNT_GETXATTR:
	case MOUNT_LISTXATTR:
		return take_attr(p, n, ret);
	case MOUNT_INIT:
		return take_init(p, n, ret);
	case MOUNT_INTERRUPT:
		if (n < 8)
			return -EPROTO;
		ret->interrupted = mount_get64(p);
		return 0;
	default:
		return 0;
	}
}

int mount_decode(const void *p, size_t n, struct mount_request *ret)
{
	const uint8_t *b = p;
	uint32_t len;

	memset(ret, 0, sizeof *ret);
	if (n < REQUEST_HEAD)
		return -EPROTO;
	len = mount_get32(b);
	ret->op = mount_get32(b + 4);
	ret->unique = mount_get64(b + 8);
	ret->node = mount_get64(b + 16);
	ret->pid = mount_get32(b + 32);
	if (len != n)
		return -EPROTO;
	return take_body(b + REQUEST_HEAD, n - REQUEST_HEAD, ret);
}

bool mount_is_silent(uint32_t op)
{
	return op == MOUNT_FORGET || op == MOUNT_BATCH_FORGET ||
	       op == MOUNT_INTERRUPT || op == MOUNT_DESTROY;
}

/* ---- What it is told -------------------------------------------------- */

static size_t head(void *p, uint64_t unique, int code, size_t n)
{
	uint8_t *b = p;

	mount_put32(b, (uint32_t)(MOUNT_HEAD + n));
	mount_put32(b + 4, (uint32_t)code);
	mount_put64(b + 8, unique);
	return MOUNT_HEAD + n;
}

size_t mount_answer(void *p, uint64_t unique, int code)
{
	return head(p, unique, code, 0);
}

size_t mount_answer_bytes(void *p, uint64_t unique, size_t n)
{
	return head(p, unique, 0, n);
}

static void put_attr(uint8_t *p, const struct mount_attr *a)
{
	memset(p, 0, ATTR);
	mount_put64(p, a->ino);
	mount_put64(p + 8, a->size);
	mount_put64(p + 16, (a->size + 511) / 512);
	for (unsigned i = 0; i < 3; i++) {
		mount_put64(p + 24 + i * 8, (uint64_t)a->mtime);
		mount_put32(p + 48 + i * 4, a->mtime_nsec);
	}
	mount_put32(p + 60, a->mode);
	mount_put32(p + 64, a->nlink);
	mount_put32(p + 68, a->uid);
	mount_put32(p + 72, a->gid);
	mount_put32(p + 80, 4096);
}

/* A node's number is the inode's. */
static void put_entry(uint8_t *p, const struct mount_attr *a)
{
	memset(p, 0, ENTRY);
	mount_put64(p, a->ino);
	mount_put64(p + 16, for_ever);
	mount_put64(p + 24, a->changes ? 0 : for_ever);
	put_attr(p + 40, a);
}

size_t mount_answer_entry(void *p, uint64_t unique, const struct mount_attr *a)
{
	put_entry((uint8_t *)p + MOUNT_HEAD, a);
	return head(p, unique, 0, ENTRY);
}

/* Node 0 says that there is none, which -ENOENT would not let it keep. */
size_t mount_answer_nothing(void *p, uint64_t unique)
{
	uint8_t *b = (uint8_t *)p + MOUNT_HEAD;

	memset(b, 0, ENTRY);
	mount_put64(b + 16, for_ever);
	return head(p, unique, 0, ENTRY);
}

size_t mount_answer_attr(void *p, uint64_t unique, const struct mount_attr *a)
{
	uint8_t *b = (uint8_t *)p + MOUNT_HEAD;

	memset(b, 0, 16);
	mount_put64(b, a->changes ? 0 : for_ever);
	put_attr(b + 16, a);
	return head(p, unique, 0, 16 + ATTR);
}

size_t mount_answer_attr_size(void *p, uint64_t unique, uint32_t size)
{
	uint8_t *b = (uint8_t *)p + MOUNT_HEAD;

	mount_put32(b, size);
	mount_put32(b + 4, 0);
	return head(p, unique, 0, 8);
}

size_t mount_answer_statfs(void *p, uint64_t unique,
			   const struct mount_statfs *s)
{
	uint8_t *b = (uint8_t *)p + MOUNT_HEAD;

	memset(b, 0, 80);
	mount_put64(b, (s->bytes + 4095) / 4096);
	mount_put64(b + 24, s->files);
	mount_put32(b + 40, 4096);
	mount_put32(b + 44, MOUNT_NAME);
	mount_put32(b + 48, 4096);
	return head(p, unique, 0, 80);
}

/* ---- INIT ------------------------------------------------------------- */

/* Why not all of it for who gives: store.h. */
static uint32_t wanted(const struct mount_offer *o)
{
	return MOUNT_ASYNC_DIO | MOUNT_NO_OPEN | MOUNT_NO_OPENDIR |
	       MOUNT_PARALLEL_DIROPS | MOUNT_MAX_PAGES | MOUNT_CACHE_SYMLINKS |
	       MOUNT_AUTO_INVAL | MOUNT_READDIRPLUS_DO |
	       (o->give ? 0 : MOUNT_ASYNC_READ) |
	       (o->plus ? 0 : MOUNT_READDIRPLUS_AUTO);
}

int mount_answer_init(void *p, const struct mount_request *init,
		      const struct mount_offer *offer, size_t *ret_n,
		      struct mount_agreed *ret)
{
	uint8_t *b = (uint8_t *)p + MOUNT_HEAD;
	uint32_t minor = init->init.minor;

	if (init->init.major < MOUNT_MAJOR ||
	    (init->init.major == MOUNT_MAJOR && minor < MOUNT_MINOR_LEAST)) {
		*ret_n = mount_answer(p, init->unique, -EPROTO);
		return -EPROTO;
	}
	memset(b, 0, 64);
	ret->minor = minor < MOUNT_MINOR ? minor : MOUNT_MINOR;
	ret->flags2 =
		offer->give ? MOUNT_REQUEST_TIMEOUT & init->init.flags2 : 0;
	ret->flags = (wanted(offer) | (ret->flags2 ? MOUNT_INIT_EXT : 0)) &
		     init->init.flags;
	mount_put32(b, MOUNT_MAJOR);
	/* A kernel of a later major asks again, by ours. */
	mount_put32(b + 4,
		    init->init.major > MOUNT_MAJOR ? MOUNT_MINOR : ret->minor);
	mount_put32(b + 8, init->init.max_readahead);
	mount_put32(b + 12, ret->flags);
	mount_put16(b + 16, 64); /* asked of us in advance, without a reader */
	mount_put16(b + 18, 48);
	mount_put32(b + 20, 4096); /* bytes of a write: there are none */
	mount_put32(b + 24, 1);	   /* times to the nanosecond */
	mount_put16(b + 28, MOUNT_READ_MOST / 4096);
	mount_put32(b + 32, ret->flags2);
	if (ret->flags2)
		mount_put16(b + 40, offer->end);
	*ret_n = head(p, init->unique, 0, 64);
	return 0;
}

void mount_notify_store(void *p, uint64_t node, size_t size)
{
	enum { NOTIFY_STORE = 4 };
	uint8_t *b = (uint8_t *)p + MOUNT_HEAD;

	memset(p, 0, MOUNT_STORE_HEAD);
	mount_put32(p, (uint32_t)(MOUNT_STORE_HEAD + size));
	mount_put32((uint8_t *)p + 4, NOTIFY_STORE);
	mount_put64(b, node);
	mount_put32(b + 16, (uint32_t)size);
}

/* ---- Listings --------------------------------------------------------- */

bool mount_listing_add(struct mount_listing *l, const struct mount_attr *a,
		       const char *name, size_t len, uint64_t next, bool known)
{
	size_t entry = l->plus ? ENTRY : 0, n = (DIRENT + len + 7) & ~(size_t)7;
	uint8_t *b = l->p + MOUNT_HEAD + l->at;

	if (entry + n > l->room - l->at)
		return false;
	memset(b, 0, entry + n);
	if (l->plus && known)
		put_entry(b, a);
	b += entry;
	mount_put64(b, a->ino);
	mount_put64(b + 8, next);
	mount_put32(b + 16, (uint32_t)len);
	mount_put32(b + 20, (a->mode & S_IFMT) >> 12);
	memcpy(b + DIRENT, name, len);
	l->at += entry + n;
	return true;
}

size_t mount_listing_end(struct mount_listing *l, uint64_t unique)
{
	return head(l->p, unique, 0, l->at);
}
