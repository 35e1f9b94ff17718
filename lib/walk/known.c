/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders that have not changed since they were recorded: what they hold is
 * taken from there; only the folders in them are asked, since a change in one
 * is seen there alone.
 */
#include "walk/private.h"

#include "base/error.h"
#include "base/path.h"
#include "walk/walk.h"

#include <errno.h>
#include <string.h>

enum { ROWS = 64 };

static bool is_before(const struct timespec *t, int64_t sec, uint32_t nsec)
{
	return t->tv_sec < sec || (t->tv_sec == sec && t->tv_nsec < nsec);
}

static void fail(struct hp_walk_worker *w, const struct hpdsl_error *err)
{
	hp_crew_abort(&w->s->crew, err->code, err->msg);
}

/*
 * Is it recorded as empty, and would be, too, if it had been a mount point that
 * was not entered?
 */
static bool may_be_mount(struct hp_walk_worker *w, uint64_t entry)
{
	struct hpdsl_error err;
	uint64_t first, n, end;

	if (!w->s->opt->all_file_systems)
		return false;
	if (hpdsl_snapshot_folder(w->s->with->known, entry, &first, &n, &end,
				  &err) == 0)
		return n == 0;
	fail(w, &err);
	return true;
}

bool hp_walk_is_known(struct hp_walk_worker *w, const struct hp_walk_dir *dir,
		      uint64_t *ret)
{
	const struct hp_walk_options *with = w->s->with;
	struct hpdsl_error err;
	struct hpdsl_entry e;
	int r;

	if (!with->known ||
	    !is_before(&dir->ctime, with->since, with->since_nsec))
		return false;
	r = hpdsl_snapshot_lookup(with->known, dir->path, dir->len, &e, &err);
	if (r < 0 && r != -ENOENT)
		fail(w, &err);
	if (r < 0 || !S_ISDIR(e.mode) || e.mtime != dir->mtime.tv_sec ||
	    e.mtime_nsec != dir->mtime.tv_nsec || may_be_mount(w, e.number))
		return false;
	*ret = e.number;
	return true;
}

static int keep_target(struct hp_walk_worker *w, const struct hpdsl_entry *e,
		       struct hp_node *node, struct hpdsl_error *err)
{
	const struct hpdsl_snapshot *known = w->s->with->known;
	const char *target;
	int r = hpdsl_snapshot_target(known, e, &target, err);

	if (r < 0)
		return r;
	node->target = hp_arena_add(w->arena, target, e->size);
	if (!node->target)
		return hp_fail_nomem(err);
	if (strlen(node->target) != e->size)
		return hp_snap_bad_entry(known, e->number,
					 "its target is impossible", err);
	return 0;
}

/* Its name and a link's target are copied: the file may be changed meanwhile.
 */
static int keep_entry(struct hp_walk_worker *w, struct hp_walk_dir *dir,
		      const struct hpdsl_entry *e, struct hpdsl_error *err)
{
	const struct hpdsl_snapshot *known = w->s->with->known;
	const char *name = hp_arena_add(w->arena, e->name, e->name_len);
	struct hp_node *node;

	if (!name)
		return hp_fail_nomem(err);
	if (!hp_path_valid(name, e->name_len) || memchr(name, '/', e->name_len))
		return hp_snap_bad_entry(known, e->number,
					 "its name is impossible", err);
	if (!hp_walk_wants(w, dir, name, e->name_len, e->mode))
		return 0;
	node = hp_walk_add(w, dir, name, e->name_len, e->mode);
	if (!node)
		return hp_fail_nomem(err);
	node->size = e->size;
	node->mtime = e->mtime;
	node->nsec = e->mtime_nsec;
	if (S_ISREG(e->mode))
		node->member = HPDSL_NO_MEMBER;
	else if (S_ISLNK(e->mode))
		return keep_target(w, e, node, err);
	return 0;
}

void hp_walk_keep(struct hp_walk_worker *w, struct hp_walk_dir *dir,
		  uint64_t entry)
{
	struct hpdsl_entry rows[ROWS];
	struct hpdsl_error err;
	uint64_t cursor = 0;
	int64_t n;

	dir->kept = true;
	w->kept++;
	while (!hp_crew_over(&w->s->crew)) {
		n = hpdsl_snapshot_readdir(w->s->with->known, entry, &cursor,
					   rows, ROWS, &err);
		for (int64_t i = 0; i < n; i++) {
			if (keep_entry(w, dir, &rows[i], &err) < 0) {
				fail(w, &err);
				return;
			}
		}
		if (n < 0)
			fail(w, &err);
		if (n <= 0)
			return;
	}
}
