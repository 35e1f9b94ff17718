/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following links to folders: no loop holds it up, for a folder is known by
 * device and inode, and where it lies is asked of the kernel.
 */
#include "verify/linked.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/glob.h"
#include "base/key_set.h"
#include "base/mem.h"
#include "sys/dir.h"
#include "sys/meter.h"

#include <errno.h>
#include <string.h>

struct place {
	struct place *next;
	size_t len;
	char path[];
};

struct walk {
	struct hp_linked_walk *w;
	const struct hp_root *root;
	char *top; /* its real path */
	struct hp_key_set seen;
	struct place *todo;
	/* The folder at hand, and a name in it. */
	int fd;
	char *real;
	size_t dir_len, len;
	char path[HPDSL_PATH_MAX + 1];
	bool told; /* *err says what is wrong */
	struct hpdsl_error *err;
};

/* Names what is at k->path. */
static int fail(struct walk *k, int code)
{
	size_t n = k->root->prefix_len;
	char name[HP_INPUT_NAME];

	k->told = true;
	if (code == -ENOMEM)
		return hp_fail_nomem(k->err);
	hp_input_name(k->root, k->path + n, k->len - n, name);
	return hp_fail_errno(k->err, code, "%s", name);
}

/* 1: not seen before. */
static int see(struct walk *k, const struct stat *st)
{
	uint8_t b[16];

	hp_put64(b, st->st_dev);
	hp_put64(b + 8, st->st_ino);
	return hp_key_set_add(&k->seen, hp_key_hash((char *)b, sizeof(b)));
}

/* Is it the source, or in it? */
static bool is_walked(const struct walk *k)
{
	size_t n = strlen(k->top);

	if (n == 1)
		return true; /* all there is */
	return strncmp(k->real, k->top, n) == 0 &&
	       (k->real[n] == '/' || k->real[n] == '\0');
}

/* ---- Litter ----------------------------------------------------------- */

/* The row of the list for the name at k->path; -1: none, or it is not left out.
 * What the patterns of the pack include is not looked for here. */
static int litter_row(const struct walk *k, bool is_folder)
{
	size_t base = k->dir_len + 1;

	if (k->w->opt->litter != HPDSL_LITTER_LEAVE || k->w->opt->n_include)
		return -1;
	return hpdsl_litter_name(k->path + base, k->len - base, is_folder,
				 false);
}

