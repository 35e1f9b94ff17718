/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round: mail, beats and watches move, and who has nothing to do sleeps.  All
 * that is waited for, mail and collective operations of the leaders, is waited
 * for in rounds.
 */
#include "job.h"

#include <errno.h>
#include <time.h>

#define NAP_MIN 20e-6
#define NAP_MAX 1e-3
#define NAP_HELPER 10e-3

bool job_pass(struct stage_job *j)
{
	bool any = job_move_mail(j);

	if (j->ready)
		any |= job_watch_pass(j);
	return any;
}

void job_rest(struct stage_job *j, bool busy)
{
	bool helper = j->ready && j->rank != j->leader;
	struct timespec t = { 0 };

	if (busy) {
		j->nap = 0;
		return;
	}
	j->nap = j->nap > 0 ? j->nap * 1.25 : NAP_MIN;
	if (j->nap > NAP_MAX)
		j->nap = NAP_MAX;
	t.tv_nsec = (long)((helper ? NAP_HELPER : j->nap) * 1e9);
	nanosleep(&t, NULL);
}

void job_wait(struct stage_job *j, MPI_Request *r)
{
	int flag = 0;

	for (;;) {
		MPI_Test(r, &flag, MPI_STATUS_IGNORE);
		if (flag)
			break;
		job_rest(j, job_pass(j));
	}
	j->nap = 0;
}

void job_flush(struct stage_job *j)
{
	while (j->sending.n)
		job_rest(j, job_pass(j));
}

struct stage_mail *job_await(struct stage_job *j, int tag)
{
	struct stage_mail *m;

	while (!(m = job_take(j, tag)))
		job_rest(j, job_pass(j));
	return m;
}

struct stage_mail *job_await_from(struct stage_job *j, int tag, int source)
{
	struct stage_mail *m;

	while (!(m = job_take_from(j, tag, source)))
		job_rest(j, job_pass(j));
	return m;
}

void job_bye(struct stage_job *j)
{
	size_t gone = 0;

	while (gone < j->n_peers) {
		struct stage_mail *m = job_await(j, TAG_BYE);

		job_watch_gone(j, m->source);
		gone++;
		free(m);
	}
	if (j->boss != j->rank)
		job_post(j, j->boss, TAG_BYE, NULL, 0);
}

/* A count of MPI is an int: longer things go in pieces. */
#define PIECE ((size_t)1 << 30)

void job_bcast(struct stage_job *j, void *p, size_t n, uint32_t from)
{
	for (size_t at = 0; at < n; at += PIECE) {
		size_t piece = n - at < PIECE ? n - at : PIECE;
		MPI_Request r;

		MPI_Ibcast((char *)p + at, (int)piece, MPI_BYTE, (int)from,
			   j->leads, &r);
		job_wait(j, &r);
	}
}

void job_allgather(struct stage_job *j, const void *p, size_t n, void *ret)
{
	MPI_Datatype type;
	MPI_Request r;

	MPI_Type_contiguous((int)n, MPI_BYTE, &type);
	MPI_Type_commit(&type);
	MPI_Iallgather(p, 1, type, ret, 1, type, j->leads, &r);
	job_wait(j, &r);
	MPI_Type_free(&type);
}

/* MPICH 4.0 takes unsigned numbers for signed ones in MPI_MIN. */
static void turn(uint32_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] ^= (uint32_t)1 << 31;
}

void job_min(struct stage_job *j, uint32_t *v, size_t n)
{
	turn(v, n);
	for (size_t at = 0; at < n; at += PIECE / 4) {
		size_t piece = n - at < PIECE / 4 ? n - at : PIECE / 4;
		MPI_Request r;

		MPI_Iallreduce(MPI_IN_PLACE, v + at, (int)piece, MPI_INT32_T,
			       MPI_MIN, j->leads, &r);
		job_wait(j, &r);
	}
	turn(v, n);
}

/* Real trouble first, then somebody who is in the way, then a wish. */
static uint32_t urgency(int code)
{
	return code == HPDSL_ESTOPPED ? 2 : code == -EBUSY ? 1 : 0;
}

int job_agree(struct stage_job *j, const struct stage_failure *mine,
	      struct stage_failure *ret)
{
	struct stage_failure f = *mine;
	uint32_t first[1];

	if (!f.err.code &&
	    (j->wish || __atomic_load_n(&cmd_stop, __ATOMIC_RELAXED)))
		f.err = (struct hpdsl_error){ HPDSL_ESTOPPED,
					      "stopped early, as asked" };
	f.node = j->node;
	snprintf(f.host, sizeof(f.host), "%s", j->host);
	first[0] =
		f.err.code ? urgency(f.err.code) << 28 | j->node : UINT32_MAX;
	job_min(j, first, 1);
	if (first[0] == UINT32_MAX)
		return 0;
	job_bcast(j, &f, sizeof(f), first[0] & 0xfffffff);
	*ret = f;
	return f.err.code;
}
