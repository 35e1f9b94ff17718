/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is there, and gets on?  Leaders send beats to rank 0, the others to their
 * leader, and each is answered; the lowest other leader keeps an eye on rank 0.
 * A beat tells the operation that takes longest.  Who is silent or stuck is
 * named after a while, and ends the job after the timeout: MPI cannot go on
 * without it.
 */
#include "job.h"

#include <string.h>

#define PATIENCE 30.0
#define CHECK_EVERY 0.1
#define NAMES 10

double job_patience(const struct stage_job *j)
{
	double tenth = (double)j->o->timeout / 10;

	return tenth < PATIENCE ? tenth : PATIENCE;
}

static double beat_every(const struct stage_job *j)
{
	return peers_beat_every(j->nodes, job_patience(j));
}

static struct stage_peer *peer_of(struct stage_job *j, int rank)
{
	size_t leaders = j->n_peers - j->n_helpers;
	struct stage_peer *p = peers_find(j->peers, leaders, rank);

	return p ? p : peers_find(j->peers + leaders, j->n_helpers, rank);
}

static struct stage_name name_of(const struct stage_job *j,
				 const struct stage_peer *p)
{
	struct stage_name s;
	int n = 0;

	if (p->rank >= 0 && j->nodes > p->node && j->leaders &&
	    p->rank != j->leaders[p->node])
		n = snprintf(s.s, sizeof(s.s), "rank %d, ", p->rank);
	if (*p->host)
		snprintf(s.s + n, sizeof(s.s) - (size_t)n, "node %u (%s)",
			 p->node, p->host);
	else
		snprintf(s.s + n, sizeof(s.s) - (size_t)n, "node %u", p->node);
	return s;
}

/* Beats and their answers. */
static bool read_mail(struct stage_job *j, double now)
{
	struct stage_mail *m;
	bool any = false;

	while ((m = job_take(j, TAG_BEAT))) {
		struct stage_peer *p = peer_of(j, m->source);

		if (p && m->n == sizeof(p->last)) {
			memcpy(&p->last, m->bytes, sizeof(p->last));
			p->seen = now;
			p->silent_told = false;
			j->wish |= p->last.wish;
		}
		job_post(j, m->source, TAG_ECHO, NULL, 0);
		free(m);
		any = true;
	}
	while ((m = job_take(j, TAG_ECHO))) {
		j->boss_peer.seen = now;
		j->boss_peer.silent_told = false;
		j->beat_under_way = false;
		free(m);
		any = true;
	}
	return any;
}

static void stuck_here(struct stage_job *j, double now)
{
	pthread_mutex_lock(&j->lock);
	if (j->doing_since > 0) {
		j->now.stuck_seconds = now - j->doing_since;
		memcpy(j->now.stuck, j->doing, sizeof(j->now.stuck));
	}
	pthread_mutex_unlock(&j->lock);
}

/* Of what cannot wait for the next beat, where these are rare. */
static bool has_news(struct stage_job *j)
{
	bool stuck = j->now.stuck_seconds > job_patience(j);
	bool news = (j->wish && !j->now.wish) || (stuck && !j->stuck_sent);

	j->stuck_sent = stuck;
	return news;
}

static void send_beat(struct stage_job *j, double now)
{
	bool news = has_news(j);

	if (now - j->beat_at < beat_every(j) && !news)
		return;
	j->beat_at = now;
	j->now.wish = j->wish;
	/* one is enough for somebody who does not answer */
	if (j->boss == j->rank || (j->beat_under_way && !news))
		return;
	j->beat_under_way = true;
	job_post(j, j->boss, TAG_BEAT, &j->now, sizeof(j->now));
}

/* Where the origin hangs all nodes are stuck: some names are enough. */
static bool may_name(struct stage_job *j)
{
	double now = stage_now();

	if (now - j->named_at > PATIENCE) {
		j->named_at = now;
		j->named = 0;
	}
	if (j->named == NAMES)
		cmd_warning("and more nodes, silent or stuck");
	return j->named++ < NAMES;
}

static void check_silent(struct stage_job *j, struct stage_peer *p, double now)
{
	double silent = p->gone ? 0 : now - p->seen;

	if (silent > (double)j->o->timeout)
		job_abort("%s has been silent for %.0f s", name_of(j, p).s,
			  silent);
	if (silent > job_patience(j) && !p->silent_told) {
		p->silent_told = true;
		if (may_name(j))
			cmd_warning("%s has been silent for %.0f s",
				    name_of(j, p).s, silent);
	}
}

