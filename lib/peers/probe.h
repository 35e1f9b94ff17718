/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All other nodes of a book asked whether they are there: many at a time while
 * they are looked for, then one after the other.  Nothing is told to readers'
 * tables, and none is needed.
 */
#ifndef HP_PEERS_PROBE_H
#define HP_PEERS_PROBE_H

#include "peers/book.h"
#include "peers/probing.h"

/*
 * In so many seconds at most.  ret has head.nodes of them, of zeros; the own
 * one stays so.  -ENOSYS, -ESHUTDOWN, -ENOMEM, -errno.
 */
int hp_probe(const struct hp_book *book, const struct hp_client_facts *facts,
	     double seconds, struct hp_probing *ret, struct hpdsl_error *err);

#endif
