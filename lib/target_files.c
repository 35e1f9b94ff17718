/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of ours in a directory: which names they have, and how they go.  What
 * has another name is a stranger, and stays.
 */
#include "target.h"

#include "emit.h"
#include "error.h"
#include "index.h"
#include "listdir.h"
#include "sha256sums.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool part_name(const char *name)
{
	size_t n = strlen(name);

	return name[0] == '.' && n > 6 && !strcmp(name + n - 5, ".part");
}

static void note_stranger(struct hp_target_contents *c, const char *name)
{
	if (!c->foreign)
		snprintf(c->stranger, sizeof c->stranger, "%s", name);
	c->foreign = true;
}

static void note_name(struct hp_target_contents *c, const char *name)
{
	if (!strcmp(name, HP_MANIFEST_NAME))
		c->manifest = true;
	else if (!strcmp(name, HP_JOURNAL_NAME))
		c->journal = true;
	else if (!strcmp(name, HP_SIDE_FOLDER))
		c->ours = c->folder = true;
	else if (!strcmp(name, HP_INDEX_NAME) || hp_chunk_number(name) >= 0 ||
		 hp_side_is_name(name, false) ||
		 !strcmp(name, HP_SHA256SUMS_NAME) || part_name(name))
		c->ours = true;
	else
		note_stranger(c, name);
}

/* Calls each() for every name in folder name of dir, from the first. */
static int each_name(const struct hp_io *io, int dir, const char *name,
		     int (*each)(void *arg, const char *name), void *arg)
{
	hp_auto_fd f = { io, io->open(io, dir, name,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) };

	return f.fd < 0 ? f.fd : hp_listdir(io, f.fd, each, arg);
}

static int note_one(void *arg, const char *name)
{
	note_name(arg, name);
	return 0;
}

/* A name in the folder of side files. */
static int note_inner(void *arg, const char *name)
{
	char path[300];

	if (hp_side_is_name(name, true) || part_name(name))
		return 0;
	snprintf(path, sizeof path, HP_SIDE_FOLDER "/%s", name);
	note_stranger(arg, path);
	return 0;
}

int hp_target_look(const struct hp_target *t, int dir,
		   struct hp_target_contents *ret, struct hpdsl_error *err)
{
	int r;

	memset(ret, 0, sizeof *ret);
	r = each_name(t->io, dir, ".", note_one, ret);
	if (r == 0 && ret->folder)
		r = each_name(t->io, dir, HP_SIDE_FOLDER, note_inner, ret);
	if (r == -ENOTDIR || r == -ELOOP) {
		note_stranger(ret, HP_SIDE_FOLDER);
		r = 0;
	}
	return r < 0 ? hp_fail_errno(err, r, "%s", t->output) : 0;
}

struct unlinking {
	const struct hp_io *io;
	int dir;
	enum hp_target_files files;
	bool inner; /* in the folder of side files */
};

static int unlink_one(void *arg, const char *name)
{
	const struct unlinking *u = arg;
	bool wanted = part_name(name);
	int r;

	if (u->inner)
		wanted = wanted || hp_side_is_name(name, true);
	else if (u->files != HP_PARTS)
		wanted = wanted || hp_chunk_number(name) >= 0 ||
			 hp_side_is_name(name, false) ||
			 !strcmp(name, HP_SHA256SUMS_NAME) ||
			 !strcmp(name, HP_INDEX_NAME) ||
			 !strcmp(name, HP_MANIFEST_NAME);
	if (u->files == HP_WHOLE_DATASET && !u->inner)
		wanted = wanted || !strcmp(name, HP_JOURNAL_NAME);
	r = wanted ? u->io->unlink(u->io, u->dir, name, 0) : 0;
	return r == -ENOENT ? 0 : r;
}

/* What is none of ours stays, and the folder with it. */
static int unlink_folder(const struct unlinking *u)
{
	struct unlinking inner = *u;
	hp_auto_fd f = { u->io,
			 u->io->open(u->io, u->dir, HP_SIDE_FOLDER,
				     O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) };
	int r = f.fd;

	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
		return 0;
	inner.dir = f.fd;
	inner.inner = true;
	if (r >= 0)
		r = each_name(u->io, f.fd, ".", unlink_one, &inner);
	if (r == 0)
		r = u->io->unlink(u->io, u->dir, HP_SIDE_FOLDER, AT_REMOVEDIR);
	return r == -ENOTEMPTY || r == -EEXIST || r == -ENOENT ? 0 : r;
}

int hp_target_unlink(const struct hp_io *io, int dir,
		     enum hp_target_files files)
{
	struct unlinking u = { .io = io, .dir = dir, .files = files };
	int r = each_name(io, dir, ".", unlink_one, &u);

	return r == 0 && files != HP_PARTS ? unlink_folder(&u) : r;
}
