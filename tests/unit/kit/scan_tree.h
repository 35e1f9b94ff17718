/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the scan: a fresh folder as current directory, ways to fill it,
 * a scan whose outcome is kept, and a table of file operations that plays
 * tricks.
 */
#ifndef SCAN_TREE_H
#define SCAN_TREE_H

#include "clock.h"
#include "scan/scan.h"
#include "tmp.h"
#include "until.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline int tree_begin(void **state)
{
	char *name = malloc(TMP_NAME);

	if (!name || !tmp_folder(name, TMP_NAME, "scan") || chdir(name))
		return -1;
	*state = name;
	return 0;
}

static inline int tree_end(void **state)
{
	char *command = NULL;

	if (asprintf(&command, "rm -rf '%s'", (char *)*state) < 0 ||
	    chdir("/") || system(command))
		return -1;
	free(command);
	free(*state);
	return 0;
}

static inline void make_dir(const char *name)
{
	assert_int_equal(mkdir(name, 0777), 0);
}

static inline void make_file(const char *name, const char *content)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(content, f);
	assert_int_equal(fclose(f), 0);
}

static inline void make_link(const char *name, const char *target)
{
	assert_int_equal(symlink(target, name), 0);
}

/* A folder of n files f0, f1, .. */
static inline void make_files(const char *folder, int n)
{
	char name[256];

	make_dir(folder);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%s/f%d", folder, i);
		make_file(name, "x");
	}
}

/* ---- A scan and what came of it --------------------------------------- */

struct outcome {
	int code;
	struct hpdsl_error err;
	struct hp_list list;
	struct hpdsl_pack_report report;
	int warned;
	char warnings[8192]; /* a newline behind each */
};

static inline void outcome_warn(void *arg, const char *text)
{
	struct outcome *o = arg;
	size_t n = strlen(o->warnings);

	snprintf(o->warnings + n, sizeof o->warnings - n, "%s\n", text);
	o->warned++;
}

static inline int by_path(const void *a, const void *b)
{
	return strcmp(((const struct hp_file *)a)->path,
		      ((const struct hp_file *)b)->path);
}

/* Scans; the files are sorted by path. */
static inline struct outcome *scan(struct outcome *o,
				   const struct hpdsl_pack_options *opt)
{
	struct hpdsl_pack_options mine = *opt;

	memset(o, 0, sizeof *o);
	mine.watch.warn = outcome_warn;
	mine.watch.arg = o;
	o->code = hp_scan(&o->list, &mine, &o->report, &o->err);
	if (o->code == 0)
		qsort(o->list.files, o->list.n_files, sizeof *o->list.files,
		      by_path);
	return o;
}

/* One input, else as in opt (may be NULL). */
static inline struct outcome *scan_one(struct outcome *o, const char *input,
				       const struct hpdsl_pack_options *opt)
{
	struct hpdsl_pack_options mine = { 0 };

	if (opt)
		mine = *opt;
	mine.inputs = &input;
	mine.n_inputs = 1;
	return scan(o, &mine);
}

/* The outcome is these files, in the order of strcmp; then it is released. */
static inline void expect_files_(struct outcome *o, const char *const *paths,
				 size_t n)
{
	if (o->code)
		print_error("%s\n", o->err.msg);
	assert_int_equal(o->code, 0);
	for (size_t i = 0; i < n && i < o->list.n_files; i++) {
		assert_string_equal(o->list.files[i].path, paths[i]);
		assert_int_equal(o->list.files[i].path_len, strlen(paths[i]));
	}
	assert_int_equal(o->list.n_files, n);
	hp_list_release(&o->list);
}

#define EXPECT_FILES(o, ...)                                              \
	do {                                                              \
		static const char *const paths_[] = { __VA_ARGS__ };      \
		expect_files_(o, paths_, sizeof paths_ / sizeof *paths_); \
	} while (0)

static inline void expect_error(struct outcome *o, int code, const char *msg)
{
	assert_string_equal(o->err.msg, msg);
	assert_int_equal(o->code, code);
	assert_int_equal(o->err.code, code);
	assert_null(o->list.files);
	assert_null(o->list.roots);
	assert_null(o->list.arena);
}

/* ---- File operations that play tricks --------------------------------- */

struct tricks {
	struct hp_io io;
	pthread_mutex_t lock;
	int calls, fail_at, fail_code; /* open, stat, getdents, readlink */
	bool forever;		       /* fail_at and all later ones */
	const char *name;	       /* open and stat of it fail */
	bool shuffle, untyped;	       /* what getdents gives */
	bool interrupt;		       /* every second call is -EINTR */
	int *stop, stop_at;	       /* is set at that call */
	double passes;		       /* seconds, in each stat */
	int together;		       /* files are in stat at once, once */
	int fds, fds_most, stats, stats_most;
	bool elsewhere; /* called from another thread than home */
	pthread_t home;
};

