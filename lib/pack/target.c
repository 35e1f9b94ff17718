/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output directory: what may be there, and what is made.  What is decided
 * by a look is looked at again under the lock.
 */
#include "pack/target.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/names.h"
#include "sys/owner.h"

#include <errno.h>
#include <string.h>

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
	snprintf(t->old, sizeof t->old, ".%s.hpdsl-old", name);
	snprintf(t->work_journal, sizeof t->work_journal, "%s/%s", t->work,
		 HP_JOURNAL_NAME);
	t->parent =
		t->io->open(t->io, AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
	if (t->parent < 0)
		return hp_fail_errno(err, t->parent, "%s", folder);
	return 0;
}

static int begin(struct hp_target *t, const struct hpdsl_pack_options *opt,
		 struct hpdsl_error *err)
{
	*t = (struct hp_target){ .io = hp_io_or_system(opt->watch.io),
				 .output = opt->output,
				 .chunks = t->chunks,
				 .parent = -1,
				 .dir = -1 };
	return open_parent(t, err);
}

static int make_dir(struct hp_target *t, const char *name)
{
	int r = t->io->mkdir(t->io, t->parent, name, 0777);

	t->made = r == 0;
	return r == -EEXIST ? 0 : r;
}

static int open_dir(struct hp_target *t, const char *name)
{
	int r = t->io->open(t->io, t->parent, name, O_RDONLY | O_DIRECTORY, 0);

	if (r < 0)
		return r;
	t->dir = r;
	return 0;
}

/* What is opened last, and was there before this run. */
static int check_owner(const struct hp_target *t,
		       const struct hpdsl_pack_options *opt, const char *name,
		       struct hpdsl_error *err)
{
	return t->made || opt->foreign_owner ?
		       0 :
		       hp_owner_check(t->io, t->dir, name, err);
}

/* May a dataset be replaced by one of another directory? */
static int check_replace(const struct hp_target *t,
			 const struct hp_target_contents *c,
			 struct hpdsl_error *err)
{
	struct stat st, parent;
	int r;

	if (c->foreign)
		return hp_fail(err, -EEXIST,
			       "%s: holds '%s', which is no part of the "
			       "dataset; move it away before replacing",
			       t->output, c->stranger);
	r = t->io->stat(t->io, t->parent, t->name, &st, AT_SYMLINK_NOFOLLOW);
	if (r == 0)
		r = hp_io_fstat(t->io, t->parent, &parent);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", t->output);
	if (S_ISLNK(st.st_mode))
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: is a symbolic link; only the directory "
			       "itself can be replaced",
			       t->output);
	if (st.st_dev != parent.st_dev)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: is a mount point; only a directory in one "
			       "can be replaced",
			       t->output);
	return 0;
}

static int check_contents(const struct hp_target *t,
			  const struct hpdsl_pack_options *opt,
			  const struct hp_target_contents *c,
			  struct hpdsl_error *err)
{
	if (c->manifest && opt->force)
		return check_replace(t, c, err);
	if (c->manifest && !opt->resume)
		return hp_fail(err, -EEXIST, "%s: a packed dataset is there",
			       t->output);
	if (!c->manifest && !c->journal && (c->ours || c->foreign))
		return hp_fail(err, -ENOTEMPTY,
			       "%s: is there, not empty and not a dataset",
			       t->output);
	return 0;
}

int hp_target_check(const struct hpdsl_pack_options *opt,
		    struct hpdsl_error *err)
{
	struct hp_target t = { .chunks = 0 };
	struct hp_target_contents c = { .manifest = false };
	int r = begin(&t, opt, err);

	if (r == 0) {
		r = open_dir(&t, t.name);
		if (r == 0)
			r = hp_target_look(&t, t.dir, &c, err);
		else if (r == -ENOENT)
			r = 0;
		else
			hp_fail_errno(err, r, "%s", t.output);
	}
	/* Whether OUTPUT is an INPUT is for the scan to say. */
	if (r == 0 && t.dir >= 0)
		r = check_owner(&t, opt, t.output, err);
	if (r == 0 && t.dir >= 0 && c.manifest)
		r = check_contents(&t, opt, &c, err);
	hp_target_release(&t);
	return r;
}

static int take_lock(struct hp_target *t, const struct hpdsl_pack_options *opt,
		     struct hpdsl_error *err)
{
	struct hpdsl_error why = { 0 };
	int r = hp_journal_open(t->io, t->dir, &opt->watch, &t->journal,
				&t->resumable, &why);

