/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening an index: header and section table are checked whole, whatever they
 * say is compared with the size of the file; nothing else is looked at until
 * it is asked for, and then only after its block's checksum agreed.
 */
#include "index_private.h"

#include "error.h"
#include "hash.h"
#include "mem.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
	const char *name;
	uint32_t row;
	bool optional; /* whoever does not know it may pass it over */
} kinds[HP_INDEX_KINDS + 1] = {
	[HP_SECTION_SAMPLES] = { "SAMPLES", HP_SAMPLE_ROW, false },
	[HP_SECTION_MEMBERS] = { "MEMBERS", HP_MEMBER_ROW, false },
	[HP_SECTION_PATHS] = { "PATHS", 0, false },
	[HP_SECTION_LOOKUP] = { "LOOKUP", HP_SLOT_ROW, false },
	[HP_SECTION_CHUNKS] = { "CHUNKS", HP_CHUNK_ROW, false },
	[HP_SECTION_NAMES] = { "NAMES", 0, false },
	[HP_SECTION_CLASSES] = { "CLASSES", HP_CLASS_ROW, false },
	[HP_SECTION_CLASS_NAMES] = { "CLASS_NAMES", 0, false },
	[HP_SECTION_STORED] = { "STORED", HP_STORED_ROW, false },
	[HP_SECTION_MEMBER_SHA256] = { "MEMBER_SHA256", HP_SHA256_ROW, true },
	[HP_SECTION_FRAMES] = { "FRAMES", HP_FRAME_ROW, false },
	[HP_SECTION_STORED_PATHS] = { "STORED_PATHS", 0, false },
	[HP_SECTION_CHUNK_SHA256] = { "CHUNK_SHA256", HP_SHA256_ROW, true },
};

static const struct hp_section absent;

uint32_t hp_index_row_size(uint32_t kind)
{
	return kinds[kind].row;
}

uint32_t hp_index_kind_flags(uint32_t kind)
{
	return kinds[kind].optional ? 0 : HP_SECTION_REQUIRED;
}

const char *hp_index_section_name(uint32_t kind, char buf[HP_SECTION_NAME])
{
	if (kind && kind <= HP_INDEX_KINDS)
		return kinds[kind].name;
	snprintf(buf, HP_SECTION_NAME, "%" PRIu32, kind);
	return buf;
}

int hp_index_verify(const struct hp_index *ix, const struct hp_section *s,
		    uint64_t block, struct hpdsl_error *err)
{
	uint64_t off = block * HP_INDEX_BLOCK, len = s->padded - off;
	char buf[HP_SECTION_NAME];

	if (len > HP_INDEX_BLOCK)
		len = HP_INDEX_BLOCK;
	if (hp_hash64(s->data + off, len) == hp_get64(s->sums + block * 8))
		return 0;
	return hp_fail(err, HPDSL_ECORRUPT,
		       "%s: section %s, block %" PRIu64 ": checksum differs",
		       ix->name, hp_index_section_name(s->kind, buf), block);
}

const uint8_t *hp_index_touch(const struct hp_index *ix,
			      enum hp_index_section kind, uint64_t off,
			      uint64_t len, struct hpdsl_error *err)
{
	const struct hp_section *s = hp_index_section(ix, kind);

	if (!hp_within(off, len, s->length)) {
		hp_fail(err, HPDSL_ECORRUPT,
			"%s: bytes %" PRIu64 " to %" PRIu64
			" lie outside of section %s",
			ix->name, off, off + len, kinds[kind].name);
		return NULL;
	}
	for (uint64_t b = off / HP_INDEX_BLOCK;
	     b <= (off + len - 1) / HP_INDEX_BLOCK; b++) {
		uint64_t bit = s->first_bit + b;
		uint64_t mask = UINT64_C(1) << bit % 64;
		_Atomic uint64_t *word = &ix->seen[bit / 64];

		if (atomic_load_explicit(word, memory_order_relaxed) & mask)
			continue;
		if (hp_index_verify(ix, s, b, err) < 0)
			return NULL;
		atomic_fetch_or_explicit(word, mask, memory_order_relaxed);
	}
	return s->data + off;
}

/* ---- Opening ---------------------------------------------------------- */

/* The bytes being opened. */
struct input {
	const uint8_t *p;
	uint64_t size;
	const char *name;
	uint32_t header, sections;
	struct hpdsl_error *err;
};

