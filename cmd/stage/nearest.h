/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of each thing, the nearest member of a ring, on one side, that has it marked.
 * Each member knows its own marks only.  In each round it tells another one
 * what it knows, itself included, and hears as much of a third, and knows of
 * twice as many members from then on: after log2(members) rounds, of all.  A
 * table has a number for each thing, whatever the number of members.
 *
 *	reach = 0;
 *	while ((step = nearest_step(reach, members))) {
 *		nearest_tell(); sent to the member step places further on
 *		nearest_hear(); from the member step places back
 *		reach += step;
 *	}
 */
#ifndef CMD_STAGE_NEAREST_H
#define CMD_STAGE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NEAREST_NONE UINT32_MAX

/* How far to speak when so many neighbours are known; 0: all are. */
uint32_t nearest_step(uint32_t reach, uint32_t members);
/* near: NEAREST_NONE of each of n things in the beginning. */
void nearest_tell(const uint32_t *near, const bool *mine, uint32_t me, size_t n,
		  uint32_t *ret);
void nearest_hear(uint32_t *near, const uint32_t *heard, size_t n);

#endif
