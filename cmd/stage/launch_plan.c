/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be done in a step of Slurm: pure, so that it can be tested. */
#include "launch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define DONE_MAX 3 /* exit statuses of ours: 0 to 3, and that of stopping */
#define STOPPED 75
#define TROUBLE 3

static const char *in(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

static bool number(char *const *env, const char *name, uint32_t *ret)
{
	const char *s = in(env, name);
	unsigned long long n;
	char *end;

	if (!s || *s < '0' || *s > '9')
		return false;
	n = strtoull(s, &end, 10);
	if (*end || n > UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}

/* Has a launcher of this MPI started it, or one that speaks PMIx? */
static bool has_pmi(char *const *env, enum launch_mpi mpi)
{
	static const char *const signs[] = {
		"OMPI_COMM_WORLD_SIZE",
		"OMPI_COMM_WORLD_RANK",
		"PMIX_RANK",
		"PMIX_NAMESPACE",
		"PALS_RANKID",
		"MPI_LOCALNRANKS",
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (in(env, signs[i]))
			return true;
	return mpi == LAUNCH_MPI_PMI && in(env, "PMI_RANK");
}

struct launch launch_decide(char *const *env, enum launch_mpi mpi)
{
	struct launch l = { .kind = LAUNCH_NOTHING };
	uint32_t job, step, task;

	if (mpi == LAUNCH_MPI_OTHER || has_pmi(env, mpi) ||
	    !number(env, "SLURM_JOB_ID", &job) ||
	    !number(env, "SLURM_STEP_ID", &step) ||
	    !number(env, "SLURM_PROCID", &task) ||
	    !number(env, "SLURM_STEP_NUM_TASKS", &l.tasks) ||
	    !number(env, "SLURM_STEP_NUM_NODES", &l.nodes))
		return l;
	l.hosts = in(env, "SLURM_STEP_NODELIST");
	if (!l.hosts || !l.nodes || l.tasks < l.nodes || task >= l.tasks)
		return l;
	snprintf(l.step, sizeof(l.step), "%u.%u", job, step);
	/* whatever its value: nothing starts itself twice */
	if (in(env, LAUNCH_MARK))
		l.kind = LAUNCH_AGAIN;
	else
		l.kind = task ? LAUNCH_WAIT : LAUNCH_MPIRUN;
	return l;
}

uint32_t launch_ranks(const struct launch *l, bool pretend)
{
	return pretend ? l->tasks : l->nodes;
}

int launch_status(int status, int signal)
{
	int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
					 WEXITSTATUS(status);

	/* an mpirun that was interrupted says 1 */
	if (signal && code && code != STOPPED)
		return 128 + signal;
	/* its own numbers for not having begun */
	return code <= DONE_MAX || code == STOPPED ||
			       (code > 128 && code <= 128 + SIGRTMAX) ?
		       code :
		       TROUBLE;
}

/* ".../ompi.NODE.1000/jf.41166"; the job is 41166 * 65536 + 1. */
bool launch_is_session(const char *path, const char *job, uid_t user)
{
	char family[40], whose[40];
	const char *slash = strrchr(path, '/'), *top = slash;
	size_t n =
		(size_t)snprintf(whose, sizeof(whose), ".%u/", (unsigned)user);
	unsigned long long number;
	char *end;

	if (*path != '/' || *job < '0' || *job > '9')
		return false;
	number = strtoull(job, &end, 10);
	if (*end || number > UINT32_MAX)
		return false;
	snprintf(family, sizeof(family), "/jf.%llu", number >> 16);
	while (top > path && top[-1] != '/')
		top--;
	return strcmp(slash, family) == 0 && strncmp(top, "ompi.", 5) == 0 &&
	       (size_t)(slash + 1 - top) > n + 5 &&
	       strncmp(slash + 1 - n, whose, n) == 0;
}
