/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A symbolic link is its target's data, if that is a file inside the input.
 * Where a link leads is asked of the kernel, by the name of the opened target
 * in /proc: nothing is resolved by hand.
 */
#include "scan/private.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	if (n && folder[n - 1] == '/')
		n--;
	return strncmp(path, folder, n) == 0 && path[n] == '/';
}

/* False: it does not, or nobody knows, and that has been told. */
static bool leads_inside(struct hp_scan_worker *w, uint16_t root, int fd)
{
	const char *top = w->s->more[root].real;
	hp_auto_free char *real = NULL;
	char what[64 + HP_PRINTABLE], buf[HP_PRINTABLE];
	int r = top ? hp_io_real_path(w->s->io, fd, &real) : -ENOENT;

	if (r == 0 && is_below(real, top))
		return true;
	if (r == -ENOMEM) {
		hp_crew_no_memory(&w->s->crew);
		return false;
	}
	if (r < 0) {
		hp_scan_problem(w, root, r, "cannot tell where the link leads");
		return false;
	}
	snprintf(what, sizeof what, "link leads outside the input: %s",
		 hp_printable(real, strlen(real), buf));
	hp_scan_outside(w, root, what);
	return false;
}

/* The target cannot be opened. */
static void broken(struct hp_scan_worker *w, uint16_t root, const char *name,
		   int code)
{
	const struct hp_io *io = w->s->io;
	char target[PATH_MAX], buf[HP_PRINTABLE], what[64 + HP_PRINTABLE];
	ssize_t n = io->readlink(io, w->s->list->roots[root].fd, name, target,
				 sizeof target);

	if (n == -ENOENT || n == -ENOTDIR) {
		hp_scan_problem(w, root, HPDSL_ECHANGED,
				w->s->opt->snapshot ?
					"vanished since the snapshot was "
					"made, which is out of date" :
					"vanished during the scan");
		return;
	}
	snprintf(what, sizeof what, "%s %s",
		 code == -ELOOP ? "link loop, through" : "dangling link to",
		 hp_printable(target, n > 0 ? (size_t)n : 0, buf));
	if (w->s->opt->symlinks == HPDSL_SYMLINKS_FOLLOW_ALL)
		hp_scan_warning(w, root, what);
	else
		hp_scan_problem(w, root, code, what);
}

static int note(struct hp_list *list, const char *path)
{
	char **more = realloc(list->linked,
			      (list->n_linked + 1) * sizeof(*list->linked));

	if (!more)
		return -ENOMEM;
	list->linked = more;
	more[list->n_linked] = strdup(path);
	return more[list->n_linked++] ? 0 : -ENOMEM;
}

void hp_scan_linked(struct hp_scan_worker *w)
{
	int r;

	w->counts.symlinks_to_dirs++;
	if (!w->s->list->note_linked)
		return;
	pthread_mutex_lock(&w->s->crew.tell);
	r = note(w->s->list, w->path);
	pthread_mutex_unlock(&w->s->crew.tell);
	if (r < 0)
		hp_crew_no_memory(&w->s->crew);
}

void hp_scan_link(struct hp_scan_worker *w, uint16_t root)
{
	const struct hp_io *io = w->s->io;
	const struct hp_root *at = &w->s->list->roots[root];
	const char *name = w->path + at->prefix_len;
	hp_auto_fd f = { io, io->open(io, at->fd, name, O_PATH, 0) };
	struct stat st;
	int r = f.fd < 0 ? f.fd : hp_io_stat(io, f.fd, "", &st, AT_EMPTY_PATH);

	if (r == -ENOENT || r == -ELOOP || r == -ENOTDIR) {
		broken(w, root, name, r);
	} else if (r < 0) {
		hp_scan_problem(w, root, r, NULL);
	} else if (S_ISDIR(st.st_mode)) {
		hp_scan_linked(w);
	} else if (!S_ISREG(st.st_mode)) {
		hp_scan_problem(w, root, -ENOTSUP, hp_scan_special(st.st_mode));
	} else if (w->s->opt->symlinks == HPDSL_SYMLINKS_FOLLOW_ALL ||
		   leads_inside(w, root, f.fd)) {
		w->counts.symlinks_followed++;
		hp_scan_add(w, root, &st, HP_FILE_FOLLOW);
	}
}
