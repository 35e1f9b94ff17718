/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a snapshot.  A first pass over the entries hashes their paths and
 * finds where names begin; then every part of every section has its place but
 * the lookup table's end, which depends on the hashes: so that section is last,
 * and the header is written when all else is.
 */
#include "snap/writer.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "sys/pool.h"

#include <string.h>

static const uint32_t row_size[HP_SNAP_KINDS + 1] = {
	[HP_SNAP_ENTRIES] = HP_SNAP_ENTRY_ROW,
	[HP_SNAP_FOLDERS] = HP_SNAP_FOLDER_ROW,
	[HP_SNAP_CHECKSUMS] = 8,
	[HP_SNAP_LOOKUP] = HP_SLOT_ROW,
};

enum { HEADER = HP_SNAP_FIXED + HP_TABLE_ROW * HP_SNAP_KINDS + 8 };

/* ---- Parts of sections ------------------------------------------------ */

uint64_t hp_snap_parts(const struct hp_section_place *place, uint64_t blocks)
{
	uint64_t n = hp_section_blocks(hp_section_padded(place->length));

	return (n + blocks - 1) / blocks;
}

/* ---- Jobs ------------------------------------------------------------- */

struct work {
	hp_snap_job *job;
	uint64_t n;
};

struct phase {
	struct hp_snap_writer *w;
	const struct work *work; /* one kind of job after the other */
};

static int run_job(void *arg, uint64_t number, struct hpdsl_error *err)
{
	const struct phase *p = arg;
	const struct work *work = p->work;

	while (number >= work->n)
		number -= work++->n;
	return work->job(p->w, number, err);
}

static int run_phase(struct hp_snap_writer *w, uint32_t threads,
		     const struct work *work, size_t n_work,
		     struct hpdsl_error *err)
{
	struct phase p = { w, work };
	uint64_t n = 0;

	for (size_t i = 0; i < n_work; i++)
		n += work[i].n;
	return hp_pool_run(threads, n, run_job, &p, NULL, err);
}

/* Jobs that take long come first. */
static int write_sections(struct hp_snap_writer *w, uint32_t threads,
			  struct hpdsl_error *err)
{
	const struct hp_section_place *place = w->place;
	const struct work work[] = {
		{ hp_snap_digest, 1 },
		{ hp_snap_split_lookup, 1 },
		{ hp_snap_write_entries, w->n_ranges },
		{ hp_snap_write_names,
		  hp_snap_parts(&place[HP_SNAP_NAMES], HP_SNAP_PART) },
		{ hp_snap_write_targets,
		  hp_snap_parts(&place[HP_SNAP_TARGETS], HP_SNAP_PART) },
		{ hp_snap_write_checksums,
		  hp_snap_parts(&place[HP_SNAP_CHECKSUMS], HP_SNAP_PART) },
		{ hp_snap_write_folders,
		  hp_snap_parts(&place[HP_SNAP_FOLDERS], HP_SNAP_FOLDER_PART) },
	};

	return run_phase(w, threads, work, sizeof work / sizeof *work, err);
}

static int write_lookup(struct hp_snap_writer *w, uint32_t threads,
			struct hpdsl_error *err)
{
	struct hp_section_place *place = &w->place[HP_SNAP_LOOKUP];
	struct work sort = { hp_snap_sort_lookup, HP_SNAP_BUCKETS };
	struct work write = { hp_snap_write_lookup, 0 };
	int r = run_phase(w, threads, &sort, 1, err);

	if (r < 0)
		return r;
	place->length = hp_snap_place_lookup(w) * HP_SLOT_ROW;
	write.n = hp_snap_parts(place, HP_SNAP_PART);
	return run_phase(w, threads, &write, 1, err);
}

/* Sums of the ranges become what is before each of them. */
static void place_ranges(struct hp_snap_writer *w)
{
	struct hp_snap_range sum = { 0, 0 };

	for (uint64_t i = 0; i <= w->n_ranges; i++) {
		struct hp_snap_range own = w->ranges[i];

		w->ranges[i] = sum;
		sum.names += own.names;
		sum.targets += own.targets;
	}
}

/* ---- The whole -------------------------------------------------------- */

static void place_sections(const struct hp_tree *t,
			   struct hp_section_place place[HP_SNAP_KINDS + 1])
{
	uint64_t at = HEADER;

	place[HP_SNAP_ENTRIES].length = t->entries * HP_SNAP_ENTRY_ROW;
	place[HP_SNAP_FOLDERS].length = (t->n_folders + 1) * HP_SNAP_FOLDER_ROW;
	place[HP_SNAP_NAMES].length = t->name_bytes;
	place[HP_SNAP_TARGETS].length = t->target_bytes;
	place[HP_SNAP_CHECKSUMS].length = t->members * 8;
	place[HP_SNAP_LOOKUP].length = 0;
	for (int k = 1; k <= HP_SNAP_KINDS; k++) {
		place[k].offset = at;
		at = hp_section_end(&place[k]);
	}
}

