/* SPDX-License-Identifier: Apache-2.0 */
/* The side files of a stage directory, for its stager: which, and how many. */
#include "stage/private.h"

#include "base/error.h"
#include "spread/plan.h"

#include <string.h>

uint32_t hpdsl_stage_side_count(const struct hpdsl_stage *s)
{
	return s->sides.n;
}

void hpdsl_stage_side_get(const struct hpdsl_stage *s,
			  const struct hpdsl_stage_plan *plan, uint32_t side,
			  struct hpdsl_stage_side *ret)
{
	const struct hp_side_row *row;

	*ret = (struct hpdsl_stage_side){ .chunk = UINT32_MAX };
	if (side >= s->sides.n)
		return;
	row = &s->sides.row[side];
	_Static_assert(sizeof ret->name >= HP_SIDE_NAME, "a name fits");
	hp_side_row_name(row, ret->name);
	ret->bytes = row->bytes;
	if (hp_side_row_of_chunk(row))
		ret->chunk = row->chunk;
	ret->planned = hp_stage_side_planned(s, plan, row);
	ret->here = row->here;
	ret->unread = row->unread != 0;
}

/* ---- What the manifest lists ------------------------------------------ */

static void tell_other(void *arg, const char *name)
{
	char shown[HP_PRINTABLE];

	hp_meter_warn(arg,
		      "%s: in the manifest, but no side file that is known; "
		      "it is not staged",
		      hp_printable(name, strlen(name), shown));
}

int hpdsl_stage_pack_sides(const struct hpdsl_stage_pack *pack,
			   bool keep_compressed,
			   const struct hpdsl_watch *watch, uint64_t *add,
			   uint64_t *ret_whole, struct hpdsl_error *err)
{
	static const struct hpdsl_watch nobody;
	struct hp_manifest m = { .memory = NULL };
	struct hp_sides sides;
	struct hp_meter meter;
	int r = hp_manifest_parse(pack->manifest, pack->manifest_bytes,
				  HP_MANIFEST_NAME, &m, err);

	if (r < 0)
		return r;
	hp_meter_init(&meter, watch ? watch : &nobody);
	r = hp_sides_new(&m, keep_compressed, tell_other, &meter, &sides, err);
	hp_meter_warn_end(&meter, "files that are not staged");
	hp_meter_release(&meter);
	hp_manifest_release(&m);
	if (r < 0)
		return r;
	*ret_whole = hp_sides_weigh(&sides, add);
	hp_sides_release(&sides);
	return 0;
}
