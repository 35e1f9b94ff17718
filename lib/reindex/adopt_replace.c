/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path that a tar has more than once.  "tar -r" and "tar -u" put the newer
 * member behind the older one, and whoever unpacks the tar ends with the newer.
 */
#include "reindex/adopt.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/lookup.h"

#include <string.h>

static bool same_path(const struct hp_file *a, const struct hp_file *b)
{
	return a->path_len == b->path_len &&
	       !memcmp(a->path, b->path, a->path_len);
}

/* Equal hashes stand together, in the order of the members. */
static bool comes_again(const struct hp_found *c, const struct hp_hashed *v,
			uint64_t i)
{
	for (uint64_t j = i + 1; j < c->n && v[j].hash == v[i].hash; j++)
		if (same_path(&c->files[v[i].number], &c->files[v[j].number]))
			return true;
	return false;
}

/* What is left moves to the front. */
static void leave_out(struct hp_found *c, const bool *old)
{
	struct hp_adopted *tar = c->adopted;
	uint64_t n = 0;

	for (uint64_t i = 0; i < c->n; i++) {
		if (old[i]) {
			if (!tar->replaced++)
				tar->first_replaced = c->files[i].path;
			continue;
		}
		c->files[n] = c->files[i];
		tar->places[n] = tar->places[i];
		if (c->contents)
			memmove(c->contents[n], c->contents[i],
				sizeof *c->contents);
		n++;
	}
	c->n = n;
}

int hp_adopt_replace(struct hp_found *c, struct hpdsl_error *err)
{
	hp_auto_free struct hp_hashed *v = hp_array(c->n, sizeof *v);
	hp_auto_free bool *old = calloc(c->n + 1, sizeof *old);
	bool any = false;

	if (!v || !old)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < c->n; i++)
		v[i] = (struct hp_hashed){
			hp_hash64(c->files[i].path, c->files[i].path_len), i
		};
	hp_lookup_sort(v, c->n);
	for (uint64_t i = 0; i < c->n; i++)
		if (comes_again(c, v, i))
			any = old[v[i].number] = true;
	if (any)
		leave_out(c, old);
	return 0;
}
