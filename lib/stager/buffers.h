/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stager's buffers, of one segment each.  Before the segment, which is
 * aligned as O_DIRECT needs it, there is room for the header of a message: both
 * travel in one piece.  A buffer remembers what it held until it is used again,
 * so that a segment which was just written need not be read to be passed on.
 * For one thread.
 */
#ifndef HP_STAGER_BUFFERS_H
#define HP_STAGER_BUFFERS_H

#include "hpdsl/core.h"

enum { HP_BUFFER_ALIGN = 4096 };

/* What is in a buffer. */
struct hp_segment_id {
	uint64_t chunk, offset;
	uint32_t length;
	bool plain;
};

struct hp_buffer {
	uint8_t *data; /* the segment; the header is right before it */
	struct hp_segment_id id;
	bool known; /* id tells what is in it */
	uint32_t users;
	uint32_t senders; /* of these: messages, which share one header */
	uint64_t freed;	  /* when, by the clock of the buffers */
};

struct hp_buffers {
	uint32_t segment; /* bytes: a power of two, 64 KiB to 4 MiB */
	uint32_t max;	  /* buffers */
	uint32_t touched; /* buffers that ever were used: the first ones */
	uint32_t used, most_used;
	uint64_t clock;
	uint8_t *memory;
	struct hp_buffer *v;
};

/* Takes at most 3/4 of memory, and of that only what is used.  -ENOMEM. */
int hp_buffers_init(struct hp_buffers *b, uint64_t memory,
		    struct hpdsl_error *err);
void hp_buffers_release(struct hp_buffers *b);

/* One with a user; NULL: all are in use. */
struct hp_buffer *hp_buffers_get(struct hp_buffers *b);
/* One that holds this, with a user more; NULL: none does. */
struct hp_buffer *hp_buffers_find(struct hp_buffers *b,
				  const struct hp_segment_id *id);
void hp_buffers_put(struct hp_buffers *b, struct hp_buffer *buf);
/* Whose header or segment lies at p. */
struct hp_buffer *hp_buffers_at(const struct hp_buffers *b, const void *p);
/* What is held of a chunk may be wrong, or will not be asked for. */
void hp_buffers_forget(struct hp_buffers *b, uint64_t chunk);

#endif
