/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of the wire as the engine carries it, and the head of an answer as
 * it comes from there.
 */
#ifndef HP_PEERS_CARRY_H
#define HP_PEERS_CARRY_H

#include "http/head.h"
#include "peers/wire.h"

enum { HP_CARRY_URL = 96, HP_CARRY_RANGE = 80 };

/* IPv6 stands in brackets. */
void hp_carry_url(const struct hp_ask *a, const uint8_t ip[16], uint16_t port,
		  char ret[HP_CARRY_URL]);
/*
 * Draws a nonce, and gives the lines of the request's fields; range is "" if it
 * has none.  False: no memory, or nothing to draw from.
 */
bool hp_carry_sign(const struct hp_book_head *b, struct hp_ask *a,
		   char ret_proof[HP_ASK_PROOF + 16],
		   char ret_range[HP_CARRY_RANGE]);
/* As hp_answered(). */
enum hp_answer_is hp_carry_answered(const struct hp_book_head *b,
				    const struct hp_ask *a,
				    const struct hp_expected *e,
				    const struct hp_head *h,
				    struct hp_answer *ret);

#endif
