/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HP_HTTP_PRIVATE_H
#define HP_HTTP_PRIVATE_H

#include "http/curl.h"
#include "http/engine.h"

#include <pthread.h>
#include <stdatomic.h>

enum { HP_EASY_KEPT = 16 };

struct hp_http {
	pid_t pid;
	struct hp_http *before; /* the one of the process that was forked */
	const struct hp_curl *curl;
	pthread_mutex_t lock; /* of the next six */
	pthread_cond_t changed;
	struct hp_http_user *users;
	_Atomic bool runs;
	bool ends;
	unsigned connections;
	pthread_t thread;
	int event;
	/* The process ends, and nobody joins; that is what the thread did. */
	_Atomic bool parks, parked;

	/* The thread's. */
	void *multi;
	void *idle[HP_EASY_KEPT]; /* handles that are not in use */
	unsigned n_idle;
	char congestion[16]; /* "": the system's */
};

/* An easy handle with all that is the same for each transfer; or NULL. */
void *hp_easy_make(struct hp_http *e);
/* Takes in what libcurl says is done; how many. */
unsigned hp_transfers_done(struct hp_http *e);

#endif
