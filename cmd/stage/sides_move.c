/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of side files: a node reads a piece of each of its own, all of a
 * crowd get it, and write it.  All know how long each stream is, from the
 * manifest, so nothing has to be told besides the bytes; what cannot be read is
 * zeros, which no checksum agrees with.
 */
#include "sides.h"

#include <time.h>

#define AGREE_EVERY 16 /* rounds */

/* ---- Crowds ----------------------------------------------------------- */

static void join(struct side_move *m, int which, uint32_t part)
{
	const struct stage_run *r = m->r;
	uint32_t parts = hpdsl_stage_plan_parts(r->plan);
	struct hpdsl_stage_span g =
		hpdsl_stage_group_of(r->j->nodes, parts, part);

	m->crowd[which].size = (int)(g.last - g.first + 1);
	m->crowd[which].rank = (int)(r->j->node - g.first);
}

/*
 * Of two groups that share a node one is even and the other odd, so that each
 * kind is made by one split of all leaders.
 */
static bool is_odd(const struct stage_run *r, uint32_t part)
{
	uint32_t parts = hpdsl_stage_plan_parts(r->plan);

	return (parts <= r->j->nodes ?
			part :
			hpdsl_stage_group_of(r->j->nodes, parts, part).first) %
	       2;
}

static void split(struct side_move *m, bool odd, struct hpdsl_stage_span mine)
{
	struct stage_job *j = m->r->j;
	int which = CROWD_ALONE;
	uint32_t part = 0;
	MPI_Comm comm;

	if (m->crowd[CROWD_FIRST].size > 1 && is_odd(m->r, mine.first) == odd) {
		which = CROWD_FIRST;
		part = mine.first;
	} else if (m->crowd[CROWD_LAST].size > 1 &&
		   is_odd(m->r, mine.last) == odd) {
		which = CROWD_LAST;
		part = mine.last;
	}
	job_guard(j, "MPI_Comm_split");
	MPI_Comm_split(j->leads,
		       which == CROWD_ALONE ? MPI_UNDEFINED : (int)part,
		       (int)j->node, &comm);
	job_unguard();
	m->crowd[which].comm = comm;
}

void side_crowds(struct side_move *m)
{
	struct stage_job *j = m->r->j;
	uint32_t parts = hpdsl_stage_plan_parts(m->r->plan);
	struct hpdsl_stage_span mine =
		hpdsl_stage_parts_of(j->nodes, parts, j->node);

	for (int i = 0; i < CROWDS; i++)
		m->crowd[i] =
			(struct side_crowd){ .comm = MPI_COMM_NULL, .size = 1 };
	join(m, CROWD_FIRST, mine.first);
	if (mine.last != mine.first)
		join(m, CROWD_LAST, mine.last);
	if (parts == 1) {
		m->crowd[CROWD_FIRST].comm = j->leads;
		return;
	}
	if (parts % j->nodes == 0) /* every part is one node's */
		return;
	split(m, false, mine);
	split(m, true, mine);
}

void side_crowds_free(struct side_move *m)
{
	for (int i = 0; i < CROWDS; i++) {
		MPI_Comm *comm = &m->crowd[i].comm;

		if (*comm == MPI_COMM_NULL || *comm == m->r->j->leads)
			continue;
		job_guard(m->r->j, "MPI_Comm_free");
		MPI_Comm_free(comm);
		job_unguard();
	}
}

/* ---- Lanes ------------------------------------------------------------ */

/* Does this node read it? */
static bool is_mine(const struct side_lane *l)
{
	return !l->over && l->root == l->crowd->rank;
}

static int open_lane(struct side_move *m, struct side_lane *l)
{
	const struct stage_run *r = m->r;
	const struct hpdsl_stage_sides_of of = {
		.plan = r->plan,
		.side = l->side,
		.sides = l->n,
		.sync = r->o->sync,
	};
	int ret;

	l->over = !l->n;
	if (l->over)
		return 0;
	ret = hpdsl_stage_sides_new(r->stage, &of, &l->stream, &m->err);
	if (ret < 0)
		return ret;
	l->left = hpdsl_stage_sides_bytes(l->stream);
	l->piece = cmd_alloc(1, SIDE_PIECE);
	return 0;
}

static int open_lanes(void *arg)
{
	struct side_move *m = arg;
	int ret = 0;

	for (int k = 0; k < LANES && ret == 0; k++)
		ret = open_lane(m, &m->lane[k]);
	return ret;
}

static int close_lanes(void *arg)
{
	struct side_move *m = arg;

	for (int k = 0; k < LANES; k++) {
		struct side_lane *l = &m->lane[k];

		hpdsl_stage_sides_free(l->stream);
		free(l->piece);
		l->stream = NULL;
		l->piece = NULL;
	}
	return 0;
}

