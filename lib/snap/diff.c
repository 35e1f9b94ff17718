/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two snapshots: one walk through both at once, folder by folder, as
 * sorted names are merged.  Digests are not asked, since they do not cover
 * everything that is compared.
 */
#include "base/error.h"
#include "base/mem.h"
#include "hpdsl/pack.h"
#include "snap/siblings.h"
#include "sys/meter.h"

#include <string.h>

enum { BEFORE, AFTER, STEP = 8192 };

/* Folders of one path, or one of them and an empty range. */
struct level {
	struct hp_siblings range[2];
	size_t path_len; /* with the slash */
};

struct diff {
	const struct hpdsl_snapshot *snap[2];
	const struct hpdsl_diff_options *opt;
	struct hp_meter meter;
	uint32_t mode_mask;
	bool folders; /* are compared, too */
	bool litter;  /* is passed over */
	bool any_newest;
	struct hpdsl_diff_report report;
	struct hpdsl_entry e[2]; /* at the ranges' next, if have */
	bool have[2];
	struct level *levels;
	size_t depth, room;
	char path[HPDSL_PATH_MAX + 2];
	size_t path_len;
};

/* ---- What is told ----------------------------------------------------- */

static void note_time(struct diff *d, const struct hpdsl_entry *e)
{
	struct hpdsl_diff_report *r = &d->report;

	if (d->any_newest &&
	    (e->mtime < r->newest ||
	     (e->mtime == r->newest && e->mtime_nsec <= r->newest_nsec)))
		return;
	d->any_newest = true;
	r->newest = e->mtime;
	r->newest_nsec = e->mtime_nsec;
}

static void tell(struct diff *d, const struct hpdsl_entry *before,
		 const struct hpdsl_entry *after, unsigned fields)
{
	const struct hpdsl_difference told = {
		.path = d->path,
		.path_len = d->path_len,
		.before = before,
		.after = after,
		.fields = fields,
	};

	if (before && after)
		d->report.changed++;
	else if (before)
		d->report.removed++;
	else
		d->report.added++;
	if (after)
		note_time(d, after);
	if (d->opt->difference)
		d->opt->difference(d->opt->arg, &told);
}

/* An entry that the other side lacks. */
static void tell_one(struct diff *d, int side, const struct hpdsl_entry *e)
{
	if (S_ISDIR(e->mode) && !d->folders)
		return;
	tell(d, side == BEFORE ? e : NULL, side == AFTER ? e : NULL, 0);
}

/* ---- One path that is in both ----------------------------------------- */

static int compare_targets(const struct diff *d, const struct hpdsl_entry *a,
			   const struct hpdsl_entry *b, unsigned *fields,
			   struct hpdsl_error *err)
{
	const char *target[2];
	int r = hpdsl_snapshot_target(d->snap[BEFORE], a, &target[BEFORE], err);

	if (r == 0)
		r = hpdsl_snapshot_target(d->snap[AFTER], b, &target[AFTER],
					  err);
	if (r < 0)
		return r;
	if (strcmp(target[BEFORE], target[AFTER]) != 0)
		*fields |= HPDSL_DIFF_TARGET;
	return 0;
}

static int compare_contents(const struct diff *d, const struct hpdsl_entry *a,
			    const struct hpdsl_entry *b, unsigned *fields,
			    struct hpdsl_error *err)
{
	uint64_t sum[2];
	int r;

	if (a->member == HPDSL_NO_MEMBER || b->member == HPDSL_NO_MEMBER)
		return 0;
	r = hpdsl_snapshot_checksum(d->snap[BEFORE], a, &sum[BEFORE], err);
	if (r == 0)
		r = hpdsl_snapshot_checksum(d->snap[AFTER], b, &sum[AFTER],
					    err);
	if (r < 0)
		return r;
	if (sum[BEFORE] != sum[AFTER])
		*fields |= HPDSL_DIFF_CONTENT;
	return 0;
}

/* Of one type: what differs. */
static int compare(const struct diff *d, const struct hpdsl_entry *a,
		   const struct hpdsl_entry *b, unsigned *fields,
		   struct hpdsl_error *err)
{
	if ((a->mode ^ b->mode) & d->mode_mask)
		*fields |= HPDSL_DIFF_MODE;
	if (S_ISDIR(a->mode))
		return 0;
	if (a->size != b->size)
		*fields |= HPDSL_DIFF_SIZE;
	if (a->mtime != b->mtime || a->mtime_nsec != b->mtime_nsec)
		*fields |= HPDSL_DIFF_MTIME;
	if (S_ISLNK(a->mode))
		return compare_targets(d, a, b, fields, err);
	if (S_ISREG(a->mode))
		return compare_contents(d, a, b, fields, err);
	return 0;
}

