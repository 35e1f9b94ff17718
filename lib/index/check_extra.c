/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes of hp_index_check over frames of compressed chunks and names in
 * chunks.  All that the passes before have found sound is not looked at again.
 */
#include "index/check.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "chunk/seek_table.h"
#include "chunk/tar.h"

#include <inttypes.h>

void hp_check_string(struct hp_check *c, enum hp_index_section kind,
		     const char *p, size_t len, uint64_t *at)
{
	const struct hp_section *s = hp_index_section(c->ix, kind);
	char buf[HP_SECTION_NAME];

	if ((const uint8_t *)p != s->data + *at)
		hp_findings_add(
			&c->findings, "section %s: gap or overlap at %" PRIu64,
			hp_section_name(&hp_index_layout, kind, buf), *at);
	*at = (uint64_t)((const uint8_t *)p - s->data) + len + 1;
}

void hp_check_strings_end(struct hp_check *c, enum hp_index_section kind,
			  uint64_t at)
{
	char buf[HP_SECTION_NAME];

	if (at != hp_index_section(c->ix, kind)->length)
		hp_findings_add(&c->findings,
				"section %s: bytes that nothing points to",
				hp_section_name(&hp_index_layout, kind, buf));
}

/* ---- Frames ----------------------------------------------------------- */

/* Where samples of a chunk begin and end in the plain tar, one by one. */
struct tiles {
	struct hp_check *c;
	const struct hpdsl_chunk *chunk;
	uint64_t sample;     /* behind the one at hand */
	uint64_t start, end; /* of this; behind the last one: of the trailer */
};

/* On to the sample that holds byte at, or to the trailer. */
static void go_to(struct tiles *t, uint64_t at)
{
	const struct hpdsl_chunk *k = t->chunk;

	while (at >= t->end) {
		struct hp_sample_row row;
		struct hpdsl_member last;

		t->start = t->end;
		t->end = UINT64_MAX;
		if (t->sample == k->first_sample + k->samples ||
		    hp_index_sample_row(t->c->ix, t->sample, &row, NULL) < 0 ||
		    hp_index_member(t->c->ix, row.end - 1, &last, NULL) < 0)
			return;
		t->end = hp_tar_padded(last.offset + last.size);
		t->sample++;
	}
}

/*
 * A frame begins with a sample, or goes on in the one that the frame before it
 * was too small for.
 */
static void check_cut(struct tiles *t, const struct hp_frame *f, uint32_t i,
		      uint64_t last)
{
	go_to(t, f->plain);
	if (f->plain != t->start &&
	    (last < t->start || f->plain - last != HP_FRAME_MAX))
		hp_findings_add(&t->c->findings,
				"chunk %" PRIu32 ": frame %" PRIu32
				" begins within a sample",
				t->chunk->number, i);
}

static void check_chunk_frames(struct hp_check *c, const struct hpdsl_chunk *k)
{
	struct tiles tiles = { .c = c, .chunk = k, .sample = k->first_sample };
	uint64_t last = 0;

	for (uint32_t i = 0; i < k->frames && !hp_findings_enough(&c->findings);
	     i++) {
		struct hpdsl_error e;
		struct hp_frame f;

		/* That each is in order and within the chunk, too. */
		if (hp_index_frame(c->ix, k, i, &f, &e) < 0) {
			hp_findings_tell(&c->findings, e.msg);
			continue;
		}
		if (!(c->ix->flags & HP_INDEX_FOREIGN))
			check_cut(&tiles, &f, i, last);
		last = f.plain;
	}
}

void hp_check_frames(struct hp_check *c)
{
	uint64_t frame = 0;

	for (uint32_t i = 0; i < c->ix->count.chunks; i++) {
		struct hpdsl_chunk k;

		if (hp_findings_enough(&c->findings) ||
		    hp_index_chunk(c->ix, i, &k, NULL) < 0)
			return;
		if (!k.compressed)
			continue;
		if (k.first_frame != frame)
			hp_findings_add(&c->findings,
					"chunk %" PRIu32
					": gap or overlap of frames",
					i);
		frame = k.first_frame + k.frames;
		check_chunk_frames(c, &k);
	}
	if (!c->findings.n && frame != hp_index_rows(c->ix, HP_SECTION_FRAMES))
		hp_findings_add(&c->findings,
				"section FRAMES: rows that no chunk has");
}

/* ---- Names in chunks -------------------------------------------------- */

