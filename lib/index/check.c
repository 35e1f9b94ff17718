/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a whole index: first that its bytes are those that were written,
 * then, in passes that each trust the ones before, that all rows fit together.
 * The first pass that finds something is the last.
 */
#include "index/check.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>

static void check_bytes(struct hp_check *c)
{
	hp_sections_check(c->ix->sections, &c->findings);
}

/* ---- Chunks and classes ----------------------------------------------- */

static void check_chunks(struct hp_check *c)
{
	struct hpdsl_chunk chunk;
	struct hpdsl_error e;
	uint64_t at = 0;

	for (uint32_t i = 0;
	     i < c->ix->count.chunks && !hp_findings_enough(&c->findings);
	     i++) {
		struct hp_sample_row row;
		int r = hp_index_chunk(c->ix, i, &chunk, &e);

		if (r == HPDSL_ETOONEW) {
			c->findings.failed =
				hp_fail(c->findings.err, r, "%s", e.msg);
			return;
		}
		if (r < 0 || hp_index_sample_row(c->ix, chunk.first_sample,
						 &row, &e) < 0) {
			hp_findings_tell(&c->findings, e.msg);
			continue;
		}
		if (i == 0 && (chunk.first_sample || chunk.first_member))
			hp_findings_add(
				&c->findings,
				"chunk 0: does not begin with sample 0");
		if (row.first != chunk.first_member)
			hp_findings_add(
				&c->findings,
				"chunk %" PRIu32
				": its first member is not its first sample's",
				i);
		hp_check_string(c, HP_SECTION_NAMES, chunk.name,
				strlen(chunk.name), &at);
	}
	if (!c->findings.n)
		hp_check_strings_end(c, HP_SECTION_NAMES, at);
}

static void check_classes(struct hp_check *c)
{
	uint64_t at = 0;

	for (uint32_t i = 0;
	     i < c->ix->count.classes && !hp_findings_enough(&c->findings);
	     i++) {
		struct hpdsl_error e;
		const char *name;

		if (hp_index_class(c->ix, i, &name, &e) < 0)
			hp_findings_tell(&c->findings, e.msg);
		else
			hp_check_string(c, HP_SECTION_CLASS_NAMES, name,
					strlen(name), &at);
	}
	if (!c->findings.n)
		hp_check_strings_end(c, HP_SECTION_CLASS_NAMES, at);
}

/* ---- Samples and members ---------------------------------------------- */

static void check_sample(struct hp_check *c, uint64_t s, uint32_t chunk)
{
	struct hp_sample_row row;
	struct hpdsl_error e;

	if (hp_index_sample_row(c->ix, s, &row, &e) < 0) {
		hp_findings_tell(&c->findings, e.msg);
		return;
	}
	if (row.chunk != chunk)
		hp_findings_add(&c->findings,
				"sample %" PRIu64 ": says chunk %" PRIu32
				", lies in chunk %" PRIu32,
				s, row.chunk, chunk);
	if (c->ix->flags & HP_INDEX_GROUP_NONE && row.end - row.first != 1)
		hp_findings_add(&c->findings,
				"sample %" PRIu64 ": has more than one member",
				s);
}

static void check_samples(struct hp_check *c)
{
	struct hpdsl_chunk chunk;
	struct hpdsl_error e;

	for (uint32_t i = 0;
	     i < c->ix->count.chunks && !hp_findings_enough(&c->findings);
	     i++) {
		if (hp_index_chunk(c->ix, i, &chunk, &e) < 0) {
			hp_findings_tell(&c->findings, e.msg);
			return;
		}
		for (uint64_t s = 0;
		     s < chunk.samples && !hp_findings_enough(&c->findings);
		     s++)
			check_sample(c, chunk.first_sample + s, i);
	}
}

/* What has to be true of the next member. */
struct run {
	uint32_t chunk;
	uint64_t data; /* it begins here or behind this */
	uint64_t path; /* its path's offset */
	uint64_t bytes;
};

