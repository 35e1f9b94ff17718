/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tars are adopted: those named, those of a directory, or those of the
 * dataset that is there; and that nothing else is in the way.
 */
#include "reindex/adopt.h"

#include "base/archive_name.h"
#include "base/error.h"
#include "base/mem.h"
#include "format/names.h"
#include "sys/dir.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct tar {
	const char *name; /* in hp_reindex.names, */
	const char *base; /* ends as this */
};

struct tars {
	struct hp_reindex *x;
	struct tar *v;
	size_t n;
	const char *prefix;  /* how the dataset's directory sees theirs */
	uint64_t compressed; /* archives that cannot be adopted */
	char first[256];     /* of these */
};

static int add(struct tars *t, const char *base, struct hpdsl_error *err)
{
	char name[HPDSL_PATH_MAX + 1];
	struct tar *v;
	int n = snprintf(name, sizeof name, "%s%s", t->prefix, base);

	if ((size_t)n >= sizeof name)
		return hp_fail_errno(err, -ENAMETOOLONG, "%s", base);
	v = hp_more(t->v, t->n, sizeof *v);
	if (!v)
		return hp_fail_nomem(err);
	t->v = v;
	v[t->n].name = hp_arena_add(t->x->names, name, (size_t)n);
	if (!v[t->n].name)
		return hp_fail_nomem(err);
	v[t->n].base = v[t->n].name + n - strlen(base);
	t->n++;
	return 0;
}

/* ---- Those of a directory --------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && !strcmp(name + n - k, end);
}

struct listing {
	struct tars *t;
	int dir;
	struct hpdsl_error *err;
};

static int note_name(void *arg, const char *name)
{
	struct listing *l = arg;
	struct tars *t = l->t;
	const struct hp_io *io = t->x->io;
	struct stat st;

	if (name[0] == '.')
		return 0;
	/* By name, not by chance: the order of a listing is any. */
	if (hp_archive_is_packed(name, strlen(name)) &&
	    (!t->compressed++ || strcmp(name, t->first) < 0))
		snprintf(t->first, sizeof t->first, "%s", name);
	if (!ends_with(name, ".tar") ||
	    (io->stat(io, l->dir, name, &st, 0) == 0 && S_ISDIR(st.st_mode)))
		return 0;
	return add(t, name, l->err);
}

#define HOW_TO "decompress them, or repack them: hpdsl-pack"

static int list(struct tars *t, int dir, struct hpdsl_error *err)
{
	struct listing l = { t, dir, err };
	char text[HP_PRINTABLE];
	int r;

	if (err)
		err->msg[0] = '\0';
	r = hp_listdir(t->x->io, dir, note_name, &l);
	if (r < 0 && err && !err->msg[0])
		hp_fail_errno(err, r, "cannot be listed");
	if (r < 0 || !t->compressed)
		return r;
	hp_printable(t->first, strlen(t->first), text);
	if (!t->n)
		return hp_fail(err, HPDSL_ENOTOURS,
			       "only compressed archives, such as %s, which "
			       "cannot be adopted: " HOW_TO,
			       text);
	hp_meter_warn(&t->x->meter,
		      "%" PRIu64 " compressed archive%s cannot be adopted, "
		      "first %s: " HOW_TO,
		      t->compressed, t->compressed == 1 ? "" : "s", text);
	return 0;
}

/* The dataset's own; from the first name, whoever listed it before. */
static int list_here(struct tars *t, struct hpdsl_error *err)
{
	const struct hp_io *io = t->x->io;
	hp_auto_fd dir = { io, io->open(io, t->x->dir, ".",
					O_RDONLY | O_DIRECTORY, 0) };

	if (dir.fd < 0)
		return hp_fail_errno(err, dir.fd, "cannot be listed");
	return list(t, dir.fd, err);
}

/* ---- Those elsewhere -------------------------------------------------- */

/* Is there no /proc to ask? */
static bool is_unknown(int code)
{
	return code == -ENOENT || code == -ENOTDIR || code == -EACCES;
}

