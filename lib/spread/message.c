/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of the exchange as bytes: kind, plain, credits (2), attempt (4),
 * chunk (8), offset (8), length (4), little-endian, and a checksum of those
 * (4).  What a kind has no use for is zero.
 */
#include "base/bytes.h"
#include "base/hash.h"
#include "spread/exchange.h"

enum { SUMMED = 28 };

void hp_message_put(const struct hp_message *m, uint8_t out[HP_MESSAGE_HEADER])
{
	out[0] = m->kind;
	out[1] = m->plain;
	hp_put16(out + 2, m->credits);
	hp_put32(out + 4, m->attempt);
	hp_put64(out + 8, m->chunk);
	hp_put64(out + 16, m->offset);
	hp_put32(out + 24, m->length);
	hp_put32(out + SUMMED, (uint32_t)hp_hash64(out, SUMMED));
}

static bool makes_sense(const struct hp_message *m)
{
	bool segment = m->offset || m->length || m->plain;

	switch (m->kind) {
	case HP_MSG_REQUEST:
	case HP_MSG_CREDIT:
		return m->credits && !segment;
	case HP_MSG_DATA:
		return m->length && !m->credits;
	case HP_MSG_SORRY:
	case HP_MSG_CANCEL:
	case HP_MSG_AGAIN:
	case HP_MSG_LOST:
		return !m->credits && !segment;
	default:
		return false;
	}
}

int hp_message_get(const uint8_t in[HP_MESSAGE_HEADER], size_t n,
		   struct hp_message *ret)
{
	struct hp_message m;

	if (n < HP_MESSAGE_HEADER || in[1] > 1 ||
	    hp_get32(in + SUMMED) != (uint32_t)hp_hash64(in, SUMMED))
		return HPDSL_ECORRUPT;
	m = (struct hp_message){
		.kind = in[0],
		.plain = in[1],
		.credits = hp_get16(in + 2),
		.attempt = hp_get32(in + 4),
		.chunk = hp_get64(in + 8),
		.offset = hp_get64(in + 16),
		.length = hp_get32(in + 24),
	};
	if (!makes_sense(&m) || n - HP_MESSAGE_HEADER != m.length)
		return HPDSL_ECORRUPT;
	*ret = m;
	return 0;
}
