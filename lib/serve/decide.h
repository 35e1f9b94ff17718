/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said to a request of another node, by what is known of the chunk that
 * it is about: no file, no lock, no clock.
 */
#ifndef HP_SERVE_DECIDE_H
#define HP_SERVE_DECIDE_H

#include "format/stage_state.h"
#include "peers/wire.h"

#include <stdbool.h>

/* Seconds: who would wait for longer than that, for the rate, is put off. */
#define HP_SERVE_LINE 0.5

struct hp_serve_known {
	uint32_t chunks; /* of the dataset */
	/* Of the chunk, if there is one of this number. */
	bool compressed;
	enum hp_chunk_state state; /* as far as it counts */
	uint64_t bytes, plain_bytes;
	/* Of the server. */
	uint64_t owes, queue; /* bytes; from queue on it takes no more */
	bool leaving;
	bool others; /* are to have the chunk, too */
};

enum {
	HP_SERVE_SOON = 1,    /* seconds until a busy one is asked again */
	HP_SERVE_NEVER = 600, /* .. and one that is leaving */
};

struct hp_serve_says {
	unsigned status;
	uint64_t offset, length; /* of 206: of the form's bytes */
	bool plain;		 /* which form */
	unsigned retry;		 /* seconds; of 503 */
};

/* Does what is here give this form of the chunk? */
bool hp_serve_has(const struct hp_serve_known *k, bool plain);

/* asked: what hp_asked() has returned, with *a. */
struct hp_serve_says hp_serve_decide(const struct hp_serve_known *k, int asked,
				     const struct hp_ask *a);

/* The two bits of /v1/have. */
enum hp_have hp_serve_have(bool compressed, enum hp_chunk_state s);

#endif
