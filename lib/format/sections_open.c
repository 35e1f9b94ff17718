/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a file of sections: header and section table are checked whole, and
 * whatever they say is compared with the size of the file.
 */
#include "format/sections.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>

/* No version's header will be larger. */
enum { HEADER_MOST = 1 << 20 };

static const struct hp_section absent;

/* The bytes being opened. */
struct input {
	const struct hp_layout *layout;
	struct hp_sections *s;
	const uint8_t *p; /* header and section table, once they are read */
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

/* Of the file, into private memory. */
static int get(const struct input *in, uint64_t off, void *to, uint64_t n)
{
	int r = hp_sections_bytes(in->s, off, to, n);

	if (r == HPDSL_ECORRUPT)
		return bad_header(in, "the file is too short");
	return r < 0 ? hp_fail_errno(in->err, r, "%s", in->name) : 0;
}

/* All of the header, as long as it says that it is, and no more than it can be.
 */
static int read_header(struct input *in)
{
	const struct hp_layout *l = in->layout;
	uint8_t head[16];
	uint64_t n = in->size < sizeof head ? in->size : sizeof head;
	int r = get(in, 0, head, n);

	if (r < 0)
		return r;
	if (memcmp(head, l->magic, n < 8 ? n : 8))
		return hp_fail(in->err, HPDSL_ENOTOURS, "%s: not an HPDSL %s",
			       in->name, l->what);
	if (in->size < l->fixed + 8)
		return bad_header(in, "the file is too short");
	in->header = hp_get32(head + 12);
	if (in->header < l->fixed + 8 || in->header > in->size ||
	    in->header > HEADER_MOST)
		return bad_header(in, "its length is impossible");
	in->s->header = hp_array(in->header, 1);
	if (!in->s->header)
		return hp_fail_nomem(in->err);
	in->s->header_bytes = in->header;
	in->p = in->s->header;
	return get(in, 0, in->s->header, in->header);
}

/*
 * Magic, version, the header's length and its checksum have their places in
 * every version, so that damage and a later version are told apart.
 */
static int check_frame(struct input *in)
{
	uint32_t version;
	int r = read_header(in);

	if (r < 0)
		return r;
	/* It may have changed since its length was read. */
	if (hp_hash64(in->p, in->header - 8) !=
		    hp_get64(in->p + in->header - 8) ||
	    hp_get32(in->p + 12) != in->header)
		return bad_header(in, "checksum differs");
	version = hp_get32(in->p + 8);
	if (version != in->layout->version)
		return hp_fail(in->err, HPDSL_ETOONEW,
			       "%s: %s of version %" PRIu32
			       ", this program reads version %" PRIu32,
			       in->name, in->layout->what, version,
			       in->layout->version);
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
	s->offset = *at;
	s->data = in->s->bytes + *at;
	if (!hp_within(*at + s->padded, s->blocks * 8, in->size))
		return bad_header(in, "a section reaches beyond the file");
	*at += s->padded + s->blocks * 8;
	s->first_bit = *bit;
	*bit += s->blocks;
	return 0;
}

static int check_sections(struct input *in)
{
	struct hp_sections *s = in->s;
	uint64_t at = in->header;

	if (in->sections < in->layout->firm)
		return bad_header(in, "sections are missing");
	for (uint32_t k = 0; k <= HP_KINDS_MAX; k++)
		s->extra[k] = &absent;
	for (uint32_t i = 0; i < in->sections; i++) {
		int r = check_section(in, i, &at, &s->blocks, &s->all[i]);

		if (r < 0)
			return r;
		if (s->all[i].kind <= in->layout->n_kinds)
			s->extra[s->all[i].kind] = &s->all[i];
	}
	if (at != in->size)
		return bad_header(in, "the sections do not fill the file");
	s->n = in->sections;
	return 0;
}

/* ---- Private copies --------------------------------------------------- */

static int read_sums(const struct input *in)
{
	struct hp_sections *s = in->s;

	s->sums = hp_array(s->blocks, sizeof *s->sums);
	s->proved = calloc(s->blocks + 1, sizeof *s->proved);
	if (!s->sums || !s->proved)
		return hp_fail_nomem(in->err);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct hp_section *one = &s->all[i];
		uint64_t *sums = s->sums + one->first_bit;
		int r = get(in, one->offset + one->padded, sums,
			    one->blocks * 8);

		if (r < 0)
			return r;
		for (uint64_t b = 0; b < one->blocks; b++)
			sums[b] = hp_get64(&sums[b]);
	}
	return 0;
}

/* Empty at first: of what nobody looks at no page is there. */
static int keep(const struct input *in)
{
	struct hp_sections *s = in->s;

	for (uint32_t i = 0; i < s->n; i++) {
		struct hp_section *one = &s->all[i];

		if (one->kind > in->layout->n_kinds ||
		    !(in->layout->kept >> one->kind & 1) || !one->padded)
			continue;
		one->own = calloc(one->padded, 1);
		if (!one->own)
			return hp_fail_nomem(in->err);
		one->data = one->own;
	}
	return 0;
}

static int copy(const struct input *in)
{
	struct hp_sections *s = in->s;

	s->name = strdup(in->name);
	s->seen = calloc(s->blocks / 64 + 1, sizeof *s->seen);
	if (!s->name || !s->seen)
		return hp_fail_nomem(in->err);
	s->flags = hp_get32(in->p + 60);
	if (keep(in) < 0)
		return -ENOMEM;
	return s->io ? read_sums(in) : 0;
}

int hp_sections_open(struct hp_sections *s, const struct hp_layout *layout,
		     const void *p, uint64_t size, const char *name,
		     struct hpdsl_error *err)
{
	struct input in = { layout, s, NULL, size, name, 0, 0, err };
	int r;

	s->layout = layout;
	s->bytes = p;
	s->size = size;
	pthread_mutex_init(&s->lock, NULL);
	r = check_frame(&in);
	if (r == 0)
		r = check_header(&in);
	if (r == 0)
		r = check_sections(&in);
	if (r == 0)
		r = copy(&in);
	if (r < 0)
		hp_sections_release(s);
	return r;
}

void hp_sections_release(struct hp_sections *s)
{
	if (!s->layout)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		free(s->all[i].own);
	free(s->name);
	free(s->header);
	free(s->seen);
	free(s->sums);
	free(s->proved);
	pthread_mutex_destroy(&s->lock);
	s->layout = NULL;
}
