/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listing a folder.  Folders in it become jobs at once; other names are put
 * into batches that any worker asks the file system for, the last batch of a
 * folder, and those nobody waits for, in place.
 */
#include "scan/private.h"

#include "sys/dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DENTS_BYTES 65536

/* w->path becomes the folder itself, without the closing slash. */
static const char *path_folder(struct hp_scan_worker *w,
			       const struct hp_scan_job *job)
{
	size_t prefix = w->s->list->roots[job->root].prefix_len;

	memcpy(w->path, job->text, job->dir_len);
	w->len = job->dir_len - (size_t)(job->dir_len > prefix);
	w->path[w->len] = '\0';
	return w->len > prefix ? w->path + prefix : ".";
}

/* An empty batch of this folder's names; false: no memory. */
static bool batch_begin(struct hp_scan_worker *w, const struct hp_scan_job *dir)
{
	struct hp_scan_job *b = w->batch;

	if (!b)
		b = hp_scan_job(w->s, dir->root,
				HPDSL_PATH_MAX + 1 + HP_SCAN_NAMES);
	if (!b)
		return false;
	b->job.kind = HP_SCAN_BATCHED;
	b->root = dir->root;
	b->dir_len = dir->dir_len;
	b->n_names = 0;
	b->bytes = 0;
	memcpy(b->text, dir->text, dir->dir_len);
	w->batch = b;
	return true;
}

static bool batch_flush(struct hp_scan_worker *w, const struct hp_scan_job *dir)
{
	if (hp_crew_offer(&w->s->crew, &w->batch->job))
		w->batch = NULL;
	else
		hp_scan_batch(w, w->batch);
	return batch_begin(w, dir);
}

static bool batch_add(struct hp_scan_worker *w, const struct hp_scan_job *dir,
		      const struct hp_dent *d)
{
	struct hp_scan_job *b = w->batch;
	/* One that is too long is to be told as that. */
	size_t n = d->len < HP_SCAN_NAME_MAX ? d->len : HP_SCAN_NAME_MAX;
	char *to;

	if (b->n_names == HP_SCAN_BATCH || b->bytes + n + 2 > HP_SCAN_NAMES) {
		if (!batch_flush(w, dir))
			return false;
		b = w->batch;
	}
	to = b->text + b->dir_len + b->bytes;
	to[0] = (char)d->type;
	memcpy(to + 1, d->name, n);
	to[n + 1] = '\0';
	b->bytes += (uint32_t)n + 2;
	b->n_names++;
	return true;
}

/* Takes the names in n bytes of records; how many, or -errno. */
static int take_records(struct hp_scan_worker *w, const struct hp_scan_job *dir,
			size_t n)
{
	int count = 0;

	for (size_t at = 0, len; at < n && !hp_crew_over(&w->s->crew);
	     at += len) {
		struct hp_dent d;

		len = hp_dent_take(w->dents + at, n - at, &d);
		if (!len)
			return -EIO;
		if (d.is_dots)
			continue;
		count++;
		if (d.type != DT_DIR) {
			if (!batch_add(w, dir, &d))
				return -ENOMEM;
		} else if (hp_scan_path_name(w, dir, d.name, d.len)) {
			hp_scan_meet(w, dir->root);
		}
	}
	return count;
}

/* Number of names, or -errno. */
static int64_t list_names(struct hp_scan_worker *w,
			  const struct hp_scan_job *dir, int fd)
{
	const struct hp_io *io = w->s->io;
	int64_t total = 0;

	for (;;) {
		ssize_t n = io->getdents(io, fd, w->dents, DENTS_BYTES);
		int r;

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? n : total;
		r = take_records(w, dir, (size_t)n);
		if (r < 0)
			return r;
		total += r;
		if (hp_crew_over(&w->s->crew))
			return total;
	}
}

static void folder_problem(struct hp_scan_worker *w,
			   const struct hp_scan_job *job, int code)
{
	path_folder(w, job);
	if (code == -ENOENT)
		hp_scan_problem(w, job->root, HPDSL_ECHANGED,
				"vanished during the scan");
	else if (code == -ENOTDIR || code == -ELOOP)
		hp_scan_problem(w, job->root, HPDSL_ECHANGED,
				"no folder any more");
	else
		hp_scan_problem(w, job->root, code, NULL);
}

void hp_scan_folder(struct hp_scan_worker *w, const struct hp_scan_job *job)
{
	const struct hp_io *io = w->s->io;
	const struct hp_root *root = &w->s->list->roots[job->root];
	hp_auto_fd f = { io, -1 };
	int64_t n;

	hp_scan_tick(w);
	if (!w->dents)
		w->dents = malloc(DENTS_BYTES);
	if (!w->dents) {
		hp_crew_no_memory(&w->s->crew);
		return;
	}
	if (!batch_begin(w, job))
		return;
	f.fd = io->open(io, root->fd, path_folder(w, job),
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (f.fd < 0) {
		folder_problem(w, job, f.fd);
		return;
	}
	n = list_names(w, job, f.fd);
	if (w->batch)
		hp_scan_batch(w, w->batch);
	if (n < 0)
		folder_problem(w, job, (int)n);
	w->counts.dirs += job->dir_len > root->prefix_len;
	w->counts.empty_dirs += n == 0 && job->dir_len > root->prefix_len;
}