/* Spread over the crowd. */
static void choose_roots(struct side_move *m, int try)
{
	for (int k = 0; k < LANES; k++) {
		struct side_lane *l = &m->lane[k];
		int size = m->crowd[k / SIDE_LANES].size;
		int64_t root = (int64_t)(k % SIDE_LANES) * size / SIDE_LANES;

		l->crowd = &m->crowd[k / SIDE_LANES];
		l->root = (int)((root + try) % size);
	}
}

/* ---- Rounds ----------------------------------------------------------- */

/* --rate: until it allows what was read. */
static void rest(const struct side_move *m)
{
	const struct timespec nap = { .tv_nsec = 50000000 };

	while (m->rate > 0 &&
	       (double)m->read > m->rate * (stage_now() - m->begun) &&
	       !__atomic_load_n(&cmd_stop, __ATOMIC_RELAXED)) {
		job_moves(m->r->j);
		nanosleep(&nap, NULL);
	}
}

static int read_pieces(void *arg)
{
	struct side_move *m = arg;

	rest(m);
	for (int k = 0; k < LANES; k++) {
		struct side_lane *l = &m->lane[k];

		if (is_mine(l))
			m->read += hpdsl_stage_sides_read(l->stream, l->piece,
							  l->now);
	}
	return 0;
}

static void pass_pieces(struct side_move *m)
{
	for (int k = 0; k < LANES; k++) {
		struct side_lane *l = &m->lane[k];

		l->request = MPI_REQUEST_NULL;
		if (!l->over && l->now && l->crowd->size > 1)
			MPI_Ibcast(l->piece, (int)l->now, MPI_BYTE, l->root,
				   l->crowd->comm, &l->request);
	}
	for (int k = 0; k < LANES; k++)
		if (m->lane[k].request != MPI_REQUEST_NULL)
			job_wait(m->r->j, &m->lane[k].request);
}

/* Who fails goes on taking part, and says so when all compare. */
static int write_pieces(void *arg)
{
	struct side_move *m = arg;
	struct hpdsl_error err;

	for (int k = 0; k < LANES; k++) {
		struct side_lane *l = &m->lane[k];
		int ret;

		if (l->over)
			continue;
		ret = hpdsl_stage_sides_write(l->stream, l->piece, l->now,
					      &err);
		if (ret < 0 && !m->err.code)
			m->err = err;
		l->left -= l->now;
		l->over = !l->left;
	}
	return 0;
}

static void go_round(struct side_move *m)
{
	struct stage_run *r = m->r;
	bool any = false, mine = false;

	for (int k = 0; k < LANES; k++) {
		struct side_lane *l = &m->lane[k];

		l->now = l->left < SIDE_PIECE ? (size_t)l->left : SIDE_PIECE;
		any = any || !l->over;
		mine = mine || is_mine(l);
	}
	if (!any)
		return;
	if (mine)
		job_work(r->j, read_pieces, m, "reading side files of %s",
			 r->o->dataset);
	pass_pieces(m);
	job_work(r->j, write_pieces, m, "writing side files to %s", r->path);
}

/* As many as the longest stream of all nodes has. */
static uint32_t rounds(struct side_move *m)
{
	uint32_t least[1] = { UINT32_MAX };

	for (int k = 0; k < LANES; k++) {
		const struct side_lane *l = &m->lane[k];
		uint64_t n = l->over ? 0 : l->left / SIDE_PIECE + 1;

		if (n > UINT32_MAX - least[0])
			least[0] = UINT32_MAX - (uint32_t)n;
	}
	job_min(m->r->j, least, 1);
	return UINT32_MAX - least[0];
}

/* Each node's share of --rate is by what it reads. */
static void share_rate(struct side_move *m)
{
	struct stage_job *j = m->r->j;
	uint64_t *all, mine = 0;
	double total = 0;

	if (!j->o->rate)
		return;
	for (int k = 0; k < LANES; k++)
		if (is_mine(&m->lane[k]))
			mine += m->lane[k].left;
	all = cmd_alloc(j->nodes, sizeof(*all));
	job_allgather(j, &mine, sizeof(mine), all);
	for (uint32_t n = 0; n < j->nodes; n++)
		total += (double)all[n];
	free(all);
	m->rate = (double)j->o->rate *
		  (total > 0 && mine ? (double)mine / total : 1.0 / j->nodes);
	m->begun = stage_now() - (double)m->read / m->rate;
}

int side_move(struct side_move *m, int try)
{
	struct stage_run *r = m->r;
	uint32_t n = 0;
	int ret;

	choose_roots(m, try);
	job_work(r->j, open_lanes, m, "opening side files in %s", r->path);
	ret = run_agree(r, &m->err, false);
	if (!ret)
		n = rounds(m);
	if (n)
		share_rate(m);
	for (uint32_t i = 1; i <= n && !ret; i++) {
		go_round(m);
		/* A rate makes rounds long. */
		if (i == n || i % AGREE_EVERY == 0 || r->o->rate)
			ret = run_agree(r, &m->err, false);
	}
	job_work(r->j, close_lanes, m, "closing side files in %s", r->path);
	return ret;
}
