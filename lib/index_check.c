/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a whole index: first that its bytes are those that were written,
 * then, in passes that each trust the ones before, that all rows fit together.
 * The first pass that finds something is the last.
 */
#include "index_check.h"

#include "error.h"
#include "hash.h"
#include "mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
	TOLD_MAX = 100, /* findings; a damaged table has millions */
};

void hp_check_tell(struct hp_check *c, const char *reason)
{
	if (c->found++ == 0)
		hp_fail(c->err, HPDSL_ECORRUPT, "%s", reason);
	if (c->told)
		c->told(c->arg, reason);
}

void hp_check_complain(struct hp_check *c, const char *fmt, ...)
{
	struct hpdsl_error e;
	int n = snprintf(e.msg, sizeof e.msg, "%s: ", c->ix->name);
	va_list ap;

	if (n < 0 || (size_t)n >= sizeof e.msg)
		n = 0;
	va_start(ap, fmt);
	vsnprintf(e.msg + n, sizeof e.msg - (size_t)n, fmt, ap);
	va_end(ap);
	hp_check_tell(c, e.msg);
}

bool hp_check_enough(const struct hp_check *c)
{
	return c->found >= TOLD_MAX;
}

/* ---- Bytes ------------------------------------------------------------ */

static void check_bytes(struct hp_check *c)
{
	for (uint32_t i = 0; i < c->ix->sections.n; i++) {
		const struct hp_section *s = &c->ix->sections.all[i];
		char buf[HP_SECTION_NAME];
		struct hpdsl_error e;

		for (uint64_t b = 0; b < s->blocks && !hp_check_enough(c); b++)
			if (hp_section_verify(&c->ix->sections, s, b, &e) < 0)
				hp_check_tell(c, e.msg);
		for (uint64_t k = s->length; k < s->padded; k++)
			if (s->data[k] && !hp_check_enough(c))
				hp_check_complain(
					c,
					"section %s: its padding is not zero",
					hp_section_name(&hp_index_layout,
							s->kind, buf));
	}
}

/* ---- Chunks and classes ----------------------------------------------- */

void hp_check_string(struct hp_check *c, enum hp_index_section kind,
		     const char *p, uint64_t *at)
{
	const struct hp_section *s = hp_index_section(c->ix, kind);
	char buf[HP_SECTION_NAME];

	if ((const uint8_t *)p != s->data + *at)
		hp_check_complain(c, "section %s: gap or overlap at %" PRIu64,
				  hp_section_name(&hp_index_layout, kind, buf),
				  *at);
	*at = (uint64_t)((const uint8_t *)p - s->data) + strlen(p) + 1;
}

void hp_check_strings_end(struct hp_check *c, enum hp_index_section kind,
			  uint64_t at)
{
	char buf[HP_SECTION_NAME];

	if (at != hp_index_section(c->ix, kind)->length)
		hp_check_complain(c, "section %s: bytes that nothing points to",
				  hp_section_name(&hp_index_layout, kind, buf));
}

static void check_chunks(struct hp_check *c)
{
	struct hpdsl_chunk chunk;
	struct hpdsl_error e;
	uint64_t at = 0;

	for (uint32_t i = 0; i < c->ix->count.chunks && !hp_check_enough(c);
	     i++) {
		struct hp_sample_row row;
		int r = hp_index_chunk(c->ix, i, &chunk, &e);

		if (r == HPDSL_ETOONEW) {
			c->failed = hp_fail(c->err, r, "%s", e.msg);
			return;
		}
		if (r < 0 || hp_index_sample_row(c->ix, chunk.first_sample,
						 &row, &e) < 0) {
			hp_check_tell(c, e.msg);
			continue;
		}
		if (i == 0 && (chunk.first_sample || chunk.first_member))
			hp_check_complain(
				c, "chunk 0: does not begin with sample 0");
		if (row.first != chunk.first_member)
			hp_check_complain(
				c,
				"chunk %" PRIu32
				": its first member is not its first sample's",
				i);
		hp_check_string(c, HP_SECTION_NAMES, chunk.name, &at);
	}
	if (!c->found)
		hp_check_strings_end(c, HP_SECTION_NAMES, at);
}

static void check_classes(struct hp_check *c)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < c->ix->count.classes && !hp_check_enough(c);
	     i++) {
		struct hpdsl_error e;
		const char *name;

		if (hp_index_class(c->ix, i, &name, &e) < 0)
			hp_check_tell(c, e.msg);
		else
			hp_check_string(c, HP_SECTION_CLASS_NAMES, name, &at);
	}
	if (!c->found)
		hp_check_strings_end(c, HP_SECTION_CLASS_NAMES, at);
}

/* ---- Samples and members ---------------------------------------------- */

static void check_sample(struct hp_check *c, uint64_t s, uint32_t chunk)
{
	struct hp_sample_row row;
	struct hpdsl_error e;

	if (hp_index_sample_row(c->ix, s, &row, &e) < 0) {
		hp_check_tell(c, e.msg);
		return;
	}
	if (row.chunk != chunk)
		hp_check_complain(c,
				  "sample %" PRIu64 ": says chunk %" PRIu32
				  ", lies in chunk %" PRIu32,
				  s, row.chunk, chunk);
	if (c->ix->flags & HP_INDEX_GROUP_NONE && row.end - row.first != 1)
		hp_check_complain(
			c, "sample %" PRIu64 ": has more than one member", s);
}

