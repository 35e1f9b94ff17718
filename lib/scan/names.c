/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind a name: a folder to walk, a link, a file to pack, or nothing.
 */
#include "scan/private.h"

#include "base/glob.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

void hp_scan_enter(struct hp_scan_worker *w, uint16_t root)
{
	struct hp_scan_job *job = hp_scan_job(w->s, root, w->len + 1);

	if (!job)
		return;
	job->job.kind = HP_SCAN_FOLDER;
	memcpy(job->text, w->path, w->len);
	job->dir_len = (uint16_t)w->len;
	if (w->len > w->s->list->roots[root].prefix_len)
		job->text[job->dir_len++] = '/';
	hp_crew_push(&w->s->crew, &job->job, false);
}

void hp_scan_meet(struct hp_scan_worker *w, uint16_t root)
{
	if (hp_glob_pruned(w->s->opt, w->path))
		w->counts.excluded_dirs++;
	else if (!hp_scan_litter_folder(w, root))
		hp_scan_enter(w, root);
}

/* A folder: one of the user's list may be one that the walk never meets. */
static void take_folder(struct hp_scan_worker *w, uint16_t root,
			const struct stat *st, bool listed)
{
	struct hpdsl_error err;

	if (listed && hp_scan_above_output(w->s, st)) {
		hp_scan_fail_output(w->s, w->path, &err);
		hp_crew_abort(&w->s->crew, err.code, err.msg);
	} else {
		hp_scan_meet(w, root);
	}
}

/*
 * No pattern wants what is at w->path.  Is it, for who notes them, a link to a
 * folder, that patterns for files say nothing about?
 */
static void leave_out(struct hp_scan_worker *w, uint16_t root, mode_t mode)
{
	const struct hp_root *at = &w->s->list->roots[root];
	struct stat st;

	if (S_ISLNK(mode) && w->s->list->note_linked &&
	    !hp_glob_pruned(w->s->opt, w->path) &&
	    hp_io_stat(w->s->io, at->fd, w->path + at->prefix_len, &st,
		       AT_NO_AUTOMOUNT) == 0 &&
	    S_ISDIR(st.st_mode))
		hp_scan_linked(w);
	else
		w->counts.excluded++;
}

void hp_scan_name(struct hp_scan_worker *w, uint16_t root, unsigned char type,
		  bool listed)
{
	const struct hp_root *at = &w->s->list->roots[root];
	struct stat st = { .st_mode = (mode_t)DTTOIF(type) };
	bool known = type != DT_UNKNOWN;
	int r = 0;

	if (known && !hp_glob_wanted(w->s->opt, w->path)) {
		leave_out(w, root, st.st_mode); /* without asking for more */
		return;
	}
	if (!known || type == DT_REG)
		r = hp_io_stat(w->s->io, at->fd, w->path + at->prefix_len, &st,
			       AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
	if (r == 0 && S_ISDIR(st.st_mode))
		take_folder(w, root, &st, listed);
	else if (!known && !hp_glob_wanted(w->s->opt, w->path))
		leave_out(w, root, r == 0 ? st.st_mode : 0);
	else if (hp_scan_litter_file(w, root, r < 0 ? NULL : &st))
		return; /* it may well vanish */
	else if (r == -ENOENT && !listed)
		hp_scan_problem(w, root, HPDSL_ECHANGED,
				"vanished during the scan");
	else if (r < 0)
		hp_scan_problem(w, root, r, NULL);
	else if (S_ISLNK(st.st_mode))
		hp_scan_link(w, root);
	else if (S_ISREG(st.st_mode))
		hp_scan_add(w, root, &st, 0);
	else
		hp_scan_problem(w, root, -ENOTSUP, hp_scan_special(st.st_mode));
}

/* w->path becomes a name in the folder; false: too long, and told. */
bool hp_scan_path_name(struct hp_scan_worker *w, const struct hp_scan_job *job,
		       const char *name, size_t n)
{
	if (n > HP_SCAN_NAME_MAX)
		n = HP_SCAN_NAME_MAX;
	memcpy(w->path, job->text, job->dir_len);
	memcpy(w->path + job->dir_len, name, n);
	w->len = job->dir_len + n;
	w->path[w->len] = '\0';
	if (w->len <= HPDSL_PATH_MAX && n < HP_SCAN_NAME_MAX)
		return true;
	hp_scan_problem(w, job->root, -ENAMETOOLONG, NULL);
	return false;
}

void hp_scan_batch(struct hp_scan_worker *w, const struct hp_scan_job *job)
{
	const char *p = job->text + job->dir_len;
	const char *end = p + job->bytes;

	while (p < end && !hp_crew_over(&w->s->crew)) {
		unsigned char type = (unsigned char)*p++;
		size_t n = strlen(p);

		if (hp_scan_path_name(w, job, p, n))
			hp_scan_name(w, job->root, type, false);
		hp_scan_tick(w);
		p += n + 1;
	}
}
