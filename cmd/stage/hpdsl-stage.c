/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-stage: a dataset onto the nodes of a job, each byte read once.  Every
 * rank runs this; leaders of nodes work, the others wait for the exit status.
 */
#include "launch.h"
#include "run.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Seconds in which rank 0 has told why; Open MPI's launcher then ends the
 * others, and MPICH's, or srun, may leave them to themselves. */
#define TOLD_WITHIN 60
#define TOLD_WITHIN_ELSEWHERE 5

static int number_in(const char *name)
{
	const char *s = getenv(name);

	return s ? atoi(s) : 0;
}

/* Has a launcher started this process, as one of several or alone? */
static bool is_launched(void)
{
	static const char *const signs[] = { "OMPI_COMM_WORLD_SIZE",
					     "PMI_SIZE",
					     "PMI_RANK",
					     "PMIX_RANK",
					     "PALS_RANKID",
					     "MPI_LOCALNRANKS" };

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (getenv(signs[i]))
			return true;
	return number_in("SLURM_STEP_NUM_TASKS") > 1;
}

/*
 * Is this a rank of which another one, rank 0, has the same command line?  MPI
 * could tell, but not before the options are read.
 */
static bool is_one_of_many(void)
{
	static const char *const ranks[] = { "OMPI_COMM_WORLD_RANK",
					     "PMIX_RANK", "PMI_RANK",
					     "PALS_RANKID", "SLURM_PROCID" };

	/* mpirun ... : ... */
	if (number_in("OMPI_NUM_APP_CTX") > 1)
		return false;
	for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++)
		if (getenv(ranks[i]))
			return number_in(ranks[i]) > 0;
	return false;
}

/*
 * A launcher ends all ranks as soon as one has failed: rank 0 is to have told
 * why before, even when it was started seconds after this one.
 */
static void let_rank_0_tell(int status, void *arg)
{
	const bool *reading = arg;

	if (*reading && status != CMD_DONE)
		sleep(getenv("OMPI_COMM_WORLD_RANK") ? TOLD_WITHIN :
						       TOLD_WITHIN_ELSEWHERE);
}

/* What is wrong with the options, or --help, is told by one rank for all. */
static void read_options(int argc, char **argv, struct stage_options *o)
{
	static const int fds[2] = { STDOUT_FILENO, STDERR_FILENO };
	static bool reading;
	int was[2] = { -1, -1 }, null = -1;

	if (is_one_of_many()) {
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		reading = on_exit(let_rank_0_tell, &reading) == 0;
	}
	for (int i = 0; null >= 0 && i < 2; i++) {
		was[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		if (was[i] >= 0)
			dup2(null, fds[i]);
	}
	stage_parse(argc, argv, o);
	reading = false;
	for (int i = 0; i < 2; i++)
		if (was[i] >= 0) {
			dup2(was[i], fds[i]);
			close(was[i]);
		}
	if (null >= 0)
		close(null);
}

/*
 * --status and --clean of one path for all need no other rank: the first of a
 * node's ranks does it, so that a script may ask as often as it likes.
 */
static bool is_for_one(const struct stage_options *o)
{
	return (o->status || o->clean) && !o->pretend &&
	       !strstr(o->local, "%n") && !strstr(o->local, "%r");
}

static bool is_first_of_node(void)
{
	return !number_in("OMPI_COMM_WORLD_LOCAL_RANK") &&
	       !number_in("SLURM_LOCALID") && !number_in("PMI_LOCAL_RANK") &&
	       !number_in("PALS_LOCAL_RANKID") && !number_in("MPI_LOCALRANKID");
}

/*
 * A launcher that speaks another dialect than this MPI starts N jobs of one
 * rank, each of which would stage everything, into one directory.
 */
static int check_launcher(const struct stage_job *j)
{
	const char *rank = "OMPI_COMM_WORLD_RANK";
	int n = number_in("OMPI_COMM_WORLD_SIZE");

	if (n <= 1) {
		n = number_in("PMI_SIZE");
		rank = "PMI_RANK";
	}
	if (n <= 1 && !getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMI_SIZE")) {
		n = number_in("SLURM_STEP_NUM_TASKS");
		rank = "SLURM_PROCID";
	}
	if (j->ranks > 1 || n <= 1)
		return CMD_DONE;
	if (!number_in(rank)) /* each of them finds that out */
		cmd_message("this launcher starts %d ranks as %d jobs; use "
			    "this MPI's own mpirun, or srun --mpi=pmix",
			    n, n);
	return CMD_TROUBLE;
}

static void on_mpi_error(MPI_Comm *comm, int *code, ...)
{
	char text[MPI_MAX_ERROR_STRING] = "?";
	int n, rank = 0;

	(void)comm;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Error_string(*code, text, &n);
	job_abort("rank %d: MPI: %s", rank, text);
}

static void start(struct stage_job *j, int *argc, char ***argv)
{
	MPI_Errhandler handler;
	int provided;

	pthread_mutex_init(&j->lock, NULL);
	j->leads = MPI_COMM_NULL;
	job_guard(j, "MPI_Init_thread");
	MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
	job_unguard();
	MPI_Comm_create_errhandler(on_mpi_error, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	MPI_Errhandler_free(&handler);
	MPI_Comm_rank(MPI_COMM_WORLD, &j->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &j->ranks);
	/* one line is enough when all ranks are told to go */
	if (j->rank != 0) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
	}
}

static void finish(struct stage_job *j)
{
	job_guard(j, "MPI_Finalize");
	if (j->leads != MPI_COMM_NULL)
		MPI_Comm_free(&j->leads);
	MPI_Finalize();
	job_unguard();
	job_free(j);
}

static int run(struct stage_job *j)
{
	int status = check_launcher(j);

	if (!status)
		status = job_begin(j);
	if (status) {
		/* as in job_end() */
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		job_flush(j);
		return status;
	}
	if (j->rank == j->leader)
		status = j->o->dataset && !j->o->plan ? stage_run(j) :
							stage_each(j);
	return job_end(j, status);
}

int main(int argc, char **argv)
{
	struct stage_options o = { 0 };
	struct stage_job j = { .o = &o };
	int status;

	j.started = stage_now();
	cmd_start(argv);
	read_options(argc, argv, &o);
	/* before MPI_Init: a warning signal may come early */
	cmd_signals(o.dataset ? o.dataset : o.local,
		    o.dataset && !o.plan ? "; the same command completes it" :
					   "");
	if ((o.plan || o.status || o.clean) && !is_launched())
		return stage_alone(&o);
	if (is_for_one(&o))
		return is_first_of_node() ? stage_alone(&o) : CMD_DONE;
	if (launch(argv, o.pretend, &status))
		return status;
	if (o.deadline)
		cmd_deadline(o.deadline);
	start(&j, &argc, &argv);
	status = run(&j);
	finish(&j);
	return status;
}