static void check_samples(struct hp_check *c)
{
	struct hpdsl_chunk chunk;
	struct hpdsl_error e;

	for (uint32_t i = 0; i < c->ix->count.chunks && !hp_check_enough(c);
	     i++) {
		if (hp_index_chunk(c->ix, i, &chunk, &e) < 0) {
			hp_check_tell(c, e.msg);
			return;
		}
		for (uint64_t s = 0; s < chunk.samples && !hp_check_enough(c);
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

	if (hp_index_member(c->ix, number, &m, &e) < 0) {
		hp_check_tell(c, e.msg);
		return;
	}
	if (m.chunk != run->chunk)
		run->data = 0;
	run->chunk = m.chunk;
	/* A header comes before the data, and data in whole tar blocks. */
	if (m.offset % 512 || m.offset < run->data + 512)
		hp_check_complain(
			c, "member %" PRIu64 ": its data lie where they cannot",
			number);
	if ((const uint8_t *)m.path != paths->data + run->path)
		hp_check_complain(c,
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

	for (uint64_t i = 0; i < c->ix->count.members && !hp_check_enough(c);
	     i++)
		check_member(c, i, &run);
	if (c->found)
		return;
	hp_check_strings_end(c, HP_SECTION_PATHS, run.path);
	if (run.bytes != c->ix->count.bytes)
		hp_check_complain(
			c, "header: %" PRIu64 " bytes, members have %" PRIu64,
			c->ix->count.bytes, run.bytes);
}

/* ---- Lookup ----------------------------------------------------------- */

/* The slots before the one at hand. */
struct slots {
	uint64_t used, end; /* end: behind the last used one */
	uint64_t hash, number, same;
};

/*
 * Of members with equal hashes the search has to tell the paths apart; of
 * those with equal paths, which only adopted tars have, it finds the first.
 */
static bool is_found(struct hp_check *c, uint64_t number, struct slots *last)
{
	bool foreign = c->ix->flags & HP_INDEX_FOREIGN;
	struct hpdsl_member m, before;
	uint64_t found;

	if (hp_index_member(c->ix, number, &m, NULL) < 0)
		return false;
	if (foreign &&
	    hp_index_member(c->ix, last->number, &before, NULL) == 0 &&
	    m.path_len == before.path_len &&
	    !memcmp(m.path, before.path, m.path_len))
		return true;
	return ++last->same <= HP_SAME_HASH &&
	       hp_index_find(c->ix, m.path, m.path_len, &found, NULL) == 0 &&
	       (found == number || (foreign && found < number));
}

/*
 * Slots ascend by (hash, number), so no number comes twice; each is as near to
 * its home as they allow: then every member is found if all are there.
 */
static void check_slot(struct hp_check *c, uint64_t at, uint64_t slot,
		       struct slots *last)
{
	uint64_t number = (slot & HP_SLOT_NUMBER) - 1, hash, home;

	if (number >= c->ix->count.members) {
		hp_check_complain(c, "lookup slot %" PRIu64 ": no such member",
				  at);
		return;
	}
	hash = c->hashes[number];
	home = hp_lookup_home(hash, c->ix->homes);
	if (slot != hp_lookup_slot(hash, number))
		hp_check_complain(c,
				  "lookup slot %" PRIu64
				  ": has the tag of another path",
				  at);
	if (at != (home > last->end ? home : last->end))
		hp_check_complain(c,
				  "lookup slot %" PRIu64
				  ": is not where it is looked for",
				  at);
	if (last->used && (hash < last->hash ||
			   (hash == last->hash && number <= last->number)))
		hp_check_complain(c, "lookup slot %" PRIu64 ": out of order",
				  at);
	if (!last->used || hash != last->hash)
		last->same = 0;
	else if (!is_found(c, number, last))
		hp_check_complain(
			c, "member %" PRIu64 ": cannot be found by its path",
			number);
	last->used++;
	last->end = at + 1;
	last->hash = hash;
	last->number = number;
}

static void check_lookup(struct hp_check *c)
{
	const uint8_t *p = hp_index_section(c->ix, HP_SECTION_LOOKUP)->data;
	const struct hp_index *ix = c->ix;
	struct slots last = { 0 };
	uint64_t size;

	for (uint64_t i = 0; i < ix->slots && !hp_check_enough(c); i++) {
		uint64_t slot = hp_get64(p + i * HP_SLOT_ROW);

		if (slot)
			check_slot(c, i, slot, &last);
	}
	if (hp_check_enough(c))
		return;
	if (last.used != ix->count.members)
		hp_check_complain(
			c, "lookup table: %" PRIu64 " members of %" PRIu64,
			last.used, ix->count.members);
	size = last.end + 1 > ix->homes ? last.end + 1 : ix->homes;
	if (ix->slots != size)
		hp_check_complain(c, "lookup table: is of a wrong size");
}

int hp_index_check(const struct hp_index *ix,
		   void (*told)(void *arg, const char *reason), void *arg,
		   struct hpdsl_error *err)
{
	static void (*const passes[])(struct hp_check * c) = {
		check_bytes,   check_chunks, check_classes,   check_samples,
		check_members, check_lookup, hp_check_frames, hp_check_stored,
	};
	struct hp_check c = { .ix = ix, .told = told, .arg = arg, .err = err };
	hp_auto_free uint64_t *hashes =
		hp_array(ix->count.members, sizeof *hashes);

	if (!hashes)
		return hp_fail_nomem(err);
	c.hashes = hashes;
	for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
		passes[i](&c);
		if (c.found)
			return HPDSL_ECORRUPT;
		if (c.failed)
			return c.failed;
	}
	return 0;
}