static void check_member(struct hp_check *c, uint64_t number, struct run *run)
{
	const struct hp_section *paths =
		hp_index_section(c->ix, HP_SECTION_PATHS);
	struct hpdsl_member m;
	struct hpdsl_error e;

	int r = hp_index_member(c->ix, number, &m, &e);

	if (r == HPDSL_ETOONEW) {
		c->findings.failed = hp_fail(c->findings.err, r, "%s", e.msg);
		return;
	}
	if (r < 0) {
		hp_findings_tell(&c->findings, e.msg);
		return;
	}
	if (m.chunk != run->chunk)
		run->data = 0;
	run->chunk = m.chunk;
	/* A header comes before the data, and data in whole tar blocks. */
	if (m.offset % 512 || m.offset < run->data + 512)
		hp_findings_add(&c->findings,
				"member %" PRIu64
				": its data lie where they cannot",
				number);
	if ((const uint8_t *)m.path != paths->data + run->path)
		hp_findings_add(&c->findings,
				"member %" PRIu64 ": gap or overlap of paths",
				number);
	run->data = m.offset + m.size;
	run->path += m.path_len + 1;
	run->bytes += m.size;
	c->hashes[number] = hp_hash64(m.path, m.path_len);
}

static void check_members(struct hp_check *c)
{
	struct run run = { 0 };

	for (uint64_t i = 0; i < c->ix->count.members && !c->findings.failed &&
			     !hp_findings_enough(&c->findings);
	     i++)
		check_member(c, i, &run);
	if (c->findings.n || c->findings.failed)
		return;
	hp_check_strings_end(c, HP_SECTION_PATHS, run.path);
	if (run.bytes != c->ix->count.bytes)
		hp_findings_add(&c->findings,
				"header: %" PRIu64
				" bytes, members have %" PRIu64,
				c->ix->count.bytes, run.bytes);
}

/* ---- Lookup ----------------------------------------------------------- */

/*
 * Of members with equal hashes the search has to tell the paths apart; of
 * those with equal paths, which only adopted tars have, it finds the first.
 */
static bool is_found(void *arg, uint64_t number, uint64_t last, uint64_t *same)
{
	const struct hp_check *c = arg;
	bool foreign = c->ix->flags & HP_INDEX_FOREIGN;
	struct hpdsl_member m, before;
	uint64_t found;

	if (hp_index_member(c->ix, number, &m, NULL) < 0)
		return false;
	if (foreign && hp_index_member(c->ix, last, &before, NULL) == 0 &&
	    m.path_len == before.path_len &&
	    !memcmp(m.path, before.path, m.path_len))
		return true;
	return ++*same <= HP_SAME_HASH &&
	       hp_index_find(c->ix, m.path, m.path_len, &found, NULL) == 0 &&
	       (found == number || (foreign && found < number));
}

static void check_lookup(struct hp_check *c)
{
	const struct hp_index *ix = c->ix;
	struct hp_lookup_check l = {
		.what = "member",
		.whats = "members",
		.slots = hp_index_section(ix, HP_SECTION_LOOKUP)->data,
		.n_slots = ix->slots,
		.homes = ix->homes,
		.end = ix->count.members,
		.hashes = c->hashes,
		.is_found = is_found,
		.arg = c,
	};

	hp_lookup_check(&l, &c->findings);
}

int hp_index_check(const struct hp_index *ix,
		   void (*told)(void *arg, const char *reason), void *arg,
		   struct hpdsl_error *err)
{
	static void (*const passes[])(struct hp_check * c) = {
		check_bytes,   check_chunks, check_classes,   check_samples,
		check_members, check_lookup, hp_check_frames, hp_check_stored,
	};
	struct hp_check c = { .ix = ix,
			      .findings = { .name = ix->name,
					    .told = told,
					    .arg = arg,
					    .err = err } };
	hp_auto_free uint64_t *hashes =
		hp_array(ix->count.members, sizeof *hashes);

	if (!hashes)
		return hp_fail_nomem(err);
	c.hashes = hashes;
	for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
		passes[i](&c);
		if (c.findings.n)
			return HPDSL_ECORRUPT;
		if (c.findings.failed)
			return c.findings.failed;
	}
	return 0;
}
