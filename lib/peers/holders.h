/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes were planned to hold a chunk: those of whose parts one is chunk
 * mod D.  hpdsl-format(5), "BOOK OF A JOB'S NODES".
 */
#ifndef HP_PEERS_HOLDERS_H
#define HP_PEERS_HOLDERS_H

#include "peers/book.h"

/* From first to last, both included; there is always one. */
void hp_holders(const struct hp_book_head *b, uint32_t chunk,
		uint32_t *ret_first, uint32_t *ret_last);

/* The other way round: the parts of a node, and there is always one. */
void hp_holds(const struct hp_book_head *b, uint32_t node, uint32_t *ret_first,
	      uint32_t *ret_last);

#endif
