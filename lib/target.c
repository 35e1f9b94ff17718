/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output directory: what may be there, what is made, how a dataset that is
 * replaced stays whole until the new one is.
 */
#include "pack.h"

#include "error.h"
#include "listdir.h"
#include "mem.h"
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>

/* What a directory holds. */
struct contents {
	bool manifest, journal, ours, foreign;
	char stranger[256]; /* the first name that is none of ours */
};

static bool part_name(const char *name)
{
	size_t n = strlen(name);

	return name[0] == '.' && n > 6 && !strcmp(name + n - 5, ".part");
}

static void note_name(struct contents *c, const char *name)
{
	if (!strcmp(name, HP_MANIFEST_NAME))
		c->manifest = true;
	else if (!strcmp(name, HP_JOURNAL_NAME))
		c->journal = true;
	else if (!strcmp(name, "index.hpdsl") || hp_chunk_number(name) >= 0 ||
		 part_name(name))
		c->ours = true;
	else if (!c->foreign) {
		c->foreign = true;
		snprintf(c->stranger, sizeof c->stranger, "%s", name);
	}
}

/* Calls each() for every name in dir, from the first. */
static int each_name(const struct hp_io *io, int dir,
		     int (*each)(void *arg, const char *name), void *arg)
{
	hp_auto_fd f = { io,
			 io->open(io, dir, ".", O_RDONLY | O_DIRECTORY, 0) };

	return f.fd < 0 ? f.fd : hp_listdir(io, f.fd, each, arg);
}

static int note_one(void *arg, const char *name)
{
	note_name(arg, name);
	return 0;
}

static int look(const struct hp_target *t, int dir, struct contents *ret,
		struct hpdsl_error *err)
{
	int r;

	memset(ret, 0, sizeof *ret);
	r = each_name(t->io, dir, note_one, ret);
	return r < 0 ? hp_fail_errno(err, r, "%s", t->output) : 0;
}

