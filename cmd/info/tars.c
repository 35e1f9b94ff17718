/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar files of others: a directory of them, several, or one.  Their sizes, the
 * first names in the first of them, and what readers make of the first headers
 * of each.
 */
#include "tars.h"

#include <string.h>
#include <sys/stat.h>

enum {
	EMPTY = 256,	 /* that are looked into for a first name */
	NAMES = 4096,	 /* that are read of the first one */
	BYTES = 8 << 20, /* to be decompressed for that */
	LOOKED = 256,	 /* tars */
	MEMBERS = 4096,	 /* of all of these */
};

/* ---- What is in the first --------------------------------------------- */

static bool take_name(void *arg, const char *name, size_t len, uint64_t size)
{
	struct tars *t = arg;
	char *kept = strndup(name, len);

	(void)size;
	if (!kept)
		cmd_no_memory();
	if (!t->first) {
		t->first = strdup(kept);
		if (!t->first)
			cmd_no_memory();
	}
	while (kept[0] == '.' && kept[1] == '/')
		memmove(kept, kept + 2, strlen(kept + 2) + 1);
	cmd_strings_add(&t->paths, kept);
	info_suffixes_add(&t->suffixes, name, len, hpdsl_key_length(name, len));
	return ++t->names == NAMES;
}

/* The first one with files in it tells. */
static void look_in(struct info *i, struct tars *t)
{
	struct hpdsl_error err;
	int r = 0;

	for (t->shown = 0; t->shown < t->n && t->shown < EMPTY; t->shown++) {
		cmd_auto_free char *path = NULL;

		if (t->v[t->shown].form == HPDSL_TAR_NONE)
			continue;
		path = tars_path(t, t->shown);
		r = hpdsl_tar_names(path, BYTES, take_name, t, &err);
		if (r < 0)
			info_failed(i, &err);
		if (r != 0 || t->first)
			break;
	}
	t->whole = r == 0 && t->n == 1;
}

/* ---- Told ------------------------------------------------------------- */

static const char *what(const struct info *i, const struct tars *t)
{
	if (i->kind == HPDSL_KIND_CHUNK)
		return "a chunk, without an index that knows it";
	if (t->n == 1 && !t->dir)
		return t->packed   ? "a compressed archive" :
		       t->v->empty ? "an empty file that is called like an "
				     "archive" :
		       t->none	   ? "a file that is called like an archive, "
				     "and is none" :
				     "a tar file";
	if (t->packed == t->n)
		return t->dir ? "a directory of compressed archives" :
				"compressed archives";
	if (t->packed)
		return t->dir ? "a directory of tar files, some of them "
				"compressed" :
				"tar files, some of them compressed";
	return t->dir ? "a directory of tar files that are no dataset yet" :
			"tar files";
}

static void tell_names(struct info *i, struct tars *t)
{
	if (t->first)
		info_name(i, "first", "first_member", t->first);
	/* What a sample would be, by the names of the first one. */
	if (info_look_names(i, &t->paths, &t->look))
		info_look(i, &t->look);
	info_suffixes_tell(i, &t->suffixes, "members");
	if (!t->first && !i->wrong && !i->unread)
		info_row(i, "holds", "no files%s",
			 t->n > EMPTY ? ", as far as looked at" : "");
	else if (t->first && !t->whole)
		info_row(i, "", "as far as looked at: %s%s",
			 cmd_many(t->names, "member").s,
			 t->n == 1 ? "" :
			 !t->shown ? " of the first one" :
				     " of the first one with files");
}

static void tell_counts(struct info *i, const struct tars *t,
			const struct hpdsl_compat_report *r)
{
	struct cmd_json *j = info_json(i);
	bool all = t->whole && !t->packed;

	if (j)
		cmd_json_bool(j, "at_least", !t->whole || t->cut);
	if (!all || !t->first || i->wrong || !r->tars)
		return;
	info_row(i, "holds", "%s, %s", cmd_many(r->samples, "sample").s,
		 cmd_many(r->members, "member").s);
	if (!j)
		return;
	cmd_json_u64(j, "samples", r->samples);
	cmd_json_u64(j, "members", r->members);
}

static void tell_readers(struct info *i, const struct tars *t)
{
	size_t tars = t->n < LOOKED ? t->n : LOOKED;
	const char **paths = cmd_alloc(t->n, sizeof(*paths));
	struct info_readers r = {
		.paths = t->dir ? &i->path : paths,
		.n = t->dir ? 1 : t->n,
		.tars = t->whole ? 0 : LOOKED,
		.members = t->whole ? 0 : MEMBERS / (tars ? tars : 1),
	};
	struct hpdsl_compat_report report = { 0 };

	for (size_t k = 0; k < t->n; k++)
		paths[k] = t->v[k].name;
	if (t->dir ? t->looked > 0 : t->looked == t->n)
		info_readers(i, &r, &report);
	free(paths);
	tell_counts(i, t, &report);
}

static void release(struct tars *t)
{
	tars_free(t);
	free(t->first);
	for (size_t k = 0; k < t->paths.n; k++)
		free((char *)t->paths.v[k]);
	free(t->paths.v);
	info_counts_free(&t->suffixes);
}

void info_tars(struct info *i)
{
	struct tars t = { 0 };
	struct stat st;

	/* what is wrong with them is told at the end */
	if (i->paths.n == 1 && stat(i->path, &st) == 0 && S_ISDIR(st.st_mode))
		tars_list(i, &t);
	else
		tars_take(i, &t);
	if (!t.n) { /* names of tars, but no files */
		info_tree(i);
		return;
	}
	info_says(i, "%s", what(i, &t));
	info_sizes_tell(i, t.cut ? "at least" : "tars", "tar", &t.sizes);
	if (info_json(i))
		cmd_json_u64(info_json(i), "compressed", t.packed);
	look_in(i, &t);
	tell_names(i, &t);
	tell_readers(i, &t);
	tars_next(i, &t);
	release(&t);
}
