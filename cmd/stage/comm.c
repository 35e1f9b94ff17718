/* SPDX-License-Identifier: Apache-2.0 */
/* Mail between ranks: sent and received by the way, never waited for. */
#include "job.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

struct stage_mail *job_take_from(struct stage_job *j, int tag, int source)
{
	struct stage_mail *before = NULL, *m = j->inbox[tag].first;

	for (; m && m->source != source; m = m->next)
		before = m;
	return m ? take_out(&j->inbox[tag], before) : NULL;
}

void job_abort(const char *fmt, ...)
{
	char text[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cmd_message("%s", text);
	MPI_Abort(MPI_COMM_WORLD, CMD_TROUBLE);
	_exit(CMD_TROUBLE);
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

bool job_move_mail(struct stage_job *j)
{
	bool any = false;

	for (int i = 0; i < RECEIVES && receive(j); i++)
		any = true;
	any |= complete(&j->arriving, j->inbox);
	any |= complete(&j->sending, NULL);
	return any;
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