/* 0 or what the call shall return; again: -EINTR is fine with it. */
static inline int trick(struct tricks *t, const char *name, bool again)
{
	int r = 0;

	pthread_mutex_lock(&t->lock);
	t->calls++;
	if (again && t->interrupt && t->calls % 2)
		r = -EINTR;
	if (t->fail_at &&
	    (t->calls == t->fail_at || (t->forever && t->calls > t->fail_at)))
		r = t->fail_code;
	if (t->name && name && strcmp(name, t->name) == 0)
		r = t->fail_code;
	if (t->stop && t->calls >= t->stop_at)
		__atomic_store_n(t->stop, 1, __ATOMIC_RELAXED);
	if (!pthread_equal(pthread_self(), t->home))
		t->elsewhere = true;
	pthread_mutex_unlock(&t->lock);
	return r;
}

static inline void trick_count(struct tricks *t, int *n, int *most, int by)
{
	pthread_mutex_lock(&t->lock);
	*n += by;
	if (most && *n > *most)
		*most = *n;
	pthread_mutex_unlock(&t->lock);
}

static inline int trick_most(struct tricks *t)
{
	int most;

	pthread_mutex_lock(&t->lock);
	most = t->stats_most;
	pthread_mutex_unlock(&t->lock);
	return most;
}

static inline int trick_open(const struct hp_io *io, int dir, const char *name,
			     int flags, mode_t mode)
{
	struct tricks *t = (struct tricks *)io;
	int r = trick(t, name, false);

	if (r == 0)
		r = hp_io_system.open(io, dir, name, flags, mode);
	if (r >= 0)
		trick_count(t, &t->fds, &t->fds_most, 1);
	return r;
}

static inline int trick_close(const struct hp_io *io, int fd)
{
	struct tricks *t = (struct tricks *)io;

	trick_count(t, &t->fds, NULL, -1);
	return hp_io_system.close(io, fd);
}

static inline int trick_stat(const struct hp_io *io, int dir, const char *name,
			     struct stat *ret, int flags)
{
	struct tricks *t = (struct tricks *)io;
	int r = trick(t, name, true);

	trick_count(t, &t->stats, &t->stats_most, 1);
	for (struct until u = { 0 };
	     name[0] == 'f' && trick_most(t) < t->together;)
		until_next(&u);
	clock_pass(t->passes);
	if (r == 0)
		r = hp_io_system.stat(io, dir, name, ret, flags);
	trick_count(t, &t->stats, NULL, -1);
	return r;
}

static inline ssize_t trick_readlink(const struct hp_io *io, int dir,
				     const char *name, char *buf, size_t n)
{
	int r = trick((struct tricks *)io, name, false);

	return r ? r : hp_io_system.readlink(io, dir, name, buf, n);
}

/* The records in another order. */
static inline void trick_shuffle(char *buf, size_t n)
{
	char *copy = malloc(n);
	size_t at[4096], lens[4096], count = 0;
	char *to = buf;

	assert_non_null(copy);
	memcpy(copy, buf, n);
	for (size_t i = 0; i < n && count < 4096; i += lens[count++]) {
		at[count] = i;
		lens[count] = ((struct dirent64 *)(copy + i))->d_reclen;
	}
	for (size_t left = count; left; left--) {
		size_t i = (size_t)random() % left;

		memcpy(to, copy + at[i], lens[i]);
		to += lens[i];
		at[i] = at[left - 1];
		lens[i] = lens[left - 1];
	}
	free(copy);
}

static inline ssize_t trick_getdents(const struct hp_io *io, int fd, void *buf,
				     size_t n)
{
	struct tricks *t = (struct tricks *)io;
	ssize_t r = trick(t, NULL, true);

	if (r == 0)
		r = hp_io_system.getdents(io, fd, buf, n);
	if (r > 0 && t->shuffle)
		trick_shuffle(buf, (size_t)r);
	for (ssize_t i = 0; t->untyped && i < r;) {
		struct dirent64 *d = (struct dirent64 *)((char *)buf + i);

		d->d_type = DT_UNKNOWN;
		i += d->d_reclen;
	}
	return r;
}

static inline void tricks_init(struct tricks *t)
{
	memset(t, 0, sizeof *t);
	t->io = hp_io_system;
	t->io.open = trick_open;
	t->io.close = trick_close;
	t->io.stat = trick_stat;
	t->io.readlink = trick_readlink;
	t->io.getdents = trick_getdents;
	t->home = pthread_self();
	pthread_mutex_init(&t->lock, NULL);
}

#endif
