/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-serve, but its HTTP: options, the directory and its lock, sockets, how
 * long it lives, and what it says of itself.
 */
#ifndef CMD_SERVE_LIFE_H
#define CMD_SERVE_LIFE_H

#include "hosts.h"
#include "serve.h"

#include "common/metrics.h"

#include <pthread.h>
#include <sys/types.h>
#include <sys/un.h>

struct serve_options {
	const char *local, *report, *interface;
	struct serve_hosts_options hosts;
	uint64_t rate;	   /* bytes a second, 0: any; or .. */
	uint32_t percent;  /* .. of what the interface can do */
	uint64_t deadline; /* seconds; 0: none */
	uint64_t idle;	   /* seconds without a request; 0: any */
	uint64_t memory_cache;
	bool status, stop, probe, detach, no_tcp, quiet, json;
};

void serve_parse(int argc, char **argv, struct serve_options *o);

/* Seconds of CLOCK_MONOTONIC. */
double serve_now(void);

/* ---- place.c: LOCALDIR ------------------------------------------------ */

struct serve_place {
	const char *path;
	int dir; /* -1: it is not there */
	/* Where its socket is: in it, or, if that name is too long for one, in
	 * a directory of ours in /tmp. */
	char socket[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	bool elsewhere;
	dev_t socket_dev; /* of one that this process has made */
	ino_t socket_ino;
};

/*
 * 1; 0: there is none yet.  -EPERM: others may write into it, or it is
 * somebody else's; -ELOOP: a link.
 */
int serve_place_open(const char *path, struct serve_place *ret,
		     struct hpdsl_error *err);
void serve_place_close(struct serve_place *p);
/* Has a stager put its state there? */
bool serve_place_is_staged(const struct serve_place *p);
/* A dataset, and none that hpdsl-stage has put there. */
bool serve_place_is_packed(const struct serve_place *p);
/* What of a path is too long for a socket: pure. */
bool serve_socket_path(const char *real, char *ret, size_t cap);

/* ---- holder.c, lock.c: one server a directory ------------------------- */

/* Who holds the lock, as its file tells. */
struct serve_holder {
	pid_t pid;
	uint64_t start; /* of the process: clock ticks since the boot */
	int64_t since;	/* seconds since 1970 */
	char host[65];
};

/* One line, and back: false, it is none. */
int serve_holder_format(const struct serve_holder *h, char *ret, size_t cap);
bool serve_holder_parse(const char *text, struct serve_holder *ret);
struct serve_holder serve_holder_self(void);

/* Gives the descriptor that holds it.  -EBUSY: another server does. */
int serve_lock_take(const struct serve_place *p, struct hpdsl_error *err);
/* Is what is locked still the file of that name? */
bool serve_lock_is_named(const struct serve_place *p, int fd);
void serve_lock_release(int fd);
/* 1: somebody holds it, and who; 0: nobody. */
int serve_lock_look(const struct serve_place *p, struct serve_holder *ret,
		    struct hpdsl_error *err);

/* ---- sockets.c -------------------------------------------------------- */

/* Only who holds the lock may: what a dead server has left is replaced. */
int serve_unix_listen(struct serve_place *p, struct hpdsl_error *err);
/* If it is still this process's. */
void serve_unix_remove(const struct serve_place *p);
/* The server's end of it has to be of this user: its process, or 0. */
int serve_unix_connect(const struct serve_place *p, int seconds, pid_t *ret_pid,
		       struct hpdsl_error *err);
/*
 * On the first of these ports that is free, of this address; NULL: of all.
 * -EADDRINUSE: none is.
 */
int serve_tcp_listen(const uint8_t *ip, uint16_t first, uint16_t ports,
		     uint16_t *ret_port, struct hpdsl_error *err);

/* ---- listeners.c: sockets, and the threads behind them --------------------
 */

struct serve_listener {
	int fd; /* -1: none */
	uint16_t port, first;
	struct serve_http *http;
};

/*
 * A new book may have other ports; who still has the one before it comes to
 * those, so the last ones stay open.
 */
enum { SERVE_TCP = 2 };

struct serve_listeners {
	struct serve_listener local, tcp[SERVE_TCP];
	uint16_t told; /* of these ports none was free, and it was said */
};

/* ---- life.c, status.c ------------------------------------------------- */

struct serve_life {
	const struct serve_options *o;
	struct serve_place place;
	struct hpdsl_serve *s;
	struct serve_listeners listeners;
	struct serve_hosts hosts;
	int lock, ready; /* ready: who waits for a detached one; -1 */
	/* Times of serve_now(); 0: none. */
	double begun, drain, deadline;
	double said;	  /* the last line of progress */
	uint64_t said_of; /* what it was about */
	struct serve_holder self;
	struct cmd_metrics metrics;
	/* What threads that answer read. */
	pthread_mutex_t mutex;
	uint16_t port;	    /* 0: none */
	const char *end;    /* why it has ended; NULL: it has not */
	char trouble[1020]; /* the last that was told; "": none */
	bool speed_told;    /* that nobody knows it */
};

int serve_listeners_open(struct serve_life *l, struct hpdsl_error *err);
/* The book may be new: so may be its ports.  true: with those of an older one
 * went those who waited, and what is served has to be opened anew. */
bool serve_listeners_look(struct serve_life *l);
void serve_listeners_close(struct serve_life *l);

int serve_run(const struct serve_options *o, pid_t launcher);

/* What --status --json prints, malloc'ed; arg is a struct serve_life. */
char *serve_status_json(void *arg);
/* "12 requests, 3.4 MiB, of other nodes, ..", malloc'ed. */
char *serve_summary(const struct hpdsl_serve_stats *s);
int serve_report(struct serve_life *l);

/* ---- metrics.c: for Prometheus; from when it serves until it ends ------- */

void serve_metrics_begin(struct serve_life *l);
/* To be called once a second. */
void serve_metrics_look(struct serve_life *l);
void serve_metrics_end(struct serve_life *l);

/* ---- peers.c: what readers of this node saw of the others -------------- */

/* Members no_peer and peers; s NULL: there is nothing yet. */
void serve_peers_json(struct cmd_json *j, struct hpdsl_serve *s);
/* Of the same JSON, in lines: the worst ones, and how many are well. */
void serve_peers_print(const char *json);

/* ---- end.c: when it ends: pure ---------------------------------------- */

#define SERVE_QUIET_FOR 2.0   /* seconds without a request end a drain */
#define SERVE_DRAIN_MOST 30.0 /* and it lasts no longer */

enum serve_end {
	SERVE_GOES_ON,
	SERVE_SIGNAL,
	SERVE_ORPHAN, /* who started it is gone */
	SERVE_DEADLINE,
	SERVE_GONE, /* LOCALDIR is */
	SERVE_DRAINED,
	SERVE_IDLE
};

/* Times of serve_now(); 0: not so. */
struct serve_seen {
	double now, begun, asked, drain, deadline;
	double idle; /* seconds that one that is detached may be so */
	bool detached, orphan, gone;
	int signal;
	uint64_t owes; /* bytes that are on their way */
};

enum serve_end serve_end_of(const struct serve_seen *s);
const char *serve_end_text(enum serve_end e, int signal);

/* ---- signals.c -------------------------------------------------------- */

/* Before there are threads: who started it, and what it is told are looked
 * for; SIGUSR1 asks it to leave. */
void serve_signals_begin(const char *local, pid_t launcher, bool detached);
/* Waits for one, so long at most: SIGTERM, SIGINT, SIGUSR1, or 0. */
int serve_signals_wait(double seconds);
bool serve_is_orphan(void);
/* From now on they end the process at once. */
void serve_signals_end(void);

/* ---- detach.c --------------------------------------------------------- */

/*
 * In the process that goes on, 0 and a descriptor for serve_detach_ready(); in
 * the one that was called, which waits for that, -1 and its exit status.
 */
int serve_detach(int *ret_ready, int *ret_status);
void serve_detach_ready(int ready, const char *socket);
/* Is who waited gone? */
bool serve_detach_is_alone(int ready);

/* ---- ask.c, flat.c, show.c: of another server ------------------------- */

/* The body of an answer with status 200, in place; NULL: it is none. */
char *serve_answer_body(char *answer);
/* GET /v1/status over its socket, malloc'ed. */
int serve_ask_status(const struct serve_place *p, char **ret,
		     struct hpdsl_error *err);
/*
 * The value of a member of a JSON object: a string without its quotes, or
 * another one as it stands.  false: there is none, or it is longer than cap.
 */
bool serve_field(const char *json, const char *name, char *ret, size_t cap);
/* The same of a count; 0: there is none. */
uint64_t serve_number(const char *json, const char *name);
int serve_show(const struct serve_options *o);
int serve_stop(const struct serve_options *o);

/* ---- probe.c: of the job's other nodes -------------------------------- */

int serve_probe(const struct serve_options *o);

#endif
