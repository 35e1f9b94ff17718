/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dataset id names the content, whatever the chunks: it depends on paths,
 * sizes and contents, and not on the order in which they are held.
 */
#include "bytes.h"
#include "error.h"
#include "hash.h"
#include "list.h"
#include "mem.h"

int hp_list_id(const struct hp_list *list, uint8_t ret[16],
	       struct hpdsl_error *err)
{
	uint64_t *hp_auto_free order = hp_array(list->n_files, sizeof *order);
	XXH3_state_t state;
	int r;

	if (!order)
		return hp_fail_nomem(err);
	r = hp_list_path_order(list, order, err);
	if (r < 0)
		return r;
	XXH3_INITSTATE(&state);
	XXH3_128bits_reset(&state);
	for (uint64_t i = 0; i < list->n_files; i++) {
		const struct hp_file *f = list->files + order[i];
		uint8_t b[24];

		if (f->flags & HP_FILE_GENERATED)
			continue;
		hp_put64(b, f->size);
		memcpy(b + 8, f->full, 16);
		/* The path with its NUL. */
		XXH3_128bits_update(&state, f->path, f->path_len + 1u);
		XXH3_128bits_update(&state, b, sizeof b);
	}
	hp_hash_canonical(XXH3_128bits_digest(&state), ret);
	return 0;
}
