/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries the stagers' messages, and brings all of them to one end.  Leaders
 * tell rank 0 when they are idle, fail, or are asked to stop; rank 0 tells all
 * what follows.  At the end everybody goes on receiving, and throws away, until
 * all that was sent has arrived (a consensus by a barrier that does not block:
 * Hoefler, Siebert, Lumsdaine, "Scalable communication protocols for dynamic
 * sparse data exchange", PPoPP 2010).
 */
#include "job.h"

#include <string.h>

#define SENDS 64
#define RECEIVES HPDSL_STAGER_WORDS
#define LOOK_EVERY 0.02

struct send {
	MPI_Request request;
	struct hpdsl_stager_message message;
};

struct receipt {
	MPI_Request request;
	int from;
	void *room;
	size_t n;
};

/*
 * What a node tells rank 0, and rank 0 all.  A chunk that cannot be had from
 * the origin stops nobody: the others are staged all the same.
 */
struct stop {
	bool stop, at_once;
	struct stage_failure failure;
};

struct carrier {
	struct stage_job *j;
	struct stage_carry *c;
	struct send sends[SENDS];
	struct receipt receipts[RECEIVES]; /* oldest first */
	int n_sends, n_receipts;
	bool over; /* nobody needs anything any more */
	bool failed_told, urgent_told, wish_told, idle_told;
	double look_at;
	/* Rank 0 */
	uint32_t idle;
	bool stop_told, late_told;
	struct stop first; /* failure that was told; code 0: none */
};

static void fail(struct carrier *k, const struct hpdsl_error *err, bool at_once)
{
	struct stop s = { .stop = at_once, .at_once = at_once };

	if (k->urgent_told || (k->failed_told && !at_once))
		return;
	k->failed_told = true;
	k->urgent_told = at_once;
	s.failure.err = *err;
	s.failure.node = k->j->node;
	snprintf(s.failure.host, sizeof(s.failure.host), "%s", k->j->host);
	job_post(k->j, 0, TAG_FAIL, &s, sizeof(s));
}

/* ---- Sending ---------------------------------------------------------- */

static bool sent(struct carrier *k)
{
	bool any = false;

	for (int i = 0; i < k->n_sends; i++) {
		int flag = 0;

		MPI_Test(&k->sends[i].request, &flag, MPI_STATUS_IGNORE);
		if (!flag)
			continue;
		hpdsl_stager_sent(k->c->stager, &k->sends[i].message);
		k->sends[i--] = k->sends[--k->n_sends];
		any = true;
	}
	return any;
}

static bool send(struct carrier *k)
{
	struct hpdsl_error err;
	bool any = false;

	while (k->n_sends < SENDS) {
		struct send *s = &k->sends[k->n_sends];
		int ret = hpdsl_stager_next(k->c->stager, &s->message, &err);

		if (ret < 0)
			fail(k, &err, ret != HPDSL_ECORRUPT);
		if (ret <= 0)
			break;
		MPI_Issend(s->message.p, (int)s->message.n, MPI_BYTE,
			   (int)s->message.to, TAG_DATA, k->j->leads,
			   &s->request);
		k->n_sends++;
		any = true;
	}
	return any;
}

/* ---- Receiving -------------------------------------------------------- */

static bool receive(struct carrier *k)
{
	bool any = false;

	while (k->n_receipts < RECEIVES) {
		struct receipt *r = &k->receipts[k->n_receipts];
		MPI_Message message;
		MPI_Status status;
		int flag = 0, n;

		MPI_Improbe(MPI_ANY_SOURCE, TAG_DATA, k->j->leads, &flag,
			    &message, &status);
		if (!flag)
			break;
		MPI_Get_count(&status, MPI_BYTE, &n);
		r->from = status.MPI_SOURCE;
		r->n = (size_t)n;
		r->room = k->over ? malloc(r->n ? r->n : 1) :
				    hpdsl_stager_room(k->c->stager, r->n);
		if (!r->room && k->over)
			cmd_no_memory();
		if (!r->room)
			job_abort("node %d sent a message of %d bytes, which "
				  "is none, or there is no memory for it",
				  r->from, n);
		MPI_Imrecv(r->room, n, MPI_BYTE, &message, &r->request);
		k->n_receipts++;
		any = true;
	}
	return any;
}

/* Is there an older one of the same sender, which has to go first? */
static bool has_to_wait(const struct carrier *k, int i)
{
	for (int o = 0; o < i; o++)
		if (k->receipts[o].from == k->receipts[i].from)
			return true;
	return false;
}

static bool received(struct carrier *k, bool discard)
{
	struct hpdsl_error err;
	bool any = false;

	for (int i = 0; i < k->n_receipts; i++) {
		struct receipt r = k->receipts[i];
		int flag = 0;

		if (has_to_wait(k, i))
			continue;
		MPI_Test(&k->receipts[i].request, &flag, MPI_STATUS_IGNORE);
		if (!flag)
			continue;
		memmove(&k->receipts[i], &k->receipts[i + 1],
			(size_t)(k->n_receipts - i - 1) * sizeof(r));
		k->n_receipts--;
		i--;
		any = true;
		if (discard)
			free(r.room);
		else if (hpdsl_stager_received(k->c->stager, (uint32_t)r.from,
					       r.room, r.n, &err) < 0)
			fail(k, &err, true);
	}
	return any;
}

/* ---- Rank 0 ----------------------------------------------------------- */

static void tell_all(struct carrier *k, int tag, const void *p, size_t n)
{
	for (uint32_t i = 0; i < k->j->nodes; i++)
		job_post(k->j, k->j->leaders[i], tag, p, n);
}

static void tell_stop(struct carrier *k, bool at_once)
{
	struct stop stop = { .stop = true, .at_once = at_once };

	tell_all(k, TAG_STOP, &stop, sizeof(stop));
}

/*
 * The first failure is told to all, and one that stops them takes the place of
 * one that does not.  What else does not stop them is told here, unless two
 * nodes have found the same.
 */
static bool conduct_failures(struct carrier *k)
{
	struct stage_mail *m = job_take(k->j, TAG_FAIL);
	struct stop s;

	if (!m)
		return false;
	memcpy(&s, m->bytes, sizeof(s));
	free(m);
	if (!k->first.failure.err.code || (s.stop && !k->first.stop)) {
		k->first = s;
		tell_all(k, TAG_STOP, &s, sizeof(s));
	} else if (!s.stop &&
		   strcmp(s.failure.err.msg, k->first.failure.err.msg) != 0) {
		cmd_warning("%s: %s",
			    stage_node_name(s.failure.node, s.failure.host).s,
			    s.failure.err.msg);
	}
	return true;
}

/* Gently in time, so that what is under way is completed; else at once. */
static bool conduct_stop(struct carrier *k)
{
	uint64_t deadline = k->j->o->deadline;

	if (k->j->wish && !k->stop_told) {
		k->stop_told = true;
		tell_stop(k, false);
		return true;
	}
	if (deadline && !k->late_told &&
	    stage_now() - k->j->started >= (double)deadline) {
		k->late_told = true;
		tell_stop(k, true);
		return true;
	}
	return false;
}

static bool conduct(struct carrier *k)
{
	struct stage_mail *m;
	bool any = conduct_failures(k);

	any |= conduct_stop(k);
	while ((m = job_take(k->j, TAG_IDLE))) {
		if (++k->idle == k->j->nodes)
			tell_all(k, TAG_DONE, NULL, 0);
		any = true;
		free(m);
	}
	return any;
}

/* ---- All -------------------------------------------------------------- */

static bool obey(struct carrier *k)
{
	struct stage_mail *m = job_take(k->j, TAG_STOP);
	struct stop stop;

	if (!m)
		return false;
	memcpy(&stop, m->bytes, sizeof(stop));
	free(m);
	if (stop.failure.err.code)
		k->c->failure = stop.failure;
	else
		k->c->stopped = true;
	if (stop.stop)
		hpdsl_stager_stop(k->c->stager, stop.at_once);
	return true;
}

/* Now and then: how far is it, is it stuck, is it idle? */
static void look(struct carrier *k, bool busy)
{
	struct hpdsl_stager_report r;
	double now = stage_now();

	if (now - k->look_at < LOOK_EVERY && busy)
		return;
	k->look_at = now;
	hpdsl_stager_report(k->c->stager, &r);
	k->j->now.stuck_seconds = r.stuck_seconds;
	snprintf(k->j->now.stuck, sizeof(k->j->now.stuck), "%s", r.stuck);
	k->j->now.total = r.planned_bytes;
	k->j->now.done = r.held_bytes + r.written_bytes;
	if (k->j->now.done > r.planned_bytes || r.idle)
		k->j->now.done = r.planned_bytes;
	if (r.idle && !k->idle_told) {
		k->idle_told = true;
		job_post(k->j, 0, TAG_IDLE, NULL, 0);
	}
	if (k->j->rank == 0 && k->c->progress)
		k->c->progress(k->c->arg);
}

static bool round_once(struct carrier *k)
{
	bool busy = sent(k);

	busy |= send(k);
	busy |= receive(k);
	busy |= received(k, false);
	busy |= job_pass(k->j);
	if (k->j->rank == 0)
		busy |= conduct(k);
	busy |= obey(k);
	look(k, busy);
	return busy;
}

static bool drain(struct carrier *k)
{
	bool any = sent(k);

	if (k->over)
		any |= receive(k);
	any |= received(k, k->over);
	any |= job_pass(k->j);
	return any;
}

/* What was sent has been received, here and everywhere. */
static void settle(struct carrier *k)
{
	MPI_Request barrier = MPI_REQUEST_NULL;
	bool begun = false;
	int flag = 0;

	while (k->n_receipts) /* into rooms of the stager */
		job_rest(k->j, drain(k));
	k->over = true;
	while (!flag) {
		bool busy = drain(k);

		if (!begun && !k->n_sends) {
			MPI_Ibarrier(k->j->leads, &barrier);
			begun = true;
		}
		if (begun && !k->n_receipts)
			MPI_Test(&barrier, &flag, MPI_STATUS_IGNORE);
		job_rest(k->j, busy);
	}
}

void job_carry(struct stage_job *j, struct stage_carry *c)
{
	struct carrier *k = cmd_alloc(1, sizeof(*k));
	struct stage_mail *m;

	k->j = j;
	k->c = c;
	while (!(m = job_take(j, TAG_DONE)))
		job_rest(j, round_once(k));
	free(m);
	settle(k);
	j->now.stuck_seconds = 0;
	free(k);
}
