/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files that talk HTTP by libmicrohttpd: http.c starts and stops
 * its daemons, one for the job's nodes and one for tools of this node;
 * http_guard.c knows their connections; http_answer.c answers requests.
 */
#ifndef CMD_SERVE_HTTP_H
#define CMD_SERVE_HTTP_H

#include "crowd.h"
#include "pacer.h"
#include "readers.h"
#include "serve.h"

#include <microhttpd.h>
#include <pthread.h>

/* What its functions return; an int in old versions. */
#if MHD_VERSION >= 0x00097002
typedef enum MHD_Result serve_result;
#else
typedef int serve_result;
#endif

/* ---- Connections: http_guard.c ---------------------------------------- */

enum {
	SERVE_GRACE = 3,    /* seconds for a connection's first proof */
	SERVE_UNUSED = 120, /* .. between two requests */
	SERVE_STALLED = 10, /* .. without a byte of an answer being taken */
};

struct serve_guard {
	struct hpdsl_serve *s;
	bool local; /* the Unix socket's */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* Under the lock. */
	struct serve_connection *first;
	bool ending;
	pthread_t sweeper;
};

int guard_begin(struct serve_guard *g, struct hpdsl_serve *s, bool local);
/* Once its daemon has stopped. */
void guard_end(struct serve_guard *g);
/* For the daemon: who may connect, and who has. */
serve_result guard_policy(void *arg, const struct sockaddr *from,
			  socklen_t size);
void guard_notify(void *arg, struct MHD_Connection *c, void **context,
		  enum MHD_ConnectionNotificationCode what);
/* Its request was proven. */
void guard_proven(struct serve_guard *g, struct serve_connection *c);
/* A request of it is answered; and has been. */
void guard_busy(struct serve_guard *g, struct serve_connection *c);
void guard_idle(struct serve_guard *g, struct serve_connection *c);

/* ---- Requests: http_answer.c ------------------------------------------ */

struct serve_door {
	struct hpdsl_serve *s;
	const struct serve_listen *listen;
	struct serve_guard guard;
	struct serve_pacer pacer;
	struct serve_readers readers; /* unless local */
	bool local;
	struct MHD_Daemon *daemon;
};

/* For the daemon; arg is the door. */
void *answer_begin(void *arg, const char *uri, struct MHD_Connection *c);
serve_result answer_request(void *arg, struct MHD_Connection *c,
			    const char *url, const char *method,
			    const char *version, const char *data, size_t *size,
			    void **request);
void answer_end(void *arg, struct MHD_Connection *c, void **request,
		enum MHD_RequestTerminationCode why);

#endif
