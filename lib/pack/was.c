/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the pack that --resume goes on with was made with, where that decides
 * what this run does: rules that have changed since stay as they were for it.
 * A look before the scan, without the lock; all is compared under it later.
 */
#include "pack/was.h"

#include "plan/list.h"
#include "plan/lost.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The place beside OUTPUT where its replacement is made; false: no room. */
static bool work_path(const char *output, char ret[PATH_MAX])
{
	size_t end = strlen(output), begin;
	int n;

	while (end > 1 && output[end - 1] == '/')
		end--;
	for (begin = end; begin && output[begin - 1] != '/';)
		begin--;
	n = snprintf(ret, PATH_MAX, "%.*s.%.*s.hpdsl-new", (int)begin, output,
		     (int)(end - begin), output + begin);
	return n > 0 && n < PATH_MAX;
}

static int open_journal(struct hp_was *w, const char *path,
			const struct hp_io *io, struct hpdsl_error *err)
{
	struct hpdsl_unfinished_info info;
	int r = hpdsl_unfinished_open(path, io, &w->unfinished, err);

	if (r < 0)
		return r;
	hpdsl_unfinished_info(w->unfinished, &info);
	w->options = info.options;
	return 0;
}

static int open_manifest(struct hp_was *w, const char *path,
			 const struct hp_io *io, struct hpdsl_error *err)
{
	struct hpdsl_manifest_info info;
	int r = hpdsl_manifest_open(path, io, &w->manifest, err);

	if (r < 0)
		return r;
	hpdsl_manifest_info(w->manifest, &info);
	w->options = info.options;
	return 0;
}

int hp_was_open(struct hp_was *w, const struct hpdsl_pack_options *opt,
		struct hpdsl_error *err)
{
	const struct hp_io *io = opt->watch.io;
	char work[PATH_MAX];
	int r = HPDSL_ENOTOURS;

	if (!opt->resume || !opt->output)
		return 0;
	if (opt->force && work_path(opt->output, work))
		r = open_journal(w, work, io, err);
	if (r < 0 && r != -ENOMEM)
		r = open_manifest(w, opt->output, io, err);
	if (r < 0 && r != -ENOMEM)
		r = open_journal(w, opt->output, io, err);
	/* What cannot be read is told by those who need it. */
	return r == -ENOMEM ? r : 0;
}

const char *hp_was_option(const struct hp_was *w, const char *key)
{
	for (size_t i = 0; i < w->options.n; i++)
		if (!strcmp(w->options.v[i].key, key))
			return w->options.v[i].value;
	return NULL;
}

int hp_was_input(struct hp_was *w, const struct hp_root *root,
		 const struct hp_io *io, struct hpdsl_error *err)
{
	struct hpdsl_manifest_info info = { .lost = NULL };
	int r;

	*w = (struct hp_was){ .manifest = NULL };
	r = hpdsl_manifest_open(root->name, io, &w->manifest, err);
	if (r == HPDSL_ECORRUPT) {
		w->lost = true;
		return 0;
	}
	if (r < 0)
		return r;
	hpdsl_manifest_info(w->manifest, &info);
	w->lost = hp_lost_options(info.lost);
	w->options = info.options;
	return 0;
}

struct hp_lost_option hp_was_lost_option(const struct hp_was *w,
					 const char *key)
{
	return (struct hp_lost_option){ hp_was_option(w, key), w->lost };
}

void hp_was_close(struct hp_was *w)
{
	hpdsl_manifest_close(w->manifest);
	hpdsl_unfinished_close(w->unfinished);
	memset(w, 0, sizeof *w);
}
