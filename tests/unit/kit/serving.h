/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core of a server over a real stage directory of node 0 of two, with every
 * other chunk; asked as the other node asks.
 */
#ifndef SERVING_H
#define SERVING_H

#include "hpdsl/serve.h"
#include "peers/book_file.h"
#include "peers/wire.h"
#include "staged.h"

#include <pthread.h>

struct serving {
	struct staged f;
	struct hpdsl_serve *s;
	struct hp_book_head head;
	int dir;
};

extern const struct hp_book_node serving_nodes[2];

void serving_write_book(struct serving *c, uint8_t id);
void serving_begin(struct serving *c, int zstd, bool book,
		   const struct hpdsl_serve_options *opt);
void serving_end(struct serving *c);

/* ---- Asked ------------------------------------------------------------ */

/* Who waits until he is woken. */
struct sleeper {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	unsigned woken;
};
#define SLEEPER                                                        \
	{                                                              \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 \
	}
void serving_await(struct sleeper *z, unsigned n);

struct hp_ask serving_ask_for(uint32_t chunk, bool plain, uint64_t first,
			      uint64_t last);
/* z: who is woken if it has to be waited for; NULL: it is not. */
struct hpdsl_serve_answer serving_ask_with(struct serving *c,
					   const struct hp_book_head *h,
					   const struct hp_ask *a,
					   struct sleeper *z, bool waited);
/* Until it is there, or is not to be had; waits once, as HTTP does. */
struct hpdsl_serve_answer serving_ask(struct serving *c, const struct hp_ask *a,
				      struct sleeper *z);
/* Is what was given what the file of that name at the origin has? */
void serving_compare(const struct serving *c,
		     const struct hpdsl_serve_answer *n, const char *name);
void serving_done(struct serving *c, const struct hpdsl_serve_answer *n);
struct hpdsl_serve_stats serving_stats(struct serving *c);

#endif
