/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's thread: who uses it, and what it waits for. */
#include "http/private.h"

#include "sys/clock.h"
#include "sys/io.h"
#include "sys/pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { WAIT_MOST_MS = 60000, PARK_MS = 1000 };
/* Later than asked for by so much: the process was stopped. */
#define AWAY UINT64_C(500000000)

/* The library's one global: of a process, and of its children the parent's. */
static _Atomic(struct hp_http *) the_http;

/* ---- Its thread ------------------------------------------------------- */

/* Under the lock: those who leave, or all of them, do. */
static void let_leave(struct hp_http *e, bool all)
{
	for (struct hp_http_user **p = &e->users; *p;) {
		struct hp_http_user *u = *p;

		if (!u->leaving && !all) {
			p = &u->next;
			continue;
		}
		/* Nobody else takes one out, and new ones come in front. */
		pthread_mutex_unlock(&e->lock);
		u->leave(u);
		pthread_mutex_lock(&e->lock);
		for (p = &e->users; *p != u;)
			p = &(*p)->next;
		*p = u->next;
		u->joined = false;
		pthread_cond_broadcast(&e->changed);
	}
}

/* Who still takes turns; NULL and *ends: it is over. */
static struct hp_http_user *users(struct hp_http *e, bool *ends)
{
	struct hp_http_user *first;

	pthread_mutex_lock(&e->lock);
	let_leave(e, false);
	*ends = e->ends;
	first = e->users;
	e->curl->multi_setopt(e->multi, HP_CURLMOPT_MAXCONNECTS,
			      (long)e->connections);
	pthread_mutex_unlock(&e->lock);
	return first;
}

static int in_ms(uint64_t now, uint64_t next)
{
	const uint64_t ms = UINT64_C(1000000), most = WAIT_MOST_MS * ms;

	if (next <= now)
		return 0;
	return (int)(((next - now < most ? next - now : most) + ms - 1) / ms);
}

static void wait_for(struct hp_http *e, int ms)
{
	struct hp_curl_waitfd more = { e->event, HP_CURL_POLLIN, 0 };
	eventfd_t n;
	int ready;

	e->curl->multi_wait(e->multi, &more, 1, ms, &ready);
	if (more.revents)
		eventfd_read(e->event, &n);
}

/*
 * For ever: who waits for something is told that it does not come, and nothing
 * else is undone.
 */
static void *park(struct hp_http *e)
{
	pthread_mutex_lock(&e->lock);
	let_leave(e, true);
	pthread_mutex_unlock(&e->lock);
	atomic_store(&e->parked, true);
	for (;;)
		pause();
	return NULL;
}

/*
 * Turns begin transfers; libcurl goes on with all; what ended may begin others,
 * so there is no waiting after that.
 */
static void *run(void *arg)
{
	struct hp_http *e = arg;
	uint64_t now = hp_monotonic(), expected = now;
	bool ends = false;

	for (;;) {
		struct hp_http_user *u = users(e, &ends);
		uint64_t next = UINT64_MAX, away = 0;
		int running, ms;

		if (atomic_load(&e->parks))
			return park(e);
		if (ends)
			break;
		now = hp_monotonic();
		if (now > expected + AWAY)
			away = now - expected;
		for (; u; u = u->next) {
			const uint64_t t = u->turn(u, now, away);

			next = t < next ? t : next;
		}
		e->curl->multi_perform(e->multi, &running);
		ms = hp_transfers_done(e) ? 0 : in_ms(now, next);
		expected = now + (uint64_t)ms * 1000000;
		if (ms)
			wait_for(e, ms);
	}
	while (e->n_idle)
		e->curl->easy_cleanup(e->idle[--e->n_idle]);
	e->curl->multi_cleanup(e->multi);
	e->multi = NULL;
	return NULL;
}

/* ---- One a process ---------------------------------------------------- */

static struct hp_http *make(struct hp_http *before)
{
	struct hp_http *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->pid = getpid();
	e->before = before;
	e->event = -1;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->changed, NULL);
	return e;
}

