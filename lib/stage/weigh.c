/* SPDX-License-Identifier: Apache-2.0 */
/* What a manifest says of its dataset, before a node has the index. */
#include "stage/private.h"

#include "base/error.h"
#include "format/manifest.h"

#include <string.h>

static int parse(const struct hpdsl_stage_pack *pack, struct hp_manifest *ret,
		 struct hpdsl_error *err)
{
	return hp_manifest_parse(pack->manifest, pack->manifest_bytes,
				 HP_MANIFEST_NAME, ret, err);
}

int hpdsl_stage_pack_id(const struct hpdsl_stage_pack *pack, uint8_t ret[16],
			struct hpdsl_error *err)
{
	struct hp_manifest m = { .memory = NULL };
	int r = parse(pack, &m, err);

	if (r < 0)
		return r;
	memcpy(ret, m.dataset_id, 16);
	hp_manifest_release(&m);
	return 0;
}

int hpdsl_stage_pack_weights(const struct hpdsl_stage_pack *pack,
			     bool keep_compressed, uint64_t *ret,
			     struct hpdsl_error *err)
{
	struct hp_manifest m = { .memory = NULL };
	struct hp_sides sides = { .n = 0 };
	int r = parse(pack, &m, err);

	if (r < 0)
		return r;
	if (m.n_chunks != pack->chunks)
		r = hp_fail(err, HPDSL_EUSAGE,
			    "the pack is of another "
			    "manifest");
	if (r == 0)
		r = hp_sides_new(&m, keep_compressed, NULL, NULL, &sides, err);
	for (size_t i = 0; r == 0 && i < m.n_chunks; i++)
		ret[i] = m.chunks[i].compressed && !keep_compressed ?
				 m.chunks[i].plain_bytes :
				 m.chunks[i].bytes;
	if (r == 0)
		hp_sides_weigh(&sides, ret);
	hp_sides_release(&sides);
	hp_manifest_release(&m);
	return r;
}
