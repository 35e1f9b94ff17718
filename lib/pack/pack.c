/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl_pack: scan, group, permute, cut, write.  What is decided is decided
 * before the first byte is written; see pack.h for the parts.
 */
#include "pack/pack.h"

#include "base/error.h"
#include "base/mem.h"
#include "chunk/seek_table.h"
#include "index/write.h"
#include "plan/doubtful.h"
#include "plan/portable.h"
#include "plan/twice.h"
#include "scan/scan.h"
#include "scatter/scatter.h"
#include "sys/clock.h"
#include "sys/outfile.h"

#include <inttypes.h>
#include <string.h>

enum { ARCHIVES_OPEN = 64 };

static const uint64_t memory_min = 8 << 20;

static int check_group(const struct hpdsl_pack_options *opt,
		       struct hpdsl_error *err)
{
	if (opt->group != HPDSL_GROUP_NONE)
		return 0;
	if (opt->labels == HPDSL_LABELS_CLS || opt->labels == HPDSL_LABELS_JSON)
		return hp_fail(err, HPDSL_EUSAGE,
			       "classes of members do not go with group none");
	if (opt->cls)
		return hp_fail(err, HPDSL_EUSAGE,
			       "cls does not go with group none");
	return 0;
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
			       "memory: %" PRIu64 " bytes are too few, "
			       "at least 8M are needed",
			       opt->memory);
	r = check_group(opt, err);
	if (r < 0)
		return r;
	if (opt->cls && opt->labels == HPDSL_LABELS_NONE)
		return hp_fail(err, HPDSL_EUSAGE, "cls needs classes");
	/* The manifest, at the end of it all, would be late for that. */
	r = hp_meta_pairs(opt, &meta, err);
	hp_pairs_release(&meta);
	return r;
}

/* One tree has no name twice: not as a file and as a folder either. */
static bool may_clash(const struct hp_list *list)
{
	return list->n_roots > 1 || list->roots[0].kind == HP_ROOT_TAR ||
	       list->roots[0].kind == HP_ROOT_STREAM;
}

/* What is odd about the files, but no reason not to pack them. */
static int tell_of_files(struct hp_pack *p, struct hpdsl_error *err)
{
	struct hpdsl_pack_report *rep = p->w.report;

	hp_list_doubtful(&p->w.list, rep->doubtful);
	if (!rep->symlinks_followed && !rep->hard_links)
		return 0;
	return hp_list_twice(&p->w.list, &rep->twice, err);
}

static int make_plan(struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *opt = p->w.opt;
	int r;

	r = hp_scan(&p->w.list, opt, p->w.report, err);
	if (r == 0)
		r = hp_pack_litter_of_inputs(p, err);
	if (r == 0)
		r = hp_pack_group(p, err);
	if (r == 0)
		r = check_group(opt, err);
	if (r == 0)
		r = hp_list_sort(&p->w.list, err);
	if (r == 0 && may_clash(&p->w.list))
		r = hp_list_check_folders(&p->w.list, err);
	if (r == 0)
		r = hp_list_group(&p->w.list, opt->group, err);
	if (r == 0)
		r = hp_pack_look(p, err);
	if (r == 0)
		r = hp_pack_hollow(p, err);
	if (r == 0)
		r = tell_of_files(p, err);
	if (r == 0)
		r = hp_pack_labels(p, err);
	if (r == 0 && opt->names == HPDSL_NAMES_PORTABLE)
		r = hp_list_portable(&p->w.list, opt->group, err);
	if (r == 0 && opt->cls)
		r = hp_list_cls(&p->w.list, err);
	if (r == 0)
		r = hp_pack_names(p, err);
	if (r == 0)
		r = hp_plan_make(&p->w.plan, &p->w.list, opt, err);
	return r;
}

/*
 * Most frames that chunks can have: one a sample, or of two that follow each
 * other over 128 KiB; one more for each GiB of a large sample, and the trailer.
 */
static uint64_t most_frames(const struct hp_plan *plan)
{
	uint64_t by_size =
		plan->tar_bytes / HP_FRAME_BYTES * 2 + plan->n_chunks;
	uint64_t n = plan->n_samples < by_size ? plan->n_samples : by_size;

	return n + plan->tar_bytes / HP_FRAME_MAX + plan->n_chunks;
}

static uint64_t most_index_bytes(const struct hp_pack *p)
{
	const struct hp_list *list = &p->w.list;
	struct hp_index_extent e = {
		.samples = p->w.plan.n_samples,
		.members = list->n_files,
		.chunks = p->w.plan.n_chunks,
		.frames = p->w.opt->zstd ? most_frames(&p->w.plan) : 0,
		.sha256 = p->w.opt->digest == HPDSL_DIGEST_SHA256,
	};

	for (uint64_t i = 0; i < list->n_files; i++) {
		e.path_bytes += list->files[i].path_len;
		if (!list->stored || !list->stored[i])
			continue;
		e.stored++;
		e.stored_bytes += strlen(list->stored[i]);
	}
	return hp_index_bound(&e);
}

static void report_plan(struct hp_pack *p)
{
	struct hpdsl_pack_report *rep = p->w.report;

	rep->samples = p->w.plan.n_samples;
	rep->members = p->w.list.n_files;
	rep->bytes = p->w.plan.bytes;
	rep->chunks = p->w.plan.n_chunks;
	rep->classes = p->w.list.n_classes;
	rep->tar_bytes = p->w.plan.tar_bytes;
	rep->chunk_min = p->w.plan.chunk_min;
	rep->chunk_median = p->w.plan.chunk_median;
	rep->chunk_max = p->w.plan.chunk_max;
	rep->index_bytes = most_index_bytes(p);
	if (p->w.list.labels)
		for (uint64_t s = 0; s < p->w.list.n_samples; s++)
			rep->unlabelled +=
				p->w.list.labels[s] == HPDSL_NO_LABEL;
}

