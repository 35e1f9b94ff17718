/* SPDX-License-Identifier: Apache-2.0 */
/* Listing a folder, and putting its nodes together. */
#include "walk/private.h"

#include "base/mem.h"
#include "sys/dir.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#define DENTS_BYTES (128 * 1024)

/* ---- Nodes ------------------------------------------------------------ */

static bool in_order(const struct hp_node *v, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++)
		if (hp_name_compare(v[i - 1].name, v[i - 1].name_len, v[i].name,
				    v[i].name_len) > 0)
			return false;
	return true;
}

/* Moves the nodes out of the batches into an array of just that size. */
static int gather(struct hp_walk_dir *dir)
{
	struct hp_folder *f = dir->folder;
	struct hp_node *to;
	uint64_t n = 0;

	for (struct hp_walk_batch *b = dir->first; b; b = b->next)
		n += b->n;
	if (!n)
		return 0;
	to = hp_array(n, sizeof *to);
	if (!to)
		return -ENOMEM;
	f->nodes = to;
	f->n = n;
	for (struct hp_walk_batch *b = dir->first; b; b = b->next) {
		memcpy(to, b->nodes, b->n * sizeof *to);
		to += b->n;
	}
	/* Those out of a file are in order, unless that was changed. */
	return dir->kept && in_order(f->nodes, n) ? 0 :
						    hp_nodes_sort(f->nodes, n);
}

/* A batch is done, or the listing; the last one leaves the folder as it is. */
static void done(struct hp_walk_worker *w, struct hp_walk_dir *dir)
{
	struct hp_walk_batch *b, *next;

	if (__atomic_sub_fetch(&dir->left, 1, __ATOMIC_ACQ_REL))
		return;
	if (dir->fd >= 0)
		w->s->io->close(w->s->io, dir->fd);
	if (!hp_crew_over(&w->s->crew) && gather(dir) < 0)
		hp_crew_no_memory(&w->s->crew);
	for (b = dir->first; b; b = next) {
		next = b->next;
		hp_walk_batch_free(w, b);
	}
	free(dir);
}

void hp_walk_batch(struct hp_walk_worker *w, struct hp_walk_batch *b)
{
	struct hp_walk_dir *dir = b->dir;

	hp_walk_ask(w, b, true);
	done(w, dir);
}

/* ---- Listing ---------------------------------------------------------- */

static int take_name(struct hp_walk_worker *w, struct hp_walk_dir *dir,
		     const char *name, size_t n, mode_t mode)
{
	const char *copy;

	if (!hp_walk_wants(w, dir, name, n, mode))
		return 0;
	copy = hp_arena_add(w->arena, name, n);
	return copy && hp_walk_add(w, dir, copy, n, mode) ? 0 : -ENOMEM;
}

/* Takes the names in n bytes of records. */
static int take_records(struct hp_walk_worker *w, struct hp_walk_dir *dir,
			size_t n)
{
	int r = 0;

	for (size_t at = 0, len; r == 0 && at < n; at += len) {
		struct hp_dent d;

		len = hp_dent_take(w->dents + at, n - at, &d);
		if (!len)
			return -EIO;
		if (!d.is_dots)
			r = take_name(w, dir, d.name, d.len,
				      (mode_t)DTTOIF(d.type));
	}
	return r;
}

static int list(struct hp_walk_worker *w, struct hp_walk_dir *dir)
{
	const struct hp_io *io = w->s->io;

	if (!w->dents)
		w->dents = malloc(DENTS_BYTES);
	if (!w->dents)
		return -ENOMEM;
	while (!hp_crew_over(&w->s->crew)) {
		ssize_t n = io->getdents(io, dir->fd, w->dents, DENTS_BYTES);
		int r;

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		r = take_records(w, dir, (size_t)n);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- A folder --------------------------------------------------------- */

/*
 * Opens what was met, and no other.  On another device it is something that was
 * mounted since, maybe because it was opened: 1, if it stays closed.
 */
static int open_dir(struct hp_walk_worker *w, struct hp_walk_dir *dir)
{
	const struct hp_walk *s = w->s;
	struct stat st;
	int r;

	dir->fd = s->io->open(s->io, s->root.fd, dir->len ? dir->path : ".",
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK,
			      0);
	if (dir->fd < 0)
		return dir->fd == -ELOOP ? -ENOTDIR : dir->fd;
	r = hp_walk_stat(s, dir->fd, "", &st, AT_EMPTY_PATH);
	if (r < 0)
		return r;
	if (st.st_dev != dir->dev)
		return !s->opt->all_file_systems;
	return st.st_ino == dir->ino ? 0 : -ENOTDIR;
}

void hp_walk_dir(struct hp_walk_worker *w, struct hp_walk_dir *dir)
{
	uint64_t entry;
	int r = 0;

	if (hp_crew_over(&w->s->crew)) {
		done(w, dir);
		return;
	}
	if (hp_walk_is_known(w, dir, &entry)) {
		hp_walk_keep(w, dir, entry);
	} else {
		r = open_dir(w, dir);
		if (r == 0)
			r = list(w, dir);
	}
	if (dir->last && !hp_crew_over(&w->s->crew))
		hp_walk_ask(w, dir->last, true);
	if (r == -ENOMEM)
		hp_crew_no_memory(&w->s->crew);
	else if (r != 0) {
		hp_walk_path(w, dir, "", 0);
		if (r < 0)
			hp_walk_problem(w, r);
		else
			hp_walk_mount(w);
	}
	done(w, dir);
}
