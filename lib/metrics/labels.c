/* SPDX-License-Identifier: Apache-2.0 */
/* Job and rank from what launchers leave in the environment. */
#include "metrics/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const jobs[] = { "SLURM_JOB_ID", "PBS_JOBID",   "LSB_JOBID",
				    "PJM_JOBID",    "FLUX_JOB_ID", NULL };

/* The innermost first: torchrun may have been started by srun. */
static const char *const ranks[] = { "RANK",	    "OMPI_COMM_WORLD_RANK",
				     "PMIX_RANK",   "PMI_RANK",
				     "PALS_RANKID", "SLURM_PROCID",
				     NULL };

static bool is_any(const char *s)
{
	return *s;
}

/* Some other programs have a RANK as well. */
static bool is_number(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return n && n < 10 && !s[n];
}

static void first_of(char *(*get)(const char *), const char *const names[],
		     bool (*is)(const char *), char *ret, size_t cap)
{
	for (; *names; names++) {
		const char *s = get(*names);

		if (!s || !is(s))
			continue;
		snprintf(ret, cap, "%s", s);
		return;
	}
}

void hp_metrics_from_env(char *(*get)(const char *),
			 struct hp_metrics_self *ret)
{
	*ret = (struct hp_metrics_self){ 0 };
	first_of(get, jobs, is_any, ret->job, sizeof ret->job);
	first_of(get, ranks, is_number, ret->rank, sizeof ret->rank);
}

void hp_metrics_self(struct hp_metrics_self *ret)
{
	hp_metrics_from_env(secure_getenv, ret);
	if (gethostname(ret->node, sizeof ret->node - 1) < 0 || !*ret->node)
		strcpy(ret->node, "localhost");
	snprintf(ret->pid, sizeof ret->pid, "%ld", (long)getpid());
}
