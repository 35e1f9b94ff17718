/* SPDX-License-Identifier: Apache-2.0 */
/* Which tar files there are, in a directory or given, and of which form. */
#include "tars.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum {
	FILES = 10000, /* of a directory that are asked for their size */
	HEADS = 1000,  /* that are asked for their first bytes */
};

const char *tars_ending(const char *name)
{
	size_t len = strlen(name), n = hpdsl_archive_suffix(name, len, NULL);

	return n ? name + len - n : NULL;
}

/* What its first bytes say; of one that nobody asked, its name. */
static void look_at(struct info *i, const struct tars *t, struct tar *one)
{
	cmd_auto_free char *path = NULL;
	struct hpdsl_error err;
	unsigned is;

	hpdsl_archive_suffix(one->name, strlen(one->name), &is);
	one->form = is & HPDSL_ARCHIVE_PACKED ? HPDSL_TAR_COMPRESSED :
						HPDSL_TAR_PLAIN;
	if (t->n > HEADS)
		return;
	path = tars_path(t, t->n - 1);
	if (hpdsl_tar_form(path, NULL, &one->form, &err) < 0)
		info_failed(i, &err);
	else if (one->form == HPDSL_TAR_NONE && !one->empty)
		info_wrong(i, "%s: no archive, whatever its name", one->name);
}

/* Of a directory hpdsl_compat() looks at names that end just so. */
static bool is_looked_at(const struct tars *t, const struct tar *one)
{
	unsigned is;

	hpdsl_archive_suffix(one->name, strlen(one->name), &is);
	return one->form != HPDSL_TAR_ZIP &&
	       (!t->dir || is & HPDSL_ARCHIVE_READ);
}

static void add(struct info *i, struct tars *t, const char *name, uint64_t size)
{
	struct tar *one;

	t->v = cmd_grow(t->v, t->n, sizeof(*t->v));
	one = &t->v[t->n++];
	*one = (struct tar){ .name = strdup(name), .empty = !size };
	if (!one->name)
		cmd_no_memory();
	look_at(i, t, one);
	t->packed +=
		one->form == HPDSL_TAR_COMPRESSED || one->form == HPDSL_TAR_ZIP;
	t->none += one->form == HPDSL_TAR_NONE;
	t->looked += is_looked_at(t, one);
	info_sizes_add(&t->sizes, size);
}

static int by_name(const void *a, const void *b)
{
	const struct tar *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void tars_list(struct info *i, struct tars *t)
{
	DIR *dir = opendir(i->path);
	const struct dirent *d;
	struct stat st;

	t->dir = i->path;
	while (dir && !t->cut && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || !tars_ending(d->d_name) ||
		    fstatat(dirfd(dir), d->d_name, &st, 0) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		add(i, t, d->d_name, (uint64_t)st.st_size);
		t->cut = t->n == FILES;
	}
	if (dir)
		closedir(dir);
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_name);
}

/* Is it a file that was given before, whatever it is called? */
static bool is_again(const struct stat *all, size_t k)
{
	for (size_t j = 0; j < k && k < TARS_FEW; j++)
		if (all[j].st_dev == all[k].st_dev &&
		    all[j].st_ino == all[k].st_ino)
			return true;
	return false;
}

void tars_take(struct info *i, struct tars *t)
{
	struct stat *all = cmd_alloc(i->paths.n, sizeof(*all));

	for (size_t k = 0; k < i->paths.n; k++)
		if (stat(i->paths.v[k], &all[k]) == 0 && !is_again(all, k))
			add(i, t, i->paths.v[k], (uint64_t)all[k].st_size);
	free(all);
}

char *tars_path(const struct tars *t, size_t k)
{
	char *path;

	if (asprintf(&path, "%s%s%s", t->dir ? t->dir : "", t->dir ? "/" : "",
		     t->v[k].name) < 0)
		cmd_no_memory();
	return path;
}

void tars_free(struct tars *t)
{
	for (size_t k = 0; k < t->n; k++)
		free(t->v[k].name);
	free(t->v);
	info_sizes_free(&t->sizes);
}
