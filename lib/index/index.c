/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening an index: what the header counts has to agree with the sections that
 * there are.
 */
#include "index/private.h"

#include "base/error.h"
#include "base/mem.h"

static const struct hp_kind kinds[] = {
	{ "SAMPLES", HP_SAMPLE_ROW, false, 0 },
	{ "MEMBERS", HP_MEMBER_ROW, false, 0 },
	{ "PATHS", 0, false, 0 },
	{ "LOOKUP", HP_SLOT_ROW, false, 0 },
	{ "CHUNKS", HP_CHUNK_ROW, false, 0 },
	{ "NAMES", 0, false, 0 },
	{ "CLASSES", HP_CLASS_ROW, false, 0 },
	{ "CLASS_NAMES", 0, false, 0 },
	{ "STORED", HP_STORED_ROW, false, 0 },
	{ "MEMBER_SHA256", HP_SHA256_ROW, true, 0 },
	{ "FRAMES", HP_FRAME_ROW, false, 0 },
	{ "STORED_PATHS", 0, false, 0 },
	{ "CHUNK_SHA256", HP_SHA256_ROW, true, 0 },
	{ "DOUBLES", 0, false, 0 },
};

const struct hp_layout hp_index_layout = {
	.what = "index",
	.magic = HP_INDEX_MAGIC,
	.version = HP_INDEX_VERSION,
	.fixed = HP_INDEX_FIXED,
	.flags = HP_INDEX_GROUP_NONE | HP_INDEX_FOREIGN | HP_INDEX_SHUFFLED |
		 HP_INDEX_LAST,
	.firm = HP_INDEX_FIRM,
	.n_kinds = HP_INDEX_KINDS,
	.kinds = kinds,
	.kept = 1u << HP_SECTION_CHUNKS | 1u << HP_SECTION_NAMES |
		1u << HP_SECTION_CLASSES | 1u << HP_SECTION_CLASS_NAMES |
		1u << HP_SECTION_DOUBLES,
};

static bool has_rows(const struct hp_index *ix, enum hp_index_section kind,
		     uint64_t rows)
{
	return hp_section_has_rows(ix->sections, hp_index_section(ix, kind),
				   rows);
}

/* Do the sections that need not be there agree with the counts? */
static bool extras_fit(const struct hp_index *ix)
{
	const struct hpdsl_counts *n = &ix->count;
	uint64_t stored = hp_index_section(ix, HP_SECTION_STORED)->length;
	uint64_t frames = hp_index_section(ix, HP_SECTION_FRAMES)->length;

	return stored % HP_STORED_ROW == 0 &&
	       stored / HP_STORED_ROW <= n->members &&
	       hp_index_has(ix, HP_SECTION_STORED) ==
		       hp_index_has(ix, HP_SECTION_STORED_PATHS) &&
	       frames % HP_FRAME_ROW == 0 &&
	       hp_index_has(ix, HP_SECTION_MEMBER_SHA256) ==
		       hp_index_has(ix, HP_SECTION_CHUNK_SHA256) &&
	       (!hp_index_has(ix, HP_SECTION_MEMBER_SHA256) ||
		has_rows(ix, HP_SECTION_MEMBER_SHA256, n->members)) &&
	       (!hp_index_has(ix, HP_SECTION_CHUNK_SHA256) ||
		has_rows(ix, HP_SECTION_CHUNK_SHA256, n->chunks));
}

/* ---- How keys end ----------------------------------------------------- */

static int bad_doubles(const struct hp_index *ix, struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ECORRUPT,
		       "%s: section DOUBLES: is no list of suffixes", ix->name);
}

/* len bytes: strings that ascend, each with its NUL. */
static int take_doubles(struct hp_index *ix, const char *p, uint64_t len,
			struct hpdsl_error *err)
{
	const char *end = p + len, *last = NULL;

	while (p < end) {
		const char *nul = memchr(p, '\0', (size_t)(end - p));

		if (!nul || ix->key.n == HP_DOUBLES ||
		    !hp_double_valid(p, (size_t)(nul - p)) ||
		    (last && strcmp(last, p) >= 0))
			return bad_doubles(ix, err);
		ix->doubles[ix->key.n++] = last = p;
		p = nul + 1;
	}
	return 0;
}

/* Whoever has the index must not split a path otherwise: a list that cannot be
 * had is an error at once, and what it is stays. */
