/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step of plain srun, in which this MPI cannot begin: task 0 runs mpirun on
 * the nodes of the step, the others wait for its end.  All before MPI_Init.
 */
#ifndef CMD_STAGE_LAUNCH_H
#define CMD_STAGE_LAUNCH_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

/* Set for what mpirun starts: the step that it was started from. */
#define LAUNCH_MARK "HPDSL_STAGE_LAUNCHED"

/* ---- launch_plan.c: what is decided, from the environment alone ------- */

/* What the MPI that this was built with needs of Slurm. */
enum launch_mpi {
	LAUNCH_MPI_OTHER, /* no Open MPI: it begins anyhow */
	LAUNCH_MPI_PMIX,
	LAUNCH_MPI_PMI, /* PMIx, or PMI-1 or -2 */
};

enum launch_kind {
	LAUNCH_NOTHING, /* MPI can begin, or there is no step */
	LAUNCH_MPIRUN,	/* task 0 of a step without PMI */
	LAUNCH_WAIT,	/* another task of it */
	LAUNCH_AGAIN,	/* began by mpirun, and yet without PMI */
};

struct launch {
	enum launch_kind kind;
	uint32_t tasks, nodes; /* of the step */
	const char *hosts;     /* as Slurm lists them; in env */
	char step[64];	       /* JOB.STEP */
};

struct launch launch_decide(char *const *env, enum launch_mpi mpi);

/* How many ranks mpirun starts: on each node one, which is enough, but as many
 * as there are tasks where they are to pretend that they are nodes. */
uint32_t launch_ranks(const struct launch *l, bool pretend);

/* The exit status for mpirun's own, as of waitpid(); signal: which this task
 * was to end by, 0: none. */
int launch_status(int status, int signal);

/*
 * Is path the folder that Open MPI's daemons have for that job of theirs, by
 * its number in a rank's environment, on a node where they run for user: a
 * folder ompi.NODE.USER, and in it jf.FAMILY?
 */
bool launch_is_session(const char *path, const char *job, uid_t user);

/* ---- launch_find.c ---------------------------------------------------- */

enum launch_mpi launch_mpi(void);

/* The path of this MPI's mpirun, which the caller frees; NULL: none. */
char *launch_mpirun(void);
/* Is there a program of that name in PATH? */
bool launch_has(const char *name);

/* ---- launch_rank.c ---------------------------------------------------- */

/* A rank that mpirun has started here, from that step; and what it is to get.
 */
struct launch_rank {
	const char *step;
	int dir; /* its folder in /proc, -1: none */
	int pid;
	bool met;		/* there was one */
	bool wish;		/* SIGUSR1 */
	int end;		/* the signal to end by; 0: none */
	char session[PATH_MAX]; /* the daemon's folder; "": not known */
};

/* Is what is open there this user's? */
static inline bool launch_is_mine(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid();
}

/* Keeps a signal of this task's for it. */
void launch_rank_take(struct launch_rank *r, int signal);
/* Finds it, and hands on what was kept.  True: it is there. */
bool launch_rank_pass(struct launch_rank *r);
void launch_rank_release(struct launch_rank *r);
/* Is anything here that mpirun has started from that step, or it itself? */
bool launch_rank_any(const char *step);

/* Those to wait for, from here on blocked: the caller's, and SIGURG. */
sigset_t launch_signals(void);

/* ---- launch_tidy.c ---------------------------------------------------- */

/* Removes the folder of a daemon that was killed before it could: behind the
 * end of all that the step's mpirun has started here. */
void launch_tidy(const struct launch_rank *r);
/* What is in it, no link followed; and the folder above, if it is empty. */
void launch_remove(const char *path);

/* ---- launch_wait.c ---------------------------------------------------- */

/* The other tasks: until task 0's mpirun has ended. */
int launch_wait(const struct launch *l);

/* ---- launch.c --------------------------------------------------------- */

/*
 * True: it was done here, with *ret_status to end with.  False: MPI can begin.
 * argv is as of main(), pretend the number of --pretend-nodes.
 */
bool launch(char **argv, uint32_t pretend, int *ret_status);

#endif
