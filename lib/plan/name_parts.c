/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of base names, and sets of strings. */
#include "plan/name_parts.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/key.h"
#include "base/mem.h"

#include <string.h>

size_t hp_base_at(const struct hp_name *name)
{
	const char *slash = memrchr(name->s, '/', name->len);

	return slash ? (size_t)(slash - name->s) + 1 : 0;
}

/* The end of the part that begins at at: the next dot, or the name's end. */
static size_t part_end(const struct hp_name *name, size_t at)
{
	const char *dot = memchr(name->s + at, '.', name->len - at);

	return dot ? (size_t)(dot - name->s) : name->len;
}

/*
 * Does name keep a part, if all up to end, where a dot is, go to the key?  One
 * that a compressor's suffix follows has to be left with it.
 */
static bool agrees(const struct hp_name *name, const struct hp_name *first,
		   size_t from, size_t end)
{
	static const struct hp_key_rule last = { .last = true };

	return name->len > end && name->s[end] == '.' &&
	       memcmp(name->s + from, first->s + from, end - from) == 0 &&
	       end <= hp_key_length(&last, name->s, name->len);
}

size_t hp_shared_parts(const struct hp_name *names, size_t n)
{
	size_t end = hp_key_first(names->s, names->len);

	while (end < names->len) {
		size_t next = part_end(names, end + 1);

		for (size_t i = 0; i < n; i++)
			if (!agrees(&names[i], names, end, next))
				return end;
		end = next;
	}
	return end;
}

enum { NUMBER_BITS = 40 };
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)

int hp_string_set_init(struct hp_string_set *set, uint64_t n,
		       struct hpdsl_error *err)
{
	uint64_t size = 8;

	while (size < n + n / 2)
		size *= 2;
	if (n >= NUMBER_MASK)
		return hp_fail_nomem(err);
	set->slots = calloc(size, sizeof *set->slots);
	if (!set->slots)
		return hp_fail_nomem(err);
	set->mask = size - 1;
	return 0;
}

void hp_string_set_release(struct hp_string_set *set)
{
	free(set->slots);
	set->slots = NULL;
}

bool hp_string_set_add(struct hp_string_set *set, struct hp_name s,
		       uint64_t number,
		       struct hp_name (*string)(const void *arg,
						uint64_t number),
		       const void *arg)
{
	uint64_t hash = hp_hash64(s.s, s.len);
	uint64_t tag = hash >> NUMBER_BITS << NUMBER_BITS;
	uint64_t at = hash & set->mask;

	for (; set->slots[at]; at = (at + 1) & set->mask) {
		struct hp_name other;

		if ((set->slots[at] & ~NUMBER_MASK) != tag)
			continue;
		other = string(arg, (set->slots[at] & NUMBER_MASK) - 1);
		if (other.len == s.len && memcmp(other.s, s.s, s.len) == 0)
			return false;
	}
	set->slots[at] = tag | (number + 1);
	return true;
}
