/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl_pack: scan, group, permute, cut, write.  What is decided is decided
 * before the first byte is written; see pack.h for the parts.
 */
#include "pack.h"

#include "error.h"
#include "index_write.h"
#include "mem.h"
#include "meter.h"
#include "outfile.h"
#include "scan.h"

#include <inttypes.h>
#include <stdarg.h>

enum { SAMPLE_MEMBERS = 64 };

static const uint64_t memory_min = 8 << 20;

static void warn(const struct hp_pack *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void warn(const struct hp_pack *p, const char *fmt, ...)
{
	const struct hpdsl_watch *w = &p->opt->watch;
	char text[1024];
	va_list ap;

	if (!w->warn)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	w->warn(w->arg, text);
}

static int check_options(const struct hpdsl_pack_options *opt,
			 struct hpdsl_error *err)
{
	struct hp_pairs meta = { 0 };
	int r;

	if (opt->n_inputs == 0 && !opt->list)
		return hp_fail(err, HPDSL_EUSAGE, "nothing to pack");
	if (!opt->output && !opt->dry_run)
		return hp_fail(err, HPDSL_EUSAGE, "no output directory");
	if (opt->memory && opt->memory < memory_min)
		return hp_fail(err, HPDSL_EUSAGE,
			       "--memory: %" PRIu64 " bytes are too few, "
			       "at least 8M are needed",
			       opt->memory);
	/* The manifest, at the end of it all, would be late for that. */
	r = hp_meta_pairs(opt, &meta, err);
	hp_pairs_release(&meta);
	return r;
}

/* Samples of which something is told: how many, and the worst of them. */
struct odd {
	uint64_t n, worst, worst_is;
};

static void odd_see(struct odd *o, uint64_t sample, uint64_t is, uint64_t most)
{
	if (is <= most)
		return;
	if (!o->n++ || is > o->worst_is) {
		o->worst = sample;
		o->worst_is = is;
	}
}

static void odd_warn(const struct hp_pack *p, const struct odd *o,
		     const char *what, const char *worst)
{
	const uint64_t *samples = p->list.samples;
	uint64_t first = samples[o->worst];
	const struct hp_file *f = &p->list.files[first];
	char path[HP_PRINTABLE];

	if (!o->n)
		return;
	hp_printable(f->path, f->path_len, path);
	warn(p, "%" PRIu64 " sample%s %s, the %s is that of '%s'%s", o->n,
	     o->n == 1 ? "" : "s", what, worst, path,
	     samples[o->worst + 1] - first == 1 ?
		     "" :
		     "; --group=none makes each file a sample");
}

/* Samples that are large or odd are told before anything is written. */
static void warn_of_samples(const struct hp_pack *p)
{
	const struct hp_list *list = &p->list;
	uint64_t mean = p->plan.tar_bytes / p->plan.n_chunks;
	struct odd large = { 0 }, many = { 0 };

	for (uint64_t s = 0; s < list->n_samples; s++) {
		uint64_t bytes = 0, i = list->samples[s];

		odd_see(&many, s, list->samples[s + 1] - i, SAMPLE_MEMBERS);
		for (; i < list->samples[s + 1]; i++)
			bytes += list->files[i].size;
		if (p->plan.n_chunks > 1)
			odd_see(&large, s, bytes, mean);
	}
	odd_warn(p, &large, "larger than the mean chunk", "largest");
	odd_warn(p, &many, "of more than 64 members", "one with most");
}

/* Everybody could read the copy of what only its owner may read. */
static void warn_of_privacy(const struct hp_pack *p)
{
	struct stat in, out;

	if (p->io->stat(p->io, p->target.dir, "", &out, AT_EMPTY_PATH) < 0 ||
	    !(out.st_mode & 0055))
		return;
	for (size_t i = 0; i < p->list.n_roots; i++) {
		const struct hp_root *root = &p->list.roots[i];

		if (hp_io_fstat(p->io, root->fd, &in) == 0 &&
		    !(in.st_mode & 0077) && in.st_uid == out.st_uid)
			warn(p,
			     "%s is private, but %s can be read by others "
			     "(see umask)",
			     root->name, p->target.output);
	}
}

static int make_plan(struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *opt = p->opt;
	int r;

	r = hp_scan(&p->list, opt, p->report, err);
	if (r == 0)
		r = hp_list_sort(&p->list, err);
	if (r == 0)
		r = hp_list_group(&p->list, opt->group, err);
	if (r == 0)
		r = hp_list_label(&p->list, opt->labels,
				  opt->label_dir ? opt->label_dir : 1, err);
	if (r == 0)
		r = hp_plan_make(&p->plan, &p->list, opt, err);
	return r;
}

static void report_plan(struct hp_pack *p)
{
	struct hpdsl_pack_report *rep = p->report;
	uint64_t path_bytes = 0;

	rep->samples = p->plan.n_samples;
	rep->members = p->list.n_files;
	rep->bytes = p->plan.bytes;
	rep->chunks = p->plan.n_chunks;
	rep->classes = p->list.n_classes;
	rep->tar_bytes = p->plan.tar_bytes;
	rep->chunk_min = p->plan.chunk_min;
	rep->chunk_median = p->plan.chunk_median;
	rep->chunk_max = p->plan.chunk_max;
	for (uint64_t i = 0; i < p->list.n_files; i++)
		path_bytes += p->list.files[i].path_len;
	rep->index_bytes = hp_index_bound(rep->samples, rep->members,
					  path_bytes, rep->chunks);
	if (p->list.labels)
		for (uint64_t s = 0; s < p->list.n_samples; s++)
			rep->unlabelled += p->list.labels[s] == HPDSL_NO_LABEL;
}

/* Takes up an interrupted run, or begins one. */
static int begin(struct hp_pack *p, struct hpdsl_error *err)
{
	struct hp_target *t = &p->target;
	int r;

	if (t->resumable && p->opt->resume) {
		r = hp_journal_compare(t->journal, &p->options, &p->list, err);
		if (r == 0)
			r = hp_target_clear(t, false, err);
		if (r == 0)
			r = hp_resume(p, err);
		return r < 0 ? r : hp_check_space(p, err);
	}
	r = hp_target_clear(t, true, err);
	if (r == 0)
		r = hp_check_space(p, err);
	if (r < 0)
		return r;
	t->begun = true;
	r = hp_journal_begin(t->journal, &p->options, &p->list, err);
	/* Chunks without a journal would be nobody's. */
	return r < 0 ? r : hp_sync_dir(p->io, t->dir, err);
}

static int write_all(struct hp_pack *p, struct hpdsl_error *err)
{
	int r;

	p->done = calloc(p->plan.n_chunks, sizeof *p->done);
	if (!p->done)
		return hp_fail_nomem(err);
	r = begin(p, err);
	if (r == 0)
		r = hp_write_chunks(p, err);
	if (r == 0)
		r = hp_write_index(p, err);
	if (r == 0)
		r = hp_target_finish(&p->target, err);
	return r;
}

static int run(struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *opt = p->opt;
	int r = check_options(opt, err);

	if (r == 0 && !opt->dry_run)
		r = hp_target_check(opt, err);
	if (r == 0)
		r = hp_options_pairs(opt, &p->options, err);
	if (r == 0)
		r = make_plan(p, err);
	if (r < 0)
		return r;
	report_plan(p);
	warn_of_samples(p);
	if (opt->dry_run) {
		p->report->estimate_seconds = hp_estimate(p);
		return 0;
	}
	r = hp_target_open(&p->target, opt, err);
	if (r < 0)
		return r;
	warn_of_privacy(p);
	if (p->target.complete) {
		r = hp_resume_complete(p, err);
		if (r == 0)
			return hp_target_finish(&p->target, err);
		if (!opt->force || (r != HPDSL_EDIFFERS && r != HPDSL_ECORRUPT))
			return r;
		r = hp_target_replace(&p->target, opt, err);
	}
	return r < 0 ? r : write_all(p, err);
}

int hpdsl_pack(const struct hpdsl_pack_options *opt,
	       struct hpdsl_pack_report *ret, struct hpdsl_error *err)
{
	struct hpdsl_pack_report report = { 0 };
	struct hp_pack p = { .opt = opt,
			     .io = hp_io_or_system(opt->watch.io),
			     .report = &report,
			     .target = { .parent = -1, .dir = -1 } };
	double start = hp_now();
	int r = run(&p, err);

	report.seconds = hp_now() - start;
	hp_target_release(&p.target);
	hp_pairs_release(&p.options);
	hp_plan_release(&p.plan);
	hp_list_release(&p.list);
	free(p.done);
	if (r == 0 || r == HPDSL_ESTOPPED)
		*ret = report;
	return r;
}
