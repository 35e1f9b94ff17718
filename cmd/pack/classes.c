/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another frequent mistake: a tree of CLASS/.. packed without --labels, and no
 * sample has a class.  The rule is in hpdsl-pack(1), DIAGNOSTICS; a look into a
 * few folders is all that it costs.
 */
#include "pack.h"

#include <dirent.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { LOOK = 16 }; /* into so many folders, and at so many names in each */

struct folder {
	char *path;
	struct cmd_strings names; /* none of them begins with a dot */
	size_t folders;
};

static bool is_folder(const struct folder *f, const struct dirent *d)
{
	cmd_auto_free char *path = NULL;
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	if (asprintf(&path, "%s/%s", f->path, d->d_name) < 0)
		cmd_no_memory();
	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void see_name(struct folder *f, const struct dirent *d)
{
	char *name = strdup(d->d_name);

	if (!name)
		cmd_no_memory();
	cmd_strings_add(&f->names, name);
	f->folders += is_folder(f, d);
}

static bool is_litter(const char *name)
{
	size_t len = strlen(name);

	return hpdsl_litter_name(name, len, true, true) >= 0 ||
	       hpdsl_litter_name(name, len, false, true) >= 0;
}

/*
 * At most so many names, and none behind the first file if folders are wanted.
 * What cannot be read is an empty folder: packing will say why.
 */
static void see(struct folder *f, const char *path, const char *name,
		size_t most, bool folders)
{
	const struct dirent *d;
	DIR *dir;

	memset(f, 0, sizeof(*f));
	if (asprintf(&f->path, "%s%s%s", path, *name ? "/" : "", name) < 0)
		cmd_no_memory();
	dir = opendir(f->path);
	while (dir && f->names.n < most && (d = readdir(dir)) &&
	       (!folders || f->folders == f->names.n))
		if (d->d_name[0] != '.' && !is_litter(d->d_name))
			see_name(f, d);
	if (dir)
		closedir(dir);
}

static void release(struct folder *f)
{
	for (size_t i = 0; i < f->names.n; i++)
		free((char *)f->names.v[i]);
	free(f->names.v);
	free(f->path);
}

static const char *suffix(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot : "";
}

/* images/ and masks/ are no classes: their files are of other kinds. */
static bool are_alike(const struct folder *a, const struct folder *b)
{
	for (size_t i = 0; i < a->names.n; i++)
		for (size_t k = 0; k < b->names.n; k++)
			if (strcasecmp(suffix(a->names.v[i]),
				       suffix(b->names.v[k])) == 0)
				return true;
	return false;
}

/* Files, and no folders. */
static bool all_files(const struct folder *f)
{
	return f->names.n && !f->folders;
}

static bool all_folders(const struct folder *f)
{
	return f->names.n && f->folders == f->names.n;
}

/* At least two folders, which have files of one kind and nothing else. */
static bool has_classes(const struct folder *top)
{
	struct folder first, f;
	bool is = all_folders(top) && top->names.n > 1;

	if (!is)
		return false;
	see(&first, top->path, top->names.v[0], LOOK, false);
	is = all_files(&first);
	for (size_t i = 1; is && i < top->names.n && i < LOOK; i++) {
		see(&f, top->path, top->names.v[i], LOOK, false);
		is = all_files(&f) && are_alike(&first, &f);
		release(&f);
	}
	release(&first);
	return is;
}

static bool has_splits(const struct folder *top)
{
	for (size_t i = 0; i < top->names.n; i++)
		if (!pack_is_split(top->names.v[i]))
			return false;
	return all_folders(top);
}

/* Which folder of a path in input names a class?  0: none does. */
static int class_folder(const char *input)
{
	struct folder top, split;
	int which = 0;

	see(&top, input, "", SIZE_MAX, true);
	if (has_classes(&top) && !has_splits(&top))
		which = 1;
	for (size_t i = 0; has_splits(&top) && !which && i < top.names.n; i++) {
		see(&split, top.path, top.names.v[i], SIZE_MAX, true);
		which = has_classes(&split) ? 2 : 0;
		release(&split);
	}
	release(&top);
	return which;
}

/* Have any samples this suffix and others, of those that were looked at? */
static bool has_suffix(const struct hpdsl_group_look *look, const char *suffix)
{
	size_t n = strlen(suffix);

	for (size_t k = 0; k < look->n_sets; k++)
		for (const char *s = look->sets[k].suffixes, *end; *s;
		     s = end) {
			end = strchrnul(s, '\n');
			if ((size_t)(end - s) == n && !memcmp(s, suffix, n) &&
			    (*end || s != look->sets[k].suffixes))
				return true;
			end += *end == '\n';
		}
	return false;
}

void pack_hint_members(const struct pack *p, const struct hpdsl_pack_report *r)
{
	if (p->common.quiet || pack_has(p, "labels") || r->classes ||
	    p->opt.group == HPDSL_GROUP_NONE || !has_suffix(&r->look, "cls"))
		return;
	cmd_message("no sample has a label, and members .cls may say them: "
		    "--labels=cls takes them from there");
}

void pack_hint_classes(const struct pack *p)
{
	const struct hpdsl_pack_options *o = &p->opt;
	int which = 0;

	if (p->common.quiet || pack_has(p, "labels") || p->files_from ||
	    p->from || o->prefix_input)
		return;
	for (size_t i = 0; i < o->n_inputs; i++) {
		int here = class_folder(o->inputs[i]);

		if (!here || (which && which != here))
			return;
		which = here;
	}
	cmd_message("%s: its folders look like classes, and no sample gets "
		    "one: is --labels=dir%s meant?",
		    o->inputs[0], which == 2 ? ":2" : "");
}
