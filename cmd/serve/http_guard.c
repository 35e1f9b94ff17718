/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: only of the job's nodes, and of this user on the Unix socket.
 * One that has proven nothing after a while is shut, whatever it sends: the
 * library's own time limit is one of silence, and a byte a second would keep
 * its place for ever.
 */
#include "http.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* IPv4 as ::ffff:a.b.c.d, as a dual socket has it anyway. */
static bool address_of(const struct sockaddr *from, uint8_t ret[16])
{
	memset(ret, 0, 16);
	if (from->sa_family == AF_INET6) {
		const struct sockaddr_in6 *a = (const void *)from;

		memcpy(ret, &a->sin6_addr, 16);
		return true;
	}
	if (from->sa_family == AF_INET) {
		const struct sockaddr_in *a = (const void *)from;

		ret[10] = ret[11] = 0xff;
		memcpy(ret + 12, &a->sin_addr, 4);
		return true;
	}
	return false;
}

/* ---- Who may ---------------------------------------------------------- */

serve_result guard_policy(void *arg, const struct sockaddr *from,
			  socklen_t size)
{
	struct serve_guard *g = arg;
	uint8_t ip[16];

	(void)size;
	if (g->local)
		return MHD_YES;
	return address_of(from, ip) && hpdsl_serve_knows(g->s, ip) ? MHD_YES :
								     MHD_NO;
}

/* The directory's rights are one guard; where it lies elsewhere, this one. */
static bool is_stranger(int fd)
{
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t n = sizeof who;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 ||
	       (who.uid != geteuid() && who.uid != 0);
}

/* ---- Who has ---------------------------------------------------------- */

static void shut(struct serve_connection *c)
{
	if (!c || c->shut)
		return;
	c->shut = true;
	shutdown(c->fd, SHUT_RDWR);
}

/* One answer is not to go out faster than all are to. */
static void set_pace(struct serve_guard *g, int fd)
{
	struct hpdsl_serve_stats stats;
	unsigned rate;

	if (g->local || fd < 0)
		return;
	hpdsl_serve_stats(g->s, &stats);
	rate = stats.rate < UINT32_MAX ? (unsigned)stats.rate : UINT32_MAX;
	if (rate)
		setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate,
			   sizeof rate);
}

static void add(struct serve_guard *g, struct MHD_Connection *of,
		void **context)
{
	struct serve_connection *c = calloc(1, sizeof *c);
	const union MHD_ConnectionInfo *from =
		MHD_get_connection_info(of, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const union MHD_ConnectionInfo *fd =
		MHD_get_connection_info(of, MHD_CONNECTION_INFO_CONNECTION_FD);

	*context = c;
	if (!c)
		return;
	c->fd = fd ? fd->connect_fd : -1;
	c->came = c->used = now();
	set_pace(g, c->fd);
	if (g->local)
		c->refused = c->fd < 0 || is_stranger(c->fd);
	else if (from && from->client_addr)
		address_of(from->client_addr, c->ip);
	pthread_mutex_lock(&g->lock);
	c->next = g->first;
	c->at = &g->first;
	if (c->next)
		c->next->at = &c->next;
	if (!g->first)
		pthread_cond_signal(&g->wake);
	g->first = c;
	if (!g->local)
		shut(serve_crowd(g->first, c));
	pthread_mutex_unlock(&g->lock);
}

static void drop(struct serve_guard *g, struct serve_connection *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&g->lock);
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	pthread_mutex_unlock(&g->lock);
	free(c);
}

/* Its descriptor is open until this has been told of the end. */
void guard_notify(void *arg, struct MHD_Connection *c, void **context,
		  enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		add(arg, c, context);
	else
		drop(arg, *context);
}

void guard_proven(struct serve_guard *g, struct serve_connection *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&g->lock);
	if (!c->proven) {
		c->proven = true;
		if (!g->local)
			shut(serve_crowd(g->first, c));
	}
	pthread_mutex_unlock(&g->lock);
}

void guard_busy(struct serve_guard *g, struct serve_connection *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&g->lock);
	c->busy++;
	pthread_mutex_unlock(&g->lock);
}

void guard_idle(struct serve_guard *g, struct serve_connection *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&g->lock);
	c->busy--;
	c->used = now();
	pthread_mutex_unlock(&g->lock);
}

/* ---- Swept ------------------------------------------------------------ */

static void sweep(struct serve_guard *g, uint64_t at)
{
	for (struct serve_connection *c = g->first; c; c = c->next)
		if (!c->proven && at - c->came >= SERVE_GRACE * SECOND)
			shut(c);
}

static void *sweeper(void *arg)
{
	struct serve_guard *g = arg;

	pthread_mutex_lock(&g->lock);
	while (!g->ending) {
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_sec++;
		/* Nobody there: nothing to wake up for. */
		if (g->first)
			pthread_cond_timedwait(&g->wake, &g->lock, &t);
		else
			pthread_cond_wait(&g->wake, &g->lock);
		sweep(g, now());
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

int guard_begin(struct serve_guard *g, struct hpdsl_serve *s, bool local)
{
	pthread_condattr_t attr;
	int r;

	*g = (struct serve_guard){ .s = s, .local = local };
	pthread_mutex_init(&g->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&g->wake, &attr);
	pthread_condattr_destroy(&attr);
	r = pthread_create(&g->sweeper, NULL, sweeper, g);
	return r ? -r : 0;
}

void guard_end(struct serve_guard *g)
{
	pthread_mutex_lock(&g->lock);
	g->ending = true;
	pthread_cond_signal(&g->wake);
	pthread_mutex_unlock(&g->lock);
	pthread_join(g->sweeper, NULL);
	pthread_cond_destroy(&g->wake);
	pthread_mutex_destroy(&g->lock);
}
