/* SPDX-License-Identifier: Apache-2.0 */
#include "chunks.h"

#include "sum.h"
#include "tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Names ------------------------------------------------------------ */

char *mount_chunk_name(const struct hpdsl_chunk *c)
{
	const char *slash = strrchr(c->name, '/'), *suffix = ".zst";
	const char *name = slash ? slash + 1 : c->name;
	size_t n = strlen(name), end = strlen(suffix);

	if (c->compressed && n > end && strcmp(name + n - end, suffix) == 0)
		n -= end;
	return strndup(name, n);
}

/* Less, equal or more than zero, as v is before, at or behind that place. */
static int compare(const struct mount_thing *v, uint32_t parent,
		   const char *name, size_t len)
{
	size_t n = strlen(v->name);
	int r;

	if (v->parent != parent)
		return v->parent < parent ? -1 : 1;
	r = memcmp(v->name, name, n < len ? n : len);
	return r ? r : n < len ? -1 : n > len;
}

static int by_place(const void *a, const void *b, void *arg)
{
	const struct mount_thing *v = arg;
	const struct mount_thing *y = &v[*(const uint32_t *)b];

	return compare(&v[*(const uint32_t *)a], y->parent, y->name,
		       strlen(y->name));
}

int mount_chunks_sort(struct mount_chunks *c)
{
	c->order = calloc(c->n, sizeof(*c->order));
	if (!c->order)
		return -ENOMEM;
	for (uint32_t i = 1; i < c->n; i++)
		c->order[i - 1] = i;
	qsort_r(c->order, c->n - 1, sizeof(*c->order), by_place, c->v);
	return 0;
}

static void free_thing(struct mount_thing *v)
{
	free(v->name);
	free(v->path);
}

void mount_chunks_release(struct mount_chunks *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free_thing(&c->v[i]);
	free(c->v);
	free(c->order);
	*c = (struct mount_chunks){ 0 };
}

/* ---- What lies beside them -------------------------------------------- */

void mount_chunks_drop(struct mount_chunks *c)
{
	while (c->n > c->chunks + 1)
		free_thing(&c->v[--c->n]);
	c->changed = true;
}

uint64_t mount_chunks_sum(const struct mount_chunks *c)
{
	uint64_t h = MOUNT_SUM_BEGIN;

	for (uint32_t i = c->chunks + 1; i < c->n; i++) {
		const struct mount_thing *v = &c->v[i];
		const uint64_t is[] = {
			v->parent, v->is,	  v->size, (uint64_t)v->mtime,
			v->link,   v->mtime_nsec, v->dev,  v->ino,
		};

		h = mount_sum(h, v->name, strlen(v->name) + 1);
		h = mount_sum(h, is, sizeof(is));
	}
	return h;
}

/* ---- Nodes ------------------------------------------------------------ */

/* NULL: there is no such node. */
static const struct mount_thing *get(const struct mount_chunks *c,
				     uint64_t node)
{
	return node && node <= c->n ? &c->v[node - 1] : NULL;
}

static void attr_of(const struct mount_chunks *c, const struct mount_thing *v,
		    struct mount_attr *ret)
{
	uint32_t type = v->is == MOUNT_FOLDER ? S_IFDIR :
			v->link		      ? S_IFLNK :
						S_IFREG;

	*ret = (struct mount_attr){
		.ino = (uint64_t)(v - c->v) + 1,
		.size = v->link ? strlen(v->path) : v->size,
		.mtime = v->mtime,
		.mtime_nsec = v->mtime_nsec,
		.mode = type | (v->link ? 0777 : v->mode & 0777),
		.nlink = 1,
		.uid = c->uid,
		.gid = c->gid,
	};
}

int mount_chunks_file(const struct mount_chunks *c, uint64_t node,
		      uint64_t *ret)
{
	const struct mount_thing *v = get(c, node);

	if (!v)
		return c->changed ? -EIO : -ENOENT;
	if (v->is == MOUNT_FOLDER)
		return -EISDIR;
	*ret = node - 1;
	return 0;
}

/* ---- Answers ---------------------------------------------------------- */

