/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-serve: between its life and its HTTP. */
#ifndef CMD_SERVE_H
#define CMD_SERVE_H

#include "common/common.h"

/* Sockets that listen: made, and closed, by who calls. */
struct serve_listen {
	int unix_fd; /* -1: none */
	int tcp_fd;  /* -1: none */
	/* What /v1/status says, malloc'ed: JSON.  By any thread. */
	char *(*status)(void *arg);
	void *arg;
};

/*
 * The threads that carry requests to the library and answers back.  The sockets
 * are set not to block; *what is copied.
 */
struct serve_http;
int serve_http_start(struct serve_http **ret, struct hpdsl_serve *s,
		     const struct serve_listen *what, struct hpdsl_error *err);
/* Ends all connections, and waits for the threads.  NULL is harmless. */
void serve_http_stop(struct serve_http *h);

#endif