static int bad_header(const struct input *in, const char *what)
{
	return hp_fail(in->err, HPDSL_ECORRUPT, "%s: header: %s", in->name,
		       what);
}

/*
 * Magic, version, the header's length and its checksum have their places in
 * every version, so that damage and a later version are told apart.
 */
static int check_frame(struct input *in)
{
	uint64_t magic = in->size < 8 ? in->size : 8;
	uint32_t version;

	if (memcmp(in->p, HP_INDEX_MAGIC, magic))
		return hp_fail(in->err, HPDSL_ENOTOURS,
			       "%s: not an HPDSL index", in->name);
	if (in->size < HP_INDEX_FIXED + 8)
		return bad_header(in, "the file is too short");
	in->header = hp_get32(in->p + 12);
	if (in->header < HP_INDEX_FIXED + 8 || in->header > in->size)
		return bad_header(in, "its length is impossible");
	if (hp_hash64(in->p, in->header - 8) !=
	    hp_get64(in->p + in->header - 8))
		return bad_header(in, "checksum differs");
	version = hp_get32(in->p + 8);
	if (version != HP_INDEX_VERSION)
		return hp_fail(in->err, HPDSL_ETOONEW,
			       "%s: index of version %" PRIu32
			       ", this program reads version %d",
			       in->name, version, HP_INDEX_VERSION);
	return 0;
}

static int check_header(struct input *in)
{
	uint32_t flags = hp_get32(in->p + 60);

	in->sections = hp_get32(in->p + 56);
	if (flags & ~(uint32_t)(HP_INDEX_GROUP_NONE | HP_INDEX_FOREIGN))
		return hp_fail(in->err, HPDSL_ETOONEW,
			       "%s: unknown flags %#" PRIx32, in->name, flags);
	if (in->sections > HP_INDEX_TABLE)
		return bad_header(in, "too many sections");
	if (in->header != HP_INDEX_FIXED + HP_INDEX_ENTRY * in->sections + 8)
		return bad_header(in, "its length and sections disagree");
	if (hp_get64(in->p + 16) != in->size)
		return hp_fail(in->err, HPDSL_ECORRUPT,
			       "%s: has %" PRIu64
			       " bytes, should have %" PRIu64,
			       in->name, in->size, hp_get64(in->p + 16));
	return 0;
}

/* May a section of this kind and these flags be here? */
static int check_kind(const struct input *in, const uint8_t *row, uint32_t i)
{
	uint32_t kind = hp_get32(row), flags = hp_get32(row + 4);

	if (flags & ~(uint32_t)HP_SECTION_REQUIRED ||
	    (kind > HP_INDEX_KINDS && flags))
		return hp_fail(in->err, HPDSL_ETOONEW,
			       "%s: section %" PRIu32
			       " of a later version is needed to read it",
			       in->name, kind);
	/* Kinds ascend, and the first eight are there: each has its place. */
	if (i < HP_INDEX_FIRM ? kind != i + 1 :
				kind <= hp_get32(row - HP_INDEX_ENTRY))
		return bad_header(in, "sections are missing or out of order");
	if (kind <= HP_INDEX_KINDS && (hp_get32(row + 24) != kinds[kind].row ||
				       flags != hp_index_kind_flags(kind)))
		return bad_header(in,
				  "a section's row size or flags are wrong");
	if (hp_get32(row + 28))
		return bad_header(in, "a section's padding is not zero");
	return 0;
}

/*
 * Fills s from a row of the table.  *at is where the section has to begin, and
 * becomes its end; *bit counts blocks.
 */
static int check_section(const struct input *in, uint32_t i, uint64_t *at,
			 uint64_t *bit, struct hp_section *s)
{
	const uint8_t *row = in->p + HP_INDEX_FIXED + HP_INDEX_ENTRY * i;
	int r = check_kind(in, row, i);

	if (r < 0)
		return r;
	s->kind = hp_get32(row);
	s->length = hp_get64(row + 16);
	if (hp_get64(row + 8) != *at ||
	    !hp_within(*at, s->length, in->size & ~UINT64_C(7)))
		return bad_header(in, "a section's place is impossible");
	s->padded = hp_index_padded(s->length);
	s->blocks = hp_index_blocks(s->padded);
	s->data = in->p + *at;
	s->sums = s->data + s->padded;
	if (!hp_within(*at + s->padded, s->blocks * 8, in->size))
		return bad_header(in, "a section reaches beyond the file");
	*at += s->padded + s->blocks * 8;
	s->first_bit = *bit;
	*bit += s->blocks;
	return 0;
}

