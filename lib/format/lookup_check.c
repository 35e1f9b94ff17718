/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a lookup table.  Slots ascend by (hash, number), so no number comes
 * twice; each is as near to its home as they allow: then every path is found if
 * all are there.
 */
#include "format/lookup.h"

#include "format/findings.h"

#include <inttypes.h>

/* The slots before the one at hand. */
struct slots {
	uint64_t used, end; /* end: behind the last used one */
	uint64_t hash, number, same;
};

static void check_order(const struct hp_lookup_check *l, uint64_t at,
			uint64_t number, struct slots *last,
			struct hp_findings *f)
{
	uint64_t hash = l->hashes[number];

	if (last->used && (hash < last->hash ||
			   (hash == last->hash && number <= last->number)))
		hp_findings_add(f, "lookup slot %" PRIu64 ": out of order", at);
	if (!last->used || hash != last->hash)
		last->same = 0;
	else if (!l->is_found(l->arg, number, last->number, &last->same))
		hp_findings_add(f,
				"%s %" PRIu64 ": cannot be found by its path",
				l->what, number);
}

static void check_slot(const struct hp_lookup_check *l, uint64_t at,
		       uint64_t slot, struct slots *last, struct hp_findings *f)
{
	uint64_t number = (slot & HP_SLOT_NUMBER) - 1, hash, home;

	if (number < l->first || number >= l->end) {
		hp_findings_add(f, "lookup slot %" PRIu64 ": no such %s", at,
				l->what);
		return;
	}
	hash = l->hashes[number];
	home = hp_lookup_home(hash, l->homes);
	if (slot != hp_lookup_slot(hash, number))
		hp_findings_add(f,
				"lookup slot %" PRIu64
				": has the tag of another path",
				at);
	if (at != (home > last->end ? home : last->end))
		hp_findings_add(f,
				"lookup slot %" PRIu64
				": is not where it is looked for",
				at);
	check_order(l, at, number, last, f);
	last->used++;
	last->end = at + 1;
	last->hash = hash;
	last->number = number;
}

void hp_lookup_check(const struct hp_lookup_check *l, struct hp_findings *f)
{
	struct slots last = { 0 };
	uint64_t size;

	for (uint64_t i = 0; i < l->n_slots && !hp_findings_enough(f); i++) {
		uint64_t slot = hp_once64(l->slots + i * HP_SLOT_ROW);

		if (slot)
			check_slot(l, i, slot, &last, f);
	}
	if (hp_findings_enough(f))
		return;
	if (last.used != l->end - l->first)
		hp_findings_add(f, "lookup table: %" PRIu64 " %s of %" PRIu64,
				last.used, l->whats, l->end - l->first);
	size = last.end + 1 > l->homes ? last.end + 1 : l->homes;
	if (l->n_slots != size)
		hp_findings_add(f, "lookup table: is of a wrong size");
}
