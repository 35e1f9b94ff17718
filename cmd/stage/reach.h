/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does one node's address lead to another's?  Sockets alone, without MPI.
 * Addresses are as in struct hpdsl_peer_address.
 */
#ifndef CMD_STAGE_REACH_H
#define CMD_STAGE_REACH_H

#include "common/common.h"

/* "10.1.0.7" */
struct cmd_text reach_text(const uint8_t ip[16]);
/* The address of this node from which something sent to ip would come. */
bool reach_from(const uint8_t ip[16], uint8_t ret[16]);
/* Listens on the first free one of 16 ports: a descriptor, or -errno. */
int reach_listen(const uint8_t ip[16], uint32_t port, uint32_t *ret_port);
/* Connects, for no longer than so many milliseconds: 0 or -errno. */
int reach_try(const uint8_t ip[16], uint32_t port, int milliseconds);

#endif
