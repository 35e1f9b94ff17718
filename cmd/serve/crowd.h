/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has to go when there are too many connections: pure.  None that is being
 * answered does, and none that has proven something as long as there is one
 * that has not.
 */
#ifndef CMD_SERVE_CROWD_H
#define CMD_SERVE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SERVE_CONNECTIONS = 4096,
	SERVE_SPARE = 64,    /* fewer from which on some go */
	SERVE_UNPROVEN = 64, /* of an address, that have proven nothing yet */
	SERVE_PROVEN = 1024, /* of an address, that have */
};

struct serve_connection {
	struct serve_connection *next, **at;
	uint8_t ip[16];
	uint64_t came, used; /* ns of CLOCK_MONOTONIC */
	int fd;
	bool proven;
	bool refused;  /* of another user: on the Unix socket */
	bool shut;     /* it goes, and does not count any more */
	unsigned busy; /* requests that are being answered */
};

/*
 * The one that goes for c, which is in the list, to stay; or c itself, as all
 * others are busy; NULL: there is room for all.
 */
struct serve_connection *serve_crowd(struct serve_connection *first,
				     struct serve_connection *c);

#endif
