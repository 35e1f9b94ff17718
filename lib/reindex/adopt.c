/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What adopting foreign tars tells: what was passed over in them, and names
 * that are there more than once.
 */
#include "reindex/adopt.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/lookup.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* ---- What is odd about a tar ------------------------------------------ */

static void tell_ends(struct hp_reindex *x, const struct hp_found *c)
{
	const struct hp_adopted *a = c->adopted;

	if (a->no_end)
		hp_reindex_warn(
			x, "%s: ends without the blocks that end an archive",
			c->made.name);
	if (a->behind)
		hp_reindex_warn(x,
				"%s: what lies behind the end of the archive, "
				"from offset %" PRIu64 " on, is passed over",
				c->made.name, a->behind);
}

static void tell_skipped(struct hp_reindex *x, uint64_t n, const char *what,
			 const struct hp_found *where, const char *first)
{
	char name[HP_PRINTABLE];

	if (!n)
		return;
	hp_reindex_warn(x, "%" PRIu64 " %s%s passed over, first '%s' in %s", n,
			what, plural(n),
			hp_printable(first, strlen(first), name),
			where->made.name);
}

static void tell_replaced(struct hp_reindex *x, const struct hp_found *where)
{
	const char *first = where->adopted->first_replaced;
	uint64_t n = x->adoption->replaced;
	char name[HP_PRINTABLE];

	hp_reindex_warn(x,
			"%" PRIu64 " member%s passed over, because the same "
			"tar has the path again behind: the last one counts, "
			"first '%s' in %s",
			n, plural(n), hp_printable(first, strlen(first), name),
			where->made.name);
}

static void add_up(struct hp_reindex *x)
{
	const struct hp_found *link = NULL, *special = NULL, *old = NULL;
	struct hp_adoption *a = x->adoption;

	for (uint32_t i = 0; i < x->n_chunks; i++) {
		const struct hp_found *c = &x->chunks[i];

		if (!a->links && c->adopted->links)
			link = c;
		if (!a->specials && c->adopted->specials)
			special = c;
		if (!a->replaced && c->adopted->replaced)
			old = c;
		a->replaced += c->adopted->replaced;
		a->links += c->adopted->links;
		a->folders += c->adopted->folders;
		a->specials += c->adopted->specials;
		tell_ends(x, c);
	}
	if (link)
		tell_skipped(x, a->links, "link", link,
			     link->adopted->first_link);
	if (special)
		tell_skipped(x, a->specials, "special file", special,
			     special->adopted->first_special);
	if (old)
		tell_replaced(x, old);
}

int hp_adopt_drop(struct hp_reindex *x, struct hpdsl_error *err)
{
	uint32_t n = 0;

	add_up(x);
	for (uint32_t i = 0; i < x->n_chunks; i++) {
		struct hp_found *c = &x->chunks[i];

		if (c->n) {
			x->chunks[n++] = *c;
			continue;
		}
		hp_reindex_warn(x, "%s: left out: there are no files in it",
				c->made.name);
		hp_found_release(c);
	}
	x->n_chunks = n;
	return n ? 0 : hp_fail(err, -ENODATA, "no files in any of the tars");
}

/* ---- What is repeated ------------------------------------------------- */

static const struct hp_file *file_of(const struct hp_reindex *x, uint64_t i,
				     bool keys)
{
	return &x->list.files[keys ? x->list.samples[i] : i];
}

static size_t length_of(const struct hp_file *f, bool keys)
{
	return keys ? f->key_len : f->path_len;
}

/* Is it the name of another one before it?  Equal hashes stand together. */
static bool is_repeated(const struct hp_reindex *x, const struct hp_hashed *v,
			uint64_t i, bool keys)
{
	const struct hp_file *f = file_of(x, v[i].number, keys);
	size_t n = length_of(f, keys);

	for (uint64_t j = i; j-- > 0 && v[j].hash == v[i].hash;) {
		const struct hp_file *g = file_of(x, v[j].number, keys);

		if (length_of(g, keys) == n && !memcmp(f->path, g->path, n))
			return true;
	}
	return false;
}

int hp_reindex_repeats(const struct hp_reindex *x, bool keys, uint64_t *ret,
		       uint64_t *ret_first, struct hpdsl_error *err)
{
	uint64_t n = keys ? x->list.n_samples : x->list.n_files;
	hp_auto_free struct hp_hashed *v = hp_array(n, sizeof *v);
	uint64_t count = 0, first = UINT64_MAX;

	if (!v)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < n; i++) {
		const struct hp_file *f = file_of(x, i, keys);

		v[i].hash = hp_hash64(f->path, length_of(f, keys));
		v[i].number = i;
	}
	hp_lookup_sort(v, n);
	for (uint64_t i = 1; i < n; i++) {
		if (!is_repeated(x, v, i, keys))
			continue;
		count++;
		if (v[i].number < first)
			first = v[i].number;
	}
	*ret = count;
	*ret_first = first;
	return 0;
}

static void tell_repeats(struct hp_reindex *x, bool keys, uint64_t n,
			 uint64_t first)
{
	const struct hp_file *f;
	char name[HP_PRINTABLE];

	if (!n)
		return;
	f = file_of(x, first, keys);
	hp_printable(f->path, length_of(f, keys), name);
	hp_reindex_warn(
		x, "%" PRIu64 " %s%s the %s of one before, first '%s' in %s%s",
		n, keys ? "sample" : "member", n == 1 ? " has" : "s have",
		keys ? "key" : "path", name, x->list.roots[f->root].name,
		keys ? "" :
		       "; by its path only the first is found and unpacked");
}

static int see_suffixes(struct hp_reindex *x, struct hpdsl_error *err)
{
	const struct hp_list *list = &x->list;
	uint64_t n = 0, first = 0;
	const struct hp_file *f;
	char key[HP_PRINTABLE];
	int r = hp_list_same_suffixes(list, &n, &first, err);

	x->adoption->repeated_suffixes = n;
	if (r < 0 || !n)
		return r;
	f = &list->files[list->samples[first]];
	hp_reindex_warn(x,
			"%" PRIu64
			" sample%s two members of one suffix, first '%s' in "
			"%s; by its suffix only the first member is read",
			n, n == 1 ? " has" : "s have",
			hp_printable(f->path, f->key_len, key),
			list->roots[f->root].name);
	return 0;
}

/* Who wrote the tars has grouped them, unless the caller says it. */
static int see_names(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct hpdsl_group_look look;
	char text[HPDSL_LOOK_TEXT];
	int r;

	if (x->opt->has_group || x->group == HPDSL_GROUP_NONE)
		return 0;
	r = hp_list_look(&x->list, &look, err);
	if (r == 0 && look.verdict != HPDSL_LOOK_PASS)
		hp_reindex_warn(
			x, "%s%s", hpdsl_look_text(&look, text),
			look.last  ? HPDSL_LOOK_MENDS :
			look.files ? "; without groups each file is a sample" :
				     "");
	return r;
}

int hp_adopt_finish(struct hp_reindex *x, struct hpdsl_error *err)
{
	struct hp_adoption *a = x->adoption;
	uint64_t first;
	int r = hp_adopt_label(x, err);

	if (r < 0)
		return r;
	r = hp_reindex_repeats(x, true, &a->repeated_keys, &first, err);
	if (r < 0)
		return r;
	tell_repeats(x, true, a->repeated_keys, first);
	r = hp_reindex_repeats(x, false, &a->repeated_paths, &first, err);
	if (r < 0)
		return r;
	tell_repeats(x, false, a->repeated_paths, first);
	r = see_suffixes(x, err);
	return r < 0 ? r : see_names(x, err);
}
