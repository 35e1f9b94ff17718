/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dataset id names the content, whatever the chunks: it depends on paths,
 * sizes and contents, and not on the order in which they are held.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "plan/list.h"

struct ids {
	XXH3_state_t xxh3;
	struct hp_sha256 *sha256; /* or NULL */
};

static void add_file(struct ids *ids, const struct hp_list *list, uint64_t i)
{
	const struct hp_file *f = list->files + i;
	uint8_t b[8 + 16];

	hp_put64(b, f->size);
	memcpy(b + 8, f->full, 16);
	/* The path with its NUL. */
	XXH3_128bits_update(&ids->xxh3, f->path, f->path_len + 1u);
	XXH3_128bits_update(&ids->xxh3, b, sizeof b);
	if (!ids->sha256)
		return;
	hp_sha256_update(ids->sha256, f->path, f->path_len + 1u);
	hp_sha256_update(ids->sha256, b, 8);
	hp_sha256_update(ids->sha256, list->sha256[i], HP_SHA256);
}

int hp_list_id(const struct hp_list *list, uint8_t ret[16],
	       uint8_t ret_sha256[32], struct hpdsl_error *err)
{
	uint64_t *hp_auto_free order = hp_array(list->n_files, sizeof *order);
	hp_auto_sha256 struct hp_sha256 *sha256 =
		list->sha256 ? hp_sha256_new() : NULL;
	struct ids ids = { .sha256 = sha256 };
	int r;

	if (!order || (list->sha256 && !sha256))
		return hp_fail_nomem(err);
	r = hp_list_path_order(list, order, err);
	if (r < 0)
		return r;
	XXH3_INITSTATE(&ids.xxh3);
	XXH3_128bits_reset(&ids.xxh3);
	if (sha256)
		hp_sha256_begin(sha256);
	for (uint64_t i = 0; i < list->n_files; i++)
		if (!(list->files[order[i]].flags & HP_FILE_GENERATED))
			add_file(&ids, list, order[i]);
	hp_hash_canonical(XXH3_128bits_digest(&ids.xxh3), ret);
	memset(ret_sha256, 0, HP_SHA256);
	if (sha256)
		hp_sha256_end(sha256, ret_sha256);
	return hp_sha256_check(sha256, err);
}
