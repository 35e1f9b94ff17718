/* SPDX-License-Identifier: Apache-2.0 */
/* Numbered jobs on a few threads.  Errors wake everybody. */
#ifndef HP_POOL_H
#define HP_POOL_H

#include "hpdsl/core.h"

enum { HP_THREADS_MOST = 256 };

/*
 * What hpdsl's 0 means: cores this process may use, 1 to 16.  At most
 * HP_THREADS_MOST, or HPDSL_SERIAL.
 */
uint32_t hp_threads(uint32_t wanted);

/*
 * Runs job(arg, 0..n-1, err) on that many threads (HPDSL_SERIAL: in place, in
 * order); each thread takes the next number.  After a failure or *stop != 0 no
 * new job is begun.  Returns the failure with the lowest number among those
 * that happened, or HPDSL_ESTOPPED, or 0.  If fewer threads than wanted can be
 * had, it goes on with those (also none: in place).
 */
int hp_pool_run(uint32_t threads, uint64_t n,
		int (*job)(void *arg, uint64_t number, struct hpdsl_error *err),
		void *arg, const int *stop, struct hpdsl_error *err);

/* A thread with a stack of 512 KiB and all signals blocked; 0 or -errno. */
int hp_thread_start(void *ret_pthread, void *(*run)(void *), void *arg);

#endif
