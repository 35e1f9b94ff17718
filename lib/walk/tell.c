/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, problems, mount points. */
#include "walk/private.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

void hp_walk_path(struct hp_walk_worker *w, const struct hp_walk_dir *dir,
		  const char *name, size_t n)
{
	size_t at = dir->len;

	memcpy(w->path, dir->path, at);
	if (at && n)
		w->path[at++] = '/';
	if (n > HP_WALK_NAME_MAX)
		n = HP_WALK_NAME_MAX; /* is told as too long */
	memcpy(w->path + at, name, n);
	w->len = at + n;
	w->path[w->len] = '\0';
}

/* "source/a/b" */
static const char *name_of(struct hp_walk_worker *w, char buf[HP_INPUT_NAME])
{
	return hp_input_name(&w->s->root, w->path, w->len, buf);
}

void hp_walk_problem(struct hp_walk_worker *w, int code)
{
	struct hpdsl_error line;
	char buf[HP_INPUT_NAME];
	const char *name = name_of(w, buf);

	if (code == -ENOENT)
		hp_fail(&line, HPDSL_ECHANGED, "%s: vanished during the walk",
			name);
	else if (code == -ENOTDIR || code == HPDSL_ECHANGED)
		hp_fail(&line, HPDSL_ECHANGED, "%s: replaced during the walk",
			name);
	else
		hp_fail_errno(&line, code, "%s", name);
	hp_crew_problem(&w->s->crew, &line);
}

void hp_walk_mount(struct hp_walk_worker *w)
{
	struct hpdsl_error line;
	char buf[HP_INPUT_NAME];

	w->mounts++;
	hp_fail(&line, 0, "%s: another file system, not entered",
		name_of(w, buf));
	hp_crew_warning(&w->s->crew, &line);
}
