/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of its addresses a node offers to the job's others, and in which order,
 * from lists alone: what the system says of interfaces is interfaces.c's.
 */
#ifndef HP_PEERS_OFFER_H
#define HP_PEERS_OFFER_H

#include "hpdsl/peers.h"

/* An address as the system has it. */
struct hp_interface {
	struct hpdsl_peer_address address;
	bool up, loopback;
};

/* Which of them are wanted. */
struct hp_only {
	bool any;
	char name[16]; /* begins so; "": a subnet */
	uint8_t ip[16];
	uint32_t prefix;
};

/* text: NULL, or as hpdsl_peer_only_check() has it.  -EINVAL. */
int hp_only_parse(const char *text, struct hp_only *ret);

/* Is this address one of them? */
bool hp_only_takes(const struct hp_only *only,
		   const struct hpdsl_peer_address *a);

/* Fills in ret's offers, from n addresses. */
void hp_offer(const struct hp_interface *all, size_t n,
	      const struct hp_only *only, struct hpdsl_peer_node *ret);

#endif