/* Splits OUTPUT into the folder that holds it, opened, and its name there. */
static int open_parent(struct hp_target *t, struct hpdsl_error *err)
{
	hp_auto_free char *path = strdup(t->output);
	const char *folder = ".", *name;
	char *slash;
	size_t n;

	if (!path)
		return hp_fail_nomem(err);
	n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	slash = strrchr(path, '/');
	name = slash ? slash + 1 : path;
	if (slash) {
		*slash = '\0';
		folder = slash == path ? "/" : path;
	}
	if (!*name || !strcmp(name, ".") || !strcmp(name, "..") ||
	    strlen(name) >= sizeof t->name)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: not a name for a new directory", t->output);
	strcpy(t->name, name);
	snprintf(t->work, sizeof t->work, ".%s.hpdsl-new", name);
	t->parent =
		t->io->open(t->io, AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
	if (t->parent < 0)
		return hp_fail_errno(err, t->parent, "%s", folder);
	return 0;
}

/* Where an old dataset is, if need be, while the new one takes its name. */
enum { HP_OLD_NAME = 272 };

static void old_name(const struct hp_target *t, char old[HP_OLD_NAME])
{
	snprintf(old, HP_OLD_NAME, ".%s.hpdsl-old", t->name);
}

/* A run was killed while it replaced a dataset: the old dataset gets its name
 * back. */
static int recover(struct hp_target *t, struct hpdsl_error *err)
{
	const struct hp_io *io = t->io;
	char old[HP_OLD_NAME];
	struct stat st;
	int r = io->stat(io, t->parent, t->name, &st, AT_SYMLINK_NOFOLLOW);

	if (r != -ENOENT)
		return 0; /* what is wrong with it is told elsewhere */
	old_name(t, old);
	r = io->rename(io, t->parent, old, t->parent, t->name, 0);
	return r == 0 || r == -ENOENT ?
		       0 :
		       hp_fail_errno(err, r, "%s: cannot be brought back (%s)",
				     t->output, old);
}

static int open_dir(struct hp_target *t, const char *name, bool make,
		    struct hpdsl_error *err)
{
	int r = make ? t->io->mkdir(t->io, t->parent, name, 0777) : 0;

	t->made = make && r == 0;
	if (r == 0 || r == -EEXIST)
		r = t->io->open(t->io, t->parent, name, O_RDONLY | O_DIRECTORY,
				0);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", t->output);
	t->dir = r;
	return 0;
}

static int take_lock(struct hp_target *t, const struct hpdsl_pack_options *opt,
		     struct hpdsl_error *err)
{
	struct hpdsl_error why = { 0 };
	int r = hp_journal_open(t->io, t->dir, &opt->watch, &t->journal,
				&t->resumable, &why);

	return r < 0 ? hp_fail(err, r, "%s: %s", t->output, why.msg) : 0;
}

/* The new dataset is made beside the old one. */
static int open_beside(struct hp_target *t,
		       const struct hpdsl_pack_options *opt,
		       struct hpdsl_error *err)
{
	int r;

	t->io->close(t->io, t->dir);
	t->dir = -1;
	t->replace = true;
	r = open_dir(t, t->work, true, err);
	return r < 0 ? r : take_lock(t, opt, err);
}

static bool beside_is_there(const struct hp_target *t)
{
	struct stat st;

	return t->io->stat(t->io, t->parent, t->work, &st,
			   AT_SYMLINK_NOFOLLOW) == 0;
}

/* OUTPUT holds a manifest. */
static int open_dataset(struct hp_target *t,
			const struct hpdsl_pack_options *opt,
			const struct contents *c, struct hpdsl_error *err)
{
	if (opt->force && c->foreign)
		return hp_fail(err, -EEXIST,
			       "%s: holds '%s', which is no part of the "
			       "dataset; move it away before replacing",
			       t->output, c->stranger);
	if (opt->force && (!opt->resume || beside_is_there(t)))
		return open_beside(t, opt, err);
	if (!opt->resume)
		return hp_fail(err, -EEXIST,
			       "%s: a packed dataset is there; --force "
			       "replaces it",
			       t->output);
	t->complete = true;
	/* Killed between the manifest and the end: the journal is left. */
	return c->journal ? take_lock(t, opt, err) : 0;
}

static int open_unfinished(struct hp_target *t,
			   const struct hpdsl_pack_options *opt,
			   struct hpdsl_error *err)
{
	int r = take_lock(t, opt, err);

	t->found = true;
	if (r < 0 || opt->resume || opt->force)
		return r;
	return hp_fail(err, -EEXIST,
		       "%s: an unfinished pack is there; --resume completes "
		       "it, --force begins afresh",
		       t->output);
}

int hp_target_open(struct hp_target *t, const struct hpdsl_pack_options *opt,
		   struct hpdsl_error *err)
{
	struct contents c;
	int r;

	*t = (struct hp_target){ .io = hp_io_or_system(opt->watch.io),
				 .output = opt->output,
				 .parent = -1,
				 .dir = -1 };
	r = open_parent(t, err);
	if (r == 0)
		r = recover(t, err);
	if (r == 0)
		r = open_dir(t, t->name, true, err);
	if (r == 0)
		r = look(t, t->dir, &c, err);
	if (r < 0)
		return r;
	if (c.manifest)
		return open_dataset(t, opt, &c, err);
	if (c.journal)
		return open_unfinished(t, opt, err);
	if (c.ours || c.foreign)
		return hp_fail(err, -ENOTEMPTY,
			       "%s: is there, not empty and not a dataset",
			       t->output);
	return take_lock(t, opt, err);
}

struct clearing {
	const struct hp_target *t;
	int dir;
	bool all; /* manifest, index and journal too */
};

static int clear_one(void *arg, const char *name)
{
	const struct clearing *c = arg;
	const struct hp_io *io = c->t->io;
	int r = 0;

	if (hp_chunk_number(name) >= 0 || part_name(name) ||
	    !strcmp(name, "index.hpdsl") ||
	    (c->all && (!strcmp(name, HP_MANIFEST_NAME) ||
			!strcmp(name, HP_JOURNAL_NAME))))
		r = io->unlink(io, c->dir, name, 0);
	return r == -ENOENT ? 0 : r;
}

int hp_target_clear(struct hp_target *t, struct hpdsl_error *err)
{
	struct clearing c = { .t = t, .dir = t->dir };
	int r = each_name(t->io, t->dir, clear_one, &c);

	return r < 0 ? hp_fail_errno(err, r, "%s: cannot clear", t->output) : 0;
}

/* The old dataset is under the name old; it goes, file by file. */
static int remove_old(struct hp_target *t, const char *old,
		      struct hpdsl_error *err)
{
	struct clearing c = { .t = t, .all = true };
	hp_auto_fd f = { t->io, t->io->open(t->io, t->parent, old,
					    O_RDONLY | O_DIRECTORY, 0) };
	int r = f.fd;

	if (r == -ENOENT)
		return 0;
	if (r >= 0) {
		c.dir = f.fd;
		r = each_name(t->io, f.fd, clear_one, &c);
	}
	if (r >= 0)
		r = t->io->unlink(t->io, t->parent, old, AT_REMOVEDIR);
	return r < 0 ? hp_fail_errno(err, r,
				     "%s: the old dataset cannot be "
				     "removed (%s)",
				     t->output, old) :
		       0;
}

/* Without an exchange there is an instant at which no dataset has the name. */
static int swap_in_two(struct hp_target *t, const char *old)
{
	const struct hp_io *io = t->io;
	int r = io->rename(io, t->parent, t->name, t->parent, old, 0);

	return r < 0 ? r :
		       io->rename(io, t->parent, t->work, t->parent, t->name,
				  0);
}

static int swap(struct hp_target *t, struct hpdsl_error *err)
{
	const struct hp_io *io = t->io;
	char old[HP_OLD_NAME];
	int r;

	r = io->rename(io, t->parent, t->work, t->parent, t->name,
		       RENAME_EXCHANGE);
	if (r == 0) {
		snprintf(old, sizeof old, "%s", t->work);
	} else if (r == -EINVAL || r == -ENOSYS || r == -ENOTSUP) {
		old_name(t, old);
		r = remove_old(t, old, err); /* of a run that was killed */
		if (r < 0)
			return r;
		r = swap_in_two(t, old);
	}
	if (r < 0)
		return hp_fail_errno(err, r, "%s: cannot swap in %s", t->output,
				     t->work);
	r = hp_sync_dir(io, t->parent, err);
	return r < 0 ? r : remove_old(t, old, err);
}

int hp_target_finish(struct hp_target *t, struct hpdsl_error *err)
{
	int r = 0;

	if (t->journal)
		r = hp_journal_remove(hp_take(t->journal), err);
	if (r == 0)
		r = hp_sync_dir(t->io, t->dir, err);
	if (r == 0 && t->replace)
		r = swap(t, err);
	else if (r == 0 && !t->complete)
		r = hp_sync_dir(t->io, t->parent, err);
	return r;
}

void hp_target_release(struct hp_target *t)
{
	bool nothing = t->journal && !t->found && !t->begun && !t->resumable &&
		       !t->complete;

	if (!t->io)
		return;
	/* A run that failed before it wrote leaves no trace. */
	if (nothing)
		hp_journal_remove(t->journal, NULL);
	else
		hp_journal_close(t->journal);
	if (t->dir >= 0)
		t->io->close(t->io, t->dir);
	if (nothing && t->made)
		t->io->unlink(t->io, t->parent, t->replace ? t->work : t->name,
			      AT_REMOVEDIR);
	if (t->parent >= 0)
		t->io->close(t->io, t->parent);
	t->journal = NULL;
	t->dir = t->parent = -1;
}
