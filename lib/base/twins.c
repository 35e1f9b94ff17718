/* SPDX-License-Identifier: Apache-2.0 */
/* Which X are there, of all ._X. */
#include "base/twins.h"

#include "hpdsl/core.h"

#include <errno.h>
#include <string.h>

/* Longer than any path: it has no X.  0 is no hash. */
static uint64_t twin_hash(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	size_t base = slash ? (size_t)(slash - path) + 1 : 0;
	char twin[HPDSL_PATH_MAX + 1];

	if (len > sizeof twin)
		return 0;
	memcpy(twin, path, base);
	memcpy(twin + base, path + base + 2, len - base - 2);
	return hp_key_hash(twin, len - 2);
}

int hp_twins_ask(struct hp_twins *t, const char *path, size_t len)
{
	uint64_t hash = twin_hash(path, len);

	return hash && hp_key_set_add(&t->asked, hash) < 0 ? -ENOMEM : 0;
}

static int see_name(struct hp_twins *t, const char *path, size_t len)
{
	uint64_t hash = hp_key_hash(path, len);

	return hp_key_set_has(&t->asked, hash) &&
			       hp_key_set_add(&t->there, hash) < 0 ?
		       -ENOMEM :
		       0;
}

int hp_twins_see(struct hp_twins *t, const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	size_t in = slash ? (size_t)(slash - path) : 0;
	int r = see_name(t, path, len);

	if (t->last && t->last_len == in && !memcmp(t->last, path, in))
		return r;
	t->last = path;
	t->last_len = in;
	for (size_t i = 1; i <= in && r == 0; i++)
		if (i == in || path[i] == '/')
			r = see_name(t, path, i);
	return r;
}

bool hp_twins_has(const struct hp_twins *t, const char *path, size_t len)
{
	return hp_key_set_has(&t->there, twin_hash(path, len));
}

void hp_twins_release(struct hp_twins *t)
{
	hp_key_set_release(&t->asked);
	hp_key_set_release(&t->there);
}
