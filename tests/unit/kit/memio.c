/* SPDX-License-Identifier: Apache-2.0 */
/* What tests do with a file system in memory besides handing it on. */
#include "memio_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct memio *memio_new(void)
{
	struct memio *m = memio_alloc(sizeof *m);

	m->io = memio_table;
	pthread_mutex_init(&m->lock, NULL);
	memio_node_new(m, "", true, 0755);
	return m;
}

void memio_free(struct memio *m)
{
	if (!m)
		return;
	assert(m->open == 0 && !m->maps);
	while (m->nodes) {
		struct node *n = m->nodes;

		n->refs = 1;
		memio_node_put(m, n);
	}
	pthread_mutex_destroy(&m->lock);
	free(m);
}

struct memio *memio_copy(struct memio *m)
{
	struct memio *copy = memio_new();

	memio_enter(&m->io);
	for (struct node *n = m->nodes; n; n = n->next) {
		struct node *to;

		if (!n->path)
			continue;
		to = *n->path ? memio_node_new(copy, n->path, n->dir, n->mode) :
				copy->nodes;
		to->ino = n->ino;
		to->mtime = n->mtime;
		if (memio_set_size(copy, to, n->size) < 0)
			abort();
		if (n->size)
			memcpy(to->b->p, n->b->p, n->size);
	}
	copy->last_ino = m->last_ino;
	memio_leave(m, 0);
	return copy;
}

void memio_swap(struct memio *a, struct memio *b)
{
	struct node *nodes = a->nodes;
	ino_t last = a->last_ino;

	assert(!a->open && !b->open && !a->maps && !b->maps);
	a->nodes = b->nodes;
	a->last_ino = b->last_ino;
	b->nodes = nodes;
	b->last_ino = last;
}

const struct hp_io *memio_io(struct memio *m)
{
	return &m->io;
}

static void make_parents(struct memio *m, const char *path)
{
	char *p = memio_strdup(path);

	for (char *slash = strchr(p, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (!memio_find(m, p))
			memio_node_new(m, p, true, 0755);
		*slash = '/';
	}
	free(p);
}

void memio_add(struct memio *m, const char *path, const void *bytes, size_t n)
{
	struct node *node;

	memio_enter(&m->io);
	make_parents(m, path);
	node = memio_find(m, path);
	if (!node)
		node = memio_node_new(m, path, false, 0644);
	if (memio_set_size(m, node, n) < 0)
		abort();
	if (n)
		memcpy(node->b->p, bytes, n);
	memio_leave(m, 0);
}

void memio_remove(struct memio *m, const char *path)
{
	m->io.unlink(&m->io, AT_FDCWD, path, 0);
}

uint8_t *memio_bytes(struct memio *m, const char *path, size_t *ret_n)
{
	struct node *n;
	uint8_t *p = NULL;

	memio_enter(&m->io);
	n = memio_find(m, path);
	if (n && !n->dir) {
		static uint8_t none[1];

		*ret_n = n->size;
		p = n->b ? n->b->p : none;
	}
	memio_leave(m, 0);
	return p;
}

void memio_flip(struct memio *m, const char *path, uint64_t bit)
{
	size_t n = 0;
	uint8_t *p = memio_bytes(m, path, &n);

	assert(p && bit / 8 < n);
	p[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

void memio_resize(struct memio *m, const char *path, size_t n)
{
	struct node *node;

	memio_enter(&m->io);
	node = memio_find(m, path);
	assert(node);
	if (memio_set_size(m, node, n) < 0)
		abort();
	memio_leave(m, 0);
}

size_t memio_list(struct memio *m, const char **ret, size_t room)
{
	size_t n = 0;

	memio_enter(&m->io);
	for (struct node *k = m->nodes; k; k = k->next) {
		if (k->dir || !k->path)
			continue;
		if (n < room)
			ret[n] = k->path;
		n++;
	}
	memio_leave(m, 0);
	return n;
}

void memio_set_map(struct memio *m, int code)
{
	memio_enter(&m->io);
	m->map_code = code;
	memio_leave(m, 0);
}

void memio_set_room(struct memio *m, uint64_t bytes)
{
	memio_enter(&m->io);
	m->room = bytes;
	memio_leave(m, 0);
}

unsigned memio_open_count(struct memio *m)
{
	unsigned n;

	memio_enter(&m->io);
	n = m->open;
	memio_leave(m, 0);
	return n;
}
