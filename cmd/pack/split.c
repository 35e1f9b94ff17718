/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of train/CLASS/.. and val/CLASS/.. needs one pack, whose parts are
 * read by themselves: that is said.  Of frequent mistakes one is refused before
 * the scan: with --labels=dir the classes would be train and val; and of INPUTs
 * train and val nobody could tell which sample was whose.
 */
#include "pack.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum { LOOK = 4096 }; /* at no more names: a folder of more is none of splits */

struct tops {
	unsigned splits; /* of hpdsl_split() */
	bool other;	 /* there is a folder of another name */
	bool capitals;	 /* one is called Train, as no --folder here has it */
};

bool pack_is_split(const char *name)
{
	return hpdsl_split(name, strlen(name));
}

static void see(struct tops *t, const char *name, size_t len)
{
	unsigned bit = hpdsl_split(name, len);

	t->splits |= bit;
	t->other |= !bit;
	for (size_t i = 0; bit && i < len; i++)
		t->capitals |= name[i] < 'a';
}

static void see_list(struct tops *t, const struct cmd_names *names)
{
	const char *name = names->bytes;

	for (size_t i = 0; i < names->count; i++, name += strlen(name) + 1) {
		const char *s = strncmp(name, "./", 2) ? name : name + 2;
		const char *slash = strchr(s, '/');

		if (slash)
			see(t, s, (size_t)(slash - s));
	}
}

static void see_folder(struct tops *t, const char *input)
{
	DIR *dir = opendir(input);
	const struct tops others = *t;
	const struct dirent *d;
	int n = 0;

	if (!dir) /* packing will say why */
		return;
	while (n <= LOOK && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		if (d->d_type == DT_DIR)
			see(t, d->d_name, strlen(d->d_name));
		n++;
	}
	closedir(dir);
	if (n > LOOK) {
		*t = others;
		t->other = true;
	}
}

/* By its own name, of which an archive leaves its suffix out. */
static void see_input(struct tops *t, const char *input)
{
	size_t end = strlen(input), begin, n;
	const char *suffix = NULL;
	struct stat st;

	while (end && input[end - 1] == '/')
		end--;
	for (begin = end; begin && input[begin - 1] != '/';)
		begin--;
	n = end - begin;
	if (stat(input, &st) == 0 && !S_ISDIR(st.st_mode)) {
		suffix = strstr(input + begin, ".tar");
		if (!suffix)
			suffix = strrchr(input + begin, '.');
	}
	if (suffix)
		n = (size_t)(suffix - (input + begin));
	see(t, input + begin, n);
}

static void see_inputs(struct tops *t, const struct hpdsl_pack_options *o)
{
	for (size_t i = 0; i < o->n_inputs; i++)
		see_input(t, o->inputs[i]);
}

/* What is damaged, packing will tell. */
static void see_snapshot(struct tops *t, const struct hpdsl_snapshot *s)
{
	struct hpdsl_entry e;
	struct hpdsl_error err;
	uint64_t cursor = 0;

	while (hpdsl_snapshot_readdir(s, 0, &cursor, &e, 1, &err) > 0)
		if (S_ISDIR(e.mode) && e.name[0] != '.')
			see(t, e.name, e.name_len);
}

/* Whatever the first folders of paths will be. */
static void see_tops(struct tops *t, const struct pack *p)
{
	const struct hpdsl_pack_options *o = &p->opt;

	if (o->prefix_input)
		see_inputs(t, o);
	else if (p->files_from)
		see_list(t, &p->names);
	else if (p->from)
		see_snapshot(t, p->from);
	else
		for (size_t i = 0; i < o->n_inputs; i++)
			see_folder(t, o->inputs[i]);
}

/* Samples of several INPUTs that are splits, in one heap. */
static void tell_heap(const struct pack *p)
{
	const struct hpdsl_pack_options *o = &p->opt;
	struct tops t = { 0 };
	char labels[40] = "";

	if (o->prefix_input || p->files_from || p->from || p->common.quiet)
		return;
	see_inputs(&t, o);
	if (cmd_splits(t.splits).n < 2 || t.other)
		return;
	if (o->labels == HPDSL_LABELS_DIR)
		snprintf(labels, sizeof(labels), " --labels=dir:%" PRIu32,
			 (o->label_dir ? o->label_dir : 1) + 1);
	cmd_message("%s: no path will say from which of them it is; "
		    "--prefix-input%s keeps them apart in one pack",
		    cmd_splits(t.splits).s, labels);
}

/* The readers of tars that it is packed for know nothing of folders. */
static void tell_others(const struct pack *p, const struct tops *t,
			const char *all)
{
	struct pack_list list = pack_readers(p->readers & PACK_OF_TAR);
	char include[256] = " of its folder";
	int n = 0;

	for (unsigned k = t->capitals ? 0 : t->splits; k; k &= k - 1)
		n += snprintf(include + n, sizeof(include) - (size_t)n,
			      "%s='%s/**'", n ? ", --include" : "",
			      hpdsl_split_name(k));
	cmd_message("%s will lie together in every chunk, and %s read all of "
		    "it: for them pack each alone, into an OUTPUT of its own, "
		    "by --include%s",
		    all, *list.s ? list.s : "other readers", include);
}

int pack_tell_splits(const struct pack *p)
{
	const struct hpdsl_pack_options *o = &p->opt;
	struct cmd_splits all;
	struct tops t = { 0 };

	tell_heap(p);
	see_tops(&t, p);
	all = cmd_splits(t.splits);
	/* What is left out may be just these; and one such name among others
	 * may well be a class: a train.  In the end the library looks, too. */
	if (all.n < 2 || o->n_include || o->n_exclude)
		return CMD_DONE;
	if (o->labels == HPDSL_LABELS_DIR && !o->label_dir) {
		cmd_message("the class folders look like splits (%s): "
			    "--labels=dir:2 takes the folders in them, "
			    "--labels=dir:1 these",
			    all.s);
		return CMD_USAGE;
	}
	if (p->common.quiet)
		return CMD_DONE;
	if (p->opt.emit || p->readers & PACK_OF_TAR)
		tell_others(p, &t, all.s);
	else if (!t.capitals)
		cmd_message("one pack does for %s: one of them is read in "
			    "Python with hpdsl.Choice(ds, folder=\"%s\"), by "
			    "hpdsl-order, -bench and -mount with --folder=%s, "
			    "by hpdsl-ls and -unpack with '%s/**'; readers "
			    "of plain tars know none of this",
			    all.s, all.one, all.one, all.one);
	return CMD_DONE;
}