static void check_stuck(struct stage_job *j, struct stage_peer *p,
			const struct stage_beat *b, double more)
{
	double stuck = b->stuck_seconds;

	if (p->gone || stuck <= 0 || stuck < job_patience(j)) {
		p->stuck_told = false;
		return;
	}
	if (stuck + more > (double)j->o->timeout)
		job_abort("%s: %s has not returned for %.0f s", name_of(j, p).s,
			  b->stuck, stuck + more);
	if (!p->stuck_told && may_name(j))
		cmd_warning("%s: %s has not returned for %.0f s",
			    name_of(j, p).s, b->stuck, stuck);
	p->stuck_told = true;
}

/* While this process was stopped, the others have not been silent. */
static void forgive(struct stage_job *j, double now)
{
	double gap = now - j->pass_at, every = beat_every(j);

	j->pass_at = now;
	if (gap < every)
		return;
	j->boss_peer.seen = peers_seen(j->boss_peer.seen, now, gap, every);
	for (size_t i = 0; i < j->n_peers; i++)
		j->peers[i].seen =
			peers_seen(j->peers[i].seen, now, gap, every);
}

static void check_all(struct stage_job *j, double now)
{
	if (j->watches_boss)
		check_silent(j, &j->boss_peer, now);
	for (size_t i = 0; i < j->n_peers; i++) {
		check_silent(j, &j->peers[i], now);
		if (j->rank == 0)
			check_stuck(j, &j->peers[i], &j->peers[i].last,
				    now - j->peers[i].seen);
	}
	if (j->rank == 0)
		check_stuck(j, &j->self, &j->now, 0);
}

/* Was it silent before MPI was last seen to return? */
static bool was_silent(const struct stage_job *j, const struct stage_peer *p)
{
	return !p->gone && j->pass_at - p->seen > job_patience(j);
}

static void tell_stuck(const struct stage_job *j, uint64_t seconds)
{
	const struct stage_peer *p = NULL;

	if (j->watches_boss && was_silent(j, &j->boss_peer))
		p = &j->boss_peer;
	for (size_t i = 0; i < j->n_peers && !p; i++)
		if (was_silent(j, &j->peers[i]))
			p = &j->peers[i];
	if (p)
		cmd_message("%s has been silent for %.0f s, and MPI does not "
			    "return",
			    name_of(j, p).s, stage_now() - p->seen);
	else
		cmd_message("rank %d (%s): MPI has not returned for %llu s",
			    j->rank, j->host, (unsigned long long)seconds);
}

static void peer_set(struct stage_peer *p, int rank)
{
	*p = (struct stage_peer){ .rank = rank, .seen = stage_now() };
}

void job_watch(struct stage_job *j, const int *helpers, size_t n_helpers)
{
	bool leader = j->rank == j->leader;
	size_t n = 0;

	j->peers = cmd_alloc(n_helpers + j->nodes, sizeof(*j->peers));
	for (uint32_t i = 1; j->rank == 0 && i < j->nodes; i++) {
		peer_set(&j->peers[n], j->leaders[i]);
		j->peers[n++].node = i;
	}
	for (size_t i = 0; leader && i < n_helpers; i++) {
		peer_set(&j->peers[n], helpers[i]);
		j->peers[n++].node = j->node;
	}
	j->n_peers = n;
	j->n_helpers = leader ? n_helpers : 0;
	peers_sort(j->peers + n - j->n_helpers, j->n_helpers);
	j->boss = leader ? 0 : j->leader;
	/* with one node there is no other leader: then the lowest other rank */
	j->watches_boss = j->nodes > 1 ? leader && j->node == 1 : j->rank == 1;
	peer_set(&j->boss_peer, j->boss);
	peer_set(&j->self, j->rank);
	j->self.node = j->node;
	j->pass_at = stage_now();
	j->beat_at = j->pass_at - beat_every(j) +
		     peers_first_beat(j->node, j->nodes, beat_every(j));
	j->ready = true;
	job_guard_rounds(j, tell_stuck);
}

void job_watch_gone(struct stage_job *j, int rank)
{
	struct stage_peer *p = peer_of(j, rank);

	if (p)
		p->gone = true;
}

bool job_watch_pass(struct stage_job *j)
{
	double now = stage_now();
	bool any = read_mail(j, now);

	job_guard_round();

	forgive(j, now);
	if (__atomic_load_n(&cmd_stop, __ATOMIC_RELAXED))
		j->wish = true;
	if (now - j->check_at >= CHECK_EVERY) {
		j->check_at = now;
		stuck_here(j, now);
		check_all(j, now);
	}
	send_beat(j, now);
	if (j->tick && now - j->tick_at >= 1) {
		j->tick_at = now;
		j->tick(j->tick_arg);
	}
	return any;
}
