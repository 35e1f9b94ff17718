/* SPDX-License-Identifier: Apache-2.0 */
/* A file to pack: its attributes, and whether it can be read. */
#include "scan/private.h"

#include "base/glob.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define FILES_FIRST 1024

const char *hp_scan_special(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFIFO:
		return "is a FIFO, not a file";
	case S_IFSOCK:
		return "is a socket, not a file";
	case S_IFCHR:
	case S_IFBLK:
		return "is a device, not a file";
	default:
		return "is not a regular file";
	}
}

static bool grow(struct hp_scan_worker *w)
{
	uint64_t cap = w->cap ? w->cap * 2 : FILES_FIRST;
	struct hp_file *files;
	size_t bytes;

	if (__builtin_mul_overflow(cap, sizeof *files, &bytes))
		return false;
	files = realloc(w->files, bytes);
	if (!files)
		return false;
	w->files = files;
	w->cap = cap;
	return true;
}

/* ACLs and privileges are not in a mode: reason to ask, no more. */
static bool looks_closed(const struct stat *st)
{
	mode_t all = S_IRUSR | S_IRGRP | S_IROTH;

	if ((st->st_mode & all) == all)
		return false;
	return !(st->st_mode &
		 (st->st_uid == geteuid() ? S_IRUSR : S_IRGRP | S_IROTH));
}

int hp_scan_try_open(struct hp_scan_worker *w, uint16_t root, int flags)
{
	const struct hp_root *at = &w->s->list->roots[root];
	const struct hp_io *io = w->s->io;
	int fd = io->open(io, at->fd, w->path + at->prefix_len,
			  flags | O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	if (fd >= 0)
		io->close(io, fd);
	return fd >= 0 ? 1 : fd == -EACCES || fd == -EPERM ? fd : 0;
}

/* Who can open one file that looks closed is not asked again. */
static int check_open(struct hp_scan_worker *w, uint16_t root,
		      const struct stat *st)
{
	int r;

	if (w->opens_closed || !looks_closed(st))
		return 0;
	r = hp_scan_try_open(w, root, 0);
	w->opens_closed = r > 0;
	return r < 0 ? r : 0;
}

bool hp_scan_pruned(struct hp_scan_worker *w, size_t prefix)
{
	for (size_t i = prefix; w->s->opt->n_exclude && i < w->len; i++) {
		bool is;

		if (w->path[i] != '/')
			continue;
		w->path[i] = '\0';
		is = hp_glob_pruned(w->s->opt, w->path);
		w->path[i] = '/';
		if (is)
			return true;
	}
	return false;
}

void hp_scan_put(struct hp_scan_worker *w, const struct hp_file *f)
{
	const char *path = NULL;

	if (!w->arena)
		w->arena = hp_arena_new();
	if (w->arena && (w->n < w->cap || grow(w)))
		path = hp_arena_add(w->arena, w->path, w->len);
	if (!path) {
		hp_crew_no_memory(&w->s->crew);
		return;
	}
	w->files[w->n] = *f;
	w->files[w->n].path = path;
	w->files[w->n++].path_len = (uint16_t)w->len;
}

void hp_scan_add(struct hp_scan_worker *w, uint16_t root, const struct stat *st,
		 unsigned flags)
{
	int r = check_open(w, root, st);

	if (r < 0) {
		hp_scan_problem(w, root, r, NULL);
		return;
	}
	hp_scan_put(w, &(struct hp_file){
			       .size = (uint64_t)st->st_size,
			       .mtime = st->st_mtim.tv_sec,
			       .nsec = (uint32_t)st->st_mtim.tv_nsec,
			       .stamp = hp_file_stamp(st),
			       .root = root,
			       .mode = st->st_mode & 07777,
			       .flags = (uint16_t)(flags & 0xf),
			       .full = { [HP_FULL_LINKED] = st->st_nlink > 1 },
		       });
	w->counts.hard_links += st->st_nlink > 1;
	w->counts.sparse += hp_file_sparse(st);
}
