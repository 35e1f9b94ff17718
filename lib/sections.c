/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a file of sections: header and section table are checked whole,
 * whatever they say is compared with the size of the file; nothing else is
 * looked at until it is asked for, and then only after its block's checksum
 * agreed.
 */
#include "sections.h"

#include "error.h"
#include "findings.h"
#include "hash.h"
#include "mem.h"

#include <inttypes.h>
#include <stdio.h>

static const struct hp_section absent;

const char *hp_section_name(const struct hp_layout *layout, uint32_t kind,
			    char buf[HP_SECTION_NAME])
{
	if (kind && kind <= layout->n_kinds)
		return layout->kinds[kind - 1].name;
	snprintf(buf, HP_SECTION_NAME, "%" PRIu32, kind);
	return buf;
}

bool hp_section_has_rows(const struct hp_sections *s,
			 const struct hp_section *section, uint64_t rows)
{
	uint32_t row = hp_section_row(s->layout, section->kind);

	return section->length % row == 0 && section->length / row == rows;
}

static int bad_block(const struct hp_sections *s,
		     const struct hp_section *section, uint64_t block,
		     const char *why, struct hpdsl_error *err)
{
	char buf[HP_SECTION_NAME];

	return hp_fail(err, HPDSL_ECORRUPT,
		       "%s: section %s, block %" PRIu64 ": %s", s->name,
		       hp_section_name(s->layout, section->kind, buf), block,
		       why);
}

int hp_section_verify(const struct hp_sections *s,
		      const struct hp_section *section, uint64_t block,
		      struct hpdsl_error *err)
{
	uint64_t off = block * HP_BLOCK, len = section->padded - off;
	const uint8_t *p = section->data + off;
	char without = 0;

	if (len > HP_BLOCK)
		len = HP_BLOCK;
	if (hp_hash64(p, len) != hp_get64(section->sums + block * 8))
		return bad_block(s, section, block, "checksum differs", err);
	if (section->kind <= s->layout->n_kinds)
		without = s->layout->kinds[section->kind - 1].without;
	if (without && memchr(p, without, len))
		return bad_block(s, section, block,
				 "holds a byte that it cannot", err);
	return 0;
}

const uint8_t *hp_section_touch(const struct hp_sections *s,
				const struct hp_section *section, uint64_t off,
				uint64_t len, struct hpdsl_error *err)
{
	char buf[HP_SECTION_NAME];

	if (!hp_within(off, len, section->length)) {
		hp_fail(err, HPDSL_ECORRUPT,
			"%s: bytes %" PRIu64 " to %" PRIu64
			" lie outside of section %s",
			s->name, off, off + len,
			hp_section_name(s->layout, section->kind, buf));
		return NULL;
	}
	for (uint64_t b = off / HP_BLOCK; b <= (off + len - 1) / HP_BLOCK;
	     b++) {
		uint64_t bit = section->first_bit + b;
		uint64_t mask = UINT64_C(1) << bit % 64;
		_Atomic uint64_t *word = &s->seen[bit / 64];

		if (atomic_load_explicit(word, memory_order_relaxed) & mask)
			continue;
		if (hp_section_verify(s, section, b, err) < 0)
			return NULL;
		atomic_fetch_or_explicit(word, mask, memory_order_relaxed);
	}
	return section->data + off;
}

void hp_sections_check(const struct hp_sections *s, struct hp_findings *f)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct hp_section *one = &s->all[i];
		char buf[HP_SECTION_NAME];
		struct hpdsl_error e;

		for (uint64_t b = 0; b < one->blocks && !hp_findings_enough(f);
		     b++)
			if (hp_section_verify(s, one, b, &e) < 0)
				hp_findings_tell(f, e.msg);
		for (uint64_t k = one->length; k < one->padded; k++)
			if (one->data[k] && !hp_findings_enough(f))
				hp_findings_add(
					f,
					"section %s: its padding is not zero",
					hp_section_name(s->layout, one->kind,
							buf));
	}
}

/* ---- Opening ---------------------------------------------------------- */

/* The bytes being opened. */
struct input {
	const struct hp_layout *layout;
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

int hp_sections_bad_header(const struct hp_sections *s, const char *what,
			   struct hpdsl_error *err)
{
	struct input in = { .name = s->name, .err = err };