static void check_stored(struct hp_check *c, uint64_t member, uint64_t *at)
{
	struct hpdsl_member m;
	struct hpdsl_error e;
	const char *name;
	size_t len;

	if (hp_index_stored(c->ix, member, &name, &len, &e) < 0 ||
	    hp_index_member(c->ix, member, &m, &e) < 0) {
		hp_findings_tell(&c->findings, e.msg);
		return;
	}
	if (!name) { /* which this is the row of */
		hp_findings_add(&c->findings,
				"member %" PRIu64
				": the index changed while it was checked",
				member);
		return;
	}
	hp_check_string(c, HP_SECTION_STORED_PATHS, name, len, at);
	if (len == m.path_len && !memcmp(name, m.path, len))
		hp_findings_add(&c->findings,
				"member %" PRIu64
				": its name in its chunk is its path",
				member);
}

static bool same_names(const struct hp_check *c, uint64_t a, uint64_t b)
{
	const char *x, *y;
	size_t n, m;

	return hp_index_stored(c->ix, a, &x, &n, NULL) < 0 ||
	       hp_index_stored(c->ix, b, &y, &m, NULL) < 0 ||
	       (x && y && n == m && !memcmp(x, y, n));
}

/* Is a name also that of a member that has only its path? */
static bool is_a_path(const struct hp_check *c, const char *name, size_t len)
{
	uint64_t number;
	size_t other_len;

	return hp_index_find(c->ix, name, len, &number, NULL) == 0 &&
	       hp_index_stored(c->ix, number, &name, &other_len, NULL) == 0 &&
	       !name;
}

/* Compares with those before it that have the same hash. */
static bool is_another(const struct hp_check *c, const struct hp_hashed *v,
		       uint64_t i)
{
	for (uint64_t k = 1; k <= i && v[i - k].hash == v[i].hash; k++)
		if (k > HP_SAME_HASH ||
		    same_names(c, v[i - k].number, v[i].number))
			return true;
	return false;
}

/* No two members have one name in the chunks; 16 bytes a row. */
static void check_unique(struct hp_check *c, uint64_t rows)
{
	const struct hp_section *s = hp_index_section(c->ix, HP_SECTION_STORED);
	hp_auto_free struct hp_hashed *v = hp_array(rows, sizeof *v);

	if (!v) {
		c->findings.failed = hp_fail_nomem(c->findings.err);
		return;
	}
	for (uint64_t i = 0; i < rows; i++) {
		const char *name = "";
		size_t len = 0;

		v[i].number = hp_once64(s->data + i * HP_STORED_ROW);
		hp_index_stored(c->ix, v[i].number, &name, &len, NULL);
		v[i].hash = hp_hash64(name, len);
		if (is_a_path(c, name, len) &&
		    !hp_findings_enough(&c->findings))
			hp_findings_add(&c->findings,
					"member %" PRIu64
					": its name in its chunk is the path "
					"of another member",
					v[i].number);
	}
	hp_lookup_sort(v, rows);
	for (uint64_t i = 1; i < rows && !hp_findings_enough(&c->findings); i++)
		if (is_another(c, v, i))
			hp_findings_add(&c->findings,
					"member %" PRIu64
					": its name in its chunk is another "
					"member's too",
					v[i].number);
}

void hp_check_stored(struct hp_check *c)
{
	const struct hp_section *s = hp_index_section(c->ix, HP_SECTION_STORED);
	uint64_t rows = hp_index_rows(c->ix, HP_SECTION_STORED);
	uint64_t last = 0, at = 0;

	/* All of the order first: it is what finds them. */
	for (uint64_t i = 0; i < rows && !hp_findings_enough(&c->findings);
	     i++) {
		uint64_t member = hp_once64(s->data + i * HP_STORED_ROW);

		if (member >= c->ix->count.members || (i && member <= last))
			hp_findings_add(&c->findings,
					"section STORED, row %" PRIu64
					": out of order",
					i);
		last = member;
	}
	for (uint64_t i = 0; i < rows && !c->findings.n; i++)
		check_stored(c, hp_once64(s->data + i * HP_STORED_ROW), &at);
	if (!c->findings.n)
		hp_check_strings_end(c, HP_SECTION_STORED_PATHS, at);
	if (rows && !c->findings.n && !(c->ix->flags & HP_INDEX_FOREIGN))
		check_unique(c, rows);
}
