/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From which source a chunk is read, and from which one next: a function of
 * what is known of the chunk and of the clock.  It opens, reads and waits for
 * nothing; who asks does what it says, and asks again.
 */
#ifndef HP_WHERE_H
#define HP_WHERE_H

#include "dataset/source.h"
#include "dataset/stage_watch.h"

/* Bits of a chunk's notes, for all who read it: each is counted once. */
enum {
	HP_NOTE_ABSENT = 1,
	HP_NOTE_OVERTAKEN = 2, /* nobody waits for it again */
	HP_NOTE_FAILED = 4,    /* nobody reads it here again */
	HP_NOTE_PEERS = 8,     /* other nodes were asked for it */
	HP_NOTE_PLAIN = 16,    /* .. which have it as the plain tar */
};

/* ---- Of a stage directory: which one now? ----------------------------- */

/* What is known at a look at the chunk; times as hp_monotonic() has them. */
struct hp_where_known {
	uint64_t opened;   /* the directory */
	uint64_t patience; /* nanoseconds for one that is coming */
	bool compressed;
	bool peers; /* may be asked; not looked at if it is here */
	uint8_t notes;
	/* What a look at it has shown, and when, if it is not ready; without a
	 * look if it has failed. */
	struct hp_stage_seen seen;
	uint64_t now;
	bool latest; /* there is no newer state file */
};

/* Forms of a chunk that a read has asked peers for in vain, as bits. */
enum {
	HP_ASKED_STORED = 1,
	HP_ASKED_PLAIN = 2,
	HP_ASKED_ALL = 3, /* they are not asked again by this read */
};

/* A read that looks for its chunk; zeros at first. */
struct hp_where {
	uint8_t asked;	/* HP_ASKED_.. */
	bool renewed;	/* a newer state file was asked for */
	bool coming;	/* it has been coming when it was looked at */
	uint64_t began; /* to wait; 0: it has not */
	uint64_t pause;
};

enum hp_where_do {
	HP_WHERE_READ,	/* at, with these notes, if any */
	HP_WHERE_WAIT,	/* ns, and then look again */
	HP_WHERE_RENEW, /* the state file, if it is that old: ns */
};

/* As small as to be returned in registers. */
struct hp_where_step {
	uint64_t ns;
	enum hp_where_do what : 8;
	enum hp_chunk_at at : 8;
	uint8_t note;
};

struct hp_where_step hp_where_next(struct hp_where *w,
				   const struct hp_where_known *k);

/* The one that what is here of a chunk has. */
enum hp_chunk_at hp_where_form(const struct hp_stage_seen *seen,
			       bool compressed);
/* Is it ready? */
bool hp_where_here(const struct hp_stage_seen *seen);

/* ---- One has failed: which one next? ---------------------------------- */

/* Who has read it, and what. */
struct hp_where_read {
	bool staged; /* from a stage directory: there is an origin */
	enum hp_chunk_at at;
	bool rest;   /* what is left here, as the origin's is of no use */
	bool looked; /* it was bad here before, not only its chunk */
	bool given;  /* bytes that cannot be taken back */
};

enum hp_where_after {
	HP_AFTER_END,	/* there is no other */
	HP_AFTER_OTHER, /* not here: hp_where_next() says where */
	HP_AFTER_REST,	/* what is left here, of which each member may be good
			   though the chunk is not */
};

/* By the blame that its source puts on it. */
enum hp_where_after hp_where_after(const struct hp_where_read *r,
				   unsigned blame);

#endif
