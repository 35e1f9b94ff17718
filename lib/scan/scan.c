/* SPDX-License-Identifier: Apache-2.0 */
/* The scan as a whole: roots, workers, and what they found put together. */
#include "scan/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "sys/pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS_MAX 512
#define DRAIN 16384 /* files moved at a time */

static void (*const by_kind[])(struct hp_scan_worker *w,
			       const struct hp_scan_job *job) = {
	[HP_SCAN_BATCHED] = hp_scan_batch,  [HP_SCAN_FOLDER] = hp_scan_folder,
	[HP_SCAN_LISTED] = hp_scan_listed,  [HP_SCAN_MEMBERS] = hp_scan_members,
	[HP_SCAN_FROZEN] = hp_scan_frozen,  [HP_SCAN_ARCHIVE] = hp_scan_archive,
	[HP_SCAN_STREAM] = hp_scan_archive,
};

static void work(struct hp_crew_worker *worker, struct hp_crew_job *job)
{
	if (!hp_crew_over(worker->crew))
		by_kind[job->kind]((struct hp_scan_worker *)worker,
				   (const struct hp_scan_job *)job);
	free(job);
}

static uint32_t count_workers(const struct hpdsl_pack_options *opt)
{
	if (opt->threads == HPDSL_SERIAL || opt->readers == HPDSL_SERIAL)
		return 1;
	if (!opt->readers)
		return 16;
	return opt->readers < WORKERS_MAX ? opt->readers : WORKERS_MAX;
}

static uint32_t decoders(const struct hpdsl_pack_options *opt)
{
	uint32_t n = hp_threads(opt->threads);

	return n == HPDSL_SERIAL ? 1 : n;
}

/*
 * Moves a worker's files behind n others, from the end, giving memory back as
 * it goes: there are never two copies of a million files.
 */
static void drain(struct hp_scan_worker *w, struct hp_file *to)
{
	while (w->n) {
		uint64_t k = w->n < DRAIN ? w->n : DRAIN;
		struct hp_file *less;

		w->n -= k;
		memcpy(to, w->files + w->n, k * sizeof *to);
		to += k;
		less = w->n ? realloc(w->files, w->n * sizeof *less) : NULL;
		if (less)
			w->files = less;
	}
	free(w->files);
	w->files = NULL;
}

/* The largest worker's array takes up the others' files. */
static int join_files(struct hp_list *list, struct hp_scan_worker *w,
		      uint32_t n)
{
	struct hp_scan_worker *most = w;
	uint64_t total = 0;
	struct hp_file *files;

	for (uint32_t i = 0; i < n; i++) {
		total += w[i].n;
		if (w[i].n > most->n)
			most = &w[i];
	}
	if (!total)
		return 0;
	if (total > SIZE_MAX / sizeof *files)
		return -ENOMEM;
	files = realloc(most->files, total * sizeof *files);
	if (!files)
		return -ENOMEM;
	list->files = files;
	list->n_files = total;
	files += most->n;
	most->files = NULL;
	most->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t k = w[i].n;

		drain(&w[i], files);
		files += k;
	}
	return 0;
}

static void join_arenas(struct hp_list *list, struct hp_scan_worker *w,
			uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!list->arena)
			list->arena = hp_take(w[i].arena);
		else if (w[i].arena)
			hp_arena_join(list->arena, hp_take(w[i].arena));
	}
}

static void join_litter(struct hpdsl_litter *to, const struct hpdsl_litter *l)
{
	to->files += l->files;
	to->bytes += l->bytes;
	to->folders += l->folders;
	to->included += l->included;
	to->kinds |= l->kinds;
}

static void join_counts(struct hpdsl_pack_report *to,
			const struct hp_scan_worker *w, uint32_t n)
{
	struct hpdsl_pack_report sum = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		const struct hpdsl_pack_report *c = &w[i].counts;

		sum.dirs += c->dirs;
		sum.empty_dirs += c->empty_dirs;
		sum.symlinks_followed += c->symlinks_followed;
		sum.symlinks_to_dirs += c->symlinks_to_dirs;
		sum.hard_links += c->hard_links;
		sum.sparse += c->sparse;
		sum.excluded += c->excluded;
		sum.excluded_dirs += c->excluded_dirs;
		join_litter(&sum.litter, &c->litter);
	}
	to->dirs = sum.dirs;
	to->empty_dirs = sum.empty_dirs;
	to->symlinks_followed = sum.symlinks_followed;
	to->symlinks_to_dirs = sum.symlinks_to_dirs;
	to->hard_links = sum.hard_links;
	to->sparse = sum.sparse;
	to->excluded = sum.excluded;
	to->excluded_dirs = sum.excluded_dirs;
	to->litter = sum.litter;
	to->xattrs = UINT64_MAX;
	if (w->s->opt->snapshot)
		to->hard_links = to->sparse = UINT64_MAX;
}