/* How the dataset's directory sees dir. */
static int see(const struct tars *t, const char *dir, int fd,
	       char prefix[HPDSL_PATH_MAX + 1], struct hpdsl_error *err)
{
	hp_auto_free char *from = NULL, *to = NULL;
	int r = hp_io_real_path(t->x->io, t->x->dir, &from);

	if (r == 0)
		r = hp_io_real_path(t->x->io, fd, &to);
	if (r == 0)
		r = hp_adopt_relative(from, to, prefix);
	else if (is_unknown(r) && dir[0] == '/')
		r = snprintf(prefix, HPDSL_PATH_MAX, "%s/", dir);
	if (r >= HPDSL_PATH_MAX)
		r = -ENAMETOOLONG;
	return r < 0 ? hp_fail_errno(err, r, "%s", dir) : 0;
}

static int open_dir(const struct tars *t, const char *dir, struct hp_fd *ret,
		    struct hpdsl_error *err)
{
	const struct hp_io *io = t->x->io;

	ret->fd = io->open(io, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	return ret->fd < 0 ? hp_fail_errno(err, ret->fd, "%s", dir) : 0;
}

static int list_source(struct tars *t, const char *dir, struct hpdsl_error *err)
{
	char prefix[HPDSL_PATH_MAX + 1];
	hp_auto_fd d = { t->x->io, -1 };
	int r = open_dir(t, dir, &d, err);

	if (r == 0)
		r = see(t, dir, d.fd, prefix, err);
	t->prefix = prefix;
	if (r == 0)
		r = list(t, d.fd, err);
	if (r == 0 && !t->n)
		r = hp_fail(err, HPDSL_ENOTOURS, "no tar files in %s", dir);
	t->prefix = "";
	return r;
}

static int add_named(struct tars *t, const char *path, struct hpdsl_error *err)
{
	char prefix[HPDSL_PATH_MAX + 1] = "";
	const char *slash = strrchr(path, '/'), *dir;
	hp_auto_fd d = { t->x->io, -1 };
	int r = 0;

	if (t->x->opt->output) {
		dir = hp_adopt_folder(t->x, path);
		r = dir ? open_dir(t, dir, &d, err) : hp_fail_nomem(err);
		if (r == 0)
			r = see(t, dir, d.fd, prefix, err);
	}
	t->prefix = prefix;
	if (r == 0)
		r = add(t, slash ? slash + 1 : path, err);
	t->prefix = "";
	return r;
}

/* ---- Those of the dataset there --------------------------------------- */

static const char *old_name(const struct hp_reindex *x, uint64_t i)
{
	struct hpdsl_chunk c;

	if (x->has_manifest)
		return i < x->manifest.n_chunks ? x->manifest.chunks[i].name :
						  NULL;
	return hp_index_chunk(x->index, (uint32_t)i, &c, NULL) == 0 ? c.name :
								      NULL;
}

/* Does it lie apart from its tars?  Then only it knows where they are. */
static bool lies_apart(const struct hp_reindex *x)
{
	const char *name;

	for (uint64_t i = 0;
	     (x->has_manifest || x->index) && (name = old_name(x, i)); i++)
		if (strchr(name, '/'))
			return true;
	return false;
}

static int add_old(struct tars *t, struct hpdsl_error *err)
{
	char prefix[HPDSL_PATH_MAX + 1];
	const char *name;
	int r = 0;

	for (uint64_t i = 0; r == 0 && (name = old_name(t->x, i)); i++) {
		const char *slash = strrchr(name, '/');
		const char *base = slash ? slash + 1 : name;

		snprintf(prefix, sizeof prefix, "%.*s", (int)(base - name),
			 name);
		t->prefix = prefix;
		r = add(t, base, err);
		t->prefix = "";
	}
	return r;
}

/* ---- All of them ------------------------------------------------------ */

static int by_base(const void *a, const void *b)
{
	const struct tar *x = a, *y = b;
	int d = strcmp(x->base, y->base);

	return d ? d : strcmp(x->name, y->name);
}

static int refuse_equal(const struct tars *t, struct hpdsl_error *err)
{
	for (size_t i = 1; i < t->n; i++) {
		if (strcmp(t->v[i - 1].base, t->v[i].base) == 0)
			return hp_fail(err, HPDSL_EUSAGE,
				       "%s and %s: the tars of a dataset need "
				       "different names",
				       t->v[i - 1].name, t->v[i].name);
	}
	return 0;
}

static int look(struct tars *t, struct hpdsl_error *err)
{
	const struct hpdsl_reindex_options *opt = t->x->opt;
	int r = 0;

	if (opt->n_tars) {
		for (size_t i = 0; i < opt->n_tars && r == 0; i++)
			r = add_named(t, opt->tars[i], err);
		return r;
	}
	if (t->x->adoption->source)
		return list_source(t, t->x->adoption->source, err);
	return lies_apart(t->x) ? add_old(t, err) : list_here(t, err);
}

static int take(struct tars *t, struct hpdsl_error *err)
{
	struct hp_reindex *x = t->x;
	int r;

	if (!t->n)
		return hp_fail(err, HPDSL_ENOTOURS,
			       "not a dataset, and no tar files");
	if (t->n > HP_CHUNKS_MAX)
		return hp_fail(err, -E2BIG, "more than %d tar files",
			       HP_CHUNKS_MAX);
	qsort(t->v, t->n, sizeof *t->v, by_base);
	r = refuse_equal(t, err);
	if (r == 0)
		r = hp_reindex_chunks(x, t->n, err);
	if (r < 0)
		return r;
	x->adoption->in_place = true;
	for (uint32_t i = 0; i < x->n_chunks; i++) {
		x->chunks[i].made.name = t->v[i].name;
		if (t->v[i].name != t->v[i].base)
			x->adoption->in_place = false;
	}
	return 0;
}

/* ---- What may not be there -------------------------------------------- */

static int other_name(void *arg, const char *name)
{
	(void)arg;
	/* What a run that was killed has left. */
	return hp_name_is_part(name) ? 0 : 1;
}

static bool is_adopted(const struct hp_reindex *x)
{
	if (x->has_manifest)
		return x->manifest.adopted;
	return x->index && hp_index_flags(x->index) & HP_INDEX_FOREIGN;
}

static int check_place(const struct hp_reindex *x, struct hpdsl_error *err)
{
	const struct hp_io *io = x->io;
	int r;

	if (is_adopted(x))
		return 0;
	if (x->has_manifest || x->index)
		return hp_fail(err, -EEXIST, "a packed dataset is there");
	if (x->adoption->in_place || x->opt->force || x->adoption->made)
		return 0;
	hp_auto_fd d = { io,
			 io->open(io, x->dir, ".", O_RDONLY | O_DIRECTORY, 0) };
	r = d.fd < 0 ? d.fd : hp_listdir(io, d.fd, other_name, NULL);
	if (r < 0)
		return hp_fail_errno(err, r, "cannot be listed");
	return r ? hp_fail(err, -ENOTEMPTY,
			   "not empty, and not a dataset of these tars") :
		   0;
}

bool hp_adopt_wanted(const struct hp_reindex *x)
{
	return x->opt->n_tars || x->opt->output || is_adopted(x);
}

int hp_adopt_find(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct tars t = { .x = x, .prefix = "" };
	int r = 0;

	x->adopt = x->list.repeats = true;
	if (!x->names)
		x->names = hp_arena_new();
	if (!x->adoption)
		x->adoption = calloc(1, sizeof *x->adoption);
	if (!x->names || !x->adoption)
		return hp_fail_nomem(err);
	r = look(&t, err);
	if (r == 0)
		r = take(&t, err);
	if (r == 0)
		r = check_place(x, err);
	if (r == 0)
		r = hp_adopt_probe(x, err);
	free(t.v);
	return r;
}
