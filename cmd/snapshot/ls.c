/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-snapshot ls: what is in a folder of a snapshot, as ls shows it. */
#include "tour.h"

#include <string.h>
#include <sys/stat.h>

#define BATCH 64

struct ls {
	struct snapshot_paths paths;
	bool long_form, recursive, folder_itself;
	bool headings; /* folders are told by their names */
	bool printed;  /* something stands before the next heading */
	struct hpdsl_error err;
};

#define FLAG(member) CMD_FLAG(struct ls, member)

const struct cmd_option snapshot_ls_options[] = {
	{ "long", NULL,
	  "One line each: type and mode, size, time (UTC), name, target",
	  FLAG(long_form), .letter = 'l' },
	{ "recursive", NULL, "All folders below, too", FLAG(recursive),
	  .letter = 'R' },
	{ "directory", NULL, "A folder itself, not what is in it",
	  FLAG(folder_itself), .letter = 'd' },
	{ "json", NULL, "One JSON object a line", FLAG(paths.json) },
	{ "null", NULL, "End names with a NUL byte and do not escape them",
	  FLAG(paths.null), .letter = '0' },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ls *l = state->input;

	return cmd_options_parse(snapshot_ls_options, key, arg, state) ?
		       snapshot_take_paths(key, state, &l->paths) :
		       0;
}

const struct argp snapshot_ls_argp = {
	NULL,
	parse,
	"FILE [PATH...]",
	"List folders of a snapshot.\v"
	"Without PATH, the top. Of several, what is no folder comes first. "
	"With "
	"-R or several PATHs each folder has a heading; with -0 there is none, "
	"and names are whole paths. --json always has whole paths.",
	NULL,
	NULL,
	NULL
};

static int print_json(struct ls *l, const struct hpdsl_snapshot *s,
		      const struct hpdsl_entry *e, const char *path)
{
	struct cmd_json j = { .out = stdout };
	size_t len = strlen(path);
	const char *target = NULL;

	if (S_ISLNK(e->mode) &&
	    hpdsl_snapshot_target(s, e, &target, &l->err) < 0)
		return cmd_tell(&l->err);
	path = snapshot_path_shown(path, &len);
	cmd_json_open(&j, NULL, '{');
	cmd_json_name(&j, "path", path, len);
	snapshot_json_entry(&j, e);
	if (target)
		cmd_json_name(&j, "target", target, e->size);
	cmd_json_line(&j);
	return CMD_DONE;
}

/* What -l has in front of the name. */
static void print_attributes(const struct hpdsl_entry *e)
{
	cmd_print("%s %10llu %s ", snapshot_mode(e->mode).s,
		  (unsigned long long)e->size, cmd_time(e->mtime).s);
}

/* The name and, with -l, what a link leads to. */
static int print_name(struct ls *l, const struct hpdsl_snapshot *s,
		      const struct hpdsl_entry *e, const char *name, size_t len)
{
	char line[CMD_ESCAPED(HPDSL_PATH_MAX)];
	const char *target;
	size_t n;

	if (!l->long_form || !S_ISLNK(e->mode)) {
		snapshot_print_path(name, len, l->paths.null);
		return CMD_DONE;
	}
	if (hpdsl_snapshot_target(s, e, &target, &l->err) < 0)
		return cmd_tell(&l->err);
	if (l->paths.null) {
		cmd_write(name, len);
		cmd_print(" -> ");
		cmd_write(target, e->size + 1);
		return CMD_DONE;
	}
	n = cmd_escape_name(name, len, line);
	cmd_write(line, n);
	cmd_print(" -> ");
	cmd_print_name(target, e->size, false);
	return CMD_DONE;
}

/* One entry: path is its path, of which the last name_len bytes are shown. */
static int print_entry(struct ls *l, const struct hpdsl_snapshot *s,
		       const struct hpdsl_entry *e, const char *path,
		       size_t name_len)
{
	size_t len = strlen(path);

	l->printed = true;
	if (l->paths.json)
		return print_json(l, s, e, path);
	if (l->long_form)
		print_attributes(e);
	return print_name(l, s, e, path + len - name_len, name_len);
}

static void print_heading(struct ls *l, const char *path)
{
	char line[CMD_ESCAPED(HPDSL_PATH_MAX)];
	size_t len = strlen(path);

	if (!l->headings || l->paths.json || l->paths.null)
		return;
	path = snapshot_path_shown(path, &len);
	len = cmd_escape_name(path, len, line);
	if (l->printed)
		cmd_write("\n", 1);
	l->printed = true;
	cmd_write(line, len);
	cmd_write(":\n", 2);
}