static int check_sections(const struct input *in, struct hp_index *ix,
			  uint64_t *ret_blocks)
{
	uint64_t at = in->header, bit = 0;

	if (in->sections < HP_INDEX_FIRM)
		return bad_header(in, "sections are missing");
	for (uint32_t k = HP_INDEX_FIRM; k < HP_INDEX_KINDS; k++)
		ix->extra[k - HP_INDEX_FIRM] = &absent;
	for (uint32_t i = 0; i < in->sections; i++) {
		struct hp_section *s = &ix->sections[i];
		int r = check_section(in, i, &at, &bit, s);

		if (r < 0)
			return r;
		if (i >= HP_INDEX_FIRM && s->kind <= HP_INDEX_KINDS)
			ix->extra[s->kind - HP_INDEX_FIRM - 1] = s;
	}
	if (at != in->size)
		return bad_header(in, "the sections do not fill the file");
	*ret_blocks = bit;
	return 0;
}

static bool has_rows(const struct hp_index *ix, enum hp_index_section kind,
		     uint64_t rows)
{
	uint64_t length = hp_index_section(ix, kind)->length;

	return length % kinds[kind].row == 0 &&
	       length / kinds[kind].row == rows;
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

static int check_counts(const struct input *in, struct hp_index *ix)
{
	struct hpdsl_counts *n = &ix->count;

	n->samples = hp_get64(in->p + 24);
	n->members = hp_get64(in->p + 32);
	n->bytes = hp_get64(in->p + 40);
	n->chunks = hp_get32(in->p + 48);
	n->classes = hp_get32(in->p + 52);
	memcpy(n->dataset_id, in->p + 64, 16);
	ix->flags = hp_get32(in->p + 60);
	if (!has_rows(ix, HP_SECTION_SAMPLES, n->samples) ||
	    !has_rows(ix, HP_SECTION_MEMBERS, n->members) ||
	    !has_rows(ix, HP_SECTION_CHUNKS, n->chunks) ||
	    !has_rows(ix, HP_SECTION_CLASSES, n->classes) || !extras_fit(ix))
		return bad_header(in, "counts and sections disagree");
	if (n->members > HP_INDEX_MEMBERS || n->chunks > HP_INDEX_CHUNKS ||
	    n->samples > n->members || n->chunks > n->samples ||
	    (n->members && !n->chunks))
		return bad_header(in, "counts are impossible");
	ix->homes = hp_lookup_homes(n->members);
	ix->slots =
		hp_index_section(ix, HP_SECTION_LOOKUP)->length / HP_SLOT_ROW;
	if (!has_rows(ix, HP_SECTION_LOOKUP, ix->slots) ||
	    ix->slots < ix->homes || ix->slots > ix->homes + n->members + 1)
		return bad_header(in, "the lookup table's size is impossible");
	return 0;
}

static int fill(const struct input *in, struct hp_index *ix)
{
	uint64_t blocks = 0;
	int r = check_sections(in, ix, &blocks);

	if (r == 0)
		r = check_counts(in, ix);
	if (r < 0)
		return r;
	ix->name = strdup(in->name);
	ix->seen = calloc(blocks / 64 + 1, sizeof *ix->seen);
	return ix->name && ix->seen ? 0 : hp_fail_nomem(in->err);
}

int hp_index_open(const void *p, uint64_t size, const char *name,
		  struct hp_index **ret, struct hpdsl_error *err)
{
	struct input in = { .p = p, .size = size, .name = name, .err = err };
	struct hp_index *ix;
	int r = check_frame(&in);

	if (r == 0)
		r = check_header(&in);
	if (r < 0)
		return r;
	ix = calloc(1, sizeof *ix + in.sections * sizeof ix->sections[0]);
	if (!ix)
		return hp_fail_nomem(err);
	ix->n_sections = in.sections;
	r = fill(&in, ix);
	if (r < 0) {
		hp_index_free(ix);
		return r;
	}
	*ret = ix;
	return 0;
}

void hp_index_free(struct hp_index *ix)
{
	if (!ix)
		return;
	free(ix->name);
	free(ix->seen);
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
