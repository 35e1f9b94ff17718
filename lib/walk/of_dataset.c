/* SPDX-License-Identifier: Apache-2.0 */
/* A packed dataset's name space, out of its index alone. */
#include "tree/tree.h"

#include "base/error.h"
#include "base/glob.h"
#include "base/mem.h"
#include "base/path.h"
#include "dataset/dataset.h"
#include "snap/write.h"
#include "sys/owner.h"
#include "sys/pool.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

enum { RANGE = 16384 /* members in a job */ };

struct reader {
	const struct hpdsl_dataset *ds;
	const struct hpdsl_snapshot_options *opt;
	uint64_t members, ranges;
	struct hp_leaf *leaves; /* by member; without a path: left out */
	struct hp_arena *arena; /* of their paths */
	pthread_mutex_t lock;	/* of the arena */
	uint64_t excluded;	/* changed by many */
	uint8_t pack[16];
};

static bool is_excluded(struct reader *d, const char *path)
{
	if (!hp_glob_excluded(d->opt->exclude, d->opt->n_exclude, path, false))
		return false;
	__atomic_fetch_add(&d->excluded, 1, __ATOMIC_RELAXED);
	return true;
}

/* path is m's, and nobody else's. */
static int is_chosen(const struct reader *d, const struct hpdsl_member *m,
		     const char *path, struct hpdsl_error *err)
{
	struct hpdsl_member copy = *m;

	if (!d->opt->choose)
		return 1;
	copy.path = path;
	return d->opt->choose(d->opt->choose_arg, &copy, err);
}

static const char *keep(struct reader *d, const char *path, size_t len)
{
	const char *kept;

	pthread_mutex_lock(&d->lock);
	kept = hp_arena_add(d->arena, path, len);
	pthread_mutex_unlock(&d->lock);
	return kept;
}

/*
 * The member's path, of our own: the index may be changed while the tree is
 * made.  *ret is NULL for one that is left out.
 */
static int take(struct reader *d, const struct hpdsl_member *m,
		const char **ret, struct hpdsl_error *err)
{
	char path[HPDSL_PATH_MAX + 1];
	int r;

	*ret = NULL;
	/* What a packer made was no file. */
	if (m->generated)
		return 0;
	if (!hp_path_copy(m->path, m->path_len, path))
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: member %" PRIu64 " has an invalid path",
			       d->ds->path, m->number);
	if (is_excluded(d, path))
		return 0;
	r = is_chosen(d, m, path, err);
	if (r <= 0)
		return r;
	*ret = keep(d, path, m->path_len);
	return *ret ? 0 : hp_fail_nomem(err);
}

static int read_range(struct reader *d, uint64_t range, struct hpdsl_error *err)
{
	uint64_t i = range * RANGE, end = i + RANGE;
	struct hpdsl_member m;

	for (; i < end && i < d->members; i++) {
		int r = hpdsl_member_get(d->ds, i, &m, err);

		if (r == 0)
			r = take(d, &m, &d->leaves[i].path, err);
		if (r < 0)
			return r;
		if (!d->leaves[i].path)
			continue;
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

static int fill(struct hp_tree *t, const struct hpdsl_dataset *ds,
		const struct hpdsl_snapshot_options *opt,
		struct hpdsl_error *err)
{
	struct reader d = { .ds = ds, .opt = opt };
	hp_auto_free struct hp_leaf *leaves = NULL;
	struct hpdsl_counts n;
	int r;

	hpdsl_count(ds, &n);
	leaves = hp_array(n.members, sizeof *leaves);
	if (!leaves)
		return hp_fail_nomem(err);
	t->from_dataset = true;
	memcpy(t->dataset_id, n.dataset_id, 16);
	d.leaves = leaves;
	d.arena = t->arena;
	d.members = n.members;
	d.ranges = (n.members + RANGE - 1) / RANGE;
	if (pthread_mutex_init(&d.lock, NULL))
		return hp_fail_nomem(err);
	r = read_all(&d, t, err);
	pthread_mutex_destroy(&d.lock);
	return r;
}

static int tree_of(struct hp_tree *t, const struct hpdsl_dataset *ds,
		   const struct hpdsl_snapshot_options *opt,
		   struct hpdsl_error *err)
{
	struct hp_tree made;
	int r = hp_tree_init(&made);

	r = r < 0 ? hp_fail_nomem(err) : fill(&made, ds, opt, err);
	if (r < 0)
		hp_tree_release(&made);
	else
		*t = made;
	return r;
}

int hp_tree_of_dataset(struct hp_tree *t, const char *dataset,
		       const struct hpdsl_snapshot_options *opt,
		       struct hpdsl_error *err)
{
	struct hpdsl_dataset *ds;
	int r = hpdsl_open_with(dataset, hp_open_flags(opt->foreign_owner),
				opt->watch.io, &ds, err);

	if (r < 0)
		return r;
	r = tree_of(t, ds, opt, err);
	hpdsl_close(ds);
	return r;
}

int hpdsl_snapshot_of(const struct hpdsl_dataset *ds,
		      const struct hpdsl_snapshot_options *opt,
		      struct hpdsl_snapshot **ret, struct hpdsl_error *err)
{
	const struct hpdsl_snapshot_options none = { 0 };
	struct hp_tree t = { 0 };
	int r;

	opt = opt ? opt : &none;
	r = tree_of(&t, ds, opt, err);
	if (r < 0)
		return r;
	r = hp_snap_own(&t, opt->threads, ds->path, ret, err);
	hp_tree_release(&t);
	return r;
}
