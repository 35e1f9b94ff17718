/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mail between ranks, and collective operations of the leaders, all waited for
 * in the same round.
 */
#include "job.h"

#include <errno.h>

#include <string.h>
#include <time.h>

#define NAP_MIN 20e-6
#define NAP_MAX 1e-3
#define NAP_HELPER 10e-3
/* In one pass, so that ten thousand letters do not hold up anything else. */
#define RECEIVES 16
#define TESTS 64

double stage_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct stage_mail *letter(int tag, int source, size_t n)
{
	struct stage_mail *m = cmd_alloc(1, sizeof(*m) + n);

	m->tag = tag;
	m->source = source;
	m->n = n;
	return m;
}

static void append(struct stage_mails *list, struct stage_mail *m)
{
	m->next = NULL;
	if (list->first)
		list->last->next = m;
	else
		list->first = m;
	list->last = m;
	list->n++;
}

/* The one behind before, NULL: the first. */
static struct stage_mail *take_out(struct stage_mails *list,
				   struct stage_mail *before)
{
	struct stage_mail *m = before ? before->next : list->first;

	if (!m)
		return NULL;
	if (before)
		before->next = m->next;
	else
		list->first = m->next;
	if (list->last == m)
		list->last = before;
	list->n--;
	return m;
}

void job_post(struct stage_job *j, int to, int tag, const void *p, size_t n)
{
	struct stage_mail *m = letter(tag, j->rank, n);

	if (n)
		memcpy(m->bytes, p, n);
	if (to == j->rank) {
		append(&j->inbox[tag], m);
		return;
	}
	MPI_Isend(m->bytes, (int)n, MPI_BYTE, to, tag, MPI_COMM_WORLD,
		  &m->request);
	append(&j->sending, m);
}

struct stage_mail *job_take(struct stage_job *j, int tag)
{
	return take_out(&j->inbox[tag], NULL);
}

static struct stage_mail *take_from(struct stage_job *j, int tag, int source)
{
	struct stage_mail *before = NULL, *m = j->inbox[tag].first;

	for (; m && m->source != source; m = m->next)
		before = m;
	return m ? take_out(&j->inbox[tag], before) : NULL;
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

	while (!(m = take_from(j, tag, source)))
		job_rest(j, job_pass(j));
	return m;
}

/* Whatever has arrived: an answer to its sender must not wait for this one. */
static bool receive(struct stage_job *j)
{
	MPI_Message message;
	MPI_Status status;
	struct stage_mail *m;
	int flag = 0, n;

	MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag,
		    &message, &status);
	if (!flag)
		return false;
	MPI_Get_count(&status, MPI_BYTE, &n);
	if (status.MPI_TAG <= 0 || status.MPI_TAG >= TAG_DATA)
		job_abort("rank %d sent mail of kind %d, which is none",
			  status.MPI_SOURCE, status.MPI_TAG);
	m = letter(status.MPI_TAG, status.MPI_SOURCE, (size_t)n);
	MPI_Imrecv(m->bytes, n, MPI_BYTE, &message, &m->request);
	append(&j->arriving, m);
	return true;
}

/* Takes what is complete out of a list: into the inboxes, or away. */
static bool complete(struct stage_mails *list, struct stage_mails *inbox)
{
	size_t n = list->n < TESTS ? list->n : TESTS;
	bool any = false;

	for (; n; n--) {
		struct stage_mail *m = take_out(list, NULL);
		int flag = 0;

		MPI_Test(&m->request, &flag, MPI_STATUS_IGNORE);
		any |= flag;
		if (!flag)
			append(list, m);
		else if (inbox)
			append(&inbox[m->tag], m);
		else
			free(m);
	}
	return any;
}

bool job_pass(struct stage_job *j)
{
	bool any = false;

	for (int i = 0; i < RECEIVES && receive(j); i++)
		any = true;
	any |= complete(&j->arriving, j->inbox);
	any |= complete(&j->sending, NULL);
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

void job_free(struct stage_job *j)
{
	for (int tag = 0; tag < TAG_DATA; tag++)
		while (j->inbox[tag].n)
			free(job_take(j, tag));
	free(j->leaders);
	free(j->peers);
	pthread_mutex_destroy(&j->lock);
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
