/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a chunk that is on its way. */
#include "serve/pieces.h"

#include <stdlib.h>

bool hp_pieces_begin(struct hp_pieces *p, uint64_t size)
{
	uint64_t n = (size + HP_PIECE - 1) / HP_PIECE;

	*p = (struct hp_pieces){ .size = size };
	if (n >= HP_NO_PIECE)
		return false;
	p->n = (uint32_t)n;
	p->waits = calloc(n + 1, sizeof *p->waits);
	p->is = calloc(n + 1, 1);
	if (p->waits && p->is)
		return true;
	hp_pieces_end(p);
	return false;
}

void hp_pieces_end(struct hp_pieces *p)
{
	free(p->waits);
	free(p->is);
	*p = (struct hp_pieces){ 0 };
}

bool hp_pieces_have(const struct hp_pieces *p, uint64_t first, uint64_t last)
{
	for (uint64_t i = first / HP_PIECE; i <= last / HP_PIECE; i++)
		if (p->is[i] != HP_PIECE_HERE)
			return false;
	return true;
}

static void add(struct hp_pieces *p, uint64_t first, uint64_t last, uint32_t k)
{
	for (uint64_t i = first / HP_PIECE; i <= last / HP_PIECE; i++)
		p->waits[i] += k;
}

void hp_pieces_await(struct hp_pieces *p, uint64_t first, uint64_t last)
{
	add(p, first, last, 1);
}

void hp_pieces_let(struct hp_pieces *p, uint64_t first, uint64_t last)
{
	add(p, first, last, UINT32_MAX);
}

static uint32_t awaited_one(const struct hp_pieces *p)
{
	for (uint32_t i = p->next; i < p->n; i++)
		if (p->is[i] == HP_PIECE_NOT && p->waits[i])
			return i;
	return HP_NO_PIECE;
}

bool hp_pieces_left(const struct hp_pieces *p)
{
	for (uint32_t i = p->next; i < p->n; i++)
		if (p->is[i] == HP_PIECE_NOT)
			return true;
	return false;
}

uint32_t hp_pieces_next(struct hp_pieces *p, bool awaited)
{
	uint32_t i;

	while (p->next < p->n && p->is[p->next] != HP_PIECE_NOT)
		p->next++;
	i = awaited_one(p);
	if (i == HP_NO_PIECE && !awaited && p->next < p->n)
		i = p->next;
	if (i != HP_NO_PIECE)
		p->is[i] = HP_PIECE_COMING;
	return i;
}

void hp_pieces_came(struct hp_pieces *p, uint32_t piece, bool well)
{
	p->is[piece] = well ? HP_PIECE_HERE : HP_PIECE_NOT;
	p->here += well;
	if (!well && piece < p->next)
		p->next = piece;
}

uint64_t hp_pieces_length(const struct hp_pieces *p, uint32_t piece)
{
	uint64_t at = (uint64_t)piece * HP_PIECE;

	return p->size - at < HP_PIECE ? p->size - at : HP_PIECE;
}
