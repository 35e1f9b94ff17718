/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait for disks, so that those who carry requests need not. */
#ifndef CMD_SERVE_READERS_H
#define CMD_SERVE_READERS_H

#include <pthread.h>
#include <stdbool.h>

enum { SERVE_READERS = 8 }; /* as many as an SSD needs to be busy */

struct serve_chore {
	struct serve_chore *next;
	void (*work)(void *arg);
	void (*wake)(void *arg); /* behind it, or instead of it: at an end */
	void *arg;
};

struct serve_readers {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct serve_chore *first, **last; /* who came first is next */
	bool ending;
	unsigned threads;
	pthread_t thread[SERVE_READERS];
};

int readers_begin(struct serve_readers *r);
/* When it returns all are awake, and whoever comes later is woken at once. */
void readers_quit(struct serve_readers *r);
/* After that. */
void readers_end(struct serve_readers *r);
/* work, wake and arg are set; it is the readers' until it is woken, once. */
void readers_put(struct serve_readers *r, struct serve_chore *c);

#endif
