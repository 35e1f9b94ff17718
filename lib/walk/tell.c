/* SPDX-License-Identifier: Apache-2.0 */
/* Problems, mount points, progress. */
#include "walk/private.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define TELL_EVERY 200000000 /* nanoseconds */

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
	pthread_mutex_lock(&w->s->tell);
	hp_lines_add(&w->s->problems, &line);
	pthread_mutex_unlock(&w->s->tell);
}

void hp_walk_mount(struct hp_walk_worker *w)
{
	struct hpdsl_error line;
	char buf[HP_INPUT_NAME];

	w->mounts++;
	hp_fail(&line, 0, "%s: another file system, not entered",
		name_of(w, buf));
	pthread_mutex_lock(&w->s->tell);
	hp_lines_add(&w->s->mounts, &line);
	pthread_mutex_unlock(&w->s->tell);
}

static void progress(struct hp_walk *s)
{
	struct hpdsl_progress p = { .phase = "walking" };

	p.done = __atomic_load_n(&s->names, __ATOMIC_RELAXED);
	s->opt->watch.progress(s->opt->watch.arg, &p);
}

void hp_walk_tick(struct hp_walk *s, uint64_t n)
{
	struct timespec t;
	uint64_t now;

	if (!s->opt->watch.progress)
		return;
	__atomic_fetch_add(&s->names, n, __ATOMIC_RELAXED);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	if (pthread_mutex_trylock(&s->tell))
		return; /* somebody is telling something */
	if (now >= s->next_tell) {
		s->next_tell = now + TELL_EVERY;
		progress(s);
	}
	pthread_mutex_unlock(&s->tell);
}

int hp_walk_conclude(struct hp_walk *s, struct hpdsl_error *err)
{
	const struct hpdsl_watch *watch = &s->opt->watch;
	char buf[HP_INPUT_NAME];

	if (watch->progress)
		progress(s);
	hp_lines_tell(&s->mounts, watch, "file systems not entered");
	return hp_lines_fail(&s->problems, watch,
			     hp_input_name(&s->root, "", 0, buf), err);
}
