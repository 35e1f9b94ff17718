/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl_compat: which tars there are, a lint of each, and what that means for
 * the readers asked for.  The names in a packed dataset's chunks come from its
 * index, so compressed chunks have them too.
 */
#include "compat.h"

#include "dataset.h"
#include "emit.h"
#include "error.h"
#include "listdir.h"
#include "mem.h"
#include "meter.h"
#include "plan.h"
#include "pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	DALI_TARS = 1000, /* the usual limit of open files is 1024 */
	DEPTH = 64,	  /* of folders below one that was given */
};

/* One tar: a file, or a chunk of a dataset. */
struct tar {
	char *name;		 /* below dir, or a path */
	const struct folder *in; /* NULL: a file that was named */
	uint32_t chunk;		 /* of in->ds */
};

/* A folder that was given. */
struct folder {
	int dir;
	bool energon;		  /* its index is there */
	struct hpdsl_dataset *ds; /* or NULL; foreign ones are read, too */
	bool foreign;
};

struct compat {
	const struct hpdsl_compat_options *opt;
	const struct hp_io *io;
	struct hp_meter meter;
	struct folder *folders; /* room for one an argument */
	size_t n_folders;
	struct tar *tars;
	size_t n, room;
	struct hp_lint *lints; /* of the tars, then one for the rest */
};

static int add_tar(struct compat *c, const char *name, const struct folder *in,
		   uint32_t chunk, struct hpdsl_error *err)
{
	char *copy = strdup(name);

	if (copy && c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct tar *more = reallocarray(c->tars, room, sizeof *more);

		if (!more) {
			free(copy);
			return hp_fail_nomem(err);
		}
		c->tars = more;
		c->room = room;
	}
	if (!copy)
		return hp_fail_nomem(err);
	c->tars[c->n++] = (struct tar){ copy, in, chunk };
	return 0;
}

/* ---- What was given ----------------------------------------------------- */

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && strcmp(name + n - k, end) == 0;
}

static bool is_tar_name(const char *name)
{
	static const char *const ends[] = { ".tar",	".tgz",	   ".tar.gz",
					    ".tar.bz2", ".tar.xz", ".tar.zst" };

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (ends_in(name, ends[i]))
			return true;
	return false;
}

struct names {
	struct compat *c;
	const struct folder *in;
	struct hpdsl_error *err;
};

static int note_tar(void *arg, const char *name)
{
	struct names *s = arg;
	struct stat st;

	if (!is_tar_name(name) || name[0] == '.' ||
	    s->c->io->stat(s->c->io, s->in->dir, name, &st, 0) < 0 ||
	    !S_ISREG(st.st_mode))
		return 0;
	return add_tar(s->c, name, s->in, 0, s->err);
}