static int resume(struct hp_pack *p, struct hpdsl_error *err)
{
	struct hp_target *t = &p->target;
	int r = hp_journal_compare(t->journal, &p->options, &p->w.list, err);

	if (r == 0)
		r = hp_resume(p, err);
	if (r == 0)
		r = hp_archives_check(p, err);
	if (r == 0)
		r = hp_archives_note(p, err);
	if (r < 0)
		return r;
	return hp_scatter_resumes(&p->w) ? hp_scatter_clear(&p->w, err) :
					   hp_target_clear(t, false, err);
}

/* Takes up an interrupted run, or begins one. */
static int begin(struct hp_pack *p, struct hpdsl_error *err)
{
	struct hp_target *t = &p->target;
	int r;

	if (t->resumable && p->w.opt->resume) {
		r = resume(p, err);
		return r < 0 ? r : hp_check_space(p, err);
	}
	r = hp_target_clear(t, true, err);
	/* A chunk that came back would stand beside the new journal. */
	if (r == 0)
		r = hp_sync_dir(p->w.io, t->dir, err);
	if (r == 0)
		r = hp_check_space(p, err);
	if (r < 0)
		return r;
	t->begun = true;
	r = hp_journal_begin(t->journal, &p->options, &p->w.list,
			     p->w.plan.n_chunks, err);
	if (r == 0)
		r = hp_archives_note(p, err);
	/* Chunks without a journal would be nobody's. */
	return r < 0 ? r : hp_sync_dir(p->w.io, t->dir, err);
}

static void report_chunks(struct hp_pack *p)
{
	for (uint32_t c = 0; c < p->w.plan.n_chunks; c++) {
		p->w.report->stored_bytes += p->w.done[c].bytes;
		p->w.report->compressed_chunks += p->w.done[c].compressed;
	}
}

static int write_all(struct hp_pack *p, struct hpdsl_error *err)
{
	int r;

	p->w.done = calloc(p->w.plan.n_chunks, sizeof *p->w.done);
	if (p->w.opt->digest == HPDSL_DIGEST_SHA256)
		p->w.list.sha256 =
			hp_array(p->w.list.n_files, sizeof *p->w.list.sha256);
	if (!p->w.done ||
	    (p->w.opt->digest == HPDSL_DIGEST_SHA256 && !p->w.list.sha256))
		return hp_fail_nomem(err);
	p->w.dir = p->target.dir;
	p->w.journal = p->target.journal;
	r = begin(p, err);
	if (r == 0)
		r = hp_write_chunks(p, err);
	if (r == 0) {
		report_chunks(p);
		r = hp_emit_write(p, err);
	}
	if (r == 0)
		r = hp_write_index(p, err);
	if (r == 0)
		r = hp_target_finish(&p->target, err);
	return r;
}

static int run(struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *opt = p->w.opt;
	int r = check_options(opt, err);

	/* What is no suffix is told before the scan. */
	if (r == 0)
		r = hp_pack_group(p, err);
	if (r == 0 && !opt->dry_run)
		r = hp_target_check(opt, err);
	if (r == 0)
		r = hp_was_open(&p->was, opt, err);
	if (r == 0)
		r = hp_pack_labels_read(p, err);
	if (r < 0)
		return r;
	hp_pack_litter(p);
	p->w.archives = hp_fd_cache_new(p->w.io, ARCHIVES_OPEN);
	if (!p->w.archives)
		return hp_fail_nomem(err);
	r = make_plan(p, err);
	if (r == 0)
		r = hp_options_pairs(opt, &p->known, &p->options, err);
	if (r < 0)
		return r;
	report_plan(p);
	hp_warn_of_samples(p);
	hp_warn_of_zarr(p);
	hp_warn_of_litter(p);
	hp_warn_of_archives(p);
	r = hp_warn_of_suffixes(p, err);
	if (r == 0)
		r = hp_emit_check(p, err);
	if (r < 0)
		return r;
	if (opt->dry_run) {
		p->w.report->estimate_seconds = hp_estimate(p);
		return 0;
	}
	if (opt->planned)
		opt->planned(opt->watch.arg, p->w.report);
	p->target.chunks = p->w.plan.n_chunks;
	r = hp_target_open(&p->target, opt, err);
	if (r < 0)
		return r;
	hp_warn_of_privacy(p);
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
	struct hp_pack p = { .opt = *opt,
			     .w = { .opt = &p.opt,
				    .io = hp_io_or_system(opt->watch.io),
				    .report = &report },
			     .target = { .parent = -1, .dir = -1 } };
	double start = hp_now();
	int r = run(&p, err);

	report.seconds = hp_now() - start;
	hp_target_release(&p.target);
	hp_pairs_release(&p.options);
	for (uint32_t c = 0; p.w.done && c < p.w.plan.n_chunks; c++)
		free(p.w.done[c].frames);
	free(p.w.done);
	hp_fd_cache_free(p.w.archives);
	free(p.files);
	free(p.file_names);
	free(p.excludes);
	free(p.own_table);
	hp_plan_release(&p.w.plan);
	hp_list_release(&p.w.list);
	hp_labels_file_release(&p.labels);
	hp_was_close(&p.was);
	if (r == 0 || r == HPDSL_ESTOPPED)
		*ret = report;
	return r;
}
