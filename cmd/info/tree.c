/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain tree: how many names it has, as far as a short walk gets, and which.
 * No file is asked for its size, so that a metadata server answers for folders
 * only.
 */
#include "info.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	NAMES = 100000,
	SECONDS = 3,
	DEPTH = 256,
	LINKS = 1000, /* that are followed, to see where they lead */
	SPECIALS = 8, /* that are named */
};

struct walk {
	uint64_t files, folders, others;
	uint64_t top_files, below; /* in the tree itself, in its folders */
	uint64_t class_folders;	   /* at the top, with files in them */
	uint64_t split_classes;	   /* folders with files in those at the top */
	unsigned splits;	   /* at the top: of hpdsl_split() */
	bool no_split;		   /* .. and a folder of another name */
	uint64_t below_split;
	uint64_t tars;
	bool ended; /* by a bound */
	struct timespec begin;
	struct info_counts suffixes;
	struct cmd_strings names; /* of files, below the tree; allocated */
	struct hpdsl_group_look look;
	struct info_guess guess;
	char *first; /* folder with tar files */
	char *table; /* may have the labels, or NULL */
	const char *root;
	char *real; /* of the tree, or NULL */
	struct hpdsl_litter litter;
	uint64_t links;
	bool outside; /* a link to a file leads there, or nowhere */
	/* What is no file, folder or link, below the tree. */
	char *specials[SPECIALS];
	uint64_t n_specials;
	uint64_t unread;
	struct hpdsl_error err;
};

static bool is_late(struct walk *w)
{
	struct timespec now;

	if (w->files + w->folders + w->others >= NAMES)
		return true;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - w->begin.tv_sec >= SECONDS;
}

static void walk_folder(struct walk *w, int at, const char *name,
			const char *path, unsigned depth);

static unsigned char type_of(int dir, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type;
	if (fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(st.st_mode);
}

static bool is_tar(const char *name)
{
	const char *tar = strstr(name, ".tar");

	return tar && tar > name && (!tar[4] || tar[4] == '.');
}

/* The path of what is in folder path, as a member's. */
static char *below(const struct walk *w, const char *path, const char *name)
{
	const char *folder = path + strlen(w->root);
	char *ret;

	folder += *folder == '/';
	if (asprintf(&ret, "%s%s%s", folder, *folder ? "/" : "", name) < 0)
		cmd_no_memory();
	return ret;
}

static void take_file(struct walk *w, const char *name, const char *path,
		      unsigned depth)
{
	w->files++;
	w->top_files += depth == 0;
	w->below += depth == 1;
	w->below_split += depth == 2;
	info_suffixes_add(&w->suffixes, name, strlen(name),
			  hpdsl_key_length(name, strlen(name)));
	cmd_strings_add(&w->names, below(w, path, name));
	if (!is_tar(name) || depth == 0)
		return;
	w->tars++;
	if (w->first)
		return;
	w->first = strdup(path);
	if (!w->first)
		cmd_no_memory();
}

static void take_folder(struct walk *w, int dir, const char *name,
			const char *path, unsigned depth)
{
	cmd_auto_free char *folder = NULL;
	uint64_t before = w->below, before_split = w->below_split;

	w->folders++;
	if (depth == DEPTH)
		return;
	if (asprintf(&folder, "%s/%s", path, name) < 0)
		cmd_no_memory();
	walk_folder(w, dir, name, folder, depth + 1);
	w->class_folders += depth == 0 && w->below > before;
	w->split_classes += depth == 1 && w->below_split > before_split;
}

/* hpdsl-pack follows those alone that lead to files inside. */
static void take_link(struct walk *w, int dir, const char *name,
		      const char *path)
{
	cmd_auto_free char *whole = NULL, *to = NULL;
	size_t n = w->real ? strlen(w->real) : 0;
	struct stat st;

	w->others++;
	if (w->outside || w->links++ >= LINKS)
		return;
	if (fstatat(dir, name, &st, 0) < 0) {
		w->outside = true;
		return;
	}
	if (S_ISDIR(st.st_mode))
		return;
	if (asprintf(&whole, "%s/%s", path, name) < 0)
		cmd_no_memory();
	to = realpath(whole, NULL);
	w->outside = !to || strncmp(to, w->real ? w->real : "", n) != 0 ||
		     (n > 1 && to[n] != '/');
}

static void take_special(struct walk *w, const char *name, const char *path)
{
	char *rest = below(w, path, name);

	w->others++;
	/* A slash ties it to the top: without one it is a name anywhere. */
	if (w->n_specials < SPECIALS && !strpbrk(rest, "*?[]\\") &&
	    asprintf(&w->specials[w->n_specials], "/%s", rest) < 0)
		cmd_no_memory();
	free(rest);
	w->n_specials++;
}

/* What hpdsl-pack would leave out. */
static bool is_litter(struct walk *w, int dir, const char *name,
		      unsigned char type, unsigned depth)
{
	bool folder = type == DT_DIR;
	int row = hpdsl_litter_name(name, strlen(name), folder, depth == 0);

	if (row < 0 || (!folder && type != DT_REG && type != DT_LNK) ||
	    (row == HPDSL_LITTER_TWIN &&
	     faccessat(dir, name + 2, F_OK, AT_SYMLINK_NOFOLLOW) < 0))
		return false;
	w->litter.kinds |= 1u << row;
	w->litter.folders += folder;
	w->litter.files += !folder;
	return true;
}

static void take(struct walk *w, int dir, const struct dirent *d,
		 const char *path, unsigned depth)
{
	unsigned char type = type_of(dir, d);

	if (is_litter(w, dir, d->d_name, type, depth))
		return;
	if (type == DT_DIR)
		take_folder(w, dir, d->d_name, path, depth);
	else if (type == DT_REG)
		take_file(w, d->d_name, path, depth);
	else if (type == DT_LNK)
		take_link(w, dir, d->d_name, path);
	else
		take_special(w, d->d_name, path);
}

static void walk_folder(struct walk *w, int at, const char *name,
			const char *path, unsigned depth)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int fd = openat(at, name, depth ? flags | O_NOFOLLOW : flags);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;

	if (!dir) {
		w->unread++;
		if (fd >= 0)
			close(fd);
		return;
	}
	while (!w->ended && (d = readdir(dir))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		take(w, dirfd(dir), d, path, depth);
		w->ended = w->ended || is_late(w);
	}
	closedir(dir);
}

