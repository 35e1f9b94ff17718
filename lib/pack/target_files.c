/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of ours in a directory: which names they have, and how they go.  What
 * has another name is a stranger, and stays.
 */
#include "pack/target.h"

#include "base/error.h"
#include "format/emit.h"
#include "format/names.h"
#include "index/index.h"
#include "sys/dir.h"
#include "sys/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void note_stranger(struct hp_target_contents *c, const char *name)
{
	if (!c->foreign)
		snprintf(c->stranger, sizeof c->stranger, "%s", name);
	c->foreign = true;
}

struct looking {
	struct hp_target_contents *c;
	uint64_t known;
};

static int note_one(void *arg, const char *name)
{
	const struct looking *l = arg;
	struct hp_target_contents *c = l->c;

	if (!strcmp(name, HP_MANIFEST_NAME))
		c->manifest = true;
	else if (!strcmp(name, HP_JOURNAL_NAME))
		c->journal = true;
	else if (!strcmp(name, HP_SIDE_FOLDER))
		c->ours = c->folder = true;
	else if (hp_target_name(name, l->known, false) != HP_STRANGE)
		c->ours = true;
	else
		note_stranger(c, name);
	return 0;
}

/* Calls each() for every name in folder name of dir, from the first. */
static int each_name(const struct hp_io *io, int dir, const char *name,
		     int (*each)(void *arg, const char *name), void *arg)
{
	hp_auto_fd f = { io, io->open(io, dir, name,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) };

	return f.fd < 0 ? f.fd : hp_listdir(io, f.fd, each, arg);
}

/* A name in the folder of side files. */
static int note_inner(void *arg, const char *name)
{
	const struct looking *l = arg;
	char path[300];

	if (hp_target_name(name, l->known, true) != HP_STRANGE)
		return 0;
	snprintf(path, sizeof path, HP_SIDE_FOLDER "/%s", name);
	note_stranger(l->c, path);
	return 0;
}

static uint64_t known(const struct hp_target *t, int dir)
{
	return hp_target_known(t->io, dir, dir == t->dir ? t->journal : NULL,
			       t->chunks);
}

int hp_target_look(const struct hp_target *t, int dir,
		   struct hp_target_contents *ret, struct hpdsl_error *err)
{
	struct looking l = { ret, known(t, dir) };
	int r;

	memset(ret, 0, sizeof *ret);
	r = each_name(t->io, dir, ".", note_one, &l);
	if (r == 0 && ret->folder)
		r = each_name(t->io, dir, HP_SIDE_FOLDER, note_inner, &l);
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
	uint64_t known;
	bool inner; /* in the folder of side files */
};

static int unlink_name(const struct unlinking *u, const char *name)
{
	int r = u->io->unlink(u->io, u->dir, name, 0);

	return r == -ENOENT ? 0 : r;
}

static int unlink_one(void *arg, const char *name)
{
	const struct unlinking *u = arg;
	enum hp_target_name is = hp_target_name(name, u->known, u->inner);
	bool last = !u->inner && (!strcmp(name, HP_INDEX_NAME) ||
				  !strcmp(name, HP_MANIFEST_NAME));

	if (is == HP_OUR_PART ||
	    (is == HP_OURS && u->files != HP_PARTS && !last))
		return unlink_name(u, name);
	return 0;
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

static bool has(const struct unlinking *u, const char *name)
{
	struct stat st;

	return u->io->stat(u->io, u->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What the others are known by: one that came back later would be nobody's. */
static int unlink_last(const struct unlinking *u)
{
	static const char *const names[] = { HP_INDEX_NAME, HP_MANIFEST_NAME,
					     HP_JOURNAL_NAME };
	size_t n = u->files == HP_WHOLE_DATASET ? 3 : 2;
	bool synced = false;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		if (!has(u, names[i]))
			continue;
		if (!synced)
			r = hp_sync_dir(u->io, u->dir, NULL);
		synced = true;
		if (r == 0)
			r = unlink_name(u, names[i]);
	}
	return r;
}

int hp_target_unlink(const struct hp_target *t, int dir,
		     enum hp_target_files files)
{
	struct unlinking u = {
		.io = t->io, .dir = dir, .files = files, .known = known(t, dir)
	};
	int r;

	if (!has(&u, HP_MANIFEST_NAME) && !has(&u, HP_INDEX_NAME) &&
	    !has(&u, HP_JOURNAL_NAME))
		return 0;
	r = each_name(t->io, dir, ".", unlink_one, &u);
	if (r < 0 || files == HP_PARTS)
		return r;
	r = unlink_folder(&u);
	return r == 0 ? unlink_last(&u) : r;
}
