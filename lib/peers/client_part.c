/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a request: its want decides, this does it. */
#include "peers/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- A job's end ------------------------------------------------------ */

static void count(struct hp_peers *p, const struct hp_client_got *got,
		  uint32_t blamed)
{
	if (got->n >= 0) {
		atomic_fetch_add(&p->bytes, (uint64_t)got->n);
		atomic_fetch_add(&p->reads, 1);
		atomic_fetch_add(&p->adopted, got->adopted);
	} else if (got->n == -EHOSTUNREACH && !got->other_form) {
		hp_peers_to_origin(p, blamed, got->why);
	}
}

static void finish(struct hp_peers *p, struct hp_client_job *j)
{
	const struct hp_client_got got = j->got;

	if (j->before)
		j->before->next = j->next;
	else
		p->jobs = j->next;
	if (j->next)
		j->next->before = j->before;
	count(p, &got, j->blamed);
	j->done(j->arg, &got);
	free(j);
}

static void no_longer_active(struct hp_peers *p, struct hp_client_part *part)
{
	for (int i = 0; i < HP_PLACES; i++)
		if (p->active[i] == part)
			p->active[i] = NULL;
}

static void no_longer_rests(struct hp_peers *p, struct hp_client_part *part)
{
	for (int i = 0; i < HP_RESTS; i++)
		if (p->rests[i] == part)
			p->rests[i] = NULL;
}

/* Where there is room for it, it leaves its place to others meanwhile. */
static void rest(struct hp_peers *p, struct hp_client_part *part)
{
	for (int i = 0; i < HP_RESTS; i++) {
		if (p->rests[i])
			continue;
		no_longer_active(p, part);
		p->rests[i] = part;
		part->at = HP_PART_RESTS;
		return;
	}
}

void hp_part_waits_no_more(struct hp_peers *p, struct hp_client_part *part)
{
	struct hp_client_part **at = &p->waits;

	while (*at != part)
		at = &(*at)->next;
	*at = part->next;
	if (p->waits_end == &part->next)
		p->waits_end = at;
}

/* ---- What a want says ------------------------------------------------- */

static struct hp_peer_view look(void *arg, uint32_t node)
{
	const struct hp_client_part *part = arg;
	const struct hp_client_want *w = &part->job->want;

	return hp_peer_look_at(part->job->peers, node, w->chunk, w->kind);
}

static bool coming(void *arg, uint32_t node)
{
	const struct hp_client_part *part = arg;

	return hp_peer_is_coming(part->job->peers, node, part->job->want.chunk);
}

static bool starting(void *arg, uint32_t node)
{
	const struct hp_client_part *part = arg;

	return hp_peer_is_starting(part->job->peers, node);
}

static bool other(void *arg, uint32_t node)
{
	const struct hp_client_part *part = arg;
	const struct hp_client_want *w = &part->job->want;

	return hp_peer_has_other(part->job->peers, node, w->chunk, w->kind);
}

static struct hp_rate *rate(void *arg, uint32_t node)
{
	const struct hp_client_part *part = arg;

	return hp_peer_rate(part->job->peers, node);
}

static struct hp_client_ask *make_ask(struct hp_peers *p,
				      struct hp_client_part *part, unsigned i)
{
	const struct hp_want_ask *is = &part->want.ask[i];
	struct hp_client_ask *a = calloc(1, sizeof *a);

	if (!a)
		return NULL;
	a->peers = p;
	a->node = is->node;
	a->part = part;
	a->i = i;
	a->sure = is->sure;
	a->form = part->job->form;
	a->n = part->n;
	a->what = (struct hp_ask){ .method = HP_ASK_GET,
				   .kind = part->job->want.kind,
				   .adopt = is->adopt,
				   .node = is->node,
				   .chunk = part->job->want.chunk,
				   .first = part->first,
				   .last = part->first + part->n - 1 };
	/* Of several who are asked only one writes to where the bytes go. */
	if (!part->direct) {
		part->direct = a;
		a->to = part->buf;
	} else {
		a->to = a->own = malloc(part->n);
	}
	if (!a->to) {
		free(a);
		return NULL;
	}
	return a;
}

static void apply(struct hp_peers *p, struct hp_client_part *part,
		  const struct hp_want_acts *acts);

static void ask(struct hp_peers *p, struct hp_client_part *part, unsigned i)
{
	struct hp_want_acts acts;
	struct hp_client_ask *a;

	if (!part->want.ask[i].open)
		return;
	a = part->asks[i] = make_ask(p, part, i);
	if (!a) {
		hp_want_said(&part->want, i, HP_SAID_SELF, p->now, &acts);
		apply(p, part, &acts);
		return;
	}
	hp_peer_queue(p, a);
	/* The own node is a candidate whatever is known of it. */
	if (!hp_health_may(&p->peer[a->node].health, p->now))
		hp_ask_end(p, a, HP_SAID_FAILED, HP_END_GIVEN_UP);
}

static void let_go(struct hp_peers *p, struct hp_client_part *part, unsigned i,
		   bool leave)
{
	struct hp_client_ask *a = part->asks[i];

	part->asks[i] = NULL;
	if (part->direct == a)
		part->direct = NULL;
	if (!a)
		return;
	a->late = part->want.ask[i].hedged;
	if (part->want.ask[i].late && !part->want.ask[i].hurried)
		hp_peers_note(p, a->node, HP_CLIENT_LATE);
	hp_ask_drop(p, a, leave);
}