/* Folders at the top, all of them: the walk may not get beyond the first. */
static void see_splits(struct walk *w)
{
	DIR *dir = opendir(w->root);
	const struct dirent *d;

	while (dir && (d = readdir(dir))) {
		unsigned bit = hpdsl_split(d->d_name, strlen(d->d_name));

		if (d->d_name[0] == '.' || type_of(dirfd(dir), d) != DT_DIR)
			continue;
		w->splits |= bit;
		w->no_split |=
			!bit && hpdsl_litter_name(d->d_name, strlen(d->d_name),
						  true, true) < 0;
	}
	if (dir)
		closedir(dir);
}

/* ---- Told ------------------------------------------------------------- */

static bool has_splits(const struct walk *w)
{
	return cmd_splits(w->splits).n > 1 || (w->splits && !w->no_split);
}

/* The folder of a path that looks like a class, from 1; 0: none does. */
static int class_folder(const struct walk *w)
{
	/* folders of another meaning have files in them, too */
	if (w->guess.is == INFO_CACHE || w->guess.is == INFO_ZARR ||
	    w->guess.is == INFO_COCO || w->guess.is == INFO_PARTED ||
	    w->guess.is == INFO_RECORDS)
		return 0;
	if (has_splits(w))
		return w->split_classes > 1 ? 2 : 0;
	return w->class_folders > 1 && !w->top_files ? 1 : 0;
}

/* Sets of tar files in folders of their own. */
static bool has_shards(const struct walk *w)
{
	return w->first && 4 * w->tars >= w->files;
}

static uint64_t classes(const struct walk *w)
{
	return class_folder(w) == 2 ? w->split_classes : w->class_folders;
}

static void put_json(struct cmd_json *j, const struct walk *w)
{
	cmd_json_u64(j, "files", w->files);
	cmd_json_u64(j, "folders", w->folders);
	cmd_json_u64(j, "others", w->others);
	cmd_json_u64(j, "litter_files", w->litter.files);
	cmd_json_u64(j, "litter_folders", w->litter.folders);
	cmd_json_bool(j, "at_least", w->ended);
	if (class_folder(w))
		cmd_json_u64(j, "class_folders", classes(w));
}

static void put_litter(struct info *i, const struct walk *w)
{
	const struct hpdsl_litter *l = &w->litter;
	char kinds[HPDSL_LITTER_TEXT];

	if (l->files || l->folders)
		info_row(i, "litter", "%s%s%s%s%s, which a pack leaves out: %s",
			 w->ended ? "at least " : "",
			 cmd_many(l->files, "file").s, l->folders ? ", " : "",
			 l->folders ? cmd_many(l->folders, "folder").s : "",
			 l->folders ? " with all below" : "",
			 hpdsl_litter_text(l->kinds, kinds));
}

static void put_text(struct info *i, const struct walk *w)
{
	const char *least = w->ended ? "at least " : "";
	bool split = class_folder(w) == 2;

	info_row(i, "files", "%s%s", least, cmd_thousands(w->files).s);
	info_row(i, "folders", "%s%s", least, cmd_thousands(w->folders).s);
	if (w->others)
		info_row(i, "others", "%s%s, links or special", least,
			 cmd_thousands(w->others).s);
	put_litter(i, w);
	if (class_folder(w))
		info_row(i, "classes", "%s%llu folders%s%s look like them",
			 least, (unsigned long long)classes(w),
			 split ? " in " : "",
			 split ? cmd_splits(w->splits).s : "");
}

