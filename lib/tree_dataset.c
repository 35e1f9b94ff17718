/* SPDX-License-Identifier: Apache-2.0 */
/* A packed dataset's name space, out of its index alone. */
#include "tree.h"

#include "dataset.h"
#include "error.h"
#include "glob.h"
#include "mem.h"
#include "owner.h"
#include "pool.h"

#include <string.h>

enum { RANGE = 16384 /* members in a job */ };

struct reader {
	const struct hpdsl_dataset *ds;
	const struct hpdsl_snapshot_options *opt;
	uint64_t members, ranges;
	struct hp_leaf *leaves; /* by member; without a path: left out */
	uint64_t excluded;	/* changed by many */
	uint8_t pack[16];
};

static bool take(struct reader *d, const struct hpdsl_member *m)
{
	/* What a packer made was no file. */
	if (m->generated)
		return false;
	if (!hp_glob_excluded(d->opt->exclude, d->opt->n_exclude, m->path,
			      false))
		return true;
	__atomic_fetch_add(&d->excluded, 1, __ATOMIC_RELAXED);
	return false;
}

static int read_range(struct reader *d, uint64_t range, struct hpdsl_error *err)
{
	uint64_t i = range * RANGE, end = i + RANGE;
	struct hpdsl_member m;

	for (; i < end && i < d->members; i++) {
		int r = hpdsl_member_get(d->ds, i, &m, err);

		if (r < 0)
			return r;
		d->leaves[i].path = NULL;
		if (!take(d, &m))
			continue;
		d->leaves[i].path = m.path;
		d->leaves[i].node = (struct hp_node){
			.size = m.size,
			.mtime = m.mtime,
			.nsec = m.mtime_nsec,
			.mode = (uint16_t)(S_IFREG | (m.mode & 0777)),
			.member = i,
			.checksum = m.checksum,
		};
	}
	return 0;
}

/* The index is hashed beside the ranges, and first: that takes long. */
static int job(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct reader *d = arg;

	if (number > 0)
		return read_range(d, number - 1, err);
	hpdsl_pack_id(d->ds, d->pack);
	return 0;
}

/* Brings together what was not left out. */
static uint64_t compact(struct reader *d)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < d->members; i++) {
		if (!d->leaves[i].path)
			continue;
		if (n < i)
			d->leaves[n] = d->leaves[i];
		n++;
	}
	return n;
}

static int read_all(struct reader *d, struct hp_tree *t,
		    struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = hp_pool_run(d->opt->threads, d->ranges + 1, job, d,
			    d->opt->watch.stop, err);

	if (r < 0)
		return r;
	memcpy(t->pack, d->pack, 16);
	t->excluded = d->excluded;
	r = hp_tree_build(t, d->leaves, compact(d), &why);
	return r < 0 ? hp_fail(err, r, "%s: %s", d->ds->path, why.msg) : 0;
}

static int fill(struct hp_tree *t, const struct hpdsl_snapshot_options *opt,
		struct hpdsl_error *err)
{
	struct reader d = { .ds = t->dataset, .opt = opt };
	hp_auto_free struct hp_leaf *leaves = NULL;
	struct hpdsl_counts n;

	hpdsl_count(t->dataset, &n);
	leaves = hp_array(n.members, sizeof *leaves);
	if (!leaves)
		return hp_fail_nomem(err);
	t->from_dataset = true;
	memcpy(t->dataset_id, n.dataset_id, 16);
	d.leaves = leaves;
	d.members = n.members;
	d.ranges = (n.members + RANGE - 1) / RANGE;
	return read_all(&d, t, err);
}

int hp_tree_of_dataset(struct hp_tree *t, const char *dataset,
		       const struct hpdsl_snapshot_options *opt,
		       struct hpdsl_error *err)
{
	struct hp_tree made;
	int r = hp_tree_init(&made);

	if (r < 0)
		return hp_fail_nomem(err);
	r = hpdsl_open_with(dataset, hp_open_flags(opt->foreign_owner),
			    opt->watch.io, &made.dataset, err);
	if (r == 0)
		r = fill(&made, opt, err);
	if (r < 0)
		hp_tree_release(&made);
	else
		*t = made;
	return r;
}
