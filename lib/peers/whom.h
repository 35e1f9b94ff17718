/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a reader asks for bytes of a chunk that is not here: a pure function of
 * what it knows of the job's nodes now.  Nothing is agreed on: where views
 * differ, a chunk is adopted twice, which is counted and harms nobody.
 *
 * In order: a holder; the adopter, who fetches it for all; a holder that is
 * slow; the origin.  Of the holders two are drawn, and the one that owes less
 * is asked (the power of two choices: Azar, Broder, Karlin, Upfal, "Balanced
 * Allocations", 1999).  The adopter is the living node with the highest hash of
 * node and chunk (rendezvous hashing: Thaler, Ravishankar, 1998), so what a
 * lost node held is spread over all others, and only that moves.
 */
#ifndef HP_PEERS_WHOM_H
#define HP_PEERS_WHOM_H

#include <stdbool.h>
#include <stdint.h>

#define HP_NO_NODE UINT32_MAX

/* What a reader knows of a node. */
struct hp_peer_view {
	bool lives;	/* neither late nor suspect, as far as it is known */
	bool denies;	/* it has said that it has not got the chunk */
	bool slow;	/* beside others: asked where nobody can adopt it */
	bool doubted;	/* it did not answer when it last was asked */
	uint64_t owed;	/* bytes: by this reader's count, and as it told */
	uint64_t heard; /* when a byte of it last came */
	uint32_t rack;	/* 0: not known */
};
typedef struct hp_peer_view hp_peer_look(void *arg, uint32_t node);

/*
 * So often somebody is asked for one thing, then the origin: nodes which say
 * one after the other that they have not got it, or no time, end there.
 */
#define HP_WHOM_MOST 4

/* Whether enough live, for so long: many requests want to know it at once, and
 * all nodes have to be looked at for it.  Zero: not known. */
#define HP_QUORUM_AGE UINT64_C(100000000)
struct hp_quorum {
	uint64_t until;
	bool is;
};

struct hp_whom {
	uint32_t nodes, self; /* self: the node of who asks */
	uint32_t chunk;
	/* planned to hold it, from first to last; first > last: nobody */
	uint32_t first, last;
	uint32_t before; /* who was asked last for this; HP_NO_NODE: nobody */
	uint32_t asked;	 /* how often somebody was, at HP_WHOM_MOST no more */
	/* Since the first of them was, and for how long that may be; 0: any. */
	uint64_t waited, patience;
	uint64_t now;
	struct hp_quorum *quorum; /* of who asks; NULL: looked at each time */
	hp_peer_look *look;
	void *arg;
};

enum hp_whom_as {
	HP_WHOM_HOLDER,
	HP_WHOM_ADOPTER, /* with the flag "adopt" */
	HP_WHOM_ORIGIN,
};

enum hp_whom_why {
	HP_WHY_HOLDS,
	HP_WHY_ADOPTS,
	HP_WHY_CUT_OFF, /* fewer than half of all nodes live: no adoption */
	HP_WHY_ENOUGH,	/* asked too often, or for too long */
	HP_WHY_ALONE,	/* nobody is left to adopt it but who was just asked */
};

struct hp_whom_is {
	enum hp_whom_as as;
	enum hp_whom_why why;
	uint32_t node; /* HP_NO_NODE: the origin */
};

/*
 * To be called again when who was asked has failed, denies it or is late, and
 * when patience is over: a node that sends a byte now and then is never late.
 * So each request ends: in bytes, or at the origin after patience at most.
 *
 * Looks at the chunk's holders, and only if none will do at all nodes: then in
 * O(nodes).  The adopter may be the node of who asks.
 */
struct hp_whom_is hp_whom(const struct hp_whom *c);

/* May chunks be adopted?  Half of the nodes have to live, of whom one asks; as
 * it was found HP_QUORUM_AGE before at most. */
bool hp_whom_quorum(const struct hp_whom *c);

/* Who adopts the chunk, but except; HP_NO_NODE: nobody lives. */
uint32_t hp_whom_adopter(const struct hp_whom *c, uint32_t except);

#endif
