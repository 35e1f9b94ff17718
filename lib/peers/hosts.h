/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From nodes as they are found, or listed by name, to a book's rows, and its id
 * where nobody has drawn one.
 */
#ifndef HP_PEERS_HOSTS_H
#define HP_PEERS_HOSTS_H

#include "hpdsl/peers.h"
#include "peers/book.h"

/* Rows of a book, to be freed; names stay the nodes'.  NULL: no memory. */
struct hp_book_node *hp_book_nodes(const struct hpdsl_peer_node *nodes,
				   uint32_t n);

/*
 * The id that all servers come to who have the same secret, pack, parts and
 * names: addresses may be found in another order elsewhere.  HMAC-SHA256 under
 * the secret, its first 16 bytes; false: libcrypto has failed.
 */
bool hp_hosts_id(const struct hp_book_head *h,
		 const struct hpdsl_peer_node *nodes, uint8_t ret[16]);

#endif
