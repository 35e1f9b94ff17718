/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a pack, and how a dataset that is replaced stays whole until the
 * new one is.  The new one is made under the name work, its journal a lock
 * until it has its own name; the old one gets the name old, under which nothing
 * is ever made.  So what has the name old, or the name work and no journal, is
 * waste as soon as there is a dataset in OUTPUT.
 */
#include "pack/target.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/outfile.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdio.h>

int hp_target_has(const struct hp_target *t, const char *name)
{
	struct stat st;
	int r = t->io->stat(t->io, t->parent, name, &st, AT_SYMLINK_NOFOLLOW);

	return r == 0 ? 1 : r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

int hp_target_restore(struct hp_target *t, struct hpdsl_error *err)
{
	int r = hp_target_has(t, t->name);

	if (r == 0)
		r = hp_target_has(t, t->old) > 0 ?
			    t->io->rename(t->io, t->parent, t->old, t->parent,
					  t->name, 0) :
			    0;
	return r < 0 ? hp_fail_errno(err, r, "%s", t->output) : 0;
}

int hp_target_remove(const struct hp_target *t, const char *name,
		     struct hpdsl_error *err)
{
	const struct hp_io *io = t->io;
	hp_auto_fd f = { io, io->open(io, t->parent, name,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) };
	int r = f.fd;

	if (r == -ENOENT)
		return 0;
	if (r >= 0)
		r = hp_target_unlink(t, f.fd, HP_WHOLE_DATASET);
	if (r >= 0)
		r = io->unlink(io, t->parent, name, AT_REMOVEDIR);
	/* Somebody else may be at it, too. */
	return r < 0 && r != -ENOENT ?
		       hp_fail_errno(err, r,
				     "%s: the dataset that was replaced cannot "
				     "be removed (%s)",
				     t->output, name) :
		       0;
}

/* Nobody moved the new dataset away, or put another one in its place. */
static int check_work(const struct hp_target *t, struct hpdsl_error *err)
{
	struct stat dir, work;
	int r = hp_io_fstat(t->io, t->dir, &dir);

	if (r == 0)
		r = t->io->stat(t->io, t->parent, t->work, &work,
				AT_SYMLINK_NOFOLLOW);
	if (r < 0)
		return hp_fail_errno(err, r, "%s: %s", t->output, t->work);
	if (dir.st_dev != work.st_dev || dir.st_ino != work.st_ino)
		return hp_fail(err, -EBUSY, "%s: %s is another directory now",
			       t->output, t->work);
	return 0;
}

static int rename_to(const struct hp_target *t, const char *from,
		     const char *to, unsigned flags)
{
	return t->io->rename(t->io, t->parent, from, t->parent, to, flags);
}

/* Without an exchange there is a moment without OUTPUT: see restore. */
static int swap_in_two_steps(const struct hp_target *t)
{
	int r = rename_to(t, t->name, t->old, 0);

	if (r < 0)
		return r;
	r = rename_to(t, t->work, t->name, 0);
	if (r < 0)
		rename_to(t, t->old, t->name, 0);
	return r;
}

static int swap(const struct hp_target *t, struct hpdsl_error *err)
{
	int r = check_work(t, err);

	if (r < 0)
		return r;
	r = rename_to(t, t->work, t->name, RENAME_EXCHANGE);
	if (r == 0)
		r = rename_to(t, t->work, t->old, 0);
	else if (r == -EINVAL || r == -ENOSYS || r == -ENOTSUP)
		r = swap_in_two_steps(t);
	return r < 0 ? hp_fail_errno(err, r, "%s: cannot swap in %s", t->output,
				     t->work) :
		       hp_sync_dir(t->io, t->parent, err);
}

/* What a run that died at its end left. */
static int remove_waste(const struct hp_target *t, struct hpdsl_error *err)
{
	int r = hp_target_remove(t, t->old, err);

	/* Beside a replacement somebody may have begun the next one. */
	if (r == 0 && t->complete && hp_target_has(t, t->work_journal) == 0)
		r = hp_target_remove(t, t->work, err);
	return r;
}

int hp_target_finish(struct hp_target *t, struct hpdsl_error *err)
{
	int r = 0;

	if (t->replace)
		r = swap(t, err);
	else if (!t->complete)
		r = hp_sync_dir(t->io, t->parent, err);
	/* Only now may another packer begin: the journal is the lock. */
	if (r == 0 && t->journal) {
		r = hp_journal_remove(hp_take(t->journal), err);
		if (r == 0)
			r = hp_sync_dir(t->io, t->dir, err);
	}
	if (r == 0 && (t->replace || t->complete))
		r = remove_waste(t, err);
	return r;
}
