/* SPDX-License-Identifier: Apache-2.0 */
#include "choice.h"

#include <string.h>

bool mount_choice_below(const struct mount_choice *c,
			const struct hpdsl_member *m)
{
	size_t n = strlen(c->folder);

	return !n || (m->path_len > n && m->path[n] == '/' &&
		      memcmp(m->path, c->folder, n) == 0);
}

/* An exact path may hold what would mean something else in a glob. */
static bool matches(const char *pattern, const char *path)
{
	return strcmp(pattern, path) == 0 || hpdsl_glob_match(pattern, path);
}

/* Each is tried until it has matched, to know those that match nothing. */
static bool is_included(struct mount_choice *c, const char *path)
{
	bool any = !c->n_include;

	for (size_t i = 0; i < c->n_include; i++) {
		bool hit =
			atomic_load_explicit(&c->hit[i], memory_order_relaxed);

		if ((any && hit) || !matches(c->include[i], path))
			continue;
		any = true;
		if (!hit)
			atomic_store(&c->hit[i], true);
	}
	return any;
}

static int has_label(const struct mount_choice *c, const struct hpdsl_member *m,
		     struct hpdsl_error *err)
{
	struct hpdsl_sample s;
	int r;

	if (!c->n_labels)
		return 1;
	r = hpdsl_sample_get(c->ds, m->sample, &s, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c->n_labels; i++)
		if (c->labels[i] == s.label)
			return 1;
	return 0;
}

int mount_choice_has(void *arg, const struct hpdsl_member *m,
		     struct hpdsl_error *err)
{
	struct mount_choice *c = arg;

	if (!mount_choice_below(c, m) || !is_included(c, m->path))
		return 0;
	return has_label(c, m, err);
}
