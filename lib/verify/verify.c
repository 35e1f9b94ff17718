/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifying a dataset.  The manifest vouches for itself and for the index, the
 * index for every byte of the chunks.  Where one of the two is damaged the
 * other one still says what it can.
 */
#include "verify/verify.h"

#include "base/error.h"
#include "sys/clock.h"
#include "sys/pool.h"
#include "verify/order.h"
#include "verify/rules.h"

#include <inttypes.h>
#include <string.h>

/*
 * The rows early, for they take longest; a chunk before them, so that of two
 * that are damaged the first mostly comes first.
 */
static int check_part(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct hp_verify *v = arg;
	uint64_t rows = v->n_chunks > 0;

	if (v->order && number == rows)
		return hp_verify_rows(v, err);
	number -= v->order && number > rows;
	if (v->peers && hp_verify_absent(v, (uint32_t)number))
		return hp_verify_peer_chunk(v, (uint32_t)number, err);
	return hp_verify_chunk(v, number, err);
}

static int check_chunks(struct hp_verify *v, struct hpdsl_error *err)
{
	uint64_t total = 0;

	for (uint32_t c = 0; c < v->n_chunks; c++)
		if (v->peers || !hp_verify_absent(v, c))
			total += v->chunks[c].bytes;
	hp_meter_phase(&v->meter, "verifying", total, true);
	return hp_pool_run(hp_threads(v->opt->threads),
			   v->n_chunks + (v->order != NULL), check_part, v,
			   v->opt->watch.stop, err);
}

static void set_id(struct hp_verify *v)
{
	struct hpdsl_counts n;

	if (v->has_manifest) {
		memcpy(v->report->dataset_id, v->manifest.dataset_id, 16);
		v->report->has_sha256 = v->manifest.has_sha256;
		memcpy(v->report->dataset_id_sha256,
		       v->manifest.dataset_id_sha256, 32);
	} else if (v->index) {
		hp_index_count(v->index, &n);
		memcpy(v->report->dataset_id, n.dataset_id, 16);
	}
}

static int compare_readers(struct hp_verify *v, struct hpdsl_error *err)
{
	if (v->index)
		return hp_verify_thorough(v, err);
	hp_meter_warn(&v->meter, "not parsed: there is no sound index");
	return 0;
}

static int check(struct hp_verify *v, const struct hp_sources *sources,
		 struct hpdsl_error *err)
{
	int r = hp_verify_load(v, err);

	if (r == 0 && v->opt->peers)
		r = hp_verify_peers_open(v, sources, err);
	if (r < 0)
		return r;
	set_id(v);
	hp_rules_manifest(v);
	r = hp_verify_order_new(v, err);
	if (r == 0)
		r = check_chunks(v, err);
	if (r == 0)
		hp_verify_peers_tell(v);
	if (r == 0)
		r = hp_verify_rows_tell(v, err);
	if (r == 0)
		r = hp_verify_files(v, err);
	if (r == 0)
		r = hp_verify_id(v, err);
	if (r < 0)
		return r;
	/* With neither of the two nothing is known to be listed. */
	r = v->index || v->has_manifest ? hp_verify_unlisted(v, err) : 0;
	if (r == 0 && v->opt->thorough)
		r = compare_readers(v, err);
	if (r < 0 || !v->opt->source)
		return r;
	if (v->index)
		return hp_verify_source(v, err);
	hp_meter_warn(&v->meter,
		      "not compared with %s: there is no sound index",
		      v->opt->source);
	return 0;
}

static int verdict(const struct hp_verify *v, struct hpdsl_error *err)
{
	const struct hpdsl_verify_report *r = v->report;

	if (r->damaged_files)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: damaged: %" PRIu64 " files, %" PRIu64
			       " samples",
			       v->path, r->damaged_files, r->damaged_samples);
	if (r->differing)
		return hp_fail(err, HPDSL_EDIFFERS,
			       "%s: sound, but %" PRIu64
			       " files differ from those in %s",
			       v->path, r->differing, v->opt->source);
	return 0;
}

static void release(struct hp_verify *v)
{
	hp_verify_order_free(v->order);
	hp_verify_peers_close(v);
	hp_verify_unload(v);
	if (v->dir >= 0)
		v->io->close(v->io, v->dir);
	hp_meter_release(&v->meter);
}

int hp_verify_with(const char *path, const struct hpdsl_verify_options *opt,
		   const struct hp_sources *sources,
		   struct hpdsl_verify_report *ret, struct hpdsl_error *err)
{
	struct hpdsl_verify_report report = { 0 };
	struct hp_verify v = { .path = path, .opt = opt, .report = &report };
	double start = hp_now();
	int r;

	if (opt->peers && (opt->quick || opt->thorough || opt->source))
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: other nodes are asked for bytes alone: not "
			       "with quick, thorough or source",
			       path);
	v.io = hp_io_or_system(opt->watch.io);
	hp_meter_init(&v.meter, &opt->watch);
	v.dir = v.io->open(v.io, AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (v.dir < 0)
		r = hp_fail_errno(err, v.dir, "%s", path);
	else
		r = check(&v, sources, err);
	if (r == 0) {
		r = verdict(&v, err);
		report.seconds = hp_now() - start;
		*ret = report;
	}
	release(&v);
	return r;
}

int hpdsl_verify(const char *path, const struct hpdsl_verify_options *opt,
		 struct hpdsl_verify_report *ret, struct hpdsl_error *err)
{
	return hp_verify_with(path, opt, NULL, ret, err);
}
