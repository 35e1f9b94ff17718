/* SPDX-License-Identifier: Apache-2.0 */
/* From the wait for LOCALDIR to the last word. */
#include "life.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define LOOK 1.0	 /* seconds between two looks */
#define LOOK_SOON 0.2	 /* while it waits, or leaves */
#define SAY 10.0	 /* between two lines */
#define END_MOST 30	 /* that its end takes */
#define DETACH_MOST 60.0 /* that who detaches it waits for LOCALDIR */

/* ---- Is it to end? ---------------------------------------------------- */

static enum serve_end judge(struct serve_life *l, int signal, bool gone)
{
	struct hpdsl_serve_stats stats = { 0 };
	struct serve_seen seen = { .now = serve_now(),
				   .begun = l->begun,
				   .deadline = l->deadline,
				   .detached = l->o->detach,
				   .idle = (double)l->o->idle,
				   .orphan = serve_is_orphan(),
				   .gone = gone };

	if (signal == SIGUSR1 && l->drain <= 0) {
		l->drain = seen.now;
		if (l->s)
			hpdsl_serve_drain(l->s, true);
	}
	if (l->s)
		hpdsl_serve_stats(l->s, &stats);
	seen.signal = signal == SIGUSR1 ? 0 : signal;
	seen.drain = l->drain;
	seen.asked = (double)stats.asked / 1e9;
	seen.owes = stats.owes;
	return serve_end_of(&seen);
}

/* ---- It begins -------------------------------------------------------- */

static void undo(struct serve_life *l)
{
	serve_listeners_close(l);
	hpdsl_serve_close(l->s);
	l->s = NULL;
	serve_lock_release(l->lock);
	l->lock = -1;
	serve_place_close(&l->place);
}

/*
 * The book of those who were listed, if it is not there: it may never have
 * been, or hpdsl-stage has put its own in that place.
 */
static int put_book(struct serve_life *l, struct hpdsl_error *err)
{
	struct serve_hosts *h = &l->hosts;
	struct hpdsl_serve_book b;
	int r;

	if (!h->nodes)
		return 0;
	hpdsl_serve_book(l->s, &b);
	if (b.any && memcmp(b.id, h->book.id, sizeof(b.id)) == 0)
		return 0;
	r = hpdsl_serve_put_book(l->s, &h->book, h->nodes, h->n, h->node, err);
	return r < 0 ? r : hpdsl_serve_look(l->s, err);
}

/* What is a share of a link follows from the book. */
static void set_rate(struct serve_life *l)
{
	const struct serve_options *o = l->o;
	struct hpdsl_serve_book b;
	uint64_t rate = o->rate;

	if (o->percent) {
		hpdsl_serve_book(l->s, &b);
		/* a million bits a second, in bytes */
		rate = (uint64_t)b.mbits * 125000 * o->percent / 100;
		if (b.any && b.nodes > 1 && !rate && !l->speed_told) {
			cmd_warning("%s: how fast this node's interface is, is "
				    "not known, and --rate=%u%% of it is no "
				    "limit",
				    l->place.path, (unsigned)o->percent);
			l->speed_told = true;
		}
	}
	hpdsl_serve_rate(l->s, rate);
}

/* The lines of all nodes' servers are in one log. */
static void name_it(const struct serve_life *l)
{
	struct hpdsl_serve_book b = { .any = false };
	char text[96];

	if (l->s)
		hpdsl_serve_book(l->s, &b);
	if (b.any)
		snprintf(text, sizeof(text), "node %u (%.64s)",
			 (unsigned)b.node, l->self.host);
	else
		snprintf(text, sizeof(text), "%.64s", l->self.host);
	cmd_message_of(text);
}

static void tell_begin(const struct serve_life *l)
{
	struct hpdsl_serve_book b;

	if (l->o->quiet)
		return;
	hpdsl_serve_book(l->s, &b);
	cmd_message("%s: serving, socket %s%s", l->place.path,
		    l->listeners.local.fd < 0 ? "none" : l->place.socket,
		    b.any ? "" : "; no book of the job's nodes yet");
}

