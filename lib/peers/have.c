/* SPDX-License-Identifier: Apache-2.0 */
/* Two bits for each chunk of a node's parts, and their age. */
#include "peers/have.h"

#include "peers/holders.h"

#include <stdlib.h>
#include <string.h>

/* ---- A list ----------------------------------------------------------- */

/* A process asks a node for at most 64 kB of lists a second. */
#define NS_A_BYTE 15625

/* A row has the chunks k D + first .. k D + first + width - 1. */
struct rows {
	uint32_t chunks, parts, first, width;
};

struct hp_haves {
	struct rows of;
	uint8_t bits[];
};

static struct rows rows_of(const struct hp_book_head *b, uint32_t node,
			   uint32_t chunks)
{
	struct rows r = { .chunks = chunks, .parts = b->parts };
	uint32_t last;

	hp_holds(b, node, &r.first, &last);
	r.width = last - r.first + 1;
	return r;
}

uint64_t hp_haves_size(const struct hp_book_head *b, uint32_t node,
		       uint32_t chunks)
{
	const struct rows r = rows_of(b, node, chunks);
	const uint64_t n = ((uint64_t)chunks + r.parts - 1) / r.parts;

	return sizeof(struct hp_haves) + (n * r.width + 3) / 4;
}

struct hp_haves *hp_haves_new(const struct hp_book_head *b, uint32_t node,
			      uint32_t chunks)
{
	struct hp_haves *h = calloc(1, hp_haves_size(b, node, chunks));

	if (h)
		h->of = rows_of(b, node, chunks);
	return h;
}

void hp_haves_free(struct hp_haves *h)
{
	free(h);
}

/* Where its bits are; false: it was not to hold it. */
static bool find(const struct hp_haves *h, uint32_t chunk, uint64_t *ret)
{
	const struct rows *r = &h->of;
	const uint32_t part = chunk % r->parts;

	if (chunk >= r->chunks || part < r->first ||
	    part - r->first >= r->width)
		return false;
	*ret = (uint64_t)(chunk / r->parts) * r->width + part - r->first;
	return true;
}

enum hp_have hp_haves_get(const struct hp_haves *h, uint32_t chunk)
{
	uint64_t at;

	if (!find(h, chunk, &at))
		return HP_HAVE_NOT;
	return (enum hp_have)(h->bits[at / 4] >> at % 4 * 2 & 3);
}

void hp_haves_set(struct hp_haves *h, uint32_t chunk, enum hp_have is)
{
	uint64_t at;
	unsigned shift;

	if (!find(h, chunk, &at))
		return;
	shift = at % 4 * 2;
	h->bits[at / 4] = (uint8_t)((h->bits[at / 4] & ~(3U << shift)) |
				    (unsigned)is << shift);
}

bool hp_haves_take(struct hp_haves *h, uint64_t at, const void *p, size_t n)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i++) {
		const uint64_t first = (at + i) * 4;

		/* Most are: a node has few of all chunks. */
		if (!b[i])
			continue;
		for (unsigned k = 0; k < 4; k++) {
			const unsigned is = b[i] >> k * 2 & 3;

			if (is && first + k >= h->of.chunks)
				return false;
			if (is)
				hp_haves_set(h, (uint32_t)(first + k), is);
		}
	}
	return true;
}

/* ---- What is known of a node ------------------------------------------ */

static enum hp_have has(const struct hp_have_known *k, uint32_t chunk)
{
	return k->list ? hp_haves_get(k->list, chunk) : HP_HAVE_NOT;
}

bool hp_have_is_form(const struct hp_have_known *k, uint32_t chunk,
		     enum hp_ask_kind kind)
{
	return has(k, chunk) ==
	       (kind == HP_ASK_PLAIN ? HP_HAVE_PLAIN : HP_HAVE_STORED);
}

bool hp_have_is_other(const struct hp_have_known *k, uint32_t chunk,
		      enum hp_ask_kind kind)
{
	return has(k, chunk) >= HP_HAVE_STORED &&
	       !hp_have_is_form(k, chunk, kind);
}

bool hp_have_is_coming(const struct hp_have_known *k, uint32_t chunk,
		       uint64_t now)
{
	return has(k, chunk) == HP_HAVE_COMING &&
	       !(k->vain && now < k->vain + HP_HAVE_AGE);
}

/* What was coming may be there soon; but long lists are not asked for often. */
static uint64_t coming_age(const struct hp_have_known *k)
{
	const uint64_t age = HP_HAVE_COMING_AGE +
			     hp_have_size(k->list->of.chunks) * NS_A_BYTE;

	return age < HP_HAVE_AGE ? age : HP_HAVE_AGE;
}

static bool is_old(const struct hp_have_known *k, uint32_t chunk, uint64_t now)
{
	const bool coming = hp_have_is_coming(k, chunk, now);

	return now >= k->at + (coming ? coming_age(k) : HP_HAVE_AGE);
}

bool hp_have_denies(const struct hp_have_known *k, uint32_t chunk,
		    enum hp_ask_kind kind, uint64_t now)
{
	return k->list && !is_old(k, chunk, now) &&
	       !hp_have_is_form(k, chunk, kind);
}

bool hp_have_wants(const struct hp_have_known *k, uint32_t chunk,
		   enum hp_ask_kind kind, uint64_t now)
{
	if (!k->at)
		return true;
	return is_old(k, chunk, now) &&
	       (k->old || !hp_have_is_form(k, chunk, kind));
}

void hp_have_denied(struct hp_have_known *k, uint32_t chunk,
		    enum hp_ask_kind kind)
{
	k->old = true;
	if (hp_have_is_form(k, chunk, kind))
		hp_haves_set(k->list, chunk, HP_HAVE_NOT);
}

void hp_have_in_vain(struct hp_have_known *k, uint32_t chunk, uint64_t now)
{
	if (has(k, chunk) == HP_HAVE_COMING)
		k->vain = now;
}