uint64_t hp_snap_bound(const struct hp_tree *t)
{
	struct hp_section_place place[HP_SNAP_KINDS + 1];

	/* All of them in the last home, one behind the other. */
	place_sections(t, place);
	place[HP_SNAP_LOOKUP].length =
		(hp_lookup_homes(t->entries - 1) + t->entries) * HP_SLOT_ROW;
	return hp_section_end(&place[HP_SNAP_LOOKUP]);
}

static void fill_info(const struct hp_snap_writer *w,
		      struct hpdsl_snapshot_info *ret)
{
	const struct hp_tree *t = w->t;

	*ret = (struct hpdsl_snapshot_info){
		.entries = t->entries,
		.folders = t->n_folders,
		.files = t->files,
		.symlinks = t->symlinks,
		.others = t->entries - t->n_folders - t->files - t->symlinks,
		.bytes = t->bytes,
		.file_bytes = hp_section_end(&w->place[HP_SNAP_LOOKUP]),
		.from_dataset = t->from_dataset,
	};
	memcpy(ret->digest, w->digest, 16);
	memcpy(ret->files_digest, w->files_digest, 16);
	if (!t->from_dataset)
		return;
	memcpy(ret->dataset_id, t->dataset_id, 16);
	memcpy(ret->pack, t->pack, 16);
}

static int write_header(const struct hp_snap_writer *w,
			const struct hpdsl_snapshot_info *n,
			struct hpdsl_error *err)
{
	uint8_t h[HEADER] = { 0 }, *row = h + HP_SNAP_FIXED;

	memcpy(h, HP_SNAP_MAGIC, 8);
	hp_put32(h + 8, HP_SNAP_VERSION);
	hp_put32(h + 12, HEADER);
	hp_put64(h + 16, n->file_bytes);
	hp_put64(h + 24, n->entries);
	hp_put64(h + 32, n->folders);
	hp_put64(h + 40, n->bytes);
	hp_put64(h + 48, n->files);
	hp_put32(h + 56, HP_SNAP_KINDS);
	hp_put32(h + 60, n->from_dataset ? HP_SNAP_FROM_DATASET : 0);
	memcpy(h + 64, n->digest, 16);
	memcpy(h + 80, n->files_digest, 16);
	memcpy(h + 96, n->dataset_id, 16);
	memcpy(h + 112, n->pack, 16);
	hp_put64(h + 128, n->symlinks);
	for (uint32_t k = 1; k <= HP_SNAP_KINDS; k++, row += HP_TABLE_ROW)
		hp_section_put_row(k, HP_SECTION_REQUIRED, row_size[k],
				   &w->place[k], row);
	hp_put64(h + HEADER - 8, hp_hash64(h, HEADER - 8));
	return w->sink->write(w->sink->arg, h, HEADER, 0, err);
}

/* Threads that are started for little cost more than they bring. */
static uint32_t worth(const struct hp_tree *t, uint32_t threads)
{
	return t->entries <= HP_SNAP_RANGE ? HPDSL_SERIAL : threads;
}

static int write_all(struct hp_snap_writer *w, uint32_t threads,
		     struct hpdsl_snapshot_info *ret, struct hpdsl_error *err)
{
	struct work measure = { hp_snap_measure_range, w->n_ranges };
	int r = run_phase(w, threads, &measure, 1, err);

	if (r < 0)
		return r;
	place_ranges(w);
	r = write_sections(w, threads, err);
	if (r == 0)
		r = write_lookup(w, threads, err);
	if (r < 0)
		return r;
	fill_info(w, ret);
	return write_header(w, ret, err);
}

int hp_snap_write(const struct hp_tree *t, uint32_t threads,
		  const struct hp_sink_at *sink,
		  struct hpdsl_snapshot_info *ret, struct hpdsl_error *err)
{
	struct hp_snap_writer w = { .t = t, .sink = sink };
	hp_auto_free struct hp_hashed *hashed = NULL;
	hp_auto_free struct hp_snap_range *ranges = NULL;
	hp_auto_free uint8_t *checksums = NULL;

	w.n_ranges = (t->entries + HP_SNAP_RANGE - 1) / HP_SNAP_RANGE;
	hashed = hp_array(t->entries - 1, sizeof *hashed);
	ranges = calloc(w.n_ranges + 1, sizeof *ranges);
	if (!hashed || !ranges)
		return hp_fail_nomem(err);
	if (t->members) {
		checksums = calloc(t->members, 8);
		if (!checksums)
			return hp_fail_nomem(err);
	}
	w.hashed = hashed;
	w.ranges = ranges;
	w.checksums = checksums;
	place_sections(t, w.place);
	return write_all(&w, worth(t, threads), ret, err);
}