/* -ENOENT: it may be one day. */
static int not_staged(struct serve_life *l, struct hpdsl_error *err)
{
	bool packed = serve_place_is_packed(&l->place);

	serve_place_close(&l->place);
	if (!packed)
		return -ENOENT;
	err->code = -EINVAL;
	snprintf(err->msg, sizeof(err->msg),
		 "%.800s: is a packed dataset, and not what hpdsl-stage makes "
		 "of one on a node",
		 l->o->local);
	return err->code;
}

static int open_core(struct serve_life *l, struct hpdsl_error *err)
{
	const struct hpdsl_serve_options opt = { .memory = l->o->memory_cache };

	return hpdsl_serve_open(l->o->local, &opt, &l->s, err);
}

/* -ENOENT: it is not there yet, or not any more. */
static int begin(struct serve_life *l, struct hpdsl_error *err)
{
	int r = serve_place_open(l->o->local, &l->place, err);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	if (!serve_place_is_staged(&l->place))
		return not_staged(l, err);
	/* which who is asked says of itself */
	l->begun = l->said = serve_now();
	l->self = serve_holder_self();
	l->lock = serve_lock_take(&l->place, err);
	r = l->lock < 0 ? l->lock : 0;
	if (r == 0)
		r = open_core(l, err);
	if (r == 0)
		r = put_book(l, err);
	if (r == 0)
		r = serve_listeners_open(l, err);
	if (r < 0) {
		undo(l);
		return r;
	}
	set_rate(l);
	name_it(l);
	tell_begin(l);
	serve_listeners_look(l);
	serve_detach_ready(l->ready,
			   l->listeners.local.fd < 0 ? "" : l->place.socket);
	l->ready = -1;
	return 0;
}

/* Who waits for it to detach does not wait for ever. */
static int give_up(const struct serve_life *l, struct hpdsl_error *err)
{
	if (l->ready < 0 || (serve_now() - l->begun < DETACH_MOST &&
			     !serve_detach_is_alone(l->ready)))
		return 0;
	err->code = -ETIMEDOUT;
	snprintf(err->msg, sizeof(err->msg),
		 "%.800s: there is no stage directory yet", l->o->local);
	return err->code;
}

/* SERVE_GOES_ON: it serves. */
static int wait_for(struct serve_life *l, enum serve_end *ret, int *ret_signal,
		    struct hpdsl_error *err)
{
	bool told = l->o->quiet;
	int r;

	while ((r = begin(l, err)) == -ENOENT) {
		if (!told)
			cmd_message("waiting for a stage directory at %s",
				    l->o->local);
		told = true;
		*ret_signal = serve_signals_wait(LOOK_SOON);
		*ret = judge(l, *ret_signal, false);
		if (*ret)
			return 0;
		r = give_up(l, err);
		if (r < 0)
			return r;
	}
	*ret = SERVE_GOES_ON;
	return r;
}

/* ---- It serves -------------------------------------------------------- */

static void tell_trouble(struct serve_life *l, const char *text)
{
	if (!*text || strcmp(text, l->trouble) == 0)
		return;
	snprintf(l->trouble, sizeof(l->trouble), "%s", text);
	cmd_warning("%s", text);
}

/* Another dataset was staged there, or so many books: what was open ends. */
static int open_anew(struct serve_life *l, struct hpdsl_error *err)
{
	int r;

	/* HTTP may leave a socket that is good for nothing */
	serve_listeners_close(l);
	hpdsl_serve_close(l->s);
	l->s = NULL;
	r = open_core(l, err);
	if (r == 0)
		r = put_book(l, err);
	if (r == 0)
		name_it(l);
	if (r == 0 && l->drain > 0)
		hpdsl_serve_drain(l->s, true);
	if (r == 0)
		r = serve_listeners_open(l, err);
	if (r == 0) {
		set_rate(l);
		serve_listeners_look(l);
	}
	return r;
}

/* 1: the directory is gone. */
static int look(struct serve_life *l, struct hpdsl_error *err)
{
	int r = hpdsl_serve_look(l->s, err);

	/* a lock without its name is none: another server may have one */
	if (r == -ENOENT || !serve_lock_is_named(&l->place, l->lock))
		return 1;
	if (r != HPDSL_ECHANGED) {
		tell_trouble(l, err->msg);
		if (put_book(l, err) < 0)
			tell_trouble(l, err->msg);
		set_rate(l);
		name_it(l);
		if (!serve_listeners_look(l))
			return 0;
	}
	r = open_anew(l, err);
	return r == -ENOENT ? 1 : r;
}

