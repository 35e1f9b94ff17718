/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first word of every rank to rank 0, which names those who are silent, and
 * compares versions and options.
 */
#include "job.h"

#include <string.h>

/* version, host, options: strings, one behind the other */
static void say_hello(struct stage_job *j)
{
	cmd_auto_free char *options = stage_canonical(j->o);
	cmd_auto_free char *text = NULL;
	int n = asprintf(&text, "%s%c%s%c%s", stage_version(), 0, j->host, 0,
			 options);

	if (n < 0)
		cmd_no_memory();
	job_post(j, 0, TAG_HELLO, text, (size_t)n + 1);
}

/* Part i of a hello; "" where it has no such part. */
static const char *part(const struct stage_mail *m, int i)
{
	const char *s = (const char *)m->bytes, *end = s + m->n;

	for (; i > 0 && s < end; i--)
		s += strnlen(s, (size_t)(end - s)) + 1;
	return s < end && memchr(s, 0, (size_t)(end - s)) ? s : "";
}

/* The first line in which two texts differ: "--mode auto", "--mode copies=2" */
static void refuse_options(int rank, const char *host, const char *a,
			   const char *b)
{
	const char *line_a = a, *line_b = b;

	for (; *a && *a == *b; a++, b++)
		if (*a == '\n') {
			line_a = a + 1;
			line_b = b + 1;
		}
	cmd_message("rank %d (%s) has %.*s, and rank 0 has %.*s", rank, host,
		    (int)strcspn(line_a, "\n"), line_a,
		    (int)strcspn(line_b, "\n"), line_b);
}

static int compare(const struct stage_mail *m, const struct stage_mail *zero)
{
	if (strcmp(part(m, 0), part(zero, 0)) != 0) {
		cmd_message("rank %d (%s) is version %s, and rank 0 is %s",
			    m->source, part(m, 1), part(m, 0), part(zero, 0));
		return CMD_USAGE;
	}
	if (strcmp(part(m, 2), part(zero, 2)) != 0) {
		refuse_options(m->source, part(m, 1), part(m, 2),
			       part(zero, 2));
		return CMD_USAGE;
	}
	return CMD_DONE;
}

static void name_silent(struct stage_job *j, struct stage_mail *const *hello,
			double silent, bool *told)
{
	int missing = 0, first = -1;

	if (silent < job_patience(j) ||
	    (*told && silent < (double)j->o->timeout))
		return;
	for (int i = j->ranks - 1; i >= 0; i--)
		if (!hello[i]) {
			missing++;
			first = i;
		}
	if (silent >= (double)j->o->timeout)
		job_abort("rank %d has been silent for %.0f s%s", first, silent,
			  missing > 1 ? ", and it is not alone" : "");
	cmd_warning("rank %d has been silent for %.0f s%s", first, silent,
		    missing > 1 ? ", and it is not alone" : "");
	*told = true;
}

struct stage_mail **job_gather(struct stage_job *j, int tag)
{
	struct stage_mail **all =
		cmd_alloc((size_t)j->ranks, sizeof(struct stage_mail *));
	double begin = stage_now();
	bool told = false;
	int n = 0;

	while (n < j->ranks) {
		struct stage_mail *m;
		bool busy = job_pass(j);

		while ((m = job_take(j, tag))) {
			all[m->source] = m;
			n++;
		}
		name_silent(j, all, stage_now() - begin, &told);
		job_rest(j, busy);
	}
	return all;
}

void job_forget(struct stage_job *j, struct stage_mail **all)
{
	for (int i = 0; all && i < j->ranks; i++)
		free(all[i]);
	free(all);
}

struct stage_mail *job_answer(struct stage_job *j, int tag)
{
	double begin = stage_now(), more = j->rank == 1 ? 0 : 10;
	struct stage_mail *m;

	while (!(m = job_take(j, tag))) {
		double silent = stage_now() - begin;

		/* rank 0 may wait for somebody else, and names that one */
		if (silent > (double)j->o->timeout + 5 + more)
			job_abort("rank 0 has been silent for %.0f s", silent);
		job_rest(j, job_pass(j));
	}
	return m;
}

int job_hello(struct stage_job *j, struct stage_mail ***ret_all)
{
	struct stage_mail **all, *m;
	int status = CMD_DONE;

	say_hello(j);
	if (j->rank == 0) {
		all = job_gather(j, TAG_HELLO);
		for (int i = 1; i < j->ranks && !status; i++)
			status = compare(all[i], all[0]);
		for (int i = 0; i < j->ranks; i++)
			job_post(j, i, TAG_GO, &status, sizeof(status));
		*ret_all = all;
	}
	m = job_answer(j, TAG_GO);
	if (m->n == sizeof(status))
		memcpy(&status, m->bytes, sizeof(status));
	free(m);
	return status;
}

const char *job_hello_host(const struct stage_mail *m)
{
	return part(m, 1);
}
