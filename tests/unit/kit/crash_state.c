/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing what is lost, and building what is left. */
#include "crash.h"

#include "base/hash.h"
#include "memio_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SECTOR = 512, SUBSETS = 6, SUBSETS_THOROUGH = 10, RANDOM = 16 };

/* ---- What is durable -------------------------------------------------- */

static bool synced(const struct crash *c, size_t from, size_t k, uint64_t ino)
{
	for (size_t i = from; i < k; i++)
		if (c->op[i].kind == CRASH_SYNC && c->op[i].ino == ino)
			return true;
	return false;
}

static bool durable(const struct crash *c, size_t i, size_t k)
{
	const struct crash_op *op = &c->op[i];

	switch (op->kind) {
	case CRASH_DATA:
	case CRASH_SIZE:
		return synced(c, i, k, op->ino);
	case CRASH_MAKE:
		return synced(c, i, k, op->place[1].dir);
	case CRASH_GONE:
		return synced(c, i, k, op->place[0].dir);
	case CRASH_MOVE:
	case CRASH_SWAP:
		return synced(c, i, k, op->place[0].dir) &&
		       synced(c, i, k, op->place[1].dir);
	default:
		return true;
	}
}

/* ---- Choices ---------------------------------------------------------- */

struct pending {
	size_t n, at[CRASH_OPS];
	size_t n_data, data[CRASH_OPS]; /* of them */
};

static void look(const struct crash *c, size_t k, struct pending *p)
{
	p->n = p->n_data = 0;
	for (size_t i = 0; i < k; i++) {
		if (durable(c, i, k))
			continue;
		p->at[p->n++] = i;
		if (c->op[i].kind == CRASH_DATA)
			p->data[p->n_data++] = i;
	}
}

static uint64_t mix(uint64_t x)
{
	return hp_hash64(&x, sizeof x);
}

static void choose_randomly(const struct crash *c, const struct pending *p,
			    uint64_t seed, uint8_t *fate)
{
	for (size_t i = 0; i < p->n; i++) {
		uint64_t r = mix(seed * 1000003 + i) % 8;

		if (c->op[p->at[i]].kind != CRASH_DATA)
			r %= 2;
		fate[p->at[i]] = (uint8_t)(r < 4 ? r : r % 2);
	}
}

static void set_all(const struct pending *p, uint8_t what, uint8_t *fate)
{
	for (size_t i = 0; i < p->n; i++)
		fate[p->at[i]] = what;
}

/* All subsets of few, of many those with or without a single one. */
static bool choose_subset(const struct pending *p, uint64_t *v, bool thorough,
			  uint8_t *fate)
{
	uint64_t some = thorough ? SUBSETS_THOROUGH : SUBSETS;
	uint64_t n = p->n <= some ? UINT64_C(1) << p->n : 2 + 2 * p->n;

	if (*v >= n) {
		*v -= n;
		return false;
	}
	if (p->n <= some) {
		for (size_t i = 0; i < p->n; i++)
			fate[p->at[i]] = *v >> i & 1 ? CRASH_LOST : CRASH_DONE;
		return true;
	}
	set_all(p, *v % 2 ? CRASH_LOST : CRASH_DONE, fate);
	if (*v >= 2)
		fate[p->at[*v / 2 - 1]] = *v % 2 ? CRASH_DONE : CRASH_LOST;
	return true;
}

bool crash_choose(const struct crash *c, size_t k, uint64_t v, bool thorough,
		  uint8_t fate[CRASH_OPS])
{
	static struct pending p;
	uint64_t random = thorough ? 10 * RANDOM : RANDOM;

	look(c, k, &p);
	memset(fate, CRASH_DONE, CRASH_OPS);
	if (choose_subset(&p, &v, thorough, fate))
		return true;
	if (v < 2 * p.n_data) {
		fate[p.data[v / 2]] = v % 2 ? CRASH_HALF : CRASH_ZEROS;
		return true;
	}
	v -= 2 * p.n_data;
	if (p.n < 2 || v >= random)
		return false;
	choose_randomly(c, &p, k * random + v, fate);
	return true;
}

/* ---- What is left ----------------------------------------------------- */

enum { INODES = 512 };

struct inode {
	uint64_t ino;
	bool folder;
	uint8_t *bytes;
	size_t size;
};

struct disk {
	struct inode inode[INODES];
	size_t n;
	struct {
		struct crash_place place;
		uint64_t ino; /* 0: no more */
	} name[2 * INODES];
	size_t n_names;
};

static struct inode *find(struct disk *d, uint64_t ino)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->inode[i].ino == ino)
			return &d->inode[i];
	assert_true(d->n < INODES);
	d->inode[d->n] = (struct inode){ .ino = ino };
	return &d->inode[d->n++];
}

static uint64_t *name_of(struct disk *d, const struct crash_place *p)
{
	for (size_t i = 0; i < d->n_names; i++)
		if (d->name[i].place.dir == p->dir &&
		    !strcmp(d->name[i].place.name, p->name))
			return &d->name[i].ino;
	assert_true(d->n_names < 2 * INODES);
	d->name[d->n_names].place = *p;
	d->name[d->n_names].ino = 0;
	return &d->name[d->n_names++].ino;
}

static void resize(struct inode *n, size_t size)
{
	uint8_t *p = memio_alloc(size);

	if (n->size)
		memcpy(p, n->bytes, n->size < size ? n->size : size);
	free(n->bytes);
	n->bytes = p;
	n->size = size;
}

