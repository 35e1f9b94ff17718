/* SPDX-License-Identifier: Apache-2.0 */
/* Reads through a client that are waited for. */
#ifndef TEST_PEER_READ_H
#define TEST_PEER_READ_H

#include "fault_nodes.h"

#include <pthread.h>

/* A read; of several the last one tells. */
struct peer_read {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct hp_client_got got;
	bool done;
	uint64_t n;
	uint8_t *buf; /* with a guard behind it */
};

/* seconds 0: as long as the client likes. */
void peer_read_begin(struct peer_read *r, struct hp_client *c, uint32_t chunk,
		     uint64_t offset, uint64_t n, double seconds);
void peer_read_wait(struct peer_read *r);
bool peer_read_is_done(struct peer_read *r);
/* Nothing was written behind its end; frees it. */
void peer_read_end(struct peer_read *r);

/* All at once; what came is what the chunk has, if something came. */
struct hp_client_got peer_read(const struct fault_nodes *f, struct hp_client *c,
			       uint32_t chunk, uint64_t offset, uint64_t n);

#endif