static void apply(struct hp_peers *p, struct hp_client_part *part,
		  const struct hp_want_acts *acts)
{
	for (unsigned i = 0; i < acts->n; i++)
		switch (acts->of[i].what) {
		case HP_WANT_ASK:
			ask(p, part, acts->of[i].ask);
			break;
		case HP_WANT_CLOSE:
			let_go(p, part, acts->of[i].ask, false);
			break;
		case HP_WANT_LEAVE:
			let_go(p, part, acts->of[i].ask, true);
			break;
		}
}

/* ---- The end of a job, for whatever reason ---------------------------- */

void hp_job_fail(struct hp_peers *p, struct hp_client_job *j, ssize_t code,
		 enum hp_client_why why)
{
	struct hp_want_acts acts;

	for (uint32_t i = 0; i < j->parts; i++) {
		struct hp_client_part *part = &j->part[i];

		if (part->at == HP_PART_ACTIVE) {
			hp_want_stop(&part->want, &acts);
			apply(p, part, &acts);
			no_longer_active(p, part);
		} else if (part->at == HP_PART_WAITS) {
			hp_part_waits_no_more(p, part);
		} else if (part->at == HP_PART_RESTS) {
			no_longer_rests(p, part);
		}
		part->at = HP_PART_OVER;
	}
	j->got.n = code;
	j->got.why = why;
	j->got.node = HP_NO_NODE;
	finish(p, j);
}

/* All of it is in its buffer. */
static void won(struct hp_peers *p, struct hp_client_part *part)
{
	struct hp_client_job *j = part->job;
	const struct hp_want_ask *by = &part->want.ask[part->want.won];

	part->at = HP_PART_OVER;
	no_longer_active(p, part);
	if (by->hedge)
		hp_peers_hedged(p, by->node, true);
	j->got.adopted |= by->adopt;
	if (j->left == j->parts)
		j->got.node = by->node;
	else if (j->got.node != by->node)
		j->got.node = HP_NO_NODE;
	if (--j->left == 0)
		finish(p, j);
}

/* Has it come to its end? */
static void conclude(struct hp_peers *p, struct hp_client_part *part)
{
	struct hp_client_job *j = part->job;
	const struct hp_want *w = &part->want;

	if (part->at != HP_PART_ACTIVE)
		return;
	if (w->is == HP_WANT_DONE) {
		won(p, part);
	} else if (w->is == HP_WANT_ORIGIN) {
		const enum hp_client_why why = hp_peers_why(p, w, &j->blamed);

		j->got.other_form = w->is_other;
		hp_job_fail(p, j, -EHOSTUNREACH,
			    w->is_other ? HP_CLIENT_DENIED : why);
	} else if (hp_want_rests(w)) {
		rest(p, part);
	}
}

/* ---- Events ----------------------------------------------------------- */

void hp_part_begin(struct hp_peers *p, struct hp_client_part *part)
{
	struct hp_client_job *j = part->job;
	struct hp_want_acts acts;

	part->at = HP_PART_ACTIVE;
	if (part->began) {
		hp_part_time(p, part);
		return;
	}
	part->began = true;
	part->want = (struct hp_want){
		.whom = { .nodes = p->nodes,
			  .self = p->self,
			  .chunk = j->want.chunk,
			  .first = j->first,
			  .last = j->last,
			  .before = j->want.but ? j->want.but - 1 : HP_NO_NODE,
			  .patience = j->deadline - p->now,
			  .quorum = &p->quorum,
			  .look = look,
			  .arg = part },
		.coming = coming,
		.starting = starting,
		.other = other,
		.hedges = &p->hedges,
		.rates = &p->rates,
		.rate = rate,
		.bytes = part->n,
		.held = j->want.held,
	};
	hp_want_begin(&part->want, p->now, &acts);
	apply(p, part, &acts);
	conclude(p, part);
}

void hp_part_time(struct hp_peers *p, struct hp_client_part *part)
{
	struct hp_want_acts acts;

	hp_want_time(&part->want, p->now, &acts);
	apply(p, part, &acts);
	conclude(p, part);
}

void hp_part_late(struct hp_peers *p, struct hp_client_part *part,
		  uint32_t node)
{
	struct hp_want_acts acts;

	for (unsigned i = 0; i < HP_WANT_ASKS; i++) {
		if (part->at != HP_PART_ACTIVE || !part->asks[i] ||
		    part->asks[i]->node != node)
			continue;
		hp_want_late(&part->want, i, p->now, &acts);
		apply(p, part, &acts);
		conclude(p, part);
		return; /* one ask of a node is open at a time */
	}
}

void hp_part_slow(struct hp_peers *p, struct hp_client_ask *a)
{
	struct hp_client_part *part = a->part;
	struct hp_want_acts acts;

	hp_want_slow(&part->want, a->i, p->now, &acts);
	apply(p, part, &acts);
	conclude(p, part);
}

void hp_part_said(struct hp_peers *p, struct hp_client_ask *a)
{
	struct hp_client_part *part = a->part;
	struct hp_want_acts acts;

	part->asks[a->i] = NULL;
	if (part->direct == a)
		part->direct = NULL;
	if (a->said == HP_SAID_ABSENT)
		hp_peer_denied(p, a->node, a->what.chunk, a->what.kind);
	if (a->said == HP_SAID_ABSENT && a->sure)
		hp_peer_in_vain(p, a->node, a->what.chunk);
	if (a->said == HP_SAID_BUSY)
		p->peer[a->node].busy_until = p->now + HP_BUSY_FOR;
	hp_peers_note(p, a->node, hp_said_why(a->said));
	hp_want_said(&part->want, a->i, a->said, p->now, &acts);
	apply(p, part, &acts);
	/* By now nobody else writes there. */
	if (a->said == HP_SAID_ALL && a->own)
		memcpy(part->buf, a->own, part->n);
	conclude(p, part);
	hp_ask_free(a);
}
