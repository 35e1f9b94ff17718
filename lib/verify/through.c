/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files behind links to folders has the dataset, and under which names?
 * A linked folder can have been an INPUT of its own, or, in another copy of the
 * tree, a folder.
 */
#include "verify/source.h"

#include "base/error.h"
#include "scan/scan.h"
#include "verify/linked.h"

#include <errno.h>
#include <string.h>

struct look {
	struct hp_compare *c;
	const struct hp_linked_file *f;
	bool hashed;
	struct hp_compare_hash hash;
};

/* The file is read when something hangs on its content, and only once. */
static int read_content(struct look *l, struct hpdsl_error *err)
{
	const struct hp_root *root = l->c->list.roots;
	const struct hp_io *io = l->c->v->io;
	const char *name = l->f->path + root->prefix_len;
	hp_auto_fd file = { io, -1 };
	char buf[HP_INPUT_NAME];
	int r;

	if (l->hashed)
		return 0;
	r = io->open(io, root->fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	file.fd = r;
	if (r >= 0)
		r = hp_compare_hash_file(io, r, (uint64_t)l->f->st->st_size,
					 NULL, &l->hash);
	l->hashed = r == 0;
	return r < 0 ? hp_fail_errno(
			       err, r, "%s",
			       hp_input_name(root, name, strlen(name), buf)) :
		       0;
}

/* 1: the dataset has the file under its very path, and it was compared. */
static int compare_path(struct look *l, struct hpdsl_error *err)
{
	const struct stat *st = l->f->st;
	const struct hp_file f = {
		.path = l->f->path,
		.path_len = (uint16_t)l->f->path_len,
		.size = (uint64_t)st->st_size,
		.mtime = st->st_mtim.tv_sec,
		.nsec = (uint32_t)st->st_mtim.tv_nsec,
		.mode = st->st_mode & 07777,
	};
	uint64_t number;
	int r = hp_index_find(l->c->v->index, f.path, f.path_len, &number, err);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = read_content(l, err);
	if (r == 0)
		r = hp_compare_file(l->c, &f, &l->hash, err);
	return r < 0 ? r : 1;
}

/* 1: a member of this path has the file's content. */
static int compare_content(struct look *l, const char *path, size_t len,
			   struct hpdsl_error *err)
{
	struct hpdsl_member m;
	uint64_t number;
	int r = hp_index_find(l->c->v->index, path, len, &number, err);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = hp_index_member(l->c->v->index, number, &m, err);
	if (r < 0)
		return r;
	if (m.generated || m.size != (uint64_t)l->f->st->st_size)
		return 0;
	r = read_content(l, err);
	if (r < 0)
		return r;
	if (!l->hash.whole || l->hash.low64 != m.checksum)
		return 0;
	hp_compare_see(l->c, number);
	return 1;
}

/* The same for what the path ends with, from any of its components on. */
static int compare_ends(struct look *l, const char *path, size_t len,
			struct hpdsl_error *err)
{
	int r = 0;

	for (size_t i = 1; r == 0 && i < len; i++)
		if (path[i - 1] == '/')
			r = compare_content(l, path + i, len - i, err);
	return r;
}

static int look_at(void *arg, const struct hp_linked_file *f,
		   struct hpdsl_error *err)
{
	struct look l = { .c = arg, .f = f };
	int r = compare_path(&l, err);

	if (r == 0)
		r = compare_ends(&l, f->path, f->path_len, err);
	if (r == 0)
		r = compare_ends(&l, f->real, strlen(f->real), err);
	if (r < 0)
		return r;
	if (r == 0)
		hp_compare_differs(
			l.c, UINT64_MAX, f->path,
			"is behind a link to a folder, and not in the "
			"dataset");
	l.c->v->report->not_kept.linked_files++;
	hp_meter_add(&l.c->v->meter, 1);
	return 0;
}

int hp_compare_linked(struct hp_compare *c, struct hpdsl_error *err)
{
	struct hpdsl_not_kept *counts = &c->v->report->not_kept;
	struct hp_linked_walk w = {
		.io = c->v->io,
		.list = &c->list,
		.opt = &c->opt,
		.apart = c->v->dir,
		.each = look_at,
		.arg = c,
	};
	int r;

	if (!c->list.n_linked)
		return 0;
	hp_meter_phase(&c->v->meter, "following links", 0, false);
	r = hp_linked_walk(&w, err);
	counts->excluded += w.excluded;
	counts->excluded_dirs += w.excluded_dirs;
	counts->litter += w.litter;
	counts->litter_dirs += w.litter_dirs;
	counts->specials += w.specials;
	return r;
}