static int both(struct diff *d, const struct hpdsl_entry *a,
		const struct hpdsl_entry *b, struct hpdsl_error *err)
{
	bool same_type = !((a->mode ^ b->mode) & S_IFMT);
	unsigned fields = same_type ? 0 : HPDSL_DIFF_TYPE;
	int r;

	if (!d->folders && (S_ISDIR(a->mode) || S_ISDIR(b->mode))) {
		/* A folder is as good as not there. */
		tell_one(d, BEFORE, a);
		tell_one(d, AFTER, b);
		return 0;
	}
	d->report.compared++;
	r = same_type ? compare(d, a, b, &fields, err) : 0;
	if (r == 0 && fields)
		tell(d, a, b, fields);
	return r;
}

/* ---- From folder to folder -------------------------------------------- */

/* Goes into the folders of d->path; NULL: there is none on that side. */
static int enter(struct diff *d, const struct hpdsl_entry *const folder[2],
		 struct hpdsl_error *err)
{
	struct level *l;
	int r = 0;

	if (d->depth == d->room) {
		size_t room = d->room ? 2 * d->room : 64;

		l = reallocarray(d->levels, room, sizeof *l);
		if (!l)
			return hp_fail_nomem(err);
		d->levels = l;
		d->room = room;
	}
	l = &d->levels[d->depth];
	*l = (struct level){ .path_len = d->path_len };
	if (d->path_len)
		d->path[l->path_len++] = '/';
	for (int side = 0; side < 2 && r == 0; side++)
		if (folder[side])
			r = hp_siblings_open(&l->range[side], d->snap[side],
					     folder[side]->number, err);
	if (r < 0)
		return r;
	d->depth++;
	d->have[BEFORE] = d->have[AFTER] = false;
	return 0;
}

static void leave(struct diff *d)
{
	d->depth--;
	d->have[BEFORE] = d->have[AFTER] = false;
}

/* The side's next entry, kept in d->e; *ret stays if there is none. */
static int look(struct diff *d, int side, const struct hpdsl_entry **ret,
		struct hpdsl_error *err)
{
	const struct hp_siblings *range = &d->levels[d->depth - 1].range[side];

	if (range->next == range->end)
		return 0;
	*ret = &d->e[side];
	if (d->have[side])
		return 0;
	d->have[side] = true;
	return hp_siblings_get(range, d->snap[side], &d->e[side], err);
}

static void take(struct diff *d, int side)
{
	hp_siblings_skip(&d->levels[d->depth - 1].range[side], &d->e[side]);
	d->have[side] = false;
}

static int set_path(struct diff *d, int side, const struct hpdsl_entry *e,
		    struct hpdsl_error *err)
{
	size_t at = d->levels[d->depth - 1].path_len;

	if (at + e->name_len > HPDSL_PATH_MAX)
		return hp_snap_bad_entry(d->snap[side], e->number,
					 "has too long a path", err);
	memcpy(d->path + at, e->name, e->name_len);
	d->path_len = at + e->name_len;
	d->path[d->path_len] = '\0';
	return 0;
}

/* Keeps of both sides the entry whose name comes first. */
static void keep_first(const struct hpdsl_entry *e[2])
{
	int order = !e[BEFORE] ? 1 :
		    !e[AFTER]  ? -1 :
				 hp_name_compare(
					 e[BEFORE]->name, e[BEFORE]->name_len,
					 e[AFTER]->name, e[AFTER]->name_len);

	if (order < 0)
		e[AFTER] = NULL;
	if (order > 0)
		e[BEFORE] = NULL;
}

/* One path: tells of it, and goes into the folders it is. */
static int visit(struct diff *d, const struct hpdsl_entry *e[2],
		 struct hpdsl_error *err)
{
	int r = 0;

	if (e[BEFORE] && e[AFTER])
		r = both(d, e[BEFORE], e[AFTER], err);
	else
		tell_one(d, e[BEFORE] ? BEFORE : AFTER,
			 e[BEFORE] ? e[BEFORE] : e[AFTER]);
	for (int side = 0; side < 2; side++) {
		if (e[side] && d->depth)
			take(d, side);
		if (e[side] && !S_ISDIR(e[side]->mode))
			e[side] = NULL;
	}
	if (r < 0 || (!e[BEFORE] && !e[AFTER]))
		return r;
	return enter(d, e, err);
}

