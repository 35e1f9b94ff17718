/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At which of a node's places, addresses by ports, one request looks for its
 * server: one after the other, in a circle, and at no more than so many, as
 * each may take its time to say that it is somebody else's.  Where it ends the
 * next request goes on.
 *
 * A place that takes the connection and says nothing is passed over: it may be
 * somebody else's, or the server has much to do.  So the first of these comes a
 * second time, after all others, and last.
 */
#ifndef HP_PEERS_PORTS_H
#define HP_PEERS_PORTS_H

#include <stdbool.h>
#include <stdint.h>

enum { HP_PORTS_MOST = 32 };

struct hp_ports {
	uint32_t place; /* the next one */
	uint32_t tried;
	uint32_t mute;	/* plus 1: the first that said nothing; 0: none did */
	uint32_t mutes; /* how many of these there are */
	bool again;	/* it has come a second time */
};

/* Of all, where 0 are none; false: no more. */
bool hp_ports_next(struct hp_ports *w, uint32_t all, uint32_t *ret_place);
/* When one has come again: where the next request is to begin, so that another
 * place comes last, and all come. */
uint32_t hp_ports_after(const struct hp_ports *w, uint32_t all);
/* At that place there was a connection, and no word in time. */
void hp_ports_mute(struct hp_ports *w, uint32_t place);

#endif