/* Of a cache only one snapshot, and of that the files that its links mean. */
static void next_snapshot(struct info *i, const struct walk *w)
{
	if (!w->guess.snapshot)
		return;
	info_next(i, "hpdsl-pack --symlinks=follow-all");
	info_next_path(i, w->guess.snapshot);
	info_next_output(i, i->path);
}

/* With what makes hpdsl-pack take what is no file, or pass it over. */
static void next_pack(struct info *i, const struct walk *w)
{
	static const char *const pack[] = { "hpdsl-pack",
					    "hpdsl-pack --labels=dir",
					    "hpdsl-pack --labels=dir:2" };

	for (uint64_t k = 0; k < w->n_specials; k++)
		if (k == SPECIALS || !w->specials[k])
			return;
	if (w->guess.is == INFO_CACHE || w->guess.is == INFO_RECORDS) {
		next_snapshot(i, w);
		return;
	}
	info_next(i, pack[class_folder(w)]);
	if (!class_folder(w) && w->look.verdict != HPDSL_LOOK_REFUSE &&
	    w->guess.is != INFO_ZARR && info_counts_of(&w->suffixes, "cls"))
		info_next_more(i, " --labels=cls");
	else if (w->table && w->guess.is == INFO_NOTHING)
		info_next_option(i, "labels", w->table);
	if (w->guess.is == INFO_ZARR)
		info_next_more(i, " --group=none");
	else if (w->look.verdict == HPDSL_LOOK_REFUSE)
		info_next_more(i, w->look.last ? " --group=last" :
						 " --group=none");
	if (w->outside)
		info_next_more(i, " --symlinks=follow-all");
	for (uint64_t k = 0; k < w->n_specials; k++)
		info_next_option(i, "exclude", w->specials[k]);
	info_next_path(i, i->path);
	info_next_output(i, i->path);
}

static void set_next(struct info *i, const struct walk *w)
{
	/* nor does hpdsl-pack get by what cannot be read */
	if (!w->files || w->unread)
		return;
	if (has_shards(w)) {
		info_next(i, "hpdsl-info");
		info_next_path(i, w->first);
		return;
	}
	next_pack(i, w);
}

/* What hpdsl-pack would make of the names. */
static void look(struct info *i, struct walk *w)
{
	if (!w->names.n)
		return;
	info_look_names(i, &w->names, &w->look);
	info_guess(w->root, &w->names, !w->ended, &w->look, &w->guess);
	if (has_shards(w))
		w->guess.is = INFO_SHARDS;
	else if (w->guess.is == INFO_NOTHING && class_folder(w))
		w->guess.is = class_folder(w) == 2 ? INFO_SPLITS : INFO_CLASSES;
	w->table = info_table(w->root, &w->names);
	for (size_t k = 0; k < w->names.n; k++)
		free((char *)w->names.v[k]);
	free(w->names.v);
}

void info_tree(struct info *i)
{
	struct walk w = { 0 };
	size_t len = strlen(i->path);
	cmd_auto_free char *path = NULL;

	while (len > 1 && i->path[len - 1] == '/')
		len--;
	path = strndup(i->path, len);
	if (!path)
		cmd_no_memory();
	w.root = path;
	w.real = realpath(path, NULL);
	see_splits(&w);
	clock_gettime(CLOCK_MONOTONIC, &w.begin);
	walk_folder(&w, AT_FDCWD, i->path, path, 0);
	info_says(i, "a directory of files, not packed");
	look(i, &w);
	info_guess_tell(i, &w.guess);
	if (info_json(i))
		put_json(info_json(i), &w);
	else
		put_text(i, &w);
	info_suffixes_tell(i, &w.suffixes, "files");
	if (w.table)
		info_row(i, "table", "%s names samples and classes", w.table);
	if (w.table && info_json(i))
		cmd_json_name(info_json(i), "table", w.table, strlen(w.table));
	if (w.names.n)
		info_look(i, &w.look);
	if (w.unread) {
		w.err.code = -1;
		snprintf(w.err.msg, sizeof(w.err.msg),
			 "%s that cannot be "
			 "looked into",
			 cmd_many(w.unread, "folder").s);
		info_failed(i, &w.err);
	}
	set_next(i, &w);
	info_counts_free(&w.suffixes);
	free(w.first);
	free(w.table);
	free(w.real);
	free(w.guess.snapshot);
	for (size_t k = 0; k < SPECIALS; k++)
		free(w.specials[k]);
}
