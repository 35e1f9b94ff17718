/* SPDX-License-Identifier: Apache-2.0 */
/* What an index will look like: sizes of its sections, slots of its members. */
#include "index/write.h"

#include "base/error.h"
#include "base/hash.h"
#include "index/private.h"

#include <errno.h>
#include <inttypes.h>

struct measuring {
	const struct hp_index_source *src;
	struct hp_hashed *hashed;
	struct hp_index_sizes *is;
	struct hpdsl_error *err;
};

static const char *check_more(const struct hp_index_source *src,
			      const struct hp_index_member *m)
{
	size_t most =
		src->flags & HP_INDEX_FOREIGN ? UINT16_MAX : HPDSL_PATH_MAX;

	if (m->stored && !src->stored)
		return "nobody said that it has another name in its chunk";
	if (m->stored && (m->stored_len == 0 || m->stored_len > most))
		return "its name in its chunk is empty or too long";
	if (src->sha256 && !m->sha256)
		return "its SHA-256 is missing";
	return NULL;
}

/* What the caller promises of its members. */
static int check_member(struct measuring *w, uint64_t number,
			const struct hp_index_member *m, uint64_t last_sample)
{
	const char *why = NULL;

	if (number >= w->src->members)
		why = "there are more than promised";
	else if (m->path_len == 0 || m->path_len > HPDSL_PATH_MAX)
		why = "its path is empty or too long";
	else if (number == 0 ? m->sample != 0 :
			       m->sample != last_sample &&
				       m->sample != last_sample + 1)
		why = "its sample is out of order";
	else if (m->mode & ~(07777u | HP_MEMBER_GENERATED))
		why = "its mode has unknown bits";
	else
		why = check_more(w->src, m);
	if (!why)
		return 0;
	return hp_fail(w->err, -EINVAL, "cannot index member %" PRIu64 ": %s",
		       number, why);
}

static int measure_members(struct measuring *w)
{
	const struct hp_index_source *src = w->src;
	uint64_t n = 0, sample = 0, bytes = 0;
	struct hp_index_member m;
	int r;

	src->begin(src->arg);
	while ((r = src->next(src->arg, &m, w->err)) > 0) {
		r = check_member(w, n, &m, sample);
		if (r < 0)
			return r;
		w->hashed[n].hash = hp_hash64(m.path, m.path_len);
		w->hashed[n].number = n;
		w->is->length[HP_SECTION_PATHS] += m.path_len + 1;
		if (m.stored) {
			w->is->length[HP_SECTION_STORED] += HP_STORED_ROW;
			w->is->length[HP_SECTION_STORED_PATHS] +=
				m.stored_len + 1;
		}
		bytes += m.size;
		sample = m.sample;
		n++;
	}
	if (r < 0)
		return r;
	if (n != src->members || sample + (n > 0) != src->samples ||
	    bytes != src->bytes)
		return hp_fail(w->err, -EINVAL,
			       "cannot index: the counts are wrong");
	return 0;
}

/* Slots up to the first empty one that ends every search. */
static uint64_t measure_lookup(const struct measuring *w)
{
	uint64_t homes = hp_lookup_homes(w->src->members), next = 0;

	for (uint64_t i = 0; i < w->src->members; i++) {
		uint64_t home = hp_lookup_home(w->hashed[i].hash, homes);

		next = (home > next ? home : next) + 1;
	}
	return next + 1 > homes ? next + 1 : homes;
}

/* Names are found by 48 bits of offset and 16 of length. */
static int check_names(struct measuring *w)
{
	for (uint32_t i = 0; i < w->src->n_chunks; i++) {
		size_t len = strlen(w->src->chunks[i].name);

		if (len == 0 || len > UINT16_MAX)
			return hp_fail(w->err, -EINVAL,
				       "cannot index chunk %" PRIu32
				       ": its name is empty or too long",
				       i);
		w->is->length[HP_SECTION_NAMES] += len + 1;
	}
	for (uint32_t i = 0; i < w->src->n_classes; i++) {
		size_t len = strlen(w->src->classes[i]);

		if (len == 0 || len > UINT16_MAX)
			return hp_fail(w->err, -EINVAL,
				       "cannot index class %" PRIu32
				       ": its name is empty or too long",
				       i);
		w->is->length[HP_SECTION_CLASS_NAMES] += len + 1;
	}
	return 0;
}

