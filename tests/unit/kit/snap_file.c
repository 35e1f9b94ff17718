/* SPDX-License-Identifier: Apache-2.0 */
#include "snap_file.h"

#include "snap/write.h"
#include "sys/io.h"
#include "tmp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { BATCH = 50 };

/* cmocka's checks are for one thread. */
static void must(bool right, const char *what, const char *path)
{
	if (right)
		return;
	fprintf(stderr, "# wrong: %s of '%s'\n", what, path);
	abort();
}

static struct hp_leaf leaf(const char *path, mode_t mode, size_t i)
{
	struct hp_leaf l = { .path = path };

	l.node.mode = (uint16_t)mode;
	l.node.mtime = (int64_t)i * 1000 - 5000000;
	l.node.nsec = (uint32_t)i;
	l.node.size = i * 3;
	l.node.member = HPDSL_NO_MEMBER;
	if (S_ISDIR(mode)) {
		l.node.folder = NULL;
	} else if (S_ISLNK(mode)) {
		l.node.target = "files";
		l.node.size = 5;
	}
	return l;
}

/* "folder00012/file000345.jpg" */
static void fill(struct snap_file *f, struct hp_leaf *leaves, size_t files)
{
	size_t n = 0;
	char buf[64];

	leaves[n++] = leaf("", S_IFDIR | 0755, 0);
	for (size_t i = 0; i < f->folders; i++) {
		snprintf(buf, sizeof buf, "folder%05zu", i);
		leaves[n++] = leaf(strdup(buf), S_IFDIR | 0750, i);
		for (size_t k = 0; k < files; k++, f->n++) {
			snprintf(buf, sizeof buf, "folder%05zu/file%06zu.jpg",
				 i, k);
			f->paths[f->n] = strdup(buf);
			leaves[n++] =
				leaf(f->paths[f->n],
				     f->n % 7 ? S_IFREG | 0644 : S_IFLNK | 0777,
				     f->n);
		}
	}
	f->paths[f->n] = NULL;
}