static int seed(struct hp_scan *s, struct hp_scan_worker *w,
		struct hpdsl_error *err)
{
	if (s->opt->list)
		return hp_scan_list(s, err);
	if (s->opt->snapshot)
		return hp_scan_enter_snapshot(s) < 0 ? hp_fail_nomem(err) : 0;
	/* The last one on the stack is the first to be walked. */
	for (size_t i = s->list->n_roots; i-- > 0 && !s->crew.over;) {
		if (s->list->roots[i].kind == HP_ROOT_DATASET) {
			if (hp_scan_enter_dataset(s, (uint16_t)i) < 0)
				return hp_fail_nomem(err);
			continue;
		}
		if (s->list->roots[i].kind == HP_ROOT_STREAM) {
			if (hp_scan_enter_archive(s, (uint16_t)i) < 0)
				return hp_fail_nomem(err);
			continue;
		}
		w->len = s->list->roots[i].prefix_len;
		memcpy(w->path, s->more[i].prefix, w->len);
		hp_scan_enter(w, (uint16_t)i);
	}
	return 0;
}

static int fail_empty(const struct hp_scan *s,
		      const struct hpdsl_pack_report *report,
		      struct hpdsl_error *err)
{
	const char *name = s->opt->n_inputs ? s->opt->inputs[0] : "list";
	uint64_t excluded = report->excluded + report->excluded_dirs;
	uint64_t litter = report->litter.files + report->litter.folders;
	char buf[HP_PRINTABLE];

	hp_printable(name, strlen(name), buf);
	if (litter)
		return hp_fail(err, -ENODATA,
			       "%s: no files to pack (%" PRIu64
			       " excluded), %" PRIu64 " left out as litter",
			       buf, excluded, litter);
	if (excluded)
		return hp_fail(err, -ENODATA,
			       "%s: no files to pack (%" PRIu64 " excluded)",
			       buf, excluded);
	return hp_fail(err, -ENODATA, "%s: no files to pack", buf);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int walk(struct hp_scan *s, struct hp_scan_worker *w, uint32_t n,
		struct hpdsl_pack_report *report, struct hpdsl_error *err)
{
	int r = seed(s, w, err);

	if (r == 0)
		r = hp_crew_run(&s->crew, w, sizeof *w, n, err);
	if (r < 0)
		return r;
	hp_scan_tell_outside(w, n);
	s->crew.done = 0;
	for (uint32_t i = 0; i < n; i++)
		s->crew.done += w[i].n;
	r = hp_crew_conclude(&s->crew, "links left out", "the input", err);
	if (r < 0)
		return r;
	if (join_files(s->list, w, n) < 0)
		return hp_fail_nomem(err);
	join_arenas(s->list, w, n);
	join_counts(report, w, n);
	if (s->list->n_linked)
		qsort(s->list->linked, s->list->n_linked,
		      sizeof(*s->list->linked), by_path);
	if (s->list->n_files || s->list->note_linked)
		return 0;
	return fail_empty(s, report, err);
}

static void workers_free(struct hp_scan_worker *w, uint32_t n)
{
	for (uint32_t i = 0; w && i < n; i++) {
		free(w[i].files);
		free(w[i].dents);
		free(w[i].outside_first);
		free(w[i].batch);
		hp_arena_free(w[i].arena);
	}
	free(w);
}

static int scan(struct hp_scan *s, struct hpdsl_pack_report *report,
		struct hpdsl_error *err)
{
	uint32_t n = count_workers(s->opt);
	struct hp_scan_worker *w;
	int r = hp_scan_roots(s, err);

	if (r < 0)
		return r;
	w = calloc(n, sizeof *w);
	if (!w)
		return hp_fail_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		w[i].s = s;
	s->crew.stacks[HP_SCAN_BATCHED].room = n > 1 ? 4 * n : 0;
	s->crew.stacks[HP_SCAN_STREAM].most = decoders(s->opt);
	r = walk(s, w, n, report, err);
	workers_free(w, n);
	return r;
}

int hp_scan(struct hp_list *list, const struct hpdsl_pack_options *opt,
	    struct hpdsl_pack_report *report, struct hpdsl_error *err)
{
	struct hp_scan s = {
		.opt = opt,
		.io = hp_io_or_system(opt->watch.io),
		.list = list,
		.room = UINT64_MAX,
		.crew = { .watch = &opt->watch,
			  .phase = "scanning",
			  .name = "scan",
			  .work = work },
	};
	struct hpdsl_pack_report found = *report;
	double begin = hp_now();
	int r;

	hp_crew_init(&s.crew);
	list->io = s.io;
	r = scan(&s, &found, err);
	for (size_t i = 0; s.more && i < list->n_roots; i++) {
		free(s.more[i].prefix);
		free(s.more[i].real);
	}
	free(s.more);
	free(s.above);
	free(s.output);
	free(s.wishes);
	hp_arena_free(s.wish_arena);
	hp_crew_release(&s.crew);
	if (r < 0) {
		hp_list_release(list);
		return r;
	}
	*report = found;
	report->scan_seconds = hp_now() - begin;
	return 0;
}
