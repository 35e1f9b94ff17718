/* SPDX-License-Identifier: Apache-2.0 */
#include "peers/probing.h"

#include "peers/wire.h"

/* ---- Where it is ------------------------------------------------------ */

void hp_probing_begin(struct hp_probing *p)
{
	p->port = p->first;
	p->step = p->addresses ? HP_PROBE_FIND : HP_PROBE_OVER;
}

static void next_address(struct hp_probing *p)
{
	if (p->address + 1 < p->addresses) {
		p->address++;
		p->port = p->first;
	} else {
		p->step = HP_PROBE_OVER;
	}
}

/* Where no connection comes about, none does at the other ports. */
static void look_on(struct hp_probing *p, enum hp_probe_came came)
{
	p->seen |= 1U << came;
	if (came == HP_CAME_SILENT || p->port + 1 >= p->first + HP_BOOK_PORTS)
		next_address(p);
	else
		p->port++;
}

static void look(struct hp_probing *p, enum hp_probe_came came)
{
	if (came != HP_CAME_WELL)
		p->pick = (struct hp_probe_pick){ .size = 0 };
	p->found = came == HP_CAME_WELL || came == HP_CAME_NOT;
	if (p->found)
		p->step = HP_PROBE_WAITS;
	else
		look_on(p, came);
}

/* ---- How fast it is --------------------------------------------------- */

void hp_probing_turn(struct hp_probing *p)
{
	p->step = HP_PROBE_PING;
}

static void ping(struct hp_probing *p, double seconds)
{
	if (!p->pings || seconds < p->ping)
		p->ping = seconds;
	if (++p->pings == HP_PROBE_PINGS)
		p->step = p->pick.size ? HP_PROBE_READ : HP_PROBE_OVER;
}

static void measure(struct hp_probing *p, enum hp_probe_came came,
		    double seconds)
{
	const bool proven = came == HP_CAME_WELL || came == HP_CAME_NOT;

	if (!proven) {
		p->lost = true;
		p->step = HP_PROBE_OVER;
	} else if (p->step == HP_PROBE_PING) {
		ping(p, seconds);
	} else if (came == HP_CAME_NOT) {
		/* it may be gone, or there is no time for it */
		p->step = HP_PROBE_OVER;
	} else {
		p->second[p->reads++] = seconds;
		if (p->reads == HP_PROBE_READS)
			p->step = HP_PROBE_OVER;
	}
}

/* ---- All of it -------------------------------------------------------- */

void hp_probing_came(struct hp_probing *p, enum hp_probe_came came,
		     double seconds)
{
	if (came == HP_CAME_SELF) {
		p->self = true;
		p->step = HP_PROBE_OVER;
	} else if (p->step == HP_PROBE_FIND) {
		look(p, came);
	} else {
		measure(p, came, seconds);
	}
}

void hp_probing_stop(struct hp_probing *p)
{
	p->step = HP_PROBE_OVER;
}

/* What says most of why it was not found comes first. */
enum hpdsl_probe_is hp_probing_is(const struct hp_probing *p)
{
	static const struct {
		enum hp_probe_came came;
		enum hpdsl_probe_is is;
	} rows[] = {
		{ HP_CAME_DENIED, HPDSL_PROBE_DENIED },
		{ HP_CAME_MUTE, HPDSL_PROBE_MUTE },
		{ HP_CAME_CLOSED, HPDSL_PROBE_CLOSED },
		{ HP_CAME_OTHER, HPDSL_PROBE_OTHER },
		{ HP_CAME_SILENT, HPDSL_PROBE_SILENT },
		{ HP_CAME_REFUSED, HPDSL_PROBE_REFUSED },
	};

	if (p->self)
		return HPDSL_PROBE_NOT_ASKED;
	if (p->lost)
		return HPDSL_PROBE_LOST;
	if (p->found)
		return HPDSL_PROBE_WELL;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		if (p->seen & 1U << rows[i].came)
			return rows[i].is;
	return HPDSL_PROBE_NOT_ASKED;
}

uint64_t hp_probing_bytes(const struct hp_probing *p)
{
	return p->pick.size < HP_ASK_MOST ? p->pick.size : HP_ASK_MOST;
}

double hp_probing_rate(const struct hp_probing *p)
{
	double least = 0, most = 0, sum = 0, middle;

	for (unsigned i = 0; i < p->reads; i++) {
		sum += p->second[i];
		least = !i || p->second[i] < least ? p->second[i] : least;
		most = p->second[i] > most ? p->second[i] : most;
	}
	middle = p->reads == 3 ? sum - least - most : least;
	return middle > 0 ? (double)hp_probing_bytes(p) / middle : 0;
}

/* ---- What it has ------------------------------------------------------ */

static void pick(struct hp_probe_pick *k, const struct hp_client_facts *facts,
		 uint32_t chunk, enum hp_have have)
{
	const enum hp_ask_kind kind =
		have == HP_HAVE_PLAIN ? HP_ASK_PLAIN : HP_ASK_STORED;
	struct hp_client_form form;

	k->chunks++;
	if (k->size >= HP_ASK_MOST || k->looks >= HP_PROBE_LOOKS)
		return;
	k->looks++;
	if (!facts->form(facts->arg, chunk, kind, &form) ||
	    form.size <= k->size)
		return;
	k->chunk = chunk;
	k->kind = kind;
	k->size = form.size;
}

void hp_probe_pick(struct hp_probe_pick *k, const struct hp_client_facts *facts,
		   uint64_t at, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t b = 0; p[i] && b < 4; b++) {
			const uint64_t chunk = 4 * (at + i) + b;
			const enum hp_have have = hp_have_get(p + i, b);

			if (chunk < facts->chunks && have != HP_HAVE_NOT &&
			    have != HP_HAVE_COMING)
				pick(k, facts, (uint32_t)chunk, have);
		}
}