void snap_file_make(struct snap_file *f, size_t folders, size_t files)
{
	size_t n = 1 + folders * (1 + files);
	struct hp_leaf *leaves = calloc(n, sizeof *leaves);
	struct hpdsl_snapshot_info info;
	struct hpdsl_error err = { 0 };
	struct hp_tree t = { 0 };

	*f = (struct snap_file){ .folders = folders };
	f->paths = calloc(folders * files + 1, sizeof *f->paths);
	assert_non_null(tmp_folder(f->dir, sizeof f->dir, "test"));
	snprintf(f->path, sizeof f->path, "%s/snapshot", f->dir);
	fill(f, leaves, files);
	assert_int_equal(hp_tree_init(&t), 0);
	if (hp_tree_build(&t, leaves, n, &err) < 0 ||
	    hp_snap_save(&t, 0, &hp_io_system, f->path, &info, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(info.entries, n);
	hp_tree_release(&t);
	for (size_t i = 0; i < n; i++)
		if (leaves[i].path[0] && S_ISDIR(leaves[i].node.mode))
			free((char *)leaves[i].path);
	free(leaves);
}

void snap_file_remove(struct snap_file *f)
{
	unlink(f->path);
	rmdir(f->dir);
	for (size_t i = 0; i < f->n; i++)
		free(f->paths[i]);
	free(f->paths);
}

static void check(const struct snap_file *f, const struct hpdsl_snapshot *s,
		  size_t i, const struct hpdsl_entry *e)
{
	char path[HPDSL_PATH_MAX + 1];
	const char *target;
	uint64_t sum;
	size_t len;
	bool link = i % 7 == 0;

	must(e->mtime == (int64_t)i * 1000 - 5000000 && e->mtime_nsec == i,
	     "mtime", f->paths[i]);
	must(e->size == (link ? 5 : i * 3), "size", f->paths[i]);
	must(strcmp(e->name, strchr(f->paths[i], '/') + 1) == 0, "name",
	     f->paths[i]);
	must(hpdsl_snapshot_path(s, e->number, path, &len, NULL) == 0 &&
		     len == strlen(path) && strcmp(path, f->paths[i]) == 0,
	     "path", f->paths[i]);
	must(hpdsl_snapshot_target(s, e, &target, NULL) == (link ? 0 : -EINVAL),
	     "target", f->paths[i]);
	must(!link || strcmp(target, "files") == 0, "target", f->paths[i]);
	must(hpdsl_snapshot_checksum(s, e, &sum, NULL) < 0, "checksum",
	     f->paths[i]);
}

static void read_one(const struct snap_file *f, const struct hpdsl_snapshot *s,
		     size_t i)
{
	struct hpdsl_error err;
	struct hpdsl_entry e, again, up;
	size_t len = strlen(f->paths[i]);

	must(hpdsl_snapshot_lookup(s, f->paths[i], len, &e, &err) == 0,
	     "lookup", f->paths[i]);
	check(f, s, i, &e);
	must(hpdsl_snapshot_stat(s, e.number, &again, &err) == 0 &&
		     again.name == e.name,
	     "stat", f->paths[i]);
	must(hpdsl_snapshot_stat(s, e.parent, &up, &err) == 0 && up.parent == 0,
	     "parent", f->paths[i]);
	must(hpdsl_snapshot_lookup(s, f->paths[i], len - 1, &e, &err) ==
		     -ENOENT,
	     "lookup of less", f->paths[i]);
}

static void read_many(const struct snap_file *f, const struct hpdsl_snapshot *s,
		      size_t from)
{
	struct hpdsl_path paths[BATCH];
	struct hpdsl_entry e[BATCH];
	int codes[BATCH];
	size_t n = 0;

	for (; n < BATCH && from + n < f->n; n++)
		paths[n] = (struct hpdsl_path){ f->paths[from + n],
						n == 7 ? 3 : 26 };
	must(hpdsl_snapshot_lookup_many(s, paths, n, e, codes, NULL) ==
		     (int64_t)(n - (n > 7)),
	     "many", f->paths[from]);
	for (size_t i = 0; i < n; i++) {
		must(codes[i] == (i == 7 ? -ENOENT : 0), "code",
		     f->paths[from + i]);
		if (codes[i] == 0)
			check(f, s, from + i, &e[i]);
	}
}

static void read_folders(const struct snap_file *f,
			 const struct hpdsl_snapshot *s)
{
	struct hpdsl_entry e[BATCH], folder;
	uint64_t first, n, end, top = 0, in;
	size_t i = 0;
	int64_t got;

	for (size_t k = 0; k < f->folders; k++) {
		must(hpdsl_snapshot_readdir(s, 0, &top, &folder, 1, NULL) == 1,
		     "readdir", "top");
		must(hpdsl_snapshot_folder(s, folder.number, &first, &n, &end,
					   NULL) == 0 &&
			     first + n == end && n == f->n / f->folders,
		     "folder", folder.name);
		in = 0;
		while ((got = hpdsl_snapshot_readdir(s, folder.number, &in, e,
						     BATCH, NULL)) > 0)
			for (int64_t j = 0; j < got; j++)
				check(f, s, i++, &e[j]);
		must(got == 0, "readdir", folder.name);
	}
	must(i == f->n, "number of files", "top");
}

void snap_file_read(const struct snap_file *f, const struct hpdsl_snapshot *s,
		    size_t from)
{
	struct hpdsl_snapshot_info info;
	struct hpdsl_error err;
	struct hpdsl_entry e;

	hpdsl_snapshot_info(s, &info);
	must(info.entries == 1 + f->folders + f->n, "entries", "");
	for (size_t i = 0; i < f->n; i++)
		read_one(f, s, (i + from) % f->n);
	for (size_t i = 0; i < f->n; i += BATCH)
		read_many(f, s, i);
	read_folders(f, s);
	must(hpdsl_snapshot_stat(s, info.entries, &e, &err) == -ERANGE, "end",
	     "");
	must(hpdsl_snapshot_lookup(s, "", 0, &e, &err) == 0 && e.number == 0,
	     "top", "");
}
