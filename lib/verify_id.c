/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dataset id over SHA-256, from the index: contents were held against it
 * before.  Who has it from elsewhere then knows what the dataset holds.
 */
#include "verify.h"

#include "bytes.h"
#include "error.h"
#include "mem.h"
#include "sha256.h"

#include <string.h>

struct item {
	const char *path;
	uint64_t number;
};

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->path,
		      ((const struct item *)b)->path);
}

/* All but the members that the packer made. */
static int gather(const struct hp_index *ix, struct item *v, uint64_t members,
		  uint64_t *ret_n, struct hpdsl_error *err)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < members; i++) {
		struct hpdsl_member m;
		int r = hp_index_member(ix, i, &m, err);

		if (r < 0)
			return r;
		if (!m.generated)
			v[n++] = (struct item){ m.path, i };
	}
	qsort(v, n, sizeof *v, by_path);
	*ret_n = n;
	return 0;
}

static int add_member(struct hp_sha256 *s, const struct hp_index *ix,
		      uint64_t number, struct hpdsl_error *err)
{
	uint8_t size[8], sha256[HP_SHA256];
	struct hpdsl_member m;
	int r = hp_index_member(ix, number, &m, err);

	if (r == 0)
		r = hp_index_member_sha256(ix, number, sha256, err);
	if (r < 0)
		return r;
	hp_put64(size, m.size);
	hp_sha256_update(s, m.path, m.path_len + 1);
	hp_sha256_update(s, size, sizeof size);
	hp_sha256_update(s, sha256, sizeof sha256);
	return 0;
}

static int compute(const struct hp_index *ix, uint8_t ret[HP_SHA256],
		   struct hpdsl_error *err)
{
	hp_auto_sha256 struct hp_sha256 *s = hp_sha256_new();
	hp_auto_free struct item *v = NULL;
	struct hpdsl_counts count;
	uint64_t n = 0;
	int r;

	hp_index_count(ix, &count);
	v = hp_array(count.members, sizeof *v);
	if (!s || !v)
		return hp_fail_nomem(err);
	r = gather(ix, v, count.members, &n, err);
	hp_sha256_begin(s);
	for (uint64_t i = 0; r == 0 && i < n; i++)
		r = add_member(s, ix, v[i].number, err);
	if (r < 0)
		return r;
	hp_sha256_end(s, ret);
	return hp_sha256_check(s, err);
}

int hp_verify_id(struct hp_verify *v, struct hpdsl_error *err)
{
	const struct hp_manifest *m = &v->manifest;
	uint8_t id[HP_SHA256];
	int r;

	if (!v->has_manifest || !m->has_sha256 || !v->index || v->opt->quick ||
	    v->report->damaged_files)
		return 0;
	r = compute(v->index, id, err);
	if (r == 0 && memcmp(id, m->dataset_id_sha256, sizeof id) != 0)
		hp_verify_file(v, HP_MANIFEST_NAME,
			       "dataset_id_sha256 is not that of the members");
	return r;
}
