/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that sleep until their answer may be sent. */
#ifndef CMD_SERVE_PACER_H
#define CMD_SERVE_PACER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct serve_sleeper {
	struct serve_sleeper *next;
	uint64_t until; /* ns of CLOCK_MONOTONIC */
	void (*wake)(void *arg);
	void *arg;
};

struct serve_pacer {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct serve_sleeper *first; /* who wakes first */
	bool ending;
	pthread_t thread;
};

int pacer_begin(struct serve_pacer *p);
/* When it returns all are awake, and whoever comes later is woken at once. */
void pacer_quit(struct serve_pacer *p);
/* After that. */
void pacer_end(struct serve_pacer *p);
/* s->until, wake and arg are set; it is the pacer's until it is woken, once. */
void pacer_sleep(struct serve_pacer *p, struct serve_sleeper *s);

#endif
