/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes have whole paths: there are few files, so a walk finds them. */
#include "memio_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memio *memio_enter(const struct hp_io *io)
{
	struct memio *m = (struct memio *)(uintptr_t)io;

	pthread_mutex_lock(&m->lock);
	return m;
}

int memio_leave(struct memio *m, int r)
{
	pthread_mutex_unlock(&m->lock);
	return r;
}

void *memio_alloc(size_t n)
{
	void *p = NULL;

	if (posix_memalign(&p, 16, n ? n : 1))
		abort();
	memset(p, 0, n);
	return p;
}

char *memio_strdup(const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = memio_alloc(n);

	memcpy(p, s, n);
	return p;
}

void memio_bytes_put(struct bytes *b)
{
	if (b && --b->refs == 0)
		free(b);
}

struct node *memio_find(struct memio *m, const char *path)
{
	for (struct node *n = m->nodes; n; n = n->next)
		if (n->path && !strcmp(n->path, path))
			return n;
	return NULL;
}

void memio_node_put(struct memio *m, struct node *n)
{
	struct node **at = &m->nodes;

	if (--n->refs)
		return;
	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	memio_bytes_put(n->b);
	free(n->path);
	free(n);
}

struct node *memio_node_new(struct memio *m, const char *path, bool dir,
			    mode_t mode)
{
	struct node **at = &m->nodes;
	struct node *n = memio_alloc(sizeof *n);

	while (*at)
		at = &(*at)->next;
	n->path = memio_strdup(path);
	n->refs = 1;
	n->dir = dir;
	n->mode = mode & 07777;
	n->ino = ++m->last_ino;
	*at = n;
	return n;
}

void memio_unlink_node(struct memio *m, struct node *n)
{
	free(n->path);
	n->path = NULL;
	memio_node_put(m, n);
}

const char *memio_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len == 0)
		return *path ? path : NULL;
	return !strncmp(path, dir, len) && path[len] == '/' ? path + len + 1 :
							      NULL;
}

bool memio_is_empty(struct memio *m, const struct node *dir)
{
	for (struct node *n = m->nodes; n; n = n->next)
		if (n->path && memio_below(n->path, dir->path))
			return false;
	return true;
}

struct file *memio_get(struct memio *m, int fd)
{
	if (fd < FIRST_FD || fd >= FIRST_FD + FDS ||
	    !m->files[fd - FIRST_FD].node)
		return NULL;
	return &m->files[fd - FIRST_FD];
}

int memio_resolve(struct memio *m, int dir, const char *name,
		  char out[PATH_ROOM])
{
	struct file *f = dir == AT_FDCWD ? NULL : memio_get(m, dir);
	size_t n = 0;

	if (dir != AT_FDCWD && *name != '/') {
		if (!f)
			return -EBADF;
		if (!f->node->dir && *name)
			return -ENOTDIR;
		if (!f->node->path)
			return -ENOENT;
		n = strlen(strcpy(out, f->node->path));
	}
	while (*name) {
		size_t k = strcspn(name, "/");

		if (n + k + 2 > PATH_ROOM || k > 255)
			return -ENAMETOOLONG;
		if (k == 2 && name[0] == '.' && name[1] == '.') {
			while (n > 0 && out[--n] != '/')
				;
		} else if (k && !(k == 1 && *name == '.')) {
			if (n)
				out[n++] = '/';
			memcpy(out + n, name, k);
			n += k;
		}
		name += k + (name[k] == '/');
	}
	out[n] = '\0';
	return 0;
}

int memio_check_parent(struct memio *m, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	char parent[PATH_ROOM];
	struct node *n;

	memcpy(parent, path, len);
	parent[len] = '\0';
	n = memio_find(m, parent);
	if (!n)
		return -ENOENT;
	return n->dir ? 0 : -ENOTDIR;
}

uint64_t memio_used(struct memio *m)
{
	uint64_t sum = 0;

	for (struct node *n = m->nodes; n; n = n->next)
		sum += n->size;
	return sum;
}

int memio_set_size(struct memio *m, struct node *n, size_t size)
{
	size_t room = n->b ? n->b->room : 0;

	if (size > n->size && m->room &&
	    memio_used(m) + size - n->size > m->room)
		return -ENOSPC;
	if (size > room) {
		/* Mappings keep the old bytes. */
		struct bytes *b;

		/* Exact at first: a sanitizer then sees what reads beyond. */
		room = n->size ? size + size / 2 : size;
		b = memio_alloc(sizeof *b + room);
		b->refs = 1;
		b->room = room;
		if (n->size)
			memcpy(b->p, n->b->p, n->size);
		memio_bytes_put(n->b);
		n->b = b;
	}
	if (size < n->size)
		memset(n->b->p + size, 0, n->size - size);
	n->size = size;
	return 0;
}

void memio_move(struct memio *m, const char *from, const char *to)
{
	for (struct node *n = m->nodes; n; n = n->next) {
		const char *rest = n->path ? memio_below(n->path, from) : NULL;
		size_t room = strlen(to) + 2 + (rest ? strlen(rest) : 0);
		char *path;

		if (!rest && (!n->path || strcmp(n->path, from)))
			continue;
		path = memio_alloc(room);
		snprintf(path, room, "%s%s%s", to, rest ? "/" : "",
			 rest ? rest : "");
		free(n->path);
		n->path = path;
	}
}
