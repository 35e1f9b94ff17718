/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packed dataset as input: its members, under their original paths, out of
 * the index alone.  Workers take ranges of them.
 */
#include "scan/private.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/glob.h"
#include "base/path.h"
#include "format/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RANGE = 16384 }; /* members in a job */

int hp_scan_enter_dataset(struct hp_scan *s, uint16_t root)
{
	struct hpdsl_counts n;

	hpdsl_count(s->list->roots[root].dataset, &n);
	for (uint64_t i = 0; i < n.members; i += RANGE) {
		struct hp_scan_job *job = hp_scan_job(s, root, 0);

		if (!job)
			return -ENOMEM;
		job->job.kind = HP_SCAN_MEMBERS;
		job->first = i;
		job->end = n.members - i < RANGE ? n.members : i + RANGE;
		hp_crew_push(&s->crew, &job->job, false);
	}
	return 0;
}

static void take_member(struct hp_scan_worker *w, uint16_t root,
			const struct hpdsl_member *m)
{
	size_t prefix = w->s->list->roots[root].prefix_len;

	memcpy(w->path, w->s->more[root].prefix, prefix);
	/* For a message, if it is too long, what there is room for. */
	w->len = prefix + m->path_len;
	if (w->len >= sizeof w->path)
		w->len = sizeof w->path - 1;
	hp_copy_once(w->path + prefix, m->path, w->len - prefix);
	w->path[w->len] = '\0';
	if (w->len > HPDSL_PATH_MAX)
		hp_scan_problem(w, root, -ENAMETOOLONG, NULL);
	/* What is in the index may be another path by now. */
	else if (!hp_path_valid(w->path + prefix, w->len - prefix))
		hp_scan_problem(w, root, -EINVAL, "no path of a member");
	else if (hp_scan_pruned(w, prefix) ||
		 !hp_glob_wanted(w->s->opt, w->path))
		w->counts.excluded++;
	else
		hp_scan_put(w, &(struct hp_file){
				       .size = m->size,
				       .mtime = m->mtime,
				       .nsec = m->mtime_nsec,
				       .source = m->number,
				       .root = root,
				       .mode = m->mode & 07777,
			       });
}

void hp_scan_members(struct hp_scan_worker *w, const struct hp_scan_job *job)
{
	const struct hp_root *root = &w->s->list->roots[job->root];
	struct hpdsl_error err;
	struct hpdsl_member m;

	for (uint64_t i = job->first; i < job->end; i++) {
		if (hp_crew_over(&w->s->crew))
			return;
		if (hpdsl_member_get(root->dataset, i, &m, &err) < 0) {
			hp_crew_abort(&w->s->crew, err.code, err.msg);
			return;
		}
		/* What a packer made, another one makes anew if asked to. */
		if (!m.generated)
			take_member(w, job->root, &m);
		hp_scan_tick(w);
	}
}