static int by_name(const void *a, const void *b)
{
	const struct tar *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int add_folder(struct compat *c, const struct folder *f,
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

static int add_dataset(struct compat *c, struct folder *f,
		       struct hpdsl_error *err)
{
	struct hpdsl_chunk row;
	struct hpdsl_counts n;

	f->foreign = hp_index_flags(f->ds->index) & HP_INDEX_FOREIGN;
	hpdsl_count(f->ds, &n);
	for (uint32_t i = 0; i < n.chunks; i++) {
		int r = hpdsl_chunk_get(f->ds, i, &row, err);

		if (r == 0)
			r = add_tar(c, row.name, f, i, err);
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

static int add_argument(struct compat *c, const char *path,
			struct hpdsl_error *err)
{
	struct folder *f = &c->folders[c->n_folders];
	struct stat st;
	int r = c->io->stat(c->io, AT_FDCWD, path, &st, 0);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return add_tar(c, path, NULL, 0, err);
	*f = (struct folder){ .dir = c->io->open(c->io, AT_FDCWD, path,
						 O_RDONLY | O_DIRECTORY, 0) };
	if (f->dir < 0)
		return hp_fail_errno(err, f->dir, "%s", path);
	c->n_folders++;
	f->energon = exists(c->io, f->dir, HP_SIDE_FOLDER "/.info.json") ||
		     exists(c->io, f->dir, HP_SIDE_FOLDER "/.info.yaml");
	if (!exists(c->io, f->dir, HP_INDEX_NAME))
		return add_folder(c, f, path, err);
	r = hpdsl_open(path, c->io, &f->ds, err);
	return r < 0 ? r : add_dataset(c, f, err);
}

/* ---- One tar ------------------------------------------------------------ */

/* A member of ours: its header is what our writer makes of it. */
static int lint_row(struct hp_lint *l, const struct hpdsl_dataset *ds,
		    uint64_t number, struct hpdsl_error *err)
{
	struct hp_lint_member lint = { .kind = HP_FOREIGN_FILE, .type = '0' };
	struct hp_tar_member t = { 0 };
	struct hpdsl_member m;
	int r = hpdsl_member_get(ds, number, &m, err);

	if (r == 0)
		r = hpdsl_member_stored(ds, &m, &lint.name, &lint.len, err);
	if (r < 0)
		return r;
	t.path = lint.name;
	t.path_len = lint.len;
	if (hp_tar_header_size(&t) > HP_TAR_BLOCK)
		lint.form |= HP_FORM_PAX_NAME;
	t.size = m.size;
	if (m.size > UINT64_C(077777777777))
		lint.form |= HP_FORM_PAX_SIZE;
	return hp_lint_add(l, &lint, err);
}

static int lint_chunk(struct compat *c, struct hp_lint *l, const struct tar *t,
		      struct hpdsl_error *err)
{
	struct hpdsl_chunk row;
	int r = hpdsl_chunk_get(t->in->ds, t->chunk, &row, err);

	for (uint64_t i = 0; r == 0 && i < row.members; i++) {
		if (hp_stopped(&c->opt->watch))
			return hp_fail(err, HPDSL_ESTOPPED, "stopped");
		r = lint_row(l, t->in->ds, row.first_member + i, err);
	}
	if (r == 0 && row.compressed)
		r = hp_lint_count(l, HP_TRIP_ZSTD, NULL, err);
	return r < 0 ? r : hp_lint_end(l, err);
}

static int lint_file(struct compat *c, struct hp_lint *l, const struct tar *t,
		     struct hpdsl_error *err)
{
	struct hpdsl_error why = { 0 };
	int r = hp_lint_read(l, c->io, t->in ? t->in->dir : AT_FDCWD, t->name,
			     &why, err);

	if (r == 0 && why.code)
		hp_meter_warn(&c->meter, "%s: %s", t->name, why.msg);
	return r;
}

static int lint_members(struct compat *c, struct hp_lint *l,
			const struct tar *t, struct hpdsl_error *err)
{
	return t->in && t->in->ds && !t->in->foreign ?
		       lint_chunk(c, l, t, err) :
		       lint_file(c, l, t, err);
}

/* Is a file of this tar's name, cut at its first dot or not, and end there? */
static bool beside(const struct compat *c, const struct tar *t, bool cut,
		   const char *end)
{
	const char *slash = strrchr(t->name, '/');
	const char *base = slash ? slash + 1 : t->name;
	size_t len = strlen(t->name);
	const char *dot = strchr(base, '.');
	hp_auto_free char *name = NULL;

	if (ends_in(t->name, ".zst"))
		len -= 4;
	if (cut && dot)
		len = (size_t)(dot - t->name);
	if (asprintf(&name, "%.*s%s", (int)len, t->name, end) < 0) {
		name = NULL;
		return true;
	}
	return exists(c->io, t->in ? t->in->dir : AT_FDCWD, name);
}

static int count_bits(struct hp_lint *l, uint32_t bits, struct hpdsl_error *err)
{
	int r = 0;

	for (; bits && r == 0; bits &= bits - 1)
		r = hp_lint_count(l, (enum hp_trip)__builtin_ctz(bits), NULL,
				  err);
	return r;
}

static int lint_beside(struct compat *c, struct hp_lint *l, const struct tar *t,
		       struct hpdsl_error *err)
{
	uint32_t bits = hp_lint_of_tar(t->name);

	/* Compressed ones have been told. */
	if (l->tally[HP_RISKS + HP_TRIP_ZSTD].n ||
	    l->tally[HP_RISKS + HP_TRIP_PACKED].n)
		bits = 0;
	if (!beside(c, t, true, ".idx"))
		bits |= UINT32_C(1) << HP_TRIP_NO_IDX;
	if (!(t->in && t->in->energon) || !beside(c, t, false, ".idx"))
		bits |= UINT32_C(1) << HP_TRIP_NO_META;
	return count_bits(l, bits, err);
}

/* A job of hp_pool_run. */
static int lint_tar(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct compat *c = arg;
	struct hp_lint *l = &c->lints[number];
	const struct tar *t = &c->tars[number];
	int r = lint_members(c, l, t, err);

	if (r == 0)
		r = lint_beside(c, l, t, err);
	hp_meter_add(&c->meter, 1);
	return r;
}

/* Finds the key of a hash that the tar has; see hp_lint_join. */
static int find_key(void *arg, size_t tar, uint64_t hash, char **ret,
		    struct hpdsl_error *err)
{
	struct compat *c = arg;
	struct hp_lint l = { .want = hash };
	int r = lint_members(c, &l, &c->tars[tar], err);

	if (r == 0)
		*ret = hp_take(l.found);
	hp_lint_release(&l);
	return r;
}

/* ---- Tars below a folder that nobody asked for -------------------------- */

struct strangers {
	struct compat *c;
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

static int find_strangers(struct compat *c, struct hp_lint *l,
			  struct hpdsl_error *err)
{
	int r = 0;

	if (!(c->opt->readers & HPDSL_READER_ENERGON))
		return 0;
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

/* ---- All of it ---------------------------------------------------------- */

/* One kind for one reader, over all tars. */
static void tell(const struct compat *c, unsigned reader, unsigned lint)
{
	struct hpdsl_compat_problem p = {
		.reader = reader,
		.effect = hp_lint_effect(lint, reader),
		.note = !hp_lint_trips(lint, reader),
		.unit = hp_lint_unit(lint),
		.reason = hp_lint_text(lint),
	};

	if (!p.effect)
		return;
	for (size_t i = 0; i <= c->n; i++) {
		const struct hp_tally *t = &c->lints[i].tally[lint];

		if (t->n && !p.tar) {
			p.first = t->first;
			p.tar = i < c->n ? c->tars[i].name : t->first;
		}
		p.count += t->n;
	}
	if (p.count)
		c->opt->problem(c->opt->arg, &p);
}

static unsigned trips(const struct compat *c)
{
	unsigned found = 0;

	for (size_t i = 0; i <= c->n; i++)
		for (unsigned lint = 0; lint < HP_LINTS; lint++)
			for (unsigned r = 1;
			     c->lints[i].tally[lint].n && r < HPDSL_READERS_ALL;
			     r *= 2)
				if (hp_lint_trips(lint, r))
					found |= r;
	return found & c->opt->readers;
}

static void report(const struct compat *c, struct hpdsl_compat_report *ret)
{
	*ret = (struct hpdsl_compat_report){ .tars = c->n };
	for (size_t i = 0; i < c->n; i++) {
		ret->members += c->lints[i].members;
		ret->samples += c->lints[i].samples;
	}
	ret->trips = trips(c);
	for (unsigned reader = 1; c->opt->problem && reader < HPDSL_READERS_ALL;
	     reader *= 2)
		for (unsigned lint = 0;
		     c->opt->readers & reader && lint < HP_LINTS; lint++)
			tell(c, reader, lint);
}

/* Only the first tar's first samples count. */
static void forget_fields(struct compat *c)
{
	for (size_t i = 1; i < c->n; i++) {
		struct hp_tally *t =
			&c->lints[i].tally[HP_RISKS + HP_TRIP_FIELDS];

		free(t->first);
		*t = (struct hp_tally){ 0 };
	}
}

static int lint_all(struct compat *c, struct hpdsl_error *err)
{
	int r;

	c->lints = calloc(c->n + 1, sizeof *c->lints);
	if (!c->lints)
		return hp_fail_nomem(err);
	hp_meter_phase(&c->meter, "looking at tars", c->n, false);
	r = hp_pool_run(hp_threads(c->opt->threads), c->n, lint_tar, c,
			c->opt->watch.stop, err);
	hp_meter_warn_end(&c->meter, "tars that are damaged");
	if (r == 0)
		r = hp_lint_join(c->lints, c->n, find_key, c, err);
	if (r == 0)
		r = find_strangers(c, &c->lints[c->n], err);
	if (r == 0 && c->n >= DALI_TARS)
		c->lints[c->n].tally[HP_RISKS + HP_TRIP_MANY].n = c->n;
	forget_fields(c);
	return r;
}

static void release(struct compat *c)
{
	for (size_t i = 0; c->lints && i <= c->n; i++)
		hp_lint_release(&c->lints[i]);
	free(c->lints);
	for (size_t i = 0; i < c->n; i++)
		free(c->tars[i].name);
	free(c->tars);
	for (size_t i = 0; i < c->n_folders; i++) {
		hpdsl_close(c->folders[i].ds);
		c->io->close(c->io, c->folders[i].dir);
	}
	free(c->folders);
	hp_meter_release(&c->meter);
}

int hpdsl_compat(const char *const *paths, size_t n,
		 const struct hpdsl_compat_options *opt,
		 struct hpdsl_compat_report *ret, struct hpdsl_error *err)
{
	struct compat c = { .opt = opt, .io = hp_io_or_system(opt->watch.io) };
	double start = hp_now();
	int r = 0;

	hp_meter_init(&c.meter, &opt->watch);
	c.folders = calloc(n ? n : 1, sizeof *c.folders);
	if (!c.folders)
		r = hp_fail_nomem(err);
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_argument(&c, paths[i], err);
	if (r == 0)
		r = lint_all(&c, err);
	if (r == 0) {
		report(&c, ret);
		ret->seconds = hp_now() - start;
	}
	release(&c);
	return r;
}
