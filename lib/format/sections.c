/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a file of sections: looked at when they are asked for, and then only
 * after their block's checksum agreed.
 */
#include "format/sections.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/findings.h"

#include <inttypes.h>
#include <stdio.h>

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

/* Is this a block's content, wherever it lies? */
static int check_block(const struct hp_sections *s,
		       const struct hp_section *section, uint64_t block,
		       const uint8_t *p, struct hpdsl_error *err)
{
	uint32_t len = hp_section_block_bytes(section, block);
	char without = 0;

	if (hp_hash64(p, len) != hp_section_sum(s, section, block))
		return bad_block(s, section, block, "checksum differs", err);
	if (section->kind <= s->layout->n_kinds)
		without = s->layout->kinds[section->kind - 1].without;
	if (without && memchr(p, without, len))
		return bad_block(s, section, block,
				 "holds a byte that it cannot", err);
	return 0;
}

int hp_sections_bytes(const struct hp_sections *s, uint64_t off, void *to,
		      uint64_t n)
{
	ssize_t k;

	if (!s->io) {
		hp_copy_once(to, s->bytes + off, n);
		return 0;
	}
	k = hp_io_pread_full(s->io, s->fd, to, n, off);
	if (k < 0)
		return (int)k;
	return (uint64_t)k == n ? 0 : HPDSL_ECORRUPT;
}

int hp_section_get(const struct hp_sections *s,
		   const struct hp_section *section, uint64_t block,
		   uint8_t *to, struct hpdsl_error *err)
{
	int r = hp_sections_bytes(s, section->offset + block * HP_BLOCK, to,
				  hp_section_block_bytes(section, block));

	if (r == HPDSL_ECORRUPT)
		return bad_block(s, section, block, "the file ends in it", err);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", s->name);
	return check_block(s, section, block, to, err);
}

/* Which bit of seen[..] is the block's? */
static _Atomic uint64_t *seen(const struct hp_sections *s,
			      const struct hp_section *section, uint64_t block,
			      uint64_t *ret_mask)
{
	uint64_t bit = section->first_bit + block;

	*ret_mask = UINT64_C(1) << bit % 64;
	return &s->seen[bit / 64];
}

/* Once it is filled it is read by many, and never written to again. */
static int keep_block(const struct hp_sections *s,
		      const struct hp_section *section, uint64_t block,
		      struct hpdsl_error *err)
{
	/* What is kept changes nothing that anybody sees. */
	pthread_mutex_t *lock = (pthread_mutex_t *)&s->lock;
	uint64_t mask;
	_Atomic uint64_t *word = seen(s, section, block, &mask);
	int r = 0;

	pthread_mutex_lock(lock);
	if (!(atomic_load_explicit(word, memory_order_relaxed) & mask))
		r = hp_section_get(s, section, block,
				   section->own + block * HP_BLOCK, err);
	if (r == 0)
		atomic_fetch_or_explicit(word, mask, memory_order_release);
	pthread_mutex_unlock(lock);
	return r;
}

int hp_section_verify(const struct hp_sections *s,
		      const struct hp_section *section, uint64_t block,
		      struct hpdsl_error *err)
{
	if (section->own)
		return keep_block(s, section, block, err);
	return check_block(s, section, block, section->data + block * HP_BLOCK,
			   err);
}

int hp_section_touch(const struct hp_sections *s,
		     const struct hp_section *section, uint64_t off,
		     uint64_t len, struct hpdsl_error *err)
{
	char buf[HP_SECTION_NAME];

	if (!hp_within(off, len, section->length))
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: bytes %" PRIu64 " to %" PRIu64
			       " lie outside of section %s",
			       s->name, off, off + len,
			       hp_section_name(s->layout, section->kind, buf));
	for (uint64_t b = off / HP_BLOCK; b <= (off + len - 1) / HP_BLOCK;
	     b++) {
		uint64_t mask;
		_Atomic uint64_t *word = seen(s, section, b, &mask);
		int r;

		if (atomic_load_explicit(word, memory_order_acquire) & mask)
			continue;
		r = hp_section_verify(s, section, b, err);
		if (r < 0)
			return r;
		atomic_fetch_or_explicit(word, mask, memory_order_relaxed);
	}
	return 0;
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