/* Torn where sectors meet; a small write is whole or not there. */
static void apply_data(struct inode *n, const struct crash_op *op, uint8_t fate)
{
	size_t end = op->off + op->n, to = end;

	if (fate == CRASH_HALF)
		to = (op->off + op->n / 2) / SECTOR * SECTOR;
	if (end > n->size)
		resize(n, end);
	if (fate == CRASH_ZEROS)
		memset(n->bytes + op->off, 0, op->n);
	else if (to > op->off)
		memcpy(n->bytes + op->off, op->bytes, to - op->off);
}

static void apply(struct disk *d, const struct crash_op *op, uint8_t fate)
{
	uint64_t *from = NULL, *to = NULL;

	if (op->kind == CRASH_DATA)
		apply_data(find(d, op->ino), op, fate);
	else if (op->kind == CRASH_SIZE)
		resize(find(d, op->ino), op->off);
	if (op->kind == CRASH_MOVE || op->kind == CRASH_SWAP ||
	    op->kind == CRASH_GONE)
		from = name_of(d, &op->place[0]);
	if (op->kind == CRASH_MOVE || op->kind == CRASH_SWAP ||
	    op->kind == CRASH_MAKE)
		to = name_of(d, &op->place[1]);
	if (from && op->kind == CRASH_SWAP)
		*from = op->other;
	else if (from && *from == op->ino)
		*from = 0;
	if (to)
		*to = op->ino;
}

static void take_over(struct disk *d, struct memio *m)
{
	for (struct node *n = m->nodes; n; n = n->next) {
		struct inode *i = find(d, n->ino);
		struct crash_place p = { .dir = 1 };
		const char *slash = strrchr(n->path, '/');

		i->folder = n->dir;
		resize(i, n->size);
		if (n->size)
			memcpy(i->bytes, n->b->p, n->size);
		if (!*n->path)
			continue;
		if (slash) {
			char folder[PATH_ROOM];

			snprintf(folder, sizeof folder, "%.*s",
				 (int)(slash - n->path), n->path);
			p.dir = memio_find(m, folder)->ino;
		}
		snprintf(p.name, sizeof p.name, "%s",
			 slash ? slash + 1 : n->path);
		*name_of(d, &p) = n->ino;
	}
}

static void put_folder(struct disk *d, uint64_t dir, const char *path,
		       struct memio *m)
{
	char name[PATH_ROOM];

	for (size_t i = 0; i < d->n_names; i++) {
		struct inode *n;

		if (d->name[i].place.dir != dir || !d->name[i].ino)
			continue;
		n = find(d, d->name[i].ino);
		snprintf(name, sizeof name, "%s%s%s", path, *path ? "/" : "",
			 d->name[i].place.name);
		if (!n->folder) {
			memio_add(m, name, n->bytes, n->size);
			continue;
		}
		memio_node_new(m, name, true, 0755);
		put_folder(d, n->ino, name, m);
	}
}

struct memio *crash_build(const struct crash *c, size_t k,
			  const uint8_t fate[CRASH_OPS])
{
	static struct disk d;
	struct memio *m = memio_new();

	d.n = d.n_names = 0;
	take_over(&d, c->before);
	for (size_t i = 0; i < k; i++) {
		if (c->op[i].kind == CRASH_MAKE)
			find(&d, c->op[i].ino)->folder = c->op[i].folder;
		if (durable(c, i, k))
			apply(&d, &c->op[i], CRASH_DONE);
		else if (fate[i] != CRASH_LOST)
			apply(&d, &c->op[i], fate[i]);
	}
	put_folder(&d, 1, "", m);
	for (size_t i = 0; i < d.n; i++)
		free(d.inode[i].bytes);
	return m;
}

/* ---- Told and compared ------------------------------------------------ */

void crash_describe(const struct crash *c, size_t k,
		    const uint8_t fate[CRASH_OPS], char *buf, size_t room)
{
	static const char *const kinds[] = { "make", "move", "swap", "gone",
					     "data", "size", "sync" };
	static const char *const fates[] = { "lost", "done", "half", "zeros" };
	size_t n = (size_t)snprintf(buf, room, "%zu of %zu", k, c->n);

	for (size_t i = 0; i < k && n < room; i++) {
		const struct crash_op *op = &c->op[i];

		if (!durable(c, i, k))
			n += (size_t)snprintf(
				buf + n, room - n, "\n# %zu %s %d %s %s: %s", i,
				kinds[op->kind], (int)op->ino,
				op->place[0].name, op->place[1].name,
				fates[fate[i]]);
	}
}

static bool same(const struct node *a, const struct node *b)
{
	return b && a->dir == b->dir && a->size == b->size &&
	       (!a->size || !memcmp(a->b->p, b->b->p, a->size));
}

static const char *one_way(struct memio *a, struct memio *b, const char *below,
			   bool (*passed_over)(const char *path))
{
	for (struct node *n = a->nodes; n; n = n->next)
		if (n->path && memio_below(n->path, below) &&
		    !(passed_over && passed_over(n->path)) &&
		    !same(n, memio_find(b, n->path)))
			return n->path;
	return NULL;
}

const char *crash_differ(struct memio *a, struct memio *b, const char *below,
			 bool (*passed_over)(const char *path))
{
	const char *path = one_way(a, b, below, passed_over);

	return path ? path : one_way(b, a, below, passed_over);
}

/* Whatever order the names have. */
uint64_t crash_digest(struct memio *m)
{
	uint64_t sum = 0;

	for (struct node *n = m->nodes; n; n = n->next)
		sum += mix(hp_hash64(n->path, strlen(n->path)) ^
			   mix(n->size ? hp_hash64(n->b->p, n->size) : n->dir));
	return sum;
}
