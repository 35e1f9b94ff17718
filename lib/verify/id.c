/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dataset ids, from the index and the hashes of contents that were read:
 * whoever has one from elsewhere then knows what the dataset holds.
 */
#include "verify/order.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "format/names.h"

struct ids {
	XXH3_state_t xxh3;	  /* 64-byte aligned */
	struct hp_sha256 *sha256; /* or NULL */
};

static int add_sha256(const struct hp_verify *v, struct ids *ids,
		      const struct hp_verify_item *m, const uint8_t size[8],
		      struct hpdsl_error *err)
{
	uint8_t sha256[HP_SHA256];
	int r = hp_index_member_sha256(v->index, m->number, sha256, err);

	if (r < 0)
		return r;
	hp_sha256_update(ids->sha256, m->path, m->path_len);
	hp_sha256_update(ids->sha256, "", 1);
	hp_sha256_update(ids->sha256, size, 8);
	hp_sha256_update(ids->sha256, sha256, sizeof sha256);
	return 0;
}

static int add_member(const struct hp_verify *v, struct ids *ids,
		      const struct hp_verify_item *m, struct hpdsl_error *err)
{
	uint8_t b[1 + 8 + 16]; /* behind the path, its NUL first */

	b[0] = 0;
	hp_put64(b + 1, m->size);
	memcpy(b + 9, v->order->content[m->number], 16);
	XXH3_128bits_update(&ids->xxh3, m->path, m->path_len);
	XXH3_128bits_update(&ids->xxh3, b, sizeof b);
	return ids->sha256 ? add_sha256(v, ids, m, b + 1, err) : 0;
}

/* What add_member will look at; members lie all over memory. */
static void fetch(const struct hp_verify_order *o, uint64_t i)
{
	enum { AHEAD = 16 };

	if (i + AHEAD >= o->n)
		return;
	__builtin_prefetch(&o->content[o->item[i + AHEAD].number]);
	__builtin_prefetch(o->item[i + AHEAD].path);
}

static int compute(const struct hp_verify *v, struct ids *ids, uint8_t ret[16],
		   struct hpdsl_error *err)
{
	const struct hp_verify_order *o = v->order;
	int r = 0;

	XXH3_INITSTATE(&ids->xxh3);
	XXH3_128bits_reset(&ids->xxh3);
	if (ids->sha256)
		hp_sha256_begin(ids->sha256);
	for (uint64_t i = 0; i < o->n && r == 0; i++) {
		fetch(o, i);
		r = add_member(v, ids, &o->item[i], err);
	}
	hp_hash_canonical(XXH3_128bits_digest(&ids->xxh3), ret);
	return r;
}

static int check_sha256(struct hp_verify *v, struct hp_sha256 *s,
			struct hpdsl_error *err)
{
	uint8_t id[HP_SHA256];
	int r;

	hp_sha256_end(s, id);
	r = hp_sha256_check(s, err);
	if (r == 0 && memcmp(id, v->manifest.dataset_id_sha256, sizeof id) != 0)
		hp_verify_file(v, HP_MANIFEST_NAME,
			       "dataset_id_sha256 is not that of the members");
	return r;
}

static int check_ids(struct hp_verify *v, struct hpdsl_error *err)
{
	bool with_sha256 = v->has_manifest && v->manifest.has_sha256;
	hp_auto_sha256 struct hp_sha256 *sha256 =
		with_sha256 ? hp_sha256_new() : NULL;
	struct ids ids = { .sha256 = sha256 };
	struct hpdsl_counts n;
	uint8_t id[16];
	int r;

	if (with_sha256 && !sha256)
		return hp_fail_nomem(err);
	hp_index_count(v->index, &n);
	r = compute(v, &ids, id, err);
	/* The manifest says the same: that was looked at. */
	if (r == 0 && memcmp(id, n.dataset_id, sizeof id) != 0)
		hp_verify_file(v, HP_INDEX_NAME,
			       "the dataset id is not that of the members");
	return r == 0 && sha256 ? check_sha256(v, sha256, err) : r;
}

int hp_verify_id(struct hp_verify *v, struct hpdsl_error *err)
{
	const struct hpdsl_verify_report *r = v->report;

	/* Of a stage directory with a part of the chunks nobody knows. */
	if (!v->order || r->damaged_chunks || r->damaged_samples ||
	    r->absent_chunks)
		return 0;
	return check_ids(v, err);
}
