/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening what the user named, and refusing what cannot be packed, such as a
 * folder in which the output is to be made.
 */
#include "scan/private.h"

#include "archive/archive.h"
#include "base/archive_name.h"
#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "format/manifest.h"
#include "index/index.h"
#include "sys/owner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* printable name, for a message */
#define NAME(name, buf) hp_printable(name, strlen(name), buf)

static int push_above(struct hp_scan *s, const struct stat *st)
{
	struct hp_scan_above *more;

	more = realloc(s->above, (s->n_above + 1) * sizeof *more);
	if (!more)
		return -ENOMEM;
	more[s->n_above].dev = st->st_dev;
	more[s->n_above++].ino = st->st_ino;
	s->above = more;
	return 0;
}

/* Collects fd's folder and all above it. */
static int climb(struct hp_scan *s, int fd)
{
	hp_auto_fd at = { s->io, fd };
	struct stat st;
	int r;

	for (;;) {
		r = hp_io_stat(s->io, at.fd, "", &st, AT_EMPTY_PATH);
		if (r < 0)
			return r;
		if (s->n_above && st.st_ino == s->above[s->n_above - 1].ino &&
		    st.st_dev == s->above[s->n_above - 1].dev)
			return 0; /* ".." of the top is the top */
		r = push_above(s, &st);
		if (r < 0)
			return r;
		fd = s->io->open(s->io, at.fd, "..", O_PATH | O_DIRECTORY, 0);
		if (fd < 0)
			return fd;
		hp_fd_release(&at);
		at.fd = fd;
	}
}

/*
 * Room that is left where OUTPUT is; some file systems do not know.  What a run
 * that is resumed has taken already counts as free, so nobody knows how much.
 */
static void find_room(struct hp_scan *s, int fd)
{
	struct statvfs vfs;
	uint64_t blocks;

	if (s->io->statvfs(s->io, fd, &vfs) < 0 || !vfs.f_blocks)
		return;
	blocks = s->opt->resume ? vfs.f_blocks : vfs.f_bavail;
	if (__builtin_mul_overflow(blocks, (uint64_t)vfs.f_frsize, &s->room))
		s->room = UINT64_MAX;
}

/* OUTPUT mostly is not there yet: the first folder above it that is. */
static int find_above(struct hp_scan *s, struct hpdsl_error *err)
{
	hp_auto_free char *name = strdup(s->opt->output);
	char buf[HP_PRINTABLE];
	int fd = -ENOENT, r;

	if (!name)
		return hp_fail_nomem(err);
	for (size_t n = strlen(name); n;) {
		fd = s->io->open(s->io, AT_FDCWD, name, O_PATH | O_DIRECTORY,
				 0);
		if (fd != -ENOENT && fd != -ENOTDIR)
			break;
		while (n && name[n - 1] == '/')
			n--;
		while (n && name[n - 1] != '/')
			n--;
		name[n] = '\0';
	}
	if (fd == -ENOENT || fd == -ENOTDIR)
		fd = s->io->open(s->io, AT_FDCWD, ".", O_PATH | O_DIRECTORY, 0);
	if (fd >= 0)
		find_room(s, fd);
	if (fd >= 0 && !strcmp(name, s->opt->output) &&
	    hp_io_real_path(s->io, fd, &s->output) == -ENOMEM) {
		s->io->close(s->io, fd);
		return hp_fail_nomem(err);
	}
	r = fd < 0 ? fd : climb(s, fd);
	if (r == -ENOMEM)
		return hp_fail_nomem(err);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", NAME(s->opt->output, buf));
	return 0;
}

bool hp_scan_above_output(const struct hp_scan *s, const struct stat *st)
{
	for (size_t i = 0; i < s->n_above; i++)
		if (s->above[i].ino == st->st_ino &&
		    s->above[i].dev == st->st_dev)
			return true;
	return false;
}

int hp_scan_fail_output(const struct hp_scan *s, const char *input,
			struct hpdsl_error *err)
{
	char in[HP_PRINTABLE], out[HP_PRINTABLE];

	return hp_fail(err, HPDSL_EUSAGE,
		       "%s: the output is inside the input %s",
		       NAME(s->opt->output, out), NAME(input, in));
}

/* A packed dataset is read through its index, never as a tree of files. */
static int open_dataset(struct hp_scan *s, struct hp_root *root,
			struct hpdsl_error *err)
{
	char buf[HP_PRINTABLE];
	int r = hp_dataset_is_one(s->io, root->fd);

	if (r == HPDSL_ENOTOURS)
		return hp_manifest_missing(s->io, root->fd,
					   NAME(root->name, buf), err);
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", NAME(root->name, buf),
				     HP_MANIFEST_NAME);
	if (r == 0)
		return 0;
	root->kind = HP_ROOT_DATASET;
	return hpdsl_open_with(root->name, hp_open_flags(s->opt->foreign_owner),
			       s->io, &root->dataset, err);
}

/* Base name of the input; of its real path where it has none of its own. */
static int find_prefix(struct hp_root *root, struct hp_scan_root *more,
		       struct hpdsl_error *err)
{
	const char *name = root->name;
	size_t n = strlen(name), begin;
	char buf[HP_PRINTABLE];

