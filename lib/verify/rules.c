/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about sections, classes, names of chunks and frames. */
#include "verify/rules.h"

#include "base/error.h"
#include "chunk/seek_table.h"
#include "chunk/tar.h"
#include "format/names.h"
#include "index/index.h"
#include "plan/frame_cut.h"
#include "plan/list.h"

#include <inttypes.h>
#include <string.h>

static void check_sections(struct hp_rules *r)
{
	static const struct {
		enum hp_index_section kind;
		const char *name;
	} needed[] = {
		{ HP_SECTION_STORED, "STORED" },
		{ HP_SECTION_STORED_PATHS, "STORED_PATHS" },
		{ HP_SECTION_FRAMES, "FRAMES" },
	};

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (hp_index_is_bare(r->ix, needed[i].kind))
			hp_findings_add(&r->findings, "section %s: is empty",
					needed[i].name);
}

/* Is each class called its number? */
static bool are_numbers(const struct hp_rules *r, const struct hpdsl_counts *n)
{
	const char *name;
	uint32_t value;

	for (uint32_t i = 0; i < n->classes; i++)
		if (hp_index_class(r->ix, i, &name, NULL) < 0 ||
		    !hp_class_number(name, strlen(name), &value) || value != i)
			return false;
	return true;
}

static void check_classes(struct hp_rules *r, const struct hpdsl_counts *n)
{
	const char *last = NULL, *name;

	if (are_numbers(r, n))
		return;
	for (uint32_t i = 0;
	     i < n->classes && !hp_findings_enough(&r->findings); i++) {
		int d;

		if (hp_index_class(r->ix, i, &name, NULL) < 0)
			return;
		d = last ? strcmp(last, name) : -1;
		if (d >= 0)
			hp_findings_add(&r->findings, "class %" PRIu32 ": %s",
					i,
					d ? "is not in the order of the names" :
					    "has the name of the one before");
		last = name;
	}
}

/* ---- Chunks ----------------------------------------------------------- */

static const char *base_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

static void check_adopted_name(struct hp_rules *r, const struct hpdsl_chunk *c,
			       const char **last)
{
	const char *base = base_of(c->name);

	if (*last && strcmp(*last, base) >= 0)
		hp_findings_add(&r->findings,
				"chunk %" PRIu32
				": is not in the order of the tars' names",
				c->number);
	*last = base;
}

static void check_name(struct hp_rules *r, const struct hpdsl_chunk *c)
{
	char name[HP_CHUNK_NAME];

	hp_chunk_name_of(c->number, c->compressed, name);
	if (strcmp(c->name, name) != 0)
		hp_findings_add(&r->findings,
				"chunk %" PRIu32 ": is not called %s",
				c->number, name);
}

/* ---- Frames ----------------------------------------------------------- */

/* Cuts a chunk as hp_frame_walk does, from the index. */
struct cutter {
	const struct hp_index *ix;
	const struct hpdsl_chunk *chunk;
	uint64_t sample; /* behind the one at hand */
	uint64_t at;	 /* where the next frame begins */
	uint64_t end;	 /* of the sample that begins there or before */
	bool large;	 /* frames of it were cut already */
};

static bool next_sample(struct cutter *c)
{
	uint64_t end = c->chunk->first_sample + c->chunk->samples;
	struct hp_sample_row row;
	struct hpdsl_member m;

	if (c->sample == end ||
	    hp_index_sample_row(c->ix, c->sample, &row, NULL) < 0 ||
	    hp_index_member(c->ix, row.end - 1, &m, NULL) < 0)
		return false;
	c->end = hp_tar_padded(m.offset + m.size);
	c->sample++;
	return true;
}

/* Where the next frame ends. */
static uint64_t next_frame(struct cutter *c)
{
	uint64_t from = c->at;

	if (c->at == c->end && !next_sample(c))
		return c->at = c->end = c->chunk->plain_bytes;
	if (c->large || c->end - from > HP_FRAME_BYTES) {
		c->large = c->end - from > HP_FRAME_MAX;
		return c->at = c->large ? from + HP_FRAME_MAX : c->end;
	}
	do
		c->at = c->end;
	while (next_sample(c) && c->end - from <= HP_FRAME_BYTES);
	return c->at;
}

static void check_frames(struct hp_rules *r, const struct hpdsl_chunk *chunk)
{
	struct cutter c = { .ix = r->ix,
			    .chunk = chunk,
			    .sample = chunk->first_sample };

	for (uint32_t i = 0; i < chunk->frames; i++) {
		uint64_t end = next_frame(&c);
		struct hp_frame f;

		if (hp_index_frame(r->ix, chunk, i, &f, NULL) < 0)
			return;
		if (f.plain_end == end)
			continue;
		/* What follows is moved by this. */
		hp_findings_add(&r->findings,
				"chunk %" PRIu32 ": frame %" PRIu32
				" does not hold the samples that it has to",
				chunk->number, i);
		return;
	}
}

static void check_chunks(struct hp_rules *r, const struct hpdsl_counts *n)
{
	const char *last = NULL;

	for (uint32_t i = 0; i < n->chunks && !hp_findings_enough(&r->findings);
	     i++) {
		struct hpdsl_chunk c;

		if (hp_index_chunk(r->ix, i, &c, NULL) < 0)
			return;
		if (r->adopted)
			check_adopted_name(r, &c, &last);
		else
			check_name(r, &c);
		if (c.compressed && r->packed)
			check_frames(r, &c);
	}
}

void hp_rules_plain(struct hp_rules *r)
{
	struct hpdsl_counts n;

	hp_index_count(r->ix, &n);
	check_sections(r);
	check_classes(r, &n);
	check_chunks(r, &n);
}
