/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frequent mistake: with --labels=dir on a tree of train/CLASS/.. and
 * val/CLASS/.. the classes would be train and val.
 */
#include "pack.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

static const char *const splits[] = { "train",	 "training",   "val",
				      "valid",	 "validation", "test",
				      "testing", "dev" };

#define N_SPLITS (sizeof(splits) / sizeof(*splits))

struct tops {
	bool split[N_SPLITS];
	size_t n_split;
	bool other; /* there is a folder of another name */
};

bool pack_is_split(const char *name)
{
	for (size_t i = 0; i < N_SPLITS; i++)
		if (strcmp(splits[i], name) == 0)
			return true;
	return false;
}

static void see(struct tops *t, const char *name, size_t len)
{
	for (size_t i = 0; i < N_SPLITS; i++) {
		if (strlen(splits[i]) != len || memcmp(splits[i], name, len))
			continue;
		t->n_split += !t->split[i];
		t->split[i] = true;
		return;
	}
	t->other = true;
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
	const struct dirent *d;

	if (!dir) /* packing will say why */
		return;
	while ((d = readdir(dir)))
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			see(t, d->d_name, strlen(d->d_name));
	closedir(dir);
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

void pack_warn_splits(const struct pack *p)
{
	const struct hpdsl_pack_options *o = &p->opt;
	struct tops t = { 0 };
	char names[128] = "";

	if (o->labels != HPDSL_LABELS_DIR || o->label_dir > 1 ||
	    o->prefix_input)
		return;
	if (p->files_from)
		see_list(&t, &p->names);
	else if (p->from)
		see_snapshot(&t, p->from);
	else
		for (size_t i = 0; i < o->n_inputs; i++)
			see_folder(&t, o->inputs[i]);
	/* one such name among others may well be a class: a train */
	if (!t.n_split || (t.n_split == 1 && t.other))
		return;
	for (size_t i = 0; i < N_SPLITS; i++)
		if (t.split[i])
			snprintf(names + strlen(names),
				 sizeof(names) - strlen(names), "%s%s",
				 *names ? ", " : "", splits[i]);
	cmd_warning("the class folders look like splits (%s): is "
		    "--labels=dir:2 meant?",
		    names);
}
