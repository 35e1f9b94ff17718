/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of fetching share. */
#ifndef HP_FETCH_PRIVATE_H
#define HP_FETCH_PRIVATE_H

#include "fetch.h"

/* ---- Where members lie: fetch_room.c ------------------------------------ */

/* Bytes of the pages that hold these of a file. */
uint64_t hp_fetch_pages(uint64_t begin, uint64_t end);
/* Is a member read with what goes before it, to end? */
bool hp_fetch_joins(uint64_t end, const struct hp_block_member *m);

#endif