	for (int i = 0; i < 2; i++, name = more->real, n = strlen(name)) {
		while (n && name[n - 1] == '/')
			n--;
		for (begin = n; begin && name[begin - 1] != '/';)
			begin--;
		name += begin;
		n -= begin;
		if (n &&
		    !(name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.'))))
			break;
		if (!more->real)
			return hp_fail(err, -ENOENT,
				       "%s: its real path cannot be found",
				       NAME(root->name, buf));
		if (i == 1)
			return 0; /* the root of all has no name */
	}
	if (root->kind == HP_ROOT_STREAM)
		n -= hp_archive_suffix(name, n);
	free(more->prefix);
	if (asprintf(&more->prefix, "%.*s/", (int)n, name) < 0) {
		more->prefix = NULL;
		return hp_fail_nomem(err);
	}
	root->prefix_len = (uint16_t)(n + 1);
	return 0;
}

static int open_root(struct hp_scan *s, const char *name,
		     struct hpdsl_error *err)
{
	struct hp_list *list = s->list;
	struct hp_root *root = &list->roots[list->n_roots];
	struct hp_scan_root *more = &s->more[list->n_roots];
	char buf[HP_PRINTABLE];
	struct stat st;
	int fd, r;

	fd = s->io->open(s->io, AT_FDCWD, name, O_PATH | O_DIRECTORY, 0);
	if (fd == -ENOTDIR)
		return hp_scan_open_archive(s, name, err);
	if (fd == -ENOENT && !strcmp(name, "-"))
		return hp_fail(err, HPDSL_EUSAGE,
			       "-: standard input cannot be an input, which is "
			       "read more than once: put it into a file");
	if (fd < 0)
		return hp_fail_errno(err, fd, "%s", NAME(name, buf));
	*root = (struct hp_root){ .fd = fd, .name = name };
	list->n_roots++;
	r = hp_io_stat(s->io, fd, "", &st, AT_EMPTY_PATH);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", NAME(name, buf));
	more->above_output = hp_scan_above_output(s, &st);
	more->prefix = strdup("");
	if (!more->prefix)
		return hp_fail_nomem(err);
	r = hp_io_real_path(s->io, fd, &more->real);
	return r == -ENOMEM ? hp_fail_nomem(err) : 0;
}

static int open_input(struct hp_scan *s, const char *name,
		      struct hpdsl_error *err)
{
	size_t i = s->list->n_roots;
	int r = open_root(s, name, err);

	if (r < 0)
		return r;
	if (s->more[i].above_output)
		return hp_scan_fail_output(s, name, err);
	if (s->list->roots[i].kind == HP_ROOT_DIR)
		r = open_dataset(s, &s->list->roots[i], err);
	if (r == 0 && s->opt->prefix_input)
		r = find_prefix(&s->list->roots[i], &s->more[i], err);
	return r;
}

/* A snapshot is one of a directory. */
static int check_snapshot(const struct hp_scan *s, struct hpdsl_error *err)
{
	const struct hp_root *root = s->list->roots;
	char buf[HP_PRINTABLE];

	if (!s->opt->snapshot || root->kind == HP_ROOT_DIR)
		return 0;
	return hp_fail(err, HPDSL_EUSAGE,
		       "%s: a snapshot goes with a directory, not with %s",
		       NAME(root->name, buf),
		       root->kind == HP_ROOT_DATASET ? "a packed dataset" :
						       "an archive");
}

int hp_scan_roots(struct hp_scan *s, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *opt = s->opt;
	size_t n = opt->n_inputs ? opt->n_inputs : 2;
	int r = 0;

	if (!opt->n_inputs && !opt->list)
		return hp_fail(err, HPDSL_EUSAGE, "no input");
	if (opt->n_inputs > 1 && opt->list)
		return hp_fail(err, HPDSL_EUSAGE,
			       "a list of files goes with one input at most");
	if (opt->snapshot && (opt->list || opt->n_inputs != 1))
		return hp_fail(err, HPDSL_EUSAGE,
			       "a snapshot goes with one input, the directory "
			       "that it is of, and no list of files");
	if (n > UINT16_MAX)
		return hp_fail(err, HPDSL_EUSAGE, "more than %d inputs",
			       UINT16_MAX);
	s->list->roots = calloc(n, sizeof *s->list->roots);
	s->more = calloc(n, sizeof *s->more);
	if (!s->list->roots || !s->more)
		return hp_fail_nomem(err);
	if (opt->output)
		r = find_above(s, err);
	for (size_t i = 0; r == 0 && i < opt->n_inputs; i++)
		r = open_input(s, opt->inputs[i], err);
	if (r == 0)
		r = check_snapshot(s, err);
	/* Names of a list without an input: relative, then absolute ones. */
	if (r == 0 && !opt->n_inputs)
		r = open_root(s, ".", err);
	if (r == 0 && !opt->n_inputs)
		r = open_root(s, "/", err);
	return r;
}