	return r < 0 ? hp_fail(err, r, "%s: %s", t->output, why.msg) : 0;
}

int hp_target_replace(struct hp_target *t, const struct hpdsl_pack_options *opt,
		      struct hpdsl_error *err)
{
	struct hp_target_contents c = { 0 };
	int r;

	hp_journal_close(hp_take(t->journal));
	t->io->close(t->io, t->dir);
	t->dir = -1;
	t->complete = false;
	t->replace = true;
	r = make_dir(t, t->work);
	if (r == 0)
		r = open_dir(t, t->work);
	if (r < 0)
		return hp_fail_errno(err, r, "%s: cannot make %s beside it",
				     t->output, t->work);
	r = check_owner(t, opt, t->work, err);
	if (r == 0)
		r = take_lock(t, opt, err);
	if (r == 0)
		r = hp_target_look(t, t->dir, &c, err);
	if (r == 0 && c.foreign)
		r = hp_fail(err, -EEXIST,
			    "%s: its place beside, %s, holds '%s'", t->output,
			    t->work, c.stranger);
	/* It would be in the way at the end. */
	return r < 0 ? r : hp_target_remove(t, t->old, err);
}

/* OUTPUT holds a manifest. */
static int open_dataset(struct hp_target *t,
			const struct hpdsl_pack_options *opt,
			const struct hp_target_contents *c,
			struct hpdsl_error *err)
{
	if (opt->force &&
	    (!opt->resume || hp_target_has(t, t->work_journal) != 0))
		return hp_target_replace(t, opt, err);
	t->complete = true;
	/* Killed between the manifest and the end: the journal is left. */
	return c->journal ? take_lock(t, opt, err) : 0;
}

/* OUTPUT is empty, or holds a journal. */
static int open_unfinished(struct hp_target *t,
			   const struct hpdsl_pack_options *opt, bool found,
			   struct hpdsl_error *err)
{
	struct hp_target_contents c;
	int r = take_lock(t, opt, err);

	if (r == 0)
		r = hp_target_look(t, t->dir, &c, err);
	if (r < 0)
		return r;
	if (c.manifest)
		return hp_fail(err, -EBUSY,
			       "%s: another hpdsl-pack has just completed it",
			       t->output);
	t->found = found;
	if (!found || opt->resume || opt->force)
		return 0;
	return hp_fail(err, -EEXIST, "%s: an unfinished pack is there",
		       t->output);
}

int hp_target_open(struct hp_target *t, const struct hpdsl_pack_options *opt,
		   struct hpdsl_error *err)
{
	struct hp_target_contents c;
	int r = begin(t, opt, err);

	if (r == 0)
		r = hp_target_restore(t, err);
	if (r < 0)
		return r;
	r = make_dir(t, t->name);
	if (r == 0)
		r = open_dir(t, t->name);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", t->output);
	r = check_owner(t, opt, t->output, err);
	if (r == 0)
		r = hp_target_look(t, t->dir, &c, err);
	if (r == 0)
		r = check_contents(t, opt, &c, err);
	if (r < 0)
		return r;
	return c.manifest ? open_dataset(t, opt, &c, err) :
			    open_unfinished(t, opt, c.journal, err);
}

int hp_target_clear(struct hp_target *t, bool chunks, struct hpdsl_error *err)
{
	int r = hp_target_unlink(t, t->dir,
				 chunks ? HP_ALL_BUT_LOCK : HP_PARTS);

	return r < 0 ? hp_fail_errno(err, r, "%s: cannot clear", t->output) : 0;
}

void hp_target_release(struct hp_target *t)
{
	bool untouched =
		!t->found && !t->begun && !t->resumable && !t->complete;

	if (!t->io)
		return;
	/* A run that failed before it wrote leaves no trace. */
	if (t->journal && untouched)
		hp_journal_remove(t->journal, NULL);
	else
		hp_journal_close(t->journal);
	if (t->dir >= 0)
		t->io->close(t->io, t->dir);
	if (t->made && untouched)
		t->io->unlink(t->io, t->parent, t->replace ? t->work : t->name,
			      AT_REMOVEDIR);
	if (t->parent >= 0)
		t->io->close(t->io, t->parent);
	t->journal = NULL;
	t->dir = t->parent = -1;
}
