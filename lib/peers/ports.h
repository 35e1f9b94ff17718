/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At which of a node's places, addresses by ports, one request looks for its
 * server: one after the other, in a circle, and at no more than so many, as
 * each may take its time to say that it is somebody else's.  Where it ends the
 * next request goes on.
 */
#ifndef HP_PEERS_PORTS_H
#define HP_PEERS_PORTS_H

#include <stdbool.h>
#include <stdint.h>

enum { HP_PORTS_MOST = 32 };

struct hp_ports {
	uint32_t place; /* the next one */
	uint32_t tried;
};

/* Of all, where 0 are none; false: no more. */
bool hp_ports_next(struct hp_ports *w, uint32_t all, uint32_t *ret_place);

#endif