static size_t lookup(const struct mount_chunks *c,
		     const struct mount_request *r, void *p)
{
	const struct mount_thing *folder = get(c, r->node);
	uint32_t low = 0, high = c->n - 1, parent;
	struct mount_attr a;

	if (!folder || folder->is != MOUNT_FOLDER)
		return mount_answer(p, r->unique, folder ? -ENOTDIR : -ENOENT);
	parent = (uint32_t)(folder - c->v);
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct mount_thing *v = &c->v[c->order[mid]];
		int is = compare(v, parent, r->name, r->name_len);

		if (is == 0) {
			attr_of(c, v, &a);
			return mount_answer_entry(p, r->unique, &a);
		}
		if (is < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return mount_answer_nothing(p, r->unique);
}

static size_t getattr(const struct mount_chunks *c,
		      const struct mount_request *r, void *p)
{
	const struct mount_thing *v = get(c, r->node);
	struct mount_attr a;

	if (!v)
		return mount_answer(p, r->unique, -ENOENT);
	attr_of(c, v, &a);
	return mount_answer_attr(p, r->unique, &a);
}

static size_t readlink_of(const struct mount_chunks *c,
			  const struct mount_request *r, void *p)
{
	const struct mount_thing *v = get(c, r->node);
	size_t n;

	if (!v || !v->link)
		return mount_answer(p, r->unique, v ? -EINVAL : -ENOENT);
	n = strlen(v->path);
	if (n > MOUNT_ANSWER_ROOM - MOUNT_HEAD)
		return mount_answer(p, r->unique, -ENAMETOOLONG);
	memcpy((uint8_t *)p + MOUNT_HEAD, v->path, n);
	return mount_answer_bytes(p, r->unique, n);
}

/* Offsets: 0 is before ".", 1 before "..", 2 + i before what is at order i. */
enum { DOTS = 2 };

static bool add(const struct mount_chunks *c, struct mount_listing *l,
		const struct mount_thing *v, const char *name, uint64_t next)
{
	struct mount_attr a;

	attr_of(c, v, &a);
	return mount_listing_add(l, &a, name, strlen(name), next, next > DOTS);
}

static size_t list(const struct mount_chunks *c, const struct mount_request *r,
		   void *p)
{
	const struct mount_thing *folder = get(c, r->node);
	const size_t most = MOUNT_ANSWER_ROOM - MOUNT_HEAD;
	struct mount_listing l = { .p = p, .plus = r->op == MOUNT_READDIRPLUS };
	uint64_t at = r->offset;
	bool room = true;

	if (!folder || folder->is != MOUNT_FOLDER)
		return mount_answer(p, r->unique, folder ? -ENOTDIR : -ENOENT);
	l.room = r->size < most ? r->size : most;
	if (at == 0 && (room = add(c, &l, folder, ".", 1)))
		at = 1;
	if (at == 1 && (room = add(c, &l, &c->v[folder->parent], "..", DOTS)))
		at = DOTS;
	for (; room && at >= DOTS && at - DOTS < c->n - 1; at++) {
		const struct mount_thing *v = &c->v[c->order[at - DOTS]];

		if (v->parent == (uint32_t)(folder - c->v))
			room = add(c, &l, v, v->name, at + 1);
	}
	return mount_listing_end(&l, r->unique);
}

/* Of the bytes of chunks as plain tars. */
static size_t statfs_of(const struct mount_chunks *c,
			const struct mount_request *r, void *p)
{
	struct mount_statfs s = { .files = c->n - 1 };

	for (uint32_t i = 1; i < c->n; i++)
		s.bytes += c->v[i].size;
	return mount_answer_statfs(p, r->unique, &s);
}

size_t mount_chunks_answer(const struct mount_chunks *c,
			   const struct mount_request *r, void *p)
{
	switch (r->op) {
	case MOUNT_LOOKUP:
		return lookup(c, r, p);
	case MOUNT_GETATTR:
		return getattr(c, r, p);
	case MOUNT_READLINK:
		return readlink_of(c, r, p);
	case MOUNT_READDIR:
	case MOUNT_READDIRPLUS:
		return list(c, r, p);
	case MOUNT_STATFS:
		return statfs_of(c, r, p);
	/* isatty() asks, and is told no. */
	case MOUNT_IOCTL:
		return mount_answer(p, r->unique, -ENOTTY);
	/* What the kernel is told once, it never asks again. */
	default:
		return mount_is_silent(r->op) ?
			       0 :
			       mount_answer(p, r->unique, -ENOSYS);
	}
}
