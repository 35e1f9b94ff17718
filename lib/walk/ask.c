/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind a name: attributes, the target of a link, a folder to list. */
#include "walk/private.h"

#include "base/mem.h"
#include "walk/walk.h"

#include <errno.h>
#include <string.h>

int hp_walk_stat(const struct hp_walk *s, int dir, const char *name,
		 struct stat *ret, int flags)
{
	int r;

	do
		r = s->io->stat(s->io, dir, name, ret, flags);
	while (r == -EINTR);
	return r;
}

struct hp_walk_dir *hp_walk_meet(struct hp_walk_worker *w,
				 struct hp_folder *folder,
				 const struct stat *st)
{
	const struct hp_walk_options *with = w->s->with;
	struct hp_walk_dir *dir = malloc(sizeof *dir + w->len + 1);

	if (!dir) {
		hp_crew_no_memory(&w->s->crew);
		return NULL;
	}
	*dir = (struct hp_walk_dir){
		.job = { .kind = HP_WALK_FOLDER },
		.folder = folder,
		.dev = st->st_dev,
		.ino = st->st_ino,
		.mtime = st->st_mtim,
		.ctime = st->st_ctim,
		.fd = -1,
		.has_own = with->skip_name[0] &&
			   st->st_ino == with->skip_dir_ino &&
			   st->st_dev == with->skip_dir_dev,
		.left = 1,
		.len = w->len,
	};
	memcpy(dir->path, w->path, w->len + 1);
	return dir;
}

static bool take_folder(struct hp_walk_worker *w, const struct hp_walk_dir *in,
			struct hp_node *node, const struct stat *st)
{
	struct hp_walk_dir *dir;

	node->folder = calloc(1, sizeof *node->folder);
	if (!node->folder) {
		hp_crew_no_memory(&w->s->crew);
		return false;
	}
	node->folder->parent = w->folders;
	w->folders = node->folder;
	hp_walk_path(w, in, node->name, node->name_len);
	if (st->st_dev != w->s->dev && !w->s->opt->all_file_systems) {
		hp_walk_mount(w);
		return true;
	}
	dir = hp_walk_meet(w, node->folder, st);
	if (!dir)
		return false;
	dir->job.next = w->met;
	w->met = &dir->job;
	return true;
}

/* 0 or a problem. */
static int take_target(struct hp_walk_worker *w, const struct hp_walk_dir *dir,
		       struct hp_node *node)
{
	const struct hp_io *io = w->s->io;
	ssize_t n = io->readlink(io, dir->fd, node->name, w->target,
				 sizeof w->target);

	if (n == -EINVAL) /* no link any more */
		return HPDSL_ECHANGED;
	if (n <= 0 || n > HPDSL_PATH_MAX)
		return n < 0 ? (int)n : n ? -ENAMETOOLONG : -EIO;
	node->target = hp_arena_add(w->arena, w->target, (size_t)n);
	if (!node->target)
		hp_crew_no_memory(&w->s->crew);
	node->size = (uint64_t)n;
	return 0;
}

/* Fills the node in; false: it is none. */
static bool take(struct hp_walk_worker *w, const struct hp_walk_dir *dir,
		 struct hp_node *node, const struct stat *st)
{
	bool other = (st->st_mode ^ node->mode) & S_IFMT;
	int r = 0;

	if (other &&
	    hp_walk_leaves_out(w, dir, node->name, node->name_len, st->st_mode))
		return false;
	node->size = (uint64_t)st->st_size;
	node->mtime = st->st_mtim.tv_sec;
	node->nsec = (uint32_t)st->st_mtim.tv_nsec;
	node->mode = (uint16_t)st->st_mode;
	if (S_ISDIR(st->st_mode))
		return take_folder(w, dir, node, st);
	if (dir->kept)
		r = -ENOTDIR;
	else if (S_ISREG(st->st_mode))
		node->member = HPDSL_NO_MEMBER;
	else if (S_ISLNK(st->st_mode))
		r = take_target(w, dir, node);
	if (r == 0)
		return true;
	hp_walk_path(w, dir, node->name, node->name_len);
	hp_walk_problem(w, r);
	return false;
}

static int ask(struct hp_walk_worker *w, const struct hp_walk_dir *dir,
	       const struct hp_node *node, struct stat *ret)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;

	if (dir->fd >= 0)
		return hp_walk_stat(w->s, dir->fd, node->name, ret, flags);
	hp_walk_path(w, dir, node->name, node->name_len);
	return hp_walk_stat(w->s, w->s->root.fd, w->path, ret, flags);
}

/* False: there is no such node. */
static bool ask_node(struct hp_walk_worker *w, const struct hp_walk_dir *dir,
		     struct hp_node *node)
{
	struct stat st;
	int r;

	if (dir->kept && !S_ISDIR(node->mode))
		return true; /* all is known */
	r = ask(w, dir, node, &st);
	if (r == 0)
		return take(w, dir, node, &st);
	hp_walk_path(w, dir, node->name, node->name_len);
	hp_walk_problem(w, r);
	return false;
}

void hp_walk_ask(struct hp_walk_worker *w, struct hp_walk_batch *b, bool last)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n && !hp_crew_over(&w->s->crew); i++) {
		struct hp_node *node = &b->nodes[i];

		if (!ask_node(w, b->dir, node))
			continue;
		if (n < i)
			b->nodes[n] = *node;
		n++;
	}
	hp_crew_tick(&w->s->crew, b->n);
	b->n = n;
	hp_crew_push(&w->s->crew, hp_take(w->met), last);
}
