/* SPDX-License-Identifier: Apache-2.0 */
/* Which names of a folder are taken. */
#include "walk/private.h"

#include "base/glob.h"

#include <errno.h>
#include <string.h>

bool hp_walk_leaves_out(struct hp_walk_worker *w, const struct hp_walk_dir *dir,
			const char *name, size_t n, mode_t mode)
{
	const struct hpdsl_snapshot_options *opt = w->s->opt;

	if (dir->has_own && (!strcmp(name, w->s->with->skip_name) ||
			     !strcmp(name, w->s->with->skip_temp)))
		return true;
	if (!opt->n_exclude || !(mode & S_IFMT))
		return false;
	hp_walk_path(w, dir, name, n);
	if (!hp_glob_named(opt->exclude, opt->n_exclude, w->path,
			   S_ISDIR(mode)))
		return false;
	w->excluded++;
	return true;
}

bool hp_walk_wants(struct hp_walk_worker *w, const struct hp_walk_dir *dir,
		   const char *name, size_t n, mode_t mode)
{
	if (hp_walk_leaves_out(w, dir, name, n, mode))
		return false;
	if (n < HP_WALK_NAME_MAX &&
	    dir->len + (dir->len > 0) + n <= HPDSL_PATH_MAX)
		return true;
	hp_walk_path(w, dir, name, n);
	hp_walk_problem(w, -ENAMETOOLONG);
	return false;
}
