/* SPDX-License-Identifier: Apache-2.0 */
/* What is said to a request: hpdsl-format(5), "WIRE OF A JOB'S NODES". */
#include "serve/decide.h"

bool hp_serve_has(const struct hp_serve_known *k, bool plain)
{
	if (!k->compressed)
		return plain && (k->state == HP_CHUNK_READY ||
				 k->state == HP_CHUNK_EXPANDED);
	return k->state == (plain ? HP_CHUNK_EXPANDED : HP_CHUNK_READY);
}

enum hp_have hp_serve_have(bool compressed, enum hp_chunk_state s)
{
	switch (s) {
	case HP_CHUNK_COMING:
		return HP_HAVE_COMING;
	case HP_CHUNK_READY:
		return compressed ? HP_HAVE_STORED : HP_HAVE_PLAIN;
	case HP_CHUNK_EXPANDED:
		return HP_HAVE_PLAIN;
	default:
		return HP_HAVE_NOT;
	}
}

static struct hp_serve_says says(unsigned status)
{
	return (struct hp_serve_says){ .status = status };
}

static struct hp_serve_says later(unsigned seconds)
{
	return (struct hp_serve_says){ .status = 503, .retry = seconds };
}

static struct hp_serve_says chunk(const struct hp_serve_known *k,
				  const struct hp_ask *a)
{
	bool plain = a->kind == HP_ASK_PLAIN;
	uint64_t size = plain ? k->plain_bytes : k->bytes;

	if (a->chunk >= k->chunks || !hp_serve_has(k, plain))
		return says(404);
	if (a->last >= size)
		return says(416);
	if (k->leaving && k->others)
		return later(HP_SERVE_NEVER);
	if (k->owes >= k->queue)
		return later(HP_SERVE_SOON);
	return (struct hp_serve_says){ .status = 206,
				       .offset = a->first,
				       .length = a->last - a->first + 1,
				       .plain = plain };
}

struct hp_serve_says hp_serve_decide(const struct hp_serve_known *k, int asked,
				     const struct hp_ask *a)
{
	if (asked != HP_ASKED_WELL)
		return says((unsigned)asked);
	switch (a->kind) {
	case HP_ASK_PLAIN:
	case HP_ASK_STORED:
		return chunk(k, a);
	case HP_ASK_HAVE:
		return (struct hp_serve_says){
			.status = 200, .length = hp_have_size(k->chunks)
		};
	case HP_ASK_STATUS:
		return says(200);
	}
	return says(404);
}
