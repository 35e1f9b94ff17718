/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index files of other readers, as these readers' own tools write them.  The
 * grammars are in hpdsl-format(5), "Side files".
 */
#include "format/emit.h"

#include "format/names.h"
#include "format/sha256sums.h"

#include "base/hash.h"
#include "base/key.h"

#include <stdio.h>
#include <string.h>

unsigned hp_side_emit(enum hp_side_file side)
{
	return side == HP_SIDE_DALI ? HPDSL_EMIT_DALI :
	       side == HP_SIDE_WIDS ? HPDSL_EMIT_WIDS :
				      HPDSL_EMIT_ENERGON;
}

void hp_side_name(enum hp_side_file side, uint32_t chunk,
		  char out[HP_SIDE_NAME])
{
	static const char *const names[HP_SIDES] = {
		[HP_SIDE_ENERGON_INFO] = HP_SIDE_FOLDER "/.info.json",
		[HP_SIDE_ENERGON_SPLIT] = HP_SIDE_FOLDER "/split.yaml",
		[HP_SIDE_ENERGON_DATASET] = HP_SIDE_FOLDER "/dataset.yaml",
		[HP_SIDE_WIDS] = "shards.json",
	};
	char tar[HP_CHUNK_NAME];

	hp_chunk_name(chunk, tar);
	if (side == HP_SIDE_DALI)
		tar[strlen(tar) - 4] = '\0';
	if (hp_side_of_chunk(side))
		snprintf(out, HP_SIDE_NAME, "%s.idx", tar);
	else
		snprintf(out, HP_SIDE_NAME, "%s", names[side]);
}

/* The number of the chunk, in the place of the end of whose name there is one.
 */
static int64_t of_chunk(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);
	char chunk[HP_SIDE_NAME];

	if (n <= k || n >= HP_SIDE_NAME || strcmp(name + n - k, end) != 0)
		return -1;
	snprintf(chunk, sizeof chunk, "%.*s.tar", (int)(n - k), name);
	return hp_chunk_number(chunk);
}

int64_t hp_side_chunk(const char *name)
{
	int64_t c = of_chunk(name, ".tar.idx");

	return c >= 0 ? c : of_chunk(name, ".idx");
}

bool hp_side_is_name(const char *name, bool folder)
{
	char one[HP_SIDE_NAME];

	for (int side = 0; side < HP_SIDES; side++) {
		const char *base;

		hp_side_name((enum hp_side_file)side, 0, one);
		base = strchr(one, '/');
		if (!hp_side_of_chunk((enum hp_side_file)side) &&
		    folder == !!base &&
		    strcmp(name, base ? base + 1 : one) == 0)
			return true;
	}
	return !folder && (strcmp(name, HP_SHA256SUMS_NAME) == 0 ||
			   hp_side_chunk(name) >= 0);
}

/* ---- DALI ------------------------------------------------------------- */

bool hp_emit_dali_blank(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] == ' ' || (s[i] >= '\t' && s[i] <= '\r'))
			return true;
	return false;
}

void hp_emit_dali_begin(struct hp_text *t, uint64_t samples, bool names)
{
	hp_text_puts(t, names ? "v1.2 " : "v1.1 ");
	hp_text_u64(t, samples);
}

void hp_emit_dali_member(struct hp_text *t, const struct hp_emit_member *m,
			 bool names)
{
	size_t key = hp_key_first(m->name, m->name_len);

	hp_text_puts(t, m->first ? "\n" : " ");
	hp_text_add(t, m->name + key + 1, m->name_len - key - 1);
	hp_text_puts(t, " ");
	hp_text_u64(t, m->data);
	hp_text_puts(t, " ");
	hp_text_u64(t, m->size);
	if (!names)
		return;
	hp_text_puts(t, " ");
	hp_text_add(t, m->name, m->name_len);
}

void hp_emit_dali_end(struct hp_text *t)
{
	hp_text_puts(t, "\n");
}

/* ---- Energon ---------------------------------------------------------- */

void hp_emit_energon_member(struct hp_text *t, const struct hp_emit_member *m)
{
	if (m->first)
		hp_text_le64(t, m->header);
}

void hp_emit_energon_end(struct hp_text *t, uint64_t end)
{
	hp_text_le64(t, end);
}

void hp_emit_energon_info(struct hp_text *t, const struct hp_emit_chunk *v,
			  uint32_t n)
{
	hp_text_puts(t, "{\n  \"shard_counts\": {");
	for (uint32_t i = 0; i < n; i++) {
		hp_text_puts(t, i ? ",\n    \"" : "\n    \"");
		hp_text_puts(t, v[i].name);
		hp_text_puts(t, "\": ");
		hp_text_u64(t, v[i].samples);
	}
	hp_text_puts(t, "\n  }\n}\n");
}

void hp_emit_energon_split(struct hp_text *t, const struct hp_emit_chunk *v,
			   uint32_t n)
{
	hp_text_puts(t, "exclude: []\nsplit_parts:\n  train:\n");
	for (uint32_t i = 0; i < n; i++) {
		hp_text_puts(t, "  - ");
		hp_text_puts(t, v[i].name);
		hp_text_puts(t, "\n");
	}
}

void hp_emit_energon_dataset(struct hp_text *t)
{
	hp_text_puts(t, "__module__: megatron.energon\n"
			"__class__: CrudeWebdataset\n");
}

/* ---- wids ------------------------------------------------------------- */

/*
 * wids keeps the chunks of a dataset under its name, and takes what it finds
 * there: another pack must have another name.
 */
static void put_name(struct hp_text *t, const struct hp_emit_chunk *v,
		     uint32_t n)
{
	XXH3_state_t state;
	uint8_t digest[16];
	char hex[33];

	XXH3_128bits_reset(&state);
	for (uint32_t i = 0; i < n; i++)
		XXH3_128bits_update(&state, v[i].checksum,
				    sizeof v[i].checksum);
	hp_hash_canonical(XXH3_128bits_digest(&state), digest);
	hp_hex128(digest, hex);
	hp_text_puts(t, "  \"name\": \"");
	hp_text_puts(t, hex);
	hp_text_puts(t, "\",\n");
}

void hp_emit_wids(struct hp_text *t, const struct hp_emit_chunk *v, uint32_t n)
{
	hp_text_puts(t, "{\n  \"__kind__\": \"wids-shard-index-v1\",\n"
			"  \"wids_version\": 1,\n");
	put_name(t, v, n);
	hp_text_puts(t, "  \"shardlist\": [");
	for (uint32_t i = 0; i < n; i++) {
		hp_text_puts(t,
			     i ? ",\n    {\"url\": \"" : "\n    {\"url\": \"");
		hp_text_puts(t, v[i].name);
		hp_text_puts(t, "\", \"nsamples\": ");
		hp_text_u64(t, v[i].samples);
		hp_text_puts(t, ", \"filesize\": ");
		hp_text_u64(t, v[i].bytes);
		hp_text_puts(t, "}");
	}
	hp_text_puts(t, "\n  ]\n}\n");
}
