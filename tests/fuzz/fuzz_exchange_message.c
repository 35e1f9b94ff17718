/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages as bytes, and an exchange that is told anything by its peers while
 * its own disk and buffers do what they should: bounds hold, nothing breaks.
 */
#include "base/bytes.h"
#include "spread/exchange.h"

#include <errno.h>
#include <stdlib.h>

enum { CHUNKS = 8, NODES = 4, PENDING = 64, RECORD = 12, SEGMENT = 100 };

struct world {
	struct hp_exchange *x;
	struct hp_exchange_config c;
	struct pending {
		enum hp_event_kind kind;
		struct hp_message m;
	} v[PENDING];
	unsigned n, in, out, read;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint32_t want[] = { 3, 0, 5, 1, 6 };
static const uint32_t from[] = { 1, 0, 2, 0, 1 };

static uint64_t bytes(void *arg, uint64_t chunk, bool plain)
{
	(void)arg;
	if (chunk == 6)
		return 0;
	return plain ? (chunk & 1 ? 450 : 0) : 50 + chunk * 70;
}

static bool held(void *arg, uint64_t chunk, bool *ret_plain)
{
	(void)arg;
	*ret_plain = chunk == 7;
	return chunk == 7 || chunk == 4;
}

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void pend(struct world *w, enum hp_event_kind kind,
		 const struct hp_message *m)
{
	must(w->n < PENDING);
	w->v[w->n++] = (struct pending){ kind, *m };
}

static void act(struct world *w)
{
	struct hp_action a;

	if (!hp_exchange_next(w->x, &a))
		return;
	if (a.kind == HP_ACT_READ) {
		must(++w->read <= w->c.origin_buffers);
		pend(w, HP_EV_READ, &a.msg);
	} else if (a.kind == HP_ACT_FINISH) {
		pend(w, HP_EV_VERIFIED, &a.msg);
	} else if (a.kind == HP_ACT_SEND && a.msg.kind == HP_MSG_DATA) {
		must(++w->out <= w->c.out_buffers);
		must(a.msg.length && a.msg.length <= SEGMENT);
		must(a.msg.offset + a.msg.length <=
		     bytes(NULL, a.msg.chunk, a.msg.plain));
		pend(w, HP_EV_SENT, &a.msg);
	}
}

/* The first one that may come true, from a place on; how is for checks. */
static void come_true(struct world *w, unsigned at, unsigned how)
{
	struct pending p;

	if (!w->n)
		return;
	at %= w->n;
	for (unsigned i = 0; i < at; i++)
		if (w->v[i].m.chunk == w->v[at].m.chunk)
			at = i;
	p = w->v[at];
	w->n--;
	memmove(w->v + at, w->v + at + 1, (w->n - at) * sizeof *w->v);
	if (p.kind == HP_EV_READ && how % 8 == 0) {
		p.kind = HP_EV_READ_FAILED;
		w->read--;
	}
	if (p.kind == HP_EV_VERIFIED && how % 4 == 0)
		p.kind = HP_EV_DIFFERS;
	if (p.kind == HP_EV_FREE)
		p.m.kind ? w->in-- : w->read--;
	if (p.kind == HP_EV_SENT)
		w->out--;
	hp_exchange_event(w->x, p.kind, p.m.chunk, p.m.offset, p.m.length,
			  p.m.plain);
	if (p.kind == HP_EV_READ)
		pend(w, HP_EV_WRITTEN, &p.m);
	if (p.kind == HP_EV_WRITTEN)
		pend(w, HP_EV_FREE, &p.m);
}

static void message(struct world *w, const uint8_t *p)
{
	struct hp_message m = {
		.kind = p[1] % 8,
		.plain = p[2] & 1,
		.credits = p[3] & 128 ? UINT16_MAX : p[3] & 7,
		.attempt = p[4] & 7,
		.chunk = p[5] % (CHUNKS + 1),
		.offset = p[6] & 1 ? hp_get16(p + 6) : p[6] / 2 * SEGMENT,
		.length = p[8] & 1 ? hp_get16(p + 8) : SEGMENT,
	};
	int rc;

	if (m.kind == HP_MSG_DATA && p[10] & 1)
		m.length =
			(uint32_t)((bytes(NULL, m.chunk, m.plain) - m.offset) %
				   SEGMENT);
	rc = hp_exchange_message(w->x, p[11] % NODES, &m);
	must(rc == 0 || rc == 1 || rc == HPDSL_ECORRUPT || rc == -ENOMEM);
	must(rc != 1 || m.kind == HP_MSG_DATA);
	if (rc != 1)
		return;
	must(++w->in <= w->c.in_buffers);
	pend(w, HP_EV_WRITTEN, &m);
}

static void record(struct world *w, const uint8_t *p)
{
	switch (p[0] % 8) {
	case 0:
	case 1:
	case 2:
		message(w, p);
		break;
	case 3:
	case 4:
		come_true(w, p[1], p[2]);
		break;
	case 5:
		if (p[1] > 250)
			hp_exchange_stop(w->x, p[1] & 1);
		break;
	default:
		for (unsigned i = p[1]; i; i--)
			act(w);
	}
}

static void wire(const uint8_t *data, size_t size)
{
	struct hp_message m;
	uint8_t again[HP_MESSAGE_HEADER];

	if (hp_message_get(data, size, &m) < 0)
		return;
	hp_message_put(&m, again);
	must(!memcmp(data, again, sizeof again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = { .n = 0 };

	wire(data, size);
	if (size < 8)
		return 0;
	w.c = (struct hp_exchange_config){
		.chunks = CHUNKS,
		.segment = SEGMENT,
		.in_streams = 1 + data[0] % 4,
		.in_buffers = 1 + data[1] % 8,
		.origin_streams = 1 + data[2] % 3,
		.origin_buffers = 1 + data[3] % 4,
		.out_buffers = 1 + data[4] % 4,
		.ahead = data[5] % 4,
		.want = want,
		.from = from,
		.n_want = sizeof want / sizeof *want,
		.bytes = bytes,
		.held = held,
	};
	if (hp_exchange_new(&w.c, &w.x, NULL) < 0)
		return 0;
	for (data += 8, size -= 8; size >= RECORD;
	     data += RECORD, size -= RECORD)
		record(&w, data);
	hp_exchange_free(w.x);
	return 0;
}