static void say(struct serve_life *l)
{
	struct hpdsl_serve_stats s;
	cmd_auto_free char *text = NULL;
	double now = serve_now();
	uint64_t of;

	if (l->o->quiet || now - l->said < SAY)
		return;
	hpdsl_serve_stats(l->s, &s);
	/* each of them only grows */
	of = s.requests + s.local_requests + s.here + s.unproven + s.absent +
	     s.busy + s.wrong;
	l->said = now;
	if (of == l->said_of)
		return;
	l->said_of = of;
	text = serve_summary(&s);
	cmd_message("%llu of %s here; %s", (unsigned long long)s.here,
		    cmd_many(s.chunks, "chunk").s, text);
}

static int serve(struct serve_life *l, enum serve_end *ret, int *ret_signal,
		 struct hpdsl_error *err)
{
	serve_metrics_begin(l);
	*ret = SERVE_GOES_ON;
	while (!*ret) {
		int signal =
			serve_signals_wait(l->drain > 0 ? LOOK_SOON : LOOK);
		int r = look(l, err);

		if (r < 0)
			return r;
		*ret = judge(l, signal, r);
		*ret_signal = signal;
		say(l);
		serve_metrics_look(l);
	}
	return 0;
}

/* ---- It ends ---------------------------------------------------------- */

static int status_of(enum serve_end e, int signal)
{
	return e == SERVE_SIGNAL ? 128 + signal :
	       e == SERVE_ORPHAN ? 128 + SIGTERM :
				   CMD_DONE;
}

static void tell_end(const struct serve_life *l, enum serve_end e)
{
	struct hpdsl_serve_stats s;
	cmd_auto_free char *text = NULL;

	if (l->o->quiet && e != SERVE_SIGNAL)
		return;
	if (!l->s || l->o->quiet) {
		cmd_message("%s", l->end);
		return;
	}
	hpdsl_serve_stats(l->s, &s);
	text = serve_summary(&s);
	cmd_message("%s; %s", l->end, text);
}

static int finish(struct serve_life *l, enum serve_end e, int signal,
		  const struct hpdsl_error *err)
{
	int status;

	serve_signals_end();
	/* an origin or an SSD that hangs does not keep it */
	alarm(END_MOST);
	/* before it is told: then it is so */
	serve_listeners_close(l);
	serve_metrics_end(l);
	if (err->code < 0 && !e) {
		status = cmd_tell(err);
		l->end = err->msg;
	} else {
		l->end = serve_end_text(e, signal);
		status = status_of(e, signal);
		tell_end(l, e);
	}
	if (l->o->report && serve_report(l) && !status)
		status = CMD_TROUBLE;
	undo(l);
	serve_hosts_free(&l->hosts);
	return status;
}

/* It holds the job's secret. */
static void keep_to_itself(void)
{
	const struct rlimit none = { 0, 0 };

	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_CORE, &none);
}

int serve_run(const struct serve_options *o, pid_t launcher)
{
	struct serve_life l = { .o = o,
				.lock = -1,
				.ready = -1,
				.place.dir = -1,
				.mutex = PTHREAD_MUTEX_INITIALIZER };
	enum serve_end e = SERVE_GOES_ON;
	struct hpdsl_error err = { 0 };
	int status, signal = 0, r;

	l.listeners.local.fd = -1;
	for (int i = 0; i < SERVE_TCP; i++)
		l.listeners.tcp[i].fd = -1;
	if (o->report && cmd_file_try(o->report, &err) < 0)
		return cmd_tell(&err);
	status = serve_hosts_read(&o->hosts, &l.hosts);
	if (status)
		return status;
	l.begun = serve_now();
	if (o->deadline)
		l.deadline = l.begun + (double)o->deadline;
	if (o->detach && serve_detach(&l.ready, &status) < 0) {
		serve_hosts_free(&l.hosts);
		return status;
	}
	keep_to_itself();
	l.self = serve_holder_self();
	name_it(&l);
	serve_signals_begin(o->local, launcher, o->detach);
	cmd_allow_open_files();
	r = wait_for(&l, &e, &signal, &err);
	if (r == 0 && !e)
		r = serve(&l, &e, &signal, &err);
	if (r == 0)
		err.code = 0;
	return finish(&l, e, signal, &err);
}
