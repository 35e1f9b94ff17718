/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets, folders and files given to hpdsl_compat, as a list of tars. */
#include "compat/private.h"

#include "base/archive_name.h"
#include "base/error.h"
#include "base/mem.h"
#include "format/emit.h"
#include "format/names.h"
#include "sys/dir.h"
#include "sys/owner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH = 64 /* of folders below one that was given */ };

static int add_tar(struct hp_compat *c, const char *name,
		   const struct hp_compat_folder *in, uint32_t chunk,
		   struct hpdsl_error *err)
{
	char *copy = strdup(name);

	if (copy && c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct hp_compat_tar *more =
			reallocarray(c->tars, room, sizeof *more);

		if (!more) {
			free(copy);
			return hp_fail_nomem(err);
		}
		c->tars = more;
		c->room = room;
	}
	if (!copy)
		return hp_fail_nomem(err);
	c->tars[c->n++] = (struct hp_compat_tar){ copy, in, chunk };
	return 0;
}

/* ---- What was given --------------------------------------------------- */

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && strcmp(name + n - k, end) == 0;
}

struct names {
	struct hp_compat *c;
	const struct hp_compat_folder *in;
	struct hpdsl_error *err;
};

static int note_tar(void *arg, const char *name)
{
	struct names *s = arg;
	struct stat st;

	if (!hp_archive_is_read(name, strlen(name)) || name[0] == '.' ||
	    s->c->io->stat(s->c->io, s->in->dir, name, &st, 0) < 0 ||
	    !S_ISREG(st.st_mode))
		return 0;
	return add_tar(s->c, name, s->in, 0, s->err);
}

static int by_name(const void *a, const void *b)
{
	const struct hp_compat_tar *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int add_folder(struct hp_compat *c, const struct hp_compat_folder *f,
		      const char *path, struct hpdsl_error *err)
{
	struct names s = { c, f, err };
	size_t before = c->n;
	int r = hp_listdir(c->io, f->dir, note_tar, &s);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", path);
	if (c->n == before)
		return hp_fail(err, HPDSL_ENOTOURS,
			       "%s: neither a dataset nor a folder of tars",
			       path);
	qsort(c->tars + before, c->n - before, sizeof *c->tars, by_name);
	return 0;
}

/* What lies in a stage directory under which name: NULL for nothing. */
static const char *staged_name(const struct hpdsl_dataset *ds,
			       const struct hpdsl_chunk *row,
			       char buf[HP_STAGE_NAME])
{
	struct hp_stage_seen seen;

	if (!ds->stage)
		return row->name;
	hp_stage_watch_see(&ds->stage->watch, row->number, &seen);
	if (!seen.counts ||
	    (seen.state != HP_CHUNK_READY && seen.state != HP_CHUNK_EXPANDED))
		return NULL;
	return hp_stage_chunk_name(row, seen.state == HP_CHUNK_EXPANDED, buf);
}

static int add_dataset(struct hp_compat *c, struct hp_compat_folder *f,
		       struct hpdsl_error *err)
{
	struct hpdsl_chunk row;
	struct hpdsl_counts n;

	f->foreign = hp_index_flags(f->ds->index) & HP_INDEX_FOREIGN;
	hpdsl_count(f->ds, &n);
	for (uint32_t i = 0; i < n.chunks; i++) {
		int r = hpdsl_chunk_get(f->ds, i, &row, err);
		char buf[HP_STAGE_NAME];
		const char *name =
			r == 0 ? staged_name(f->ds, &row, buf) : NULL;

		if (name)
			r = add_tar(c, name, f, i, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool exists(const struct hp_io *io, int dir, const char *name)
{
	struct stat st;

	return io->stat(io, dir, name, &st, 0) == 0;
}

int hp_compat_add(struct hp_compat *c, const char *path,
		  struct hpdsl_error *err)
{
	struct hp_compat_folder *f = &c->folders[c->n_folders];
	struct stat st;
	int r = c->io->stat(c->io, AT_FDCWD, path, &st, 0);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return add_tar(c, path, NULL, 0, err);
	*f = (struct hp_compat_folder){ .dir = c->io->open(
						c->io, AT_FDCWD, path,
						O_RDONLY | O_DIRECTORY, 0) };
	if (f->dir < 0)
		return hp_fail_errno(err, f->dir, "%s", path);
	c->n_folders++;
	f->energon = exists(c->io, f->dir, HP_SIDE_FOLDER "/.info.json") ||
		     exists(c->io, f->dir, HP_SIDE_FOLDER "/.info.yaml");
	if (!exists(c->io, f->dir, HP_INDEX_NAME))
		return add_folder(c, f, path, err);
	r = hpdsl_open_with(path, hp_open_flags(c->opt->foreign_owner), c->io,
			    &f->ds, err);
	return r < 0 ? r : add_dataset(c, f, err);
}

/* ---- Tars below a folder that nobody asked for ------------------------ */

struct strangers {
	struct hp_compat *c;
	struct hp_lint *l;
	int dir;
	unsigned depth;
	const char *path; /* below the folder */
	struct hpdsl_error *err;
};

static int look_below(void *arg, const char *name);

static int enter(const struct strangers *s, const char *name, const char *path)
{
	struct strangers below = *s;
	hp_auto_fd f = {
		s->c->io, s->c->io->open(s->c->io, s->dir, name,
					 O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
	};

	/* What this user cannot look into, his reader cannot either. */
	if (f.fd < 0 || s->depth == DEPTH)
		return 0;
	below.dir = f.fd;
	below.depth++;
	below.path = path;
	return hp_listdir(s->c->io, f.fd, look_below, &below);
}

static int look_below(void *arg, const char *name)
{
	const struct strangers *s = arg;
	hp_auto_free char *path = NULL;
	struct stat st;

	if (s->c->io->stat(s->c->io, s->dir, name, &st, AT_SYMLINK_NOFOLLOW) <
	    0)
		return 0;
	if (asprintf(&path, "%s%s%s", s->path, *s->path ? "/" : "", name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (S_ISDIR(st.st_mode))
		return enter(s, name, path);
	/* What lies in the folder itself but is no chunk, verify tells. */
	if (s->depth == 1 || !(ends_in(name, ".tar") || ends_in(name, ".tgz")))
		return 0;
	return hp_lint_count(s->l, HP_TRIP_STRANGER, path, s->err);
}

int hp_compat_strangers(struct hp_compat *c, struct hp_lint *l,
			struct hpdsl_error *err)
{
	int r = 0;

	if (c->opt->tars || c->opt->members)
		return 0;
	for (size_t i = 0; i < c->n && r == 0; i++) {
		const struct hp_compat_tar *t = &c->tars[i];

		/* Its first chunk; adopted tars may lie elsewhere. */
		if (t->in && t->in->ds && t->chunk == 0 &&
		    !strchr(t->name, '/'))
			r = hp_lint_count(l, HP_TRIP_FILES, NULL, err);
	}
	if (!(c->opt->readers & HPDSL_READER_ENERGON))
		return r;
	for (size_t i = 0; i < c->n_folders && r == 0; i++) {
		struct strangers s = { .c = c,
				       .l = l,
				       .dir = c->folders[i].dir,
				       .path = "",
				       .err = err };

		r = enter(&s, ".", "");
		if (r < 0)
			hp_fail_errno(err, r, "below a folder");
	}
	return r;
}