static int read_key_rule(struct hp_index *ix, struct hpdsl_error *err)
{
	uint64_t len = hp_index_section(ix, HP_SECTION_DOUBLES)->length;
	const uint8_t *p;
	int r;

	ix->key.last = ix->flags & HP_INDEX_LAST;
	if (ix->key.last && ix->flags & HP_INDEX_GROUP_NONE)
		return hp_sections_bad_header(ix->sections,
					      "its flags contradict", err);
	if (!hp_index_has(ix, HP_SECTION_DOUBLES))
		return 0;
	if (!ix->key.last)
		return hp_sections_bad_header(
			ix->sections, "flags and sections disagree", err);
	if (!len || len > HP_DOUBLES * (HP_DOUBLE_MAX + 1))
		return bad_doubles(ix, err);
	ix->doubles = hp_array(HP_DOUBLES, sizeof *ix->doubles);
	if (!ix->doubles)
		return hp_fail_nomem(err);
	ix->key.doubles = ix->doubles;
	r = hp_index_bytes(ix, HP_SECTION_DOUBLES, 0, len, &p, err);
	return r < 0 ? r : take_doubles(ix, (const char *)p, len, err);
}

static int check_counts(struct hp_index *ix, struct hpdsl_error *err)
{
	struct hpdsl_counts *n = &ix->count;

	if (!has_rows(ix, HP_SECTION_SAMPLES, n->samples) ||
	    !has_rows(ix, HP_SECTION_MEMBERS, n->members) ||
	    !has_rows(ix, HP_SECTION_CHUNKS, n->chunks) ||
	    !has_rows(ix, HP_SECTION_CLASSES, n->classes) || !extras_fit(ix))
		return hp_sections_bad_header(
			ix->sections, "counts and sections disagree", err);
	if (n->members > HP_INDEX_MEMBERS || n->chunks > HP_INDEX_CHUNKS ||
	    n->samples > n->members || n->chunks > n->samples ||
	    (n->members && !n->chunks))
		return hp_sections_bad_header(ix->sections,
					      "counts are impossible", err);
	ix->homes = hp_lookup_homes(n->members);
	ix->slots =
		hp_index_section(ix, HP_SECTION_LOOKUP)->length / HP_SLOT_ROW;
	if (!has_rows(ix, HP_SECTION_LOOKUP, ix->slots) ||
	    ix->slots < ix->homes || ix->slots > ix->homes + n->members + 1)
		return hp_sections_bad_header(
			ix->sections, "the lookup table's size is impossible",
			err);
	return 0;
}

static void fill(struct hp_index *ix)
{
	const uint8_t *p = ix->sections->header;
	struct hpdsl_counts *n = &ix->count;

	n->samples = hp_get64(p + 24);
	n->members = hp_get64(p + 32);
	n->bytes = hp_get64(p + 40);
	n->chunks = hp_get32(p + 48);
	n->classes = hp_get32(p + 52);
	memcpy(n->dataset_id, p + 64, 16);
	ix->flags = ix->sections->flags;
	n->shuffled = ix->flags & HP_INDEX_SHUFFLED;
	ix->name = ix->sections->name;
}

static int open_at(const struct hp_view *v, const char *name,
		   struct hp_index **ret, struct hpdsl_error *err)
{
	hp_auto_free struct hp_index *ix = calloc(1, sizeof *ix);
	hp_auto_free struct hp_sections *s = calloc(1, sizeof *s);
	int r;

	if (!ix || !s)
		return hp_fail_nomem(err);
	if (v->held) {
		s->io = v->io;
		s->fd = v->fd;
	}
	r = hp_sections_open(s, &hp_index_layout, v->p, v->size, name, err);
	if (r < 0)
		return r;
	ix->sections = s;
	fill(ix);
	r = check_counts(ix, err);
	if (r == 0)
		r = read_key_rule(ix, err);
	if (r < 0) {
		free(ix->doubles);
		hp_sections_release(s);
		return r;
	}
	s = NULL;
	*ret = hp_take(ix);
	return 0;
}

int hp_index_open(const void *p, uint64_t size, const char *name,
		  struct hp_index **ret, struct hpdsl_error *err)
{
	struct hp_view v = { .p = p, .size = size };

	return open_at(&v, name, ret, err);
}

int hp_index_open_view(const struct hp_view *v, const char *name,
		       struct hp_index **ret, struct hpdsl_error *err)
{
	return open_at(v, name, ret, err);
}

void hp_index_free(struct hp_index *ix)
{
	if (!ix)
		return;
	hp_sections_release(ix->sections);
	free(ix->sections);
	free(ix->doubles);
	free(ix);
}

void hp_index_count(const struct hp_index *ix, struct hpdsl_counts *ret)
{
	*ret = ix->count;
}

uint32_t hp_index_flags(const struct hp_index *ix)
{
	return ix->flags;
}

const struct hp_key_rule *hp_index_key_rule(const struct hp_index *ix)
{
	return &ix->key;
}
