/* SPDX-License-Identifier: Apache-2.0 */
/* Where a node's server listens: where it was found, or by a walk. */
#include "peers/private.h"

#include "sys/clock.h"

static uint32_t places(const struct hp_peers *p, uint32_t node)
{
	return hp_book_addresses(hp_peers_book(p), node) * HP_BOOK_PORTS;
}

static uint16_t found_by_others(struct hp_peers *p, uint32_t node)
{
	return hp_table_get(&p->table, node, p->now).port;
}

bool hp_place_is_known(struct hp_peers *p, uint32_t node)
{
	return p->peer[node].found || found_by_others(p, node);
}

static void at_known_place(struct hp_peers *p, struct hp_client_ask *a)
{
	const struct hp_peer *n = &p->peer[a->node];

	a->address = n->found ? n->address : 0;
	a->port = n->found ? n->port : found_by_others(p, a->node);
}

bool hp_place_next(struct hp_peers *p, struct hp_client_ask *a)
{
	struct hp_peer *n = &p->peer[a->node];
	uint32_t at;

	a->sought_until = 0;
	if (!a->known) {
		a->known = true;
		a->ports.place = n->first_place;
		if (places(p, a->node) && hp_place_is_known(p, a->node)) {
			at_known_place(p, a);
			hp_health_sought(&n->health, false);
			return true;
		}
	}
	/* A single one that says nothing may be the server, with much to do. */
	hp_health_sought(&n->health, a->ports.mutes > 1);
	if (!hp_ports_next(&a->ports, places(p, a->node), &at)) {
		n->first_place = a->ports.place;
		return false;
	}
	/* The search after this one begins elsewhere, and ends so. */
	if (a->ports.again)
		n->first_place = hp_ports_after(&a->ports, places(p, a->node));
	a->address = (uint8_t)(at / HP_BOOK_PORTS);
	a->port = (uint16_t)(hp_peers_book(p)->head.port + at % HP_BOOK_PORTS);
	/* Who adopts it may be silent for as long as that takes. */
	if (!a->ports.again && !a->what.adopt)
		a->sought_until = hp_monotonic() + HP_PLACE_AFTER;
	return true;
}

bool hp_place_is_sought(const struct hp_client_ask *a)
{
	return a->at == HP_ASK_OPEN && !a->proven && a->sought_until;
}

bool hp_place_is_mute(struct hp_peers *p, struct hp_client_ask *a)
{
	const uint32_t at = (uint32_t)(a->port - hp_peers_book(p)->head.port);

	if (!hp_place_is_sought(a) || p->now < a->sought_until)
		return false;
	/* Where no connection comes about, none does at its other ports. */
	if (!hp_transfer_is_sent(p->engine, &a->t)) {
		a->sought_until = p->now + HP_PLACE_AFTER;
		return false;
	}
	hp_ports_mute(&a->ports, a->address * HP_BOOK_PORTS + at);
	return true;
}

void hp_place_found(struct hp_peers *p, struct hp_client_ask *a)
{
	struct hp_peer *n = &p->peer[a->node];

	a->proven = true;
	n->found = true;
	n->address = a->address;
	n->port = a->port;
	if (a->address == 0)
		hp_table_found(&p->table, a->node, p->now, a->port);
}

void hp_place_not_here(struct hp_peers *p, const struct hp_client_ask *a,
		       bool connected)
{
	const uint32_t all = places(p, a->node);
	struct hp_peer *n = &p->peer[a->node];
	const uint32_t at = (uint32_t)(a->port - hp_peers_book(p)->head.port);

	if (n->found || !all)
		return;
	if (!connected)
		n->first_place = (a->address + 1U) * HP_BOOK_PORTS % all;
	else
		n->first_place = (a->address * HP_BOOK_PORTS + at + 1U) % all;
}
