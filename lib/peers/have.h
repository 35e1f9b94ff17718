/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node has, as it told: kept of the chunks that it was planned to hold,
 * as nobody asks it for others but to adopt them.  So the lists of all nodes
 * take two bits for each copy of a chunk that was planned, and not two bits for
 * each chunk and node: 7.5 MB and not 37 GB for 15 million chunks, each on two
 * of 10,000 nodes.
 *
 * And how long that is believed.  A list may be wrong either way: what a node
 * has no longer it denies when it is asked, which is noted here; what it got
 * since is asked for when the list is old.  Pure: times are passed in.
 */
#ifndef HP_PEERS_HAVE_H
#define HP_PEERS_HAVE_H

#include "peers/wire.h"

/* ---- A list ----------------------------------------------------------- */

struct hp_haves;

/* Of a node that has nothing.  NULL: no memory. */
struct hp_haves *hp_haves_new(const struct hp_book_head *b, uint32_t node,
			      uint32_t chunks);
void hp_haves_free(struct hp_haves *h);

/* Bytes of memory that it takes. */
uint64_t hp_haves_size(const struct hp_book_head *b, uint32_t node,
		       uint32_t chunks);

/*
 * Bytes of the wire's form from offset at on, in any pieces, each byte once.
 * False: they are more than there are chunks.
 */
bool hp_haves_take(struct hp_haves *h, uint64_t at, const void *p, size_t n);

/* Of a chunk that it was not to hold: not. */
enum hp_have hp_haves_get(const struct hp_haves *h, uint32_t chunk);
void hp_haves_set(struct hp_haves *h, uint32_t chunk, enum hp_have is);

/* ---- What is known of a node ------------------------------------------ */

/* It is asked again after that, if it matters. */
#define HP_HAVE_AGE UINT64_C(30000000000)
/* .. or after so long, and a little more for long lists, about a chunk that was
 * coming then */
#define HP_HAVE_COMING_AGE UINT64_C(1000000000)

struct hp_have_known {
	struct hp_haves *list; /* NULL: not known */
	uint64_t at;	       /* when it was asked for; 0: never */
	bool old;	       /* it has denied something since */
	uint64_t vain; /* when something that was coming had not come; 0 */
};

bool hp_have_is_form(const struct hp_have_known *k, uint32_t chunk,
		     enum hp_ask_kind kind);
/* It has the chunk, but not so. */
bool hp_have_is_other(const struct hp_have_known *k, uint32_t chunk,
		      enum hp_ask_kind kind);
/* It comes to that node just now: is it worth a wait?  Not for HP_HAVE_AGE
 * after any that was waited for had not come, as a stager that hangs brings
 * none. */
bool hp_have_is_coming(const struct hp_have_known *k, uint32_t chunk,
		       uint64_t now);

/* Has it said that it has not got it?  What is old is no word on it. */
bool hp_have_denies(const struct hp_have_known *k, uint32_t chunk,
		    enum hp_ask_kind kind, uint64_t now);
/* Is the list to be asked for before this is?  Before the first one, and when
 * what it said would be a no by now. */
bool hp_have_wants(const struct hp_have_known *k, uint32_t chunk,
		   enum hp_ask_kind kind, uint64_t now);
/* It was asked, and has not got it. */
void hp_have_denied(struct hp_have_known *k, uint32_t chunk,
		    enum hp_ask_kind kind);
/* The same, and it was waited for before. */
void hp_have_in_vain(struct hp_have_known *k, uint32_t chunk, uint64_t now);

#endif
