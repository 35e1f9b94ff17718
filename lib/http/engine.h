/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread of a process that talks HTTP, and all connections.  There is one,
 * while somebody uses it, with one multi handle that is its alone.  It moves
 * bytes and decides nothing: its users do, in their turns.
 *
 * After fork() the child has none: it makes its own, and what it inherits is
 * never touched, as both would read from one stream.  When a process ends its
 * users leave, the thread is stopped, and nothing else is undone.
 */
#ifndef HP_HTTP_ENGINE_H
#define HP_HTTP_ENGINE_H

#include "http/head.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hp_http;

/* First member of who uses it.  All but the first three are the engine's. */
struct hp_http_user {
	/*
	 * In its thread, after whatever happened, and when it is time: to begin
	 * and stop transfers.  away: nanoseconds for which this process seems
	 * to have been stopped.  Returns when to be called next.
	 */
	uint64_t (*turn)(struct hp_http_user *u, uint64_t now, uint64_t away);
	/*
	 * In its thread, at the end: all its transfers are to be stopped.
	 * leaving: as it was asked; else the process ends.
	 */
	void (*leave)(struct hp_http_user *u);
	unsigned connections; /* that it would like to keep */

	struct hp_http_user *next;
	bool joined, leaving;
};

/*
 * 0, or -errno with a text in *why: -ENOSYS (no libcurl) and -ESHUTDOWN (the
 * process ends) are for good, all else may go another time.
 */
int hp_http_join(struct hp_http_user *u, struct hp_http **ret,
		 const char **why);
/* When it returns no turn is taken any more.  Not by the engine's thread. */
void hp_http_leave(struct hp_http *e, struct hp_http_user *u);
/* The process ends: nobody joins any more, and libraries may be gone. */
bool hp_http_is_over(void);
/* Any thread: there is something to do at a turn. */
void hp_http_poke(struct hp_http *e);

/* ---- In its thread ---------------------------------------------------- */

enum hp_transfer_end {
	HP_TRANSFER_ANSWERED, /* to the end of what the answer says it has */
	HP_TRANSFER_STOPPED,  /* as head() or body() said */
	HP_TRANSFER_REFUSED,  /* no connection */
	HP_TRANSFER_SILENT,   /* no connection in a second */
	/* One that was open already ended before a byte: it may just have been
	 * closed there.  To be tried again, on a fresh one. */
	HP_TRANSFER_STALE,
	HP_TRANSFER_BROKEN, /* the connection, or the answer's form */
	HP_TRANSFER_SELF,   /* no descriptor, no memory */
};

/* A GET.  Of its user, and where it is until it ended or was stopped. */
struct hp_transfer {
	const char *url;       /* address and port in digits */
	const char *fields[2]; /* "Name: value"; NULL: none */
	uint64_t most; /* bytes of a body, about: how much to read at once */
	bool fresh;    /* not on a connection that is open already */
	/* The answer's head is there; false: no more of it. */
	bool (*head)(struct hp_transfer *t, const struct hp_head *h);
	/* Bytes of its body; false: no more. */
	bool (*body)(struct hp_transfer *t, const void *p, size_t n);
	/* It is the user's again. */
	void (*ended)(struct hp_transfer *t, enum hp_transfer_end how);

	/* The engine's. */
	void *easy;
	struct hp_head got;
	struct {
		char *data;
		void *next;
	} lines[3];
	bool began, no_socket;
};

/* 0; -ENOMEM and ended() is not called. */
int hp_transfer_start(struct hp_http *e, struct hp_transfer *t);
/* It has a connection, and has begun to send its request. */
bool hp_transfer_is_sent(const struct hp_http *e, const struct hp_transfer *t);
/* At once, and its connection; ended() is not called. */
void hp_transfer_stop(struct hp_http *e, struct hp_transfer *t);

#endif
