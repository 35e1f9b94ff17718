/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot in place of a walk: the names, sizes, times and modes that it has
 * are those of the files to be packed, and nobody lists a folder or asks for a
 * file.  Workers take ranges of entries.  What is not as it was comes out when
 * the file is read.
 */
#include "base/bytes.h"
#include "base/glob.h"
#include "base/path.h"
#include "hpdsl/snapshot.h"
#include "scan/private.h"

#include <errno.h>
#include <string.h>

enum { RANGE = 16384 }; /* entries in a job */

/* The folder whose entries a worker goes through. */
struct folder {
	uint64_t entry;
	size_t len;   /* of its path in w->path, with the slash */
	bool skipped; /* left out by a pattern, or told as too long */
};

int hp_scan_enter_snapshot(struct hp_scan *s)
{
	struct hpdsl_snapshot_info info;

	hpdsl_snapshot_info(s->opt->snapshot, &info);
	/* Entry 0 is the top, which is INPUT. */
	for (uint64_t i = 1; i < info.entries; i += RANGE) {
		struct hp_scan_job *job = hp_scan_job(s, 0, 0);

		if (!job)
			return -ENOMEM;
		job->job.kind = HP_SCAN_FROZEN;
		job->first = i;
		job->end = info.entries - i < RANGE ? info.entries : i + RANGE;
		hp_crew_push(&s->crew, &job->job, false);
	}
	return 0;
}

/* The entries that follow are in another folder. */
static int enter(struct hp_scan_worker *w, uint64_t entry, struct folder *ret,
		 struct hpdsl_error *err)
{
	size_t prefix = w->s->list->roots[0].prefix_len, n;
	char path[HPDSL_PATH_MAX + 1];
	int r = hpdsl_snapshot_path(w->s->opt->snapshot, entry, path, &n, err);

	if (r < 0)
		return r;
	*ret = (struct folder){ .entry = entry };
	if (prefix + n > HPDSL_PATH_MAX) {
		ret->skipped = true;
		return 0;
	}
	memcpy(w->path, w->s->more[0].prefix, prefix);
	memcpy(w->path + prefix, path, n);
	w->len = prefix + n;
	if (n)
		w->path[w->len++] = '/';
	w->path[w->len] = '\0';
	ret->len = w->len;
	ret->skipped = hp_scan_pruned(w, prefix) ||
		       hp_scan_in_litter(w, prefix, prefix + n);
	return 0;
}

/* w->path becomes a name in the folder; false: too long, and told. */
static bool path_name(struct hp_scan_worker *w, const struct folder *in,
		      const struct hpdsl_entry *e)
{
	size_t n = e->name_len;

	if (n > HP_SCAN_NAME_MAX)
		n = HP_SCAN_NAME_MAX;
	hp_copy_once(w->path + in->len, e->name, n);
	w->len = in->len + n;
	w->path[w->len] = '\0';
	/* What is in the file may be another name by now. */
	if (!hp_path_valid(w->path + in->len, n) ||
	    memchr(w->path + in->len, '/', n)) {
		hp_scan_problem(w, 0, -EINVAL, "no name that a file can have");
		return false;
	}
	if (w->len <= HPDSL_PATH_MAX && n < HP_SCAN_NAME_MAX)
		return true;
	hp_scan_problem(w, 0, -ENAMETOOLONG, NULL);
	return false;
}

static int count_folder(struct hp_scan_worker *w, const struct hpdsl_entry *e,
			struct hpdsl_error *err)
{
	uint64_t first, n, end;
	int r;

	if (hp_glob_pruned(w->s->opt, w->path)) {
		w->counts.excluded_dirs++;
		return 0;
	}
	if (hp_scan_litter_folder(w, 0))
		return 0;
	r = hpdsl_snapshot_folder(w->s->opt->snapshot, e->number, &first, &n,
				  &end, err);
	if (r < 0)
		return r;
	w->counts.dirs++;
	w->counts.empty_dirs += n == 0;
	return 0;
}

/*
 * Whose file it is the snapshot does not say: of those that user, group and
 * others may read in the same way, the first that can be opened speaks for all.
 */
static int check_open(struct hp_scan_worker *w, const struct hpdsl_entry *e)
{
	unsigned who = (e->mode >> 8 & 1) << 2 | (e->mode >> 5 & 1) << 1 |
		       (e->mode >> 2 & 1);
	int r;

	if (who == 7 || w->opens >> who & 1)
		return 0;
	r = hp_scan_try_open(w, 0, O_NOFOLLOW);
	w->opens |= (unsigned char)((r > 0) << who);
	return r < 0 ? r : 0;
}

static void take_file(struct hp_scan_worker *w, const struct hpdsl_entry *e)
{
	int r = check_open(w, e);

	if (r < 0)
		hp_scan_problem(w, 0, r, NULL);
	else
		hp_scan_put(w, &(struct hp_file){
				       .size = e->size,
				       .mtime = e->mtime,
				       .nsec = e->mtime_nsec,
				       .mode = e->mode & 07777,
			       });
}

static int take_entry(struct hp_scan_worker *w, const struct folder *in,
		      const struct hpdsl_entry *e, struct hpdsl_error *err)
{
	if (!path_name(w, in, e))
		return 0;
	if (S_ISDIR(e->mode))
		return count_folder(w, e, err);
	if (!hp_glob_wanted(w->s->opt, w->path))
		w->counts.excluded++;
	else if (hp_scan_litter_file(
			 w, 0,
			 &(struct stat){ .st_mode = e->mode,
					 .st_size = (off_t)e->size }))
		return 0;
	else if (S_ISLNK(e->mode))
		hp_scan_link(w, 0); /* what it leads to, nobody recorded */
	else if (S_ISREG(e->mode))
		take_file(w, e);
	else
		hp_scan_problem(w, 0, -ENOTSUP, hp_scan_special(e->mode));
	return 0;
}

void hp_scan_frozen(struct hp_scan_worker *w, const struct hp_scan_job *job)
{
	const struct hpdsl_snapshot *s = w->s->opt->snapshot;
	struct folder in = { .entry = UINT64_MAX };
	struct hpdsl_error err;
	struct hpdsl_entry e;

	for (uint64_t i = job->first; i < job->end; i++) {
		int r;

		if (hp_crew_over(&w->s->crew))
			return;
		r = hpdsl_snapshot_stat(s, i, &e, &err);
		if (r == 0 && e.parent != in.entry)
			r = enter(w, e.parent, &in, &err);
		if (r == 0 && !in.skipped)
			r = take_entry(w, &in, &e, &err);
		if (r < 0) {
			hp_crew_abort(&w->s->crew, err.code, err.msg);
			return;
		}
		hp_scan_tick(w);
	}
}
