/* SPDX-License-Identifier: Apache-2.0 */
/* --status and --stop: of the server that is there. */
#include "life.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STOP_MOST 60.0 /* seconds; a server that leaves takes half of that */

static int nobody(const struct serve_options *o)
{
	cmd_message("%s: nothing serves it", o->local);
	return CMD_NO;
}

/* ---- --status --------------------------------------------------------- */

/* As it may be printed; the caller frees it. */
static char *word(const char *json, const char *name)
{
	char text[4200] = "";

	if (!serve_field(json, name, text, sizeof(text)))
		text[0] = '\0';
	return cmd_escape(text, strlen(text));
}

static void print_nodes(const char *json)
{
	cmd_auto_free char *book = word(json, "book"),
			   *port = word(json, "port"),
			   *socket = word(json, "socket");

	if (strcmp(book, "null") == 0)
		cmd_print("  no book of the job's nodes, ");
	else if (strcmp(port, "null") == 0)
		cmd_print("  node %llu of %llu, book %s, no port, ",
			  (unsigned long long)serve_number(json, "node"),
			  (unsigned long long)serve_number(json, "nodes"),
			  book);
	else
		cmd_print("  node %llu of %llu, book %s, port %s, ",
			  (unsigned long long)serve_number(json, "node"),
			  (unsigned long long)serve_number(json, "nodes"), book,
			  port);
	cmd_print("socket %s\n", socket);
}

/* What matters of the rest, if there was any of it. */
static void print_more(const char *json)
{
	const uint64_t adopted = serve_number(json, "adopted"),
		       bytes = serve_number(json, "adopted_bytes"),
		       memory = serve_number(json, "memory_bytes"),
		       busy = serve_number(json, "busy"),
		       unproven = serve_number(json, "unproven");

	if (adopted || bytes)
		cmd_print("  adopted %s; %s from the origin, %s in memory\n",
			  cmd_many(adopted, "chunk").s, cmd_bytes(bytes).s,
			  cmd_bytes(memory).s);
	if (busy || unproven)
		cmd_print("  put off %s, refused %s\n",
			  cmd_many(busy, "request").s,
			  cmd_many(unproven, "request").s);
}

static void print_text(const struct serve_options *o, const char *json)
{
	cmd_auto_free char *state = word(json, "state"),
			   *host = word(json, "host"), *job = word(json, "job");
	const struct hpdsl_serve_stats s = {
		.requests = serve_number(json, "requests"),
		.bytes = serve_number(json, "bytes"),
		.local_requests = serve_number(json, "local_requests"),
		.local_bytes = serve_number(json, "local_bytes"),
	};
	cmd_auto_free char *summary = serve_summary(&s);
	bool named = *job && strcmp(job, "null") != 0;

	cmd_print("%s: %s since %s UTC, pid %llu on %s%s%s\n", o->local, state,
		  cmd_time((int64_t)serve_number(json, "since")).s,
		  (unsigned long long)serve_number(json, "pid"), host,
		  named ? ", " : "", named ? job : "");
	print_nodes(json);
	cmd_print("  %llu of %s here, %llu coming\n",
		  (unsigned long long)serve_number(json, "here"),
		  cmd_many(serve_number(json, "chunks"), "chunk").s,
		  (unsigned long long)serve_number(json, "coming"));
	cmd_print("  %s\n", summary);
	print_more(json);
	serve_peers_print(json);
}

int serve_show(const struct serve_options *o)
{
	cmd_auto_free char *json = NULL;
	struct serve_place p;
	struct hpdsl_error err;
	int r = serve_place_open(o->local, &p, &err);

	if (r < 0)
		return cmd_tell(&err);
	if (r == 0)
		return nobody(o);
	cmd_output_start();
	r = serve_ask_status(&p, &json, &err);
	serve_place_close(&p);
	if (r == -ENOENT || r == -ECONNREFUSED)
		return nobody(o);
	if (r < 0)
		return cmd_tell(&err);
	if (o->json)
		cmd_write(json, strlen(json));
	else
		print_text(o, json);
	cmd_flush();
	return CMD_DONE;
}

/* ---- --stop ----------------------------------------------------------- */

/*
 * Is it the process that the lock's text is about, and no later one of its
 * number?  Where /proc hides it, the other end of its socket tells.
 */
static bool is_that(const struct serve_place *p, const struct serve_holder *h)
{
	uint64_t start = h->pid ? cmd_process_start(h->pid) : 0;
	struct hpdsl_error err;
	pid_t pid = 0;
	int fd;

	if (start || !h->pid)
		return start == h->start && h->pid;
	fd = serve_unix_connect(p, 1, &pid, &err);
	if (fd >= 0)
		close(fd);
	return pid == h->pid;
}

static int stop(const struct serve_options *o, const struct serve_place *p,
		const struct serve_holder *h)
{
	double until = serve_now() + STOP_MOST;
	struct serve_holder now = *h;
	struct hpdsl_error err;
	int r = 1;

	if (kill(h->pid, SIGUSR1) < 0 && errno != ESRCH) {
		cmd_message("%s: pid %ld: %s", o->local, (long)h->pid,
			    strerror(errno));
		return CMD_TROUBLE;
	}
	while (r == 1 && now.pid == h->pid && now.start == h->start &&
	       serve_now() < until) {
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
		now = (struct serve_holder){ 0 };
		r = serve_lock_look(p, &now, &err);
		/* between its end and its lock's there is no text */
		if (r == 1 && !now.pid)
			now = *h;
	}
	if (r < 0)
		return cmd_tell(&err);
	if (r == 1 && now.pid == h->pid && now.start == h->start) {
		cmd_message("%s: pid %ld on %s has not ended yet", o->local,
			    (long)h->pid, h->host);
		return CMD_TROUBLE;
	}
	if (!o->quiet)
		cmd_message("%s: pid %ld has ended", o->local, (long)h->pid);
	return CMD_DONE;
}

int serve_stop(const struct serve_options *o)
{
	struct serve_holder h = { 0 };
	struct serve_place p;
	struct hpdsl_error err;
	int r = serve_place_open(o->local, &p, &err);

	if (r < 0)
		return cmd_tell(&err);
	if (r == 0)
		return nobody(o);
	r = serve_lock_look(&p, &h, &err);
	if (r == 1 && !is_that(&p, &h)) {
		cmd_message("%s: is served, but by no process of this node "
			    "that could be told",
			    o->local);
		r = CMD_TROUBLE;
	} else if (r == 1) {
		r = stop(o, &p, &h);
	} else {
		r = r < 0 ? cmd_tell(&err) : nobody(o);
	}
	serve_place_close(&p);
	return r;
}
