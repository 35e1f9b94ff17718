/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node's processes have seen of the job's other nodes, in memory that
 * they share: peers.health, hpdsl-format(5).  So one reader's second of waiting
 * serves all.  The server of the node makes it; that it is there, of this boot
 * and of this book, is what allows readers to ask peers at all.
 *
 * It is advice, and never a promise: each row is read and written by atomic
 * operations, field by field, by processes of one user.  What a process is owed
 * is its own, in health.h.  Nothing in it can make a node be left out for
 * longer than the longest wait between two probes, but being banned.
 *
 * Times are hp_monotonic()'s.
 */
#ifndef HP_PEERS_TABLE_H
#define HP_PEERS_TABLE_H

#include "peers/book.h"
#include "sys/io.h"

#include <stdbool.h>

#define HP_TABLE_NAME "peers.health"

struct hp_table {
	const struct hp_io *io;
	void *p;
	size_t size;
	uint32_t nodes;
};

/*
 * Makes it, or takes the one that is there if it is of this boot and book: what
 * was seen stays seen.  path is DIR's, for messages.
 */
int hp_table_make(const struct hp_io *io, int dir, const char *path,
		  const struct hp_book_head *book, struct hp_table *ret,
		  struct hpdsl_error *err);
/*
 * -ENOENT: there is none; -ESTALE: of another boot or book; -EPERM: it is not
 * the caller's own file; HPDSL_ENOTOURS, _ETOONEW, _ECORRUPT.
 */
int hp_table_open(const struct hp_io *io, int dir, const char *path,
		  const struct hp_book_head *book, struct hp_table *ret,
		  struct hpdsl_error *err);
/* Of a zeroed one: harmless. */
void hp_table_close(struct hp_table *t);

/* ---- Of a node -------------------------------------------------------- */

struct hp_table_row {
	uint64_t until;	   /* it is suspect; 0: it is not */
	uint64_t told;	   /* when it last said what it owes; 0: never */
	uint64_t load;	   /* bytes that it owed then, to all */
	uint32_t failures; /* times that it became suspect */
	uint32_t bad;	   /* times that its bytes were wrong */
	uint16_t port;	   /* where it was found; 0: not known */
	uint64_t up;	   /* of this node: when its server had read the book */
};
struct hp_table_row hp_table_get(const struct hp_table *t, uint32_t node);

/* Neither suspect nor banned, as far as anybody here has seen. */
bool hp_table_lives(const struct hp_table *t, uint32_t node, uint64_t now);

/* It is late, or failed: until then others of this node need not try. */
void hp_table_suspect(const struct hp_table *t, uint32_t node, uint64_t now,
		      uint64_t until);
/* It sent a byte. */
void hp_table_well(const struct hp_table *t, uint32_t node);
void hp_table_told(const struct hp_table *t, uint32_t node, uint64_t now,
		   uint64_t load);
void hp_table_found(const struct hp_table *t, uint32_t node, uint16_t port);
/* By the server of this node, of itself. */
void hp_table_up(const struct hp_table *t, uint32_t node, uint64_t now);
/* Its bytes failed a checksum; at HP_BAD_MOST times it is banned. */
void hp_table_bad(const struct hp_table *t, uint32_t node);

#endif
