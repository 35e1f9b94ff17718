/* SPDX-License-Identifier: Apache-2.0 */
/* The walk as a whole: the top, workers, and what they found put together. */
#include "walk/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "walk/walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { WORKERS = 16, WORKERS_MAX = 512 };

static void work(struct hp_crew_worker *worker, struct hp_crew_job *job)
{
	struct hp_walk_worker *w = (struct hp_walk_worker *)worker;

	if (job->kind == HP_WALK_BATCHED)
		hp_walk_batch(w, (struct hp_walk_batch *)job);
	else
		hp_walk_dir(w, (struct hp_walk_dir *)job);
}

static uint32_t count_workers(uint32_t threads)
{
	if (threads == HPDSL_SERIAL)
		return 1;
	if (!threads)
		return WORKERS;
	return threads < WORKERS_MAX ? threads : WORKERS_MAX;
}

/* Opens the top and makes a job of it. */
static int begin(struct hp_walk *s, struct hp_walk_worker *w, struct hp_tree *t,
		 struct hpdsl_error *err)
{
	struct hp_walk_dir *dir;
	char buf[HP_INPUT_NAME];
	struct stat st;
	int r;

	s->root.fd = s->io->open(s->io, AT_FDCWD, s->root.name,
				 O_PATH | O_DIRECTORY, 0);
	r = s->root.fd;
	if (r >= 0)
		r = hp_walk_stat(s, s->root.fd, "", &st, AT_EMPTY_PATH);
	if (r < 0)
		return hp_fail_errno(err, r, "%s",
				     hp_input_name(&s->root, "", 0, buf));
	s->dev = st.st_dev;
	t->top.size = (uint64_t)st.st_size;
	t->top.mtime = st.st_mtim.tv_sec;
	t->top.nsec = (uint32_t)st.st_mtim.tv_nsec;
	t->top.mode = (uint16_t)st.st_mode;
	dir = hp_walk_meet(w, t->top.folder, &st);
	if (!dir)
		return hp_fail_nomem(err);
	hp_crew_push(&s->crew, &dir->job, true);
	return 0;
}

static int walk(struct hp_walk *s, struct hp_walk_worker *w, uint32_t n,
		struct hp_tree *t, struct hpdsl_error *err)
{
	char buf[HP_INPUT_NAME];
	int r;

	for (uint32_t i = 0; i < n; i++) {
		w[i].s = s;
		w[i].arena = hp_arena_new();
		if (!w[i].arena)
			return hp_fail_nomem(err);
	}
	r = begin(s, w, t, err);
	if (r < 0)
		return r;
	/* Each keeps a folder open, so there is a bound. */
	s->crew.stacks[HP_WALK_BATCHED].room =
		n > 1 ? (n < 32 ? 2 * n : 64) : 0;
	r = hp_crew_run(&s->crew, w, sizeof *w, n, err);
	return r < 0 ? r :
		       hp_crew_conclude(&s->crew, "file systems not entered",
					hp_input_name(&s->root, "", 0, buf),
					err);
}

/* Folders of a tree that is given up, however they hang together. */
static void folders_free(struct hp_walk_worker *w, uint32_t n,
			 struct hp_tree *t)
{
	for (uint32_t i = 0; i < n; i++) {
		while (w[i].folders) {
			struct hp_folder *f = w[i].folders;

			w[i].folders = f->parent;
			free(f->nodes);
			free(f);
		}
	}
	free(t->top.folder->nodes);
	*t->top.folder = (struct hp_folder){ 0 };
}

static void join(struct hp_walk_worker *w, uint32_t n, struct hp_tree *t,
		 struct hpdsl_snapshot_report *report)
{
	report->excluded = report->mounts = report->folders_kept = 0;
	for (uint32_t i = 0; i < n; i++) {
		hp_arena_join(t->arena, hp_take(w[i].arena));
		report->excluded += w[i].excluded;
		report->mounts += w[i].mounts;
		report->folders_kept += w[i].kept;
	}
}

static void workers_free(struct hp_walk_worker *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		free(w[i].dents);
		free(w[i].spare);
		hp_arena_free(w[i].arena);
	}
	free(w);
}

static int grow(struct hp_walk *s, struct hp_tree *t,
		struct hpdsl_snapshot_report *report, struct hpdsl_error *err)
{
	uint32_t n = count_workers(s->opt->threads);
	struct hp_walk_worker *w = calloc(n, sizeof *w);
	int r;

	if (!w)
		return hp_fail_nomem(err);
	r = walk(s, w, n, t, err);
	if (r < 0)
		folders_free(w, n, t);
	else
		join(w, n, t, report);
	workers_free(w, n);
	return r;
}

/* A name that is listed twice is one that was made anew meanwhile. */
static int finish(struct hp_walk *s, struct hp_tree *t, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	char buf[HP_INPUT_NAME];
	int r = hp_tree_finish(t, &why);

	if (r == HPDSL_EUSAGE)
		return hp_fail(err, HPDSL_ECHANGED,
			       "%s: changed during the walk: %s",
			       hp_input_name(&s->root, "", 0, buf), why.msg);
	return r < 0 ? hp_fail(err, r, "%s", why.msg) : 0;
}

int hp_walk(const char *path, const struct hp_walk_options *opt,
	    struct hp_tree *t, struct hpdsl_snapshot_report *report,
	    struct hpdsl_error *err)
{
	struct hp_walk s = {
		.with = opt,
		.opt = opt->opt,
		.io = hp_io_or_system(opt->opt->watch.io),
		.root = { .fd = -1, .name = path },
		.crew = { .watch = &opt->opt->watch,
			  .phase = "walking",
			  .name = "walk",
			  .work = work },
	};
	double start = hp_now();
	int r;

	if (hp_tree_init(t) < 0)
		return hp_fail_nomem(err);
	hp_crew_init(&s.crew);
	r = grow(&s, t, report, err);
	if (s.root.fd >= 0)
		s.io->close(s.io, s.root.fd);
	hp_crew_release(&s.crew);
	if (r == 0)
		r = finish(&s, t, err);
	if (r < 0) {
		hp_tree_release(t);
		return r;
	}
	report->walk_seconds = hp_now() - start;
	return 0;
}

/* ---- The snapshot's own file ------------------------------------------ */

int hp_walk_skip(struct hp_walk_options *opt, const char *file,
		 struct hpdsl_error *err)
{
	const struct hp_io *io = hp_io_or_system(opt->opt->watch.io);
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	hp_auto_free char *folder = NULL;
	struct stat st;
	int r;

	folder = slash ? strndup(file, (size_t)(name - file)) : strdup(".");
	if (!folder)
		return hp_fail_nomem(err);
	r = io->stat(io, AT_FDCWD, folder, &st, 0);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", folder);
	hp_outfile_temp(name, opt->skip_temp);
	snprintf(opt->skip_name, sizeof opt->skip_name, "%s", name);
	opt->skip_dir_dev = st.st_dev;
	opt->skip_dir_ino = st.st_ino;
	return 0;
}
