/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks as other nodes of the job hold them, for this one to adopt: of those
 * alone that were planned to, and of nobody who would have to fetch it first,
 * so that no two wait for each other.
 */
#ifndef HP_SERVE_HELD_H
#define HP_SERVE_HELD_H

#include "hpdsl/dataset.h"
#include "hpdsl/serve.h"

#include <sys/types.h>

struct hp_held;

/* There is a new book, and its table; by the thread that looks. */
void hp_held_turn(struct hpdsl_serve *s);
/* Nobody reads any more. */
void hp_held_free(struct hpdsl_serve *s);

/* Is there one who is to hold it and has not failed, as far as is known?  Under
 * s->lock, to be read. */
bool hp_held_by_others(const struct hpdsl_serve *s, uint32_t chunk);

/*
 * n bytes of the chunk as it is stored, or -errno; -EHOSTUNREACH: nobody gives
 * them.  Ends within seconds.  *ret_node: who gave them; HP_NO_NODE: several.
 */
ssize_t hp_held_read(struct hpdsl_serve *s, const struct hpdsl_chunk *row,
		     uint64_t offset, void *buf, size_t n, uint32_t *ret_node);
/* What it gave of the chunk was wrong. */
void hp_held_bad(struct hpdsl_serve *s, uint32_t node, uint32_t chunk);

#endif