/* ---- Litter ----------------------------------------------------------- */

/* By the list of hpdsl-pack(1), with X beside ._X. */
static bool is_litter(const struct hpdsl_snapshot *s,
		      const struct hpdsl_entry *e)
{
	struct hpdsl_entry twin;
	int row = hpdsl_litter_name(e->name, e->name_len, S_ISDIR(e->mode),
				    e->parent == 0);

	return row >= 0 &&
	       (row != HPDSL_LITTER_TWIN ||
		hpdsl_snapshot_child(s, e->parent, e->name + 2, e->name_len - 2,
				     &twin, NULL) == 0);
}

/* A dataset that has any was packed with all of it.  Asked once, if at all. */
static bool has_litter(const struct hpdsl_snapshot *s)
{
	struct hpdsl_snapshot_info info;
	struct hpdsl_entry e;

	hpdsl_snapshot_info(s, &info);
	for (uint64_t i = 1; i < info.entries; i++)
		if (hpdsl_snapshot_stat(s, i, &e, NULL) == 0 &&
		    is_litter(s, &e))
			return true;
	return false;
}

/* Is it left out by the pack that the other side, which lacks it, is of? */
static bool passes_over(struct diff *d, const struct hpdsl_entry *e)
{
	if (!d->litter || !is_litter(d->snap[AFTER], e))
		return false;
	if (!d->report.litter)
		d->litter = !has_litter(d->snap[BEFORE]);
	return d->litter;
}

/* The next path of the innermost folders; at their end, out of them. */
static int step(struct diff *d, struct hpdsl_error *err)
{
	const struct hpdsl_entry *e[2] = { NULL, NULL };
	int side, r = look(d, BEFORE, &e[BEFORE], err);

	if (r == 0)
		r = look(d, AFTER, &e[AFTER], err);
	if (r < 0)
		return r;
	if (!e[BEFORE] && !e[AFTER]) {
		leave(d);
		return 0;
	}
	keep_first(e);
	if (!e[BEFORE] && passes_over(d, e[AFTER])) {
		d->report.litter++;
		take(d, AFTER);
		return 0;
	}
	side = e[BEFORE] ? BEFORE : AFTER;
	r = set_path(d, side, e[side], err);
	return r < 0 ? r : visit(d, e, err);
}

static int walk(struct diff *d, struct hpdsl_error *err)
{
	const struct hpdsl_entry *top[2] = { &d->e[BEFORE], &d->e[AFTER] };
	uint64_t steps = 0;
	int r = 0;

	for (int side = 0; side < 2 && r == 0; side++)
		r = hpdsl_snapshot_stat(d->snap[side], 0, &d->e[side], err);
	if (r == 0)
		r = visit(d, top, err);
	while (r == 0 && d->depth) {
		r = step(d, err);
		if (++steps % STEP || r < 0)
			continue;
		hp_meter_add(&d->meter, STEP);
		if (hp_stopped(&d->opt->watch))
			r = hp_fail(err, HPDSL_ESTOPPED, "stopped");
	}
	return r;
}

int hpdsl_snapshot_diff(const struct hpdsl_snapshot *before,
			const struct hpdsl_snapshot *after,
			const struct hpdsl_diff_options *opt,
			struct hpdsl_diff_report *ret, struct hpdsl_error *err)
{
	struct diff *hp_auto_free d = calloc(1, sizeof *d);
	struct hpdsl_snapshot_info a, b;
	int r;

	if (!d)
		return hp_fail_nomem(err);
	hpdsl_snapshot_info(before, &a);
	hpdsl_snapshot_info(after, &b);
	d->snap[BEFORE] = before;
	d->snap[AFTER] = after;
	d->opt = opt;
	d->folders = !a.from_dataset && !b.from_dataset;
	d->litter = opt->pass_litter && a.from_dataset && !b.from_dataset;
	d->mode_mask = d->folders ? 07777 : 0777;
	hp_meter_init(&d->meter, &opt->watch);
	hp_meter_phase(&d->meter, "comparing",
		       a.entries > b.entries ? a.entries : b.entries, false);
	r = walk(d, err);
	hp_meter_release(&d->meter);
	free(d->levels);
	if (r < 0)
		return r;
	*ret = d->report;
	if (ret->added || ret->removed || ret->changed)
		return hp_fail(err, HPDSL_EDIFFERS, "they differ");
	return 0;
}
