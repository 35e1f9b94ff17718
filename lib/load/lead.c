/* SPDX-License-Identifier: Apache-2.0 */
#include "load/lead.h"

enum {
	BLOCK = 16, /* turns: whoever takes some at once waits then */
	FORGET =
		16, /* reads, or blocks, until a third is left of the largest */
	SPARE = 2,  /* times what is needed: reads differ */
};
#define FASTEST 64e9 /* bytes a second, of a loop that only takes */

/* The largest of late. */
static void note(double *largest, double is)
{
	*largest = is > *largest ? is : *largest + (is - *largest) / FORGET;
}

void hp_lead_read(struct hp_lead *p, double seconds)
{
	note(&p->read, seconds);
}

static double rate_of(uint64_t bytes, double busy)
{
	double most = (double)bytes / FASTEST;

	if (!bytes)
		return 0;
	return busy > most ? (double)bytes / busy : FASTEST;
}

void hp_lead_took(struct hp_lead *p, uint64_t bytes, double busy)
{
	p->bytes += bytes;
	p->busy += busy;
	if (++p->turns < BLOCK)
		return;
	note(&p->rate, rate_of(p->bytes, p->busy));
	p->bytes = 0;
	p->busy = 0;
	p->turns = 0;
}

void hp_lead_holds(struct hp_lead *p, uint64_t turn)
{
	if (!p->held_from)
		p->held_from = turn;
}

void hp_lead_waits(struct hp_lead *p, uint64_t turn)
{
	if (!p->held_from || turn < p->held_from)
		return;
	p->waits += p->waits < 32;
	p->held_from = 0;
}

void hp_lead_seek(struct hp_lead *p)
{
	p->held_from = 0;
}

uint64_t hp_lead_far(const struct hp_lead *p, double busy, uint64_t memory)
{
	double least = (double)(HP_LEAD_LEAST << p->waits);
	double rate = p->rate, far;

	if (rate <= 0 && !p->turns)
		return memory;
	if (rate <= 0) /* what there is of the first block */
		rate = rate_of(p->bytes, p->busy + busy);
	far = SPARE * rate * p->read;
	if (far < least)
		far = least;
	return far < (double)memory ? (uint64_t)far : memory;
}
