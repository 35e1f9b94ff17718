/* SPDX-License-Identifier: Apache-2.0 */
/* Names of one file, found by what the scan keeps of each. */
#include "plan/twice.h"

#include "base/bytes.h"
#include "base/key_set.h"

/* Those of links; what else is called so is another name of one of them. */
struct seen {
	const struct hp_list *list;
	struct hp_key_set links;
	uint64_t first; /* of the content that has several names */
};

static bool is_link(const struct hp_file *f)
{
	return f->flags & HP_FILE_FOLLOW || f->full[HP_FULL_LINKED];
}

/*
 * One file of a directory is told from another by its stamp, which is of device
 * and inode; two with the same stamp, size and time to the nanosecond are one.
 * In an archive the content has its place.
 */
static uint64_t hash_of(const struct seen *s, const struct hp_file *f)
{
	uint8_t b[32] = { 0 };

	if (s->list->roots[f->root].kind == HP_ROOT_DIR) {
		hp_put64(b, f->size);
		hp_put64(b + 8, (uint64_t)f->mtime);
		hp_put64(b + 16, (uint64_t)f->nsec << 32 | f->stamp);
	} else {
		hp_put64(b, f->source);
		hp_put64(b + 24, f->root + UINT64_C(1));
	}
	return hp_key_hash((const char *)b, sizeof b);
}

static void note(struct seen *s, const struct hp_file *f, uint64_t hash,
		 struct hpdsl_twice *ret)
{
	if (!ret->links++)
		s->first = hash;
	ret->bytes += f->size;
}

static bool may_link(const struct hp_list *list, const struct hp_file *f)
{
	return f->size && list->roots[f->root].kind != HP_ROOT_DATASET;
}

static int find(struct seen *s, struct hpdsl_twice *ret,
		struct hpdsl_error *err)
{
	const struct hp_list *list = s->list;

	for (uint64_t i = 0; i < list->n_files; i++) {
		const struct hp_file *f = &list->files[i];
		uint64_t hash;
		int r;

		if (!is_link(f) || !may_link(list, f))
			continue;
		hash = hash_of(s, f);
		r = hp_key_set_add(&s->links, hash);
		if (r < 0)
			return hp_fail_nomem(err);
		if (r == 0)
			note(s, f, hash, ret);
	}
	for (uint64_t i = 0; s->links.n && i < list->n_files; i++) {
		const struct hp_file *f = &list->files[i];
		uint64_t hash;

		if (is_link(f) || !may_link(list, f))
			continue;
		hash = hash_of(s, f);
		if (hp_key_set_has(&s->links, hash))
			note(s, f, hash, ret);
	}
	return 0;
}

/* Two names of it. */
static void set_example(const struct seen *s, struct hpdsl_twice *ret)
{
	const struct hp_list *list = s->list;
	int n = 0;

	for (uint64_t i = 0; n < 2 && i < list->n_files; i++) {
		const struct hp_file *f = &list->files[i];

		if (may_link(list, f) && hash_of(s, f) == s->first)
			hp_printable(f->path, f->path_len, ret->example[n++]);
	}
}

int hp_list_twice(const struct hp_list *list, struct hpdsl_twice *ret,
		  struct hpdsl_error *err)
{
	struct seen s = { .list = list };
	struct hpdsl_twice found = { .links = 0 };
	int r = find(&s, &found, err);

	if (r == 0 && found.links)
		set_example(&s, &found);
	hp_key_set_release(&s.links);
	if (r == 0)
		*ret = found;
	return r;
}

_Static_assert(HPDSL_TWICE_NAME == HP_PRINTABLE, "it is made fit to print");
