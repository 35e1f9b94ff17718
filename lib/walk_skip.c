/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot's own file, which is no part of the name space in it. */
#include "walk.h"

#include "error.h"
#include "mem.h"

#include <stdio.h>
#include <string.h>

int hp_walk_skip(struct hp_walk_options *opt, const char *file,
		 struct hpdsl_error *err)
{
	const struct hp_io *io = hp_io_or_system(opt->opt->watch.io);
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	hp_auto_free char *folder = NULL;
	struct stat st;
	int r;

	folder = slash ? strndup(file, (size_t)(name - file)) : strdup(".");
	if (!folder)
		return hp_fail_nomem(err);
	r = io->stat(io, AT_FDCWD, folder, &st, 0);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", folder);
	hp_outfile_temp(name, opt->skip_temp);
	snprintf(opt->skip_name, sizeof opt->skip_name, "%s", name);
	opt->skip_dir_dev = st.st_dev;
	opt->skip_dir_ino = st.st_ino;
	return 0;
}