static int print_in_folder(struct ls *l, const struct hpdsl_snapshot *s,
			   const struct hpdsl_entry *e, const char *folder)
{
	char path[HPDSL_PATH_MAX + 1];
	bool whole = l->headings && l->paths.null;
	int n = snprintf(path, sizeof(path), "%s%s%.*s", folder,
			 *folder ? "/" : "", (int)e->name_len, e->name);
	size_t before = strlen(folder) + (*folder ? 1 : 0);

	if ((size_t)n >= sizeof(path)) {
		cmd_message("%s: entry %llu has a path that is too long",
			    l->paths.file, (unsigned long long)e->number);
		return CMD_NO;
	}
	/* The name has ended earlier if it was changed meanwhile. */
	return print_entry(l, s, e, path, (size_t)n - (whole ? 0 : before));
}

/* What is in the folder e; damage, which is told once, ends it. */
static int print_folder(struct ls *l, const struct hpdsl_snapshot *s,
			const struct hpdsl_entry *e, const char *path)
{
	struct hpdsl_entry in[BATCH];
	uint64_t cursor = 0;
	int status = CMD_DONE;
	int64_t n = 0;

	print_heading(l, path);
	while (status == CMD_DONE &&
	       (n = hpdsl_snapshot_readdir(s, e->number, &cursor, in, BATCH,
					   &l->err)) > 0)
		for (int64_t i = 0; i < n && status == CMD_DONE; i++)
			status = print_in_folder(l, s, &in[i], path);
	return n < 0 ? cmd_tell(&l->err) : status;
}

/* The folder e and all below it. */
static int print_folders(struct ls *l, const struct hpdsl_snapshot *s,
			 const struct hpdsl_entry *e, const char *path)
{
	struct snapshot_tour t;
	struct hpdsl_entry at;
	int status = CMD_DONE, step = 0;

	snapshot_tour_begin(&t, l->paths.file, s, e, path);
	while (status == CMD_DONE &&
	       (step = snapshot_tour_next(&t, &at, &l->err)) > 0)
		if (step == SNAPSHOT_TOUR_MEET && S_ISDIR(at.mode))
			status = print_folder(l, s, &at, t.path);
	snapshot_tour_end(&t);
	return step < 0 ? cmd_tell(&l->err) : status;
}

struct found {
	const char *path;
	struct hpdsl_entry e;
};

static int compare(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static int list(struct ls *l, const struct hpdsl_snapshot *s, struct found *f,
		size_t n)
{
	int status = CMD_DONE;

	qsort(f, n, sizeof(*f), compare);
	for (size_t i = 0; i < n; i++)
		if (!S_ISDIR(f[i].e.mode) || l->folder_itself)
			status = cmd_worse(status,
					   print_entry(l, s, &f[i].e, f[i].path,
						       strlen(f[i].path)));
	for (size_t i = 0; i < n && !l->folder_itself; i++) {
		if (!S_ISDIR(f[i].e.mode))
			continue;
		status = cmd_worse(
			status,
			l->recursive ? print_folders(l, s, &f[i].e, f[i].path) :
				       print_folder(l, s, &f[i].e, f[i].path));
	}
	return status;
}

int snapshot_ls(int argc, char **argv)
{
	struct ls l = { 0 };
	cmd_auto_free struct found *f = NULL;
	struct hpdsl_snapshot *s;
	char top[] = ".", *none[] = { top };
	size_t n = 0;
	int status;

	cmd_parse(snapshot_ls_options, &snapshot_ls_argp, argc, argv, 0, &l);
	status = snapshot_open(l.paths.file, &s);
	if (status)
		return status;
	if (!l.paths.n) {
		l.paths.v = none;
		l.paths.n = 1;
	}
	l.headings = l.paths.n > 1 || l.recursive;
	f = cmd_alloc(l.paths.n, sizeof(*f));
	for (size_t i = 0; i < l.paths.n; i++) {
		int ret = snapshot_lookup(s, l.paths.v[i], &f[n].e);

		f[n].path = l.paths.v[i];
		n += ret == CMD_DONE;
		status = cmd_worse(status, ret);
	}
	status = cmd_worse(status, list(&l, s, f, n));
	snapshot_close(s);
	return status;
}
