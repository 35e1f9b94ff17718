/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walks through all that can fail: in round k the k-th operation, or the
 * k-th allocation, until there is none.  k is 0 before the first round, and in
 * the last one nothing fails:
 *
 *	for (struct each_fault e = { .code = -EIO }; each_fault(&e);) {
 *		r = try_it(&e.f.io);
 *		..
 *	}
 */
#ifndef EACH_FAULT_H
#define EACH_FAULT_H

#include "faultio.h"
#include "wrap.h"

/* What is tried behind the k-th: the next; below check-more, where all are
 * tried, only each seventh of those behind the 64th. */
long each_next(long k);

struct each_fault {
	struct faultio f; /* of this round; failed is 0 in the last one */
	int code;	  /* it fails with this */
	bool forever;	  /* and all that follow it fail, too, .. */
	bool in_turn;	  /* .. or they do in odd rounds */
	long step;	  /* only each step-th, at most; 0: each */
	long k;
};

bool each_fault(struct each_fault *e);

struct each_alloc {
	bool forever, in_turn; /* as above */
	bool last;	       /* each_alloc_end(): nothing failed */
	long k;
};

/* What comes before _begin() and behind _end() has all memory. */
bool each_alloc(struct each_alloc *e);
void each_alloc_begin(const struct each_alloc *e);
void each_alloc_end(struct each_alloc *e);

#endif