/* A reader refuses any other list. */
static int check_doubles(struct measuring *w)
{
	const struct hp_key_rule *k = &w->src->key;

	for (uint32_t i = 0; i < k->n; i++) {
		size_t len = strlen(k->doubles[i]);

		if (!k->last || k->n > HP_DOUBLES ||
		    !hp_double_valid(k->doubles[i], len) ||
		    (i && strcmp(k->doubles[i - 1], k->doubles[i]) >= 0))
			return hp_fail(w->err, -EINVAL,
				       "cannot index: no list of suffixes");
		w->is->length[HP_SECTION_DOUBLES] += len + 1;
	}
	return 0;
}

static int check_chunks(struct measuring *w)
{
	for (uint32_t i = 0; i < w->src->n_chunks; i++) {
		const struct hp_chunk_made *c = &w->src->chunks[i];

		if (w->src->sha256 && !c->has_sha256)
			return hp_fail(w->err, -EINVAL,
				       "cannot index chunk %" PRIu32
				       ": its SHA-256 is missing",
				       i);
		if (c->compressed && (!c->frames || !c->n_frames))
			return hp_fail(w->err, -EINVAL,
				       "cannot index chunk %" PRIu32
				       ": it has no frames",
				       i);
		if (c->compressed)
			w->is->length[HP_SECTION_FRAMES] +=
				(uint64_t)c->n_frames * HP_FRAME_ROW;
	}
	return 0;
}

/* Lengths that follow from counts, and which sections there are. */
static void measure_sections(struct measuring *w)
{
	const struct hp_index_source *src = w->src;
	uint64_t *length = w->is->length;
	bool *has = w->is->has;

	length[HP_SECTION_SAMPLES] = src->samples * HP_SAMPLE_ROW;
	length[HP_SECTION_MEMBERS] = src->members * HP_MEMBER_ROW;
	length[HP_SECTION_LOOKUP] = measure_lookup(w) * HP_SLOT_ROW;
	length[HP_SECTION_CHUNKS] = (uint64_t)src->n_chunks * HP_CHUNK_ROW;
	length[HP_SECTION_CLASSES] = (uint64_t)src->n_classes * HP_CLASS_ROW;
	if (src->sha256) {
		length[HP_SECTION_MEMBER_SHA256] = src->members * HP_SHA256_ROW;
		length[HP_SECTION_CHUNK_SHA256] =
			(uint64_t)src->n_chunks * HP_SHA256_ROW;
	}
	for (int k = 1; k <= HP_INDEX_FIRM; k++)
		has[k] = true;
	has[HP_SECTION_STORED] = has[HP_SECTION_STORED_PATHS] =
		length[HP_SECTION_STORED] > 0;
	has[HP_SECTION_FRAMES] = length[HP_SECTION_FRAMES] > 0;
	has[HP_SECTION_DOUBLES] = length[HP_SECTION_DOUBLES] > 0;
	has[HP_SECTION_MEMBER_SHA256] = has[HP_SECTION_CHUNK_SHA256] =
		src->sha256;
}

static void add_up(struct hp_index_sizes *is)
{
	for (int k = 1; k <= HP_INDEX_KINDS; k++)
		is->sections += is->has[k];
	is->header = HP_INDEX_FIXED + HP_TABLE_ROW * is->sections + 8;
	is->size = is->header;
	for (int k = 1; k <= HP_INDEX_KINDS; k++) {
		uint64_t padded = hp_section_padded(is->length[k]);
		uint64_t blocks = hp_section_blocks(padded);

		is->size += padded + blocks * 8;
		if (blocks > is->blocks)
			is->blocks = blocks;
	}
}

int hp_index_measure(const struct hp_index_source *src,
		     struct hp_hashed *hashed, struct hp_index_sizes *ret,
		     struct hpdsl_error *err)
{
	struct hp_index_sizes is = { .size = 0 };
	struct measuring w = { src, hashed, &is, err };
	int r = measure_members(&w);

	if (r == 0)
		r = check_names(&w);
	if (r == 0)
		r = check_doubles(&w);
	if (r == 0)
		r = check_chunks(&w);
	if (r < 0)
		return r;
	hp_lookup_sort(hashed, src->members);
	measure_sections(&w);
	add_up(&is);
	*ret = is;
	return 0;
}