static bool is_litter(const struct walk *k)
{
	int row = litter_row(k, false);
	struct stat st;

	/* X of ._X, in the same folder. */
	return row >= 0 &&
	       (row != HPDSL_LITTER_TWIN ||
		hp_io_stat(k->w->io, k->fd, k->path + k->dir_len + 3, &st,
			   AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0);
}

/* ---- A name in a folder ----------------------------------------------- */

static int push(struct walk *k)
{
	struct place *p;

	if (hp_glob_pruned(k->w->opt, k->path)) {
		k->w->excluded_dirs++;
		return 0;
	}
	p = malloc(sizeof(*p) + k->len + 1);
	if (!p)
		return fail(k, -ENOMEM);
	p->len = k->len;
	memcpy(p->path, k->path, k->len + 1);
	p->next = k->todo;
	k->todo = p;
	return 0;
}

static int take(struct walk *k, const struct stat *st, const char *real)
{
	struct hp_linked_file f = { k->path, k->len, real, st };
	int r;

	if (S_ISDIR(st->st_mode) && litter_row(k, true) >= 0) {
		k->w->litter_dirs++;
		return 0;
	}
	if (S_ISDIR(st->st_mode))
		return push(k);
	if (!hp_glob_wanted(k->w->opt, k->path)) {
		k->w->excluded++;
		return 0;
	}
	if (is_litter(k)) {
		k->w->litter++;
		return 0;
	}
	if (!S_ISREG(st->st_mode)) {
		k->w->specials++;
		return 0;
	}
	r = k->w->each(k->w->arg, &f, k->err);
	k->told = r < 0;
	return r;
}

/* One more link on the way. */
static int take_link(struct walk *k, const char *name)
{
	const struct hp_io *io = k->w->io;
	hp_auto_fd f = { io, io->open(io, k->fd, name, O_PATH, 0) };
	hp_auto_free char *real = NULL;
	struct stat st;
	int r = f.fd;

	if (r == -ENOENT || r == -ELOOP || r == -ENOTDIR)
		return 0;
	if (r >= 0)
		r = hp_io_fstat(io, f.fd, &st);
	if (r == 0)
		r = hp_io_real_path(io, f.fd, &real);
	return r < 0 ? fail(k, r) : take(k, &st, real);
}

static int take_name(void *arg, const char *name)
{
	struct walk *k = arg;
	size_t n = strlen(name);
	hp_auto_free char *real = NULL;
	struct stat st;
	int r;

	if (hp_stopped(&k->w->opt->watch)) {
		k->told = true;
		return hp_fail(k->err, HPDSL_ESTOPPED, "stopped");
	}
	if (k->dir_len + 1 + n > HPDSL_PATH_MAX)
		return fail(k, -ENAMETOOLONG);
	k->path[k->dir_len] = '/';
	memcpy(k->path + k->dir_len + 1, name, n + 1);
	k->len = k->dir_len + 1 + n;
	r = hp_io_stat(k->w->io, k->fd, name, &st,
		       AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
	if (r < 0)
		return fail(k, r);
	if (S_ISLNK(st.st_mode))
		return take_link(k, name);
	if (asprintf(&real, "%s/%s", k->real, name) < 0) {
		real = NULL;
		return fail(k, -ENOMEM);
	}
	return take(k, &st, real);
}

/* ---- A folder --------------------------------------------------------- */

static int list(struct walk *k)
{
	const struct hp_io *io = k->w->io;
	struct stat st;
	int r = hp_io_fstat(io, k->fd, &st);

	if (r == 0)
		r = see(k, &st);
	if (r <= 0)
		return r;
	free(hp_take(k->real));
	r = hp_io_real_path(io, k->fd, &k->real);
	if (r < 0 || is_walked(k))
		return r;
	return hp_listdir(io, k->fd, take_name, k);
}

static int visit(struct walk *k, const struct place *p)
{
	const struct hp_io *io = k->w->io;
	hp_auto_fd f = { io, -1 };
	int r;

	memcpy(k->path, p->path, p->len + 1);
	k->dir_len = k->len = p->len;
	f.fd = io->open(io, k->root->fd, p->path + k->root->prefix_len,
			O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
	k->fd = f.fd;
	r = f.fd < 0 ? f.fd : list(k);
	if (r >= 0 || k->told)
		return r;
	/* It is the folder that cannot be read, not the last name in it. */
	k->len = k->dir_len;
	k->path[k->len] = '\0';
	return fail(k, r);
}

/* What is not to be looked into counts as seen. */
static int begin(struct walk *k)
{
	struct stat st;
	int r = hp_io_fstat(k->w->io, k->w->apart, &st);

	if (r == 0)
		r = see(k, &st);
	if (r >= 0)
		r = hp_io_real_path(k->w->io, k->root->fd, &k->top);
	return r < 0 ? fail(k, r) : 0;
}

static int run(struct walk *k)
{
	const struct hp_list *l = k->w->list;
	int r = begin(k);

	/* The last one on the stack is the first to be visited. */
	for (size_t i = l->n_linked; r == 0 && i-- > 0;) {
		k->len = strlen(l->linked[i]);
		memcpy(k->path, l->linked[i], k->len + 1);
		r = push(k);
	}
	while (r == 0 && k->todo) {
		hp_auto_free struct place *p = k->todo;

		k->todo = p->next;
		r = visit(k, p);
	}
	return r;
}

int hp_linked_walk(struct hp_linked_walk *w, struct hpdsl_error *err)
{
	hp_auto_free struct walk *k = calloc(1, sizeof(*k));
	struct place *next;
	int r;

	if (!k)
		return hp_fail_nomem(err);
	k->w = w;
	k->root = w->list->roots;
	k->len = k->root->prefix_len;
	k->err = err;
	r = run(k);
	for (struct place *p = k->todo; p; p = next) {
		next = p->next;
		free(p);
	}
	free(k->top);
	free(k->real);
	hp_key_set_release(&k->seen);
	return r;
}