	return bad_header(&in, what);
}

/*
 * Magic, version, the header's length and its checksum have their places in
 * every version, so that damage and a later version are told apart.
 */
static int check_frame(struct input *in)
{
	const struct hp_layout *l = in->layout;
	uint64_t magic = in->size < 8 ? in->size : 8;
	uint32_t version;

	if (memcmp(in->p, l->magic, magic))
		return hp_fail(in->err, HPDSL_ENOTOURS, "%s: not an HPDSL %s",
			       in->name, l->what);
	if (in->size < l->fixed + 8)
		return bad_header(in, "the file is too short");
	in->header = hp_get32(in->p + 12);
	if (in->header < l->fixed + 8 || in->header > in->size)
		return bad_header(in, "its length is impossible");
	if (hp_hash64(in->p, in->header - 8) !=
	    hp_get64(in->p + in->header - 8))
		return bad_header(in, "checksum differs");
	version = hp_get32(in->p + 8);
	if (version != l->version)
		return hp_fail(in->err, HPDSL_ETOONEW,
			       "%s: %s of version %" PRIu32
			       ", this program reads version %" PRIu32,
			       in->name, l->what, version, l->version);
	return 0;
}

static int check_header(struct input *in)
{
	uint32_t flags = hp_get32(in->p + 60);

	in->sections = hp_get32(in->p + 56);
	if (flags & ~in->layout->flags)
		return hp_fail(in->err, HPDSL_ETOONEW,
			       "%s: unknown flags %#" PRIx32, in->name, flags);
	if (in->sections > HP_TABLE_MAX)
		return bad_header(in, "too many sections");
	if (in->header != in->layout->fixed + HP_TABLE_ROW * in->sections + 8)
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
	const struct hp_layout *l = in->layout;

	if (flags & ~(uint32_t)HP_SECTION_REQUIRED ||
	    (kind > l->n_kinds && flags))
		return hp_fail(in->err, HPDSL_ETOONEW,
			       "%s: section %" PRIu32
			       " of a later version is needed to read it",
			       in->name, kind);
	/* Kinds ascend, and the firm ones are there: each has its place. */
	if (i < l->firm ? kind != i + 1 : kind <= hp_get32(row - HP_TABLE_ROW))
		return bad_header(in, "sections are missing or out of order");
	if (kind <= l->n_kinds &&
	    (hp_get32(row + 24) != hp_section_row(l, kind) ||
	     flags != hp_section_flags(l, kind)))
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
	const uint8_t *row = in->p + in->layout->fixed + HP_TABLE_ROW * i;
	int r = check_kind(in, row, i);

	if (r < 0)
		return r;
	s->kind = hp_get32(row);
	s->length = hp_get64(row + 16);
	if (hp_get64(row + 8) != *at ||
	    !hp_within(*at, s->length, in->size & ~UINT64_C(7)))
		return bad_header(in, "a section's place is impossible");
	s->padded = hp_section_padded(s->length);
	s->blocks = hp_section_blocks(s->padded);
	s->data = in->p + *at;
	s->sums = s->data + s->padded;
	if (!hp_within(*at + s->padded, s->blocks * 8, in->size))
		return bad_header(in, "a section reaches beyond the file");
	*at += s->padded + s->blocks * 8;
	s->first_bit = *bit;
	*bit += s->blocks;
	return 0;
}

static int check_sections(const struct input *in, struct hp_sections *s,
			  uint64_t *ret_blocks)
{
	uint64_t at = in->header, bit = 0;

	if (in->sections < in->layout->firm)
		return bad_header(in, "sections are missing");
	for (uint32_t k = 0; k <= HP_KINDS_MAX; k++)
		s->extra[k] = &absent;
	for (uint32_t i = 0; i < in->sections; i++) {
		int r = check_section(in, i, &at, &bit, &s->all[i]);

		if (r < 0)
			return r;
		if (s->all[i].kind <= in->layout->n_kinds)
			s->extra[s->all[i].kind] = &s->all[i];
	}
	if (at != in->size)
		return bad_header(in, "the sections do not fill the file");
	*ret_blocks = bit;
	return 0;
}

int hp_sections_open(struct hp_sections *s, const struct hp_layout *layout,
		     const void *p, uint64_t size, const char *name,
		     struct hpdsl_error *err)
{
	struct input in = { layout, p, size, name, 0, 0, err };
	uint64_t blocks = 0;
	int r = check_frame(&in);

	if (r == 0)
		r = check_header(&in);
	if (r == 0)
		r = check_sections(&in, s, &blocks);
	if (r < 0)
		return r;
	s->layout = layout;
	s->header = p;
	s->flags = hp_get32(in.p + 60);
	s->n = in.sections;
	s->name = strdup(name);
	s->seen = calloc(blocks / 64 + 1, sizeof *s->seen);
	if (s->name && s->seen)
		return 0;
	hp_sections_release(s);
	return hp_fail_nomem(err);
}

void hp_sections_release(struct hp_sections *s)
{
	free(s->name);
	free(s->seen);
	s->name = NULL;
	s->seen = NULL;
}
