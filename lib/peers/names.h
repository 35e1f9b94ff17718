/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in a stage directory that are the servers': the book, what a node's
 * processes share, the lock of the node's server and its socket.
 */
#ifndef HP_PEERS_NAMES_H
#define HP_PEERS_NAMES_H

#include "peers/book_file.h"
#include "peers/table.h"

#include "hpdsl/peers.h"

/* Locked by the node's server; holds one line that tells who it is. */
#define HP_SERVE_LOCK HPDSL_SERVE_LOCK
#define HP_SERVE_SOCKET HPDSL_SERVE_SOCKET

/* All of them, NULL behind the last one. */
extern const char *const hp_peers_names[];
bool hp_peers_name_is(const char *name);
/*
 * The same, or a temporary name of one of them, and what has it is what it
 * should be: a socket, or a regular file.
 */
bool hp_peers_is_ours(const struct hp_io *io, int dir, const char *name);

#endif
