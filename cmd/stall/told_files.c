/* SPDX-License-Identifier: Apache-2.0 */
/* What a job did to files, read from the run's folder and told to the user. */
#include "told.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN = 20 };

const char *const stall_told_kinds[STALL_TOLD_KINDS] = { "aside", "refused",
							 "kept", "made" };

static int read_file(struct stall_told *t, int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	cmd_auto_free char *text = NULL;
	size_t n = 0, more, room = 0;

	if (!in)
		return -errno;
	do {
		if (n == room) {
			room = room ? 2 * room : 1 << 16;
			text = realloc(text, room);
			if (!text)
				cmd_no_memory();
		}
		more = fread(text + n, 1, room - n, in);
		n += more;
	} while (more);
	more = (size_t)ferror(in);
	fclose(in);
	stall_told_add(t, text, n);
	return more ? -EIO : 0;
}

int stall_told_read(struct stall_told *t, const char *folder)
{
	DIR *d = opendir(folder);
	const struct dirent *e;
	int r = d ? 0 : -errno;

	while (r == 0 && (e = readdir(d)))
		if (strncmp(e->d_name, "told.", 5) == 0)
			r = read_file(t, dirfd(d), e->d_name);
	if (d)
		closedir(d);
	stall_told_sort(t);
	if (r < 0)
		cmd_message("%s: %s", folder, strerror(-r));
	return r < 0 ? CMD_TROUBLE : CMD_DONE;
}

static void add_there(struct stall_paths *p, const char *path,
		      const dev_t *within);

static void add_files(struct stall_paths *p, const char *folder, dev_t dev)
{
	DIR *d = opendir(folder);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		cmd_auto_free char *path = NULL;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (asprintf(&path, "%s/%s", folder, e->d_name) < 0)
			cmd_no_memory();
		add_there(p, path, &dev);
	}
	if (d)
		closedir(d);
}

/* within: of what is mounted in a folder nothing is the job's. */
static void add_there(struct stall_paths *p, const char *path,
		      const dev_t *within)
{
	struct stat st;

	if (lstat(path, &st) < 0 || (within && st.st_dev != *within))
		return;
	if (S_ISDIR(st.st_mode))
		add_files(p, path, st.st_dev);
	else
		stall_paths_add(p, path);
}

/* Is what the job made still there by that name, in this mount namespace?
 * Another file may have taken the name since, as by a link in place of a
 * folder, or have it outside the job's container. */
static bool is_that(const char *record, const char *path, struct stat *ret)
{
	return path && lstat(path, ret) == 0 &&
	       ret->st_ino == strtoull(record, NULL, 16);
}

void stall_told_end(struct stall_told *t)
{
	struct stall_paths there = { 0 }, *made = &t->of[STALL_MADE];
	const struct stall_paths *filled = &t->of[STALL_FILLED];
	struct stat st;

	for (size_t i = 0; i < made->n; i++) {
		const char *path = strchr(made->v[i], '/');

		if (is_that(made->v[i], path, &st))
			add_there(&there, path, NULL);
	}
	for (size_t i = 0; i < filled->n; i++) {
		const char *path = strchr(filled->v[i], '/');

		if (is_that(filled->v[i], path, &st) && st.st_size)
			stall_paths_add(&there, path);
	}
	stall_paths_sort(&there);
	stall_paths_release(made);
	*made = there;
}

/* ---- For the user ----------------------------------------------------- */

static void show(const struct stall_paths *p, const char *what)
{
	if (!p->n)
		return;
	cmd_message("%s: %s", what, cmd_many(p->n, "file").s);
	for (size_t i = 0; i < p->n && i < SHOWN; i++) {
		cmd_auto_free char *name = cmd_quoted(p->v[i]);

		cmd_message("  %s", name);
	}
	if (p->n > SHOWN)
		cmd_message("  and %zu more", p->n - SHOWN);
}

void stall_told_show(const struct stall_told *t, const char *list)
{
	cmd_auto_free char *name = list ? cmd_quoted(list) : NULL;
	cmd_auto_free char *made = NULL;

	show(&t->of[STALL_ASIDE], "there before, and written to, which was set "
				  "aside and is removed");
	show(&t->of[STALL_REFUSED],
	     "there before, and not opened to be changed in place");
	show(&t->of[STALL_KEPT],
	     "there before, and neither removed, moved nor replaced");
	if (asprintf(&made, "made by the job, and no results%s%s%s",
		     name ? " (xargs -0 rm -f < " : "", name ? name : "",
		     name ? ")" : "") < 0)
		cmd_no_memory();
	show(&t->of[STALL_MADE], made);
}

void stall_told_json(struct cmd_json *j, const struct stall_told *t)
{
	cmd_json_open(j, "files", '{');
	for (unsigned i = 0; i < STALL_TOLD_KINDS; i++) {
		cmd_json_open(j, stall_told_kinds[i], '[');
		for (size_t k = 0; k < t->of[i].n; k++)
			cmd_json_string(j, NULL, t->of[i].v[k]);
		cmd_json_close(j, ']');
	}
	cmd_json_close(j, '}');
}