/* This process's: a child's is another one than its parent's. */
static struct hp_http *get(void)
{
	struct hp_http *is = atomic_load(&the_http), *e;

	if (is && is->pid == getpid())
		return is;
	e = make(is);
	if (!e || atomic_compare_exchange_strong(&the_http, &is, e))
		return e;
	free(e);
	return is;
}

/*
 * A process that ends takes libraries apart while its threads go on: this one
 * must not be in the midst of what they do.  It is stopped, not cleaned up; no
 * lock is taken here, as nobody knows who has it.  Whoever reads or closes
 * after that, in another such function or thread, finds nobody to ask.
 */
static void at_exit(void)
{
	struct hp_http *e = get();

	if (!e)
		return;
	atomic_store(&e->parks, true);
	if (!e->runs)
		return;
	hp_http_poke(e);
	for (int i = 0; i < PARK_MS && !atomic_load(&e->parked); i++)
		hp_sleep(1000000);
}

bool hp_http_is_over(void)
{
	const struct hp_http *e = atomic_load(&the_http);

	return e && e->pid == getpid() && atomic_load(&e->parks);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void register_end(void)
{
	atexit(at_exit);
}

static int start(struct hp_http *e, const struct hp_curl *curl,
		 const char **why)
{
	const char *how = getenv("HPDSL_TCP_CONGESTION");
	int r;

	*why = "no thread, descriptor or memory for requests to other nodes";
	snprintf(e->congestion, sizeof e->congestion, "%s", how ? how : "");
	e->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (e->event < 0)
		return -errno;
	/* After libcurl and what it needs have said the same. */
	pthread_once(&once, register_end);
	e->curl = curl;
	e->multi = e->curl->multi_init();
	r = e->multi ? hp_thread_start(&e->thread, run, e) : -ENOMEM;
	if (r == 0)
		return 0;
	if (e->multi)
		e->curl->multi_cleanup(e->multi);
	hp_io_system.close(&hp_io_system, e->event);
	e->event = -1;
	return r;
}

int hp_http_join(struct hp_http_user *u, struct hp_http **ret, const char **why)
{
	const struct hp_curl *curl = hp_curl(why);
	struct hp_http *e;
	int r = 0;

	if (!curl)
		return -ENOSYS;
	e = get();
	if (!e)
		return -ENOMEM;
	pthread_mutex_lock(&e->lock);
	while (e->ends)
		pthread_cond_wait(&e->changed, &e->lock);
	if (e->parks) {
		*why = "this process ends";
		pthread_mutex_unlock(&e->lock);
		return -ESHUTDOWN;
	}
	if (u->connections > e->connections)
		e->connections = u->connections;
	if (!e->runs)
		r = start(e, curl, why);
	if (r == 0) {
		e->runs = true;
		u->next = e->users;
		u->joined = true;
		u->leaving = false;
		e->users = u;
		*ret = e;
	}
	pthread_mutex_unlock(&e->lock);
	return r;
}

/* With the last user the thread goes, too. */
static void stop(struct hp_http *e)
{
	e->ends = true;
	hp_http_poke(e);
	pthread_mutex_unlock(&e->lock);
	pthread_join(e->thread, NULL);
	pthread_mutex_lock(&e->lock);
	hp_io_system.close(&hp_io_system, e->event);
	e->event = -1;
	e->connections = 0;
	e->runs = e->ends = false;
	pthread_cond_broadcast(&e->changed);
}

void hp_http_leave(struct hp_http *e, struct hp_http_user *u)
{
	pthread_mutex_lock(&e->lock);
	u->leaving = true;
	hp_http_poke(e);
	while (u->joined)
		pthread_cond_wait(&e->changed, &e->lock);
	if (!e->users && e->runs && !e->ends && !e->parks)
		stop(e);
	pthread_mutex_unlock(&e->lock);
}

void hp_http_poke(struct hp_http *e)
{
	eventfd_write(e->event, 1);
}
