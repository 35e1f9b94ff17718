/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a node to be asked?  What a process has seen of it, over times that are
 * passed in: nothing here looks at a clock.  Nanoseconds of one clock that does
 * not go back; where it seems to, nothing happens.
 *
 * Well: it answers.  Late: it owes an answer, and not a byte of it came for a
 * second, or for half a one while its server is looked for behind other
 * programs that say nothing; whatever it
 * is asked for goes elsewhere, and what it owes is the probe.  Suspect: it
 * refused or was reset, was late for five seconds, or was given up twice before
 * it had said a word; its connections are to be closed, and one request in 1,
 * 2, 4 .. 30 seconds is let through, a probe, for which a moment has to be
 * enough.  Banned: three times its bytes were not what their checksums say;
 * that is for good.
 *
 * One byte makes it well again, but where it is banned.
 */
#ifndef HP_PEERS_HEALTH_H
#define HP_PEERS_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#define HP_SECOND UINT64_C(1000000000)
#define HP_LATE_AFTER HP_SECOND
/* .. of a server that is looked for behind other programs that say nothing */
#define HP_SOUGHT_AFTER (HP_SECOND / 2)
/* .. of who did not answer before, or is asked in place of one who did not */
#define HP_HURRIED_AFTER (HP_SECOND / 10)
#define HP_CLOSED_AFTER (5 * HP_SECOND)
#define HP_PROBE_MOST (30 * HP_SECOND)
/* Suspect for so long: others may begin to take over what it holds. */
#define HP_LOST_AFTER (30 * HP_SECOND)
#define HP_BAD_MOST 3

enum hp_health_is {
	HP_HEALTH_WELL,
	HP_HEALTH_LATE,
	HP_HEALTH_SUSPECT,
	HP_HEALTH_BANNED,
};

/* Zero everywhere: well, and asked for nothing. */
struct hp_health {
	enum hp_health_is is;
	uint32_t owed;	   /* requests under way */
	uint32_t bad;	   /* times that its bytes were wrong */
	uint64_t now;	   /* of the last call */
	uint64_t heard;	   /* the last byte, or since when it owes one */
	uint64_t suspect;  /* since when; of a suspect one */
	uint64_t probe_at; /* of a suspect one */
	uint64_t wait;	   /* between two probes */
	bool probed;	   /* a suspect one, since it last failed */
	bool sought;	   /* asked where other programs may be */
	bool silent;	   /* it was late when it was asked last */
	uint64_t mute; /* when it was given up, and silent; 0: it was heard */
};

/* How a request came to its end. */
enum hp_health_end {
	HP_END_DONE, /* answered, whatever it says: also "not here", "busy" */
	HP_END_GIVEN_UP, /* by who asked: how long it was silent says enough */
	HP_END_FAILED,	 /* refused, reset, unproven, or not what was asked */
};

/* May it be asked now?  A suspect one only for a probe, if none is under way.
 */
bool hp_health_may(const struct hp_health *h, uint64_t now);

/* It was silent when it was asked last: what it is asked for now is a probe. */
bool hp_health_is_doubted(const struct hp_health *h);
/* It is silent, or was when it was last asked.  One that is only just starting
 * refuses. */
bool hp_health_is_mute(const struct hp_health *h);

void hp_health_asked(struct hp_health *h, uint64_t now);
/* .. behind places of other programs that say nothing, or where it was found: a
 * byte ends the search, too. */
void hp_health_sought(struct hp_health *h, bool is);
void hp_health_heard(struct hp_health *h, uint64_t now);
void hp_health_ended(struct hp_health *h, uint64_t now, enum hp_health_end how);

/* Of what it sent a checksum differs, as is found out later. */
void hp_health_bad(struct hp_health *h, uint64_t now);

/* What is to be done with the requests that it owes. */
enum hp_health_do {
	HP_DO_NOTHING,
	HP_DO_ELSEWHERE, /* ask others, too; what is owed stays */
	HP_DO_CLOSE,	 /* ask others, and end them all as GIVEN_UP */
};
/* To be called at hp_health_next(), or a little later. */
enum hp_health_do hp_health_look(struct hp_health *h, uint64_t now);

/* When something is to be done if nothing comes; UINT64_MAX: never. */
uint64_t hp_health_next(const struct hp_health *h);

/* This process itself was away for so long: that was not the node's silence. */
void hp_health_away(struct hp_health *h, uint64_t gap);

/* Is it lost, so that what it holds may be taken over unasked? */
bool hp_health_lost(const struct hp_health *h, uint64_t now);

/* ---- Asking twice ----------------------------------------------------- */

#define HP_HEDGE_SECONDS 60
#define HP_HEDGE_PERCENT 5

/*
 * Requests in the last minute, and those for which somebody else was asked as
 * well though they were answered after all: then the network is slow, and not
 * the node, and asking twice makes it slower.
 */
struct hp_hedges {
	uint64_t second[HP_HEDGE_SECONDS];
	uint32_t asked[HP_HEDGE_SECONDS], vain[HP_HEDGE_SECONDS];
};
void hp_hedges_asked(struct hp_hedges *g, uint64_t now);
void hp_hedges_vain(struct hp_hedges *g, uint64_t now);
/* May another one be asked twice?  The first one in any minute may. */
bool hp_hedges_may(const struct hp_hedges *g, uint64_t now);

#endif
