/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Task 0 of a step without PMI: runs mpirun, hands signals on to it, wakes the
 * other tasks when it has ended, and ends as it did.  It is not mpirun itself:
 * nobody would wake them, and an mpirun that was interrupted says 1.
 */
#include "launch.h"

#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TOLD_WITHIN 5 /* seconds for task 0 to say why, before -K1 ends it */
#define WOKEN_WITHIN 10
/* For so long a signal waits for a rank, and then ends mpirun; where there was
 * one, mpirun is ending, and a signal more might let it crash. */
#define TICK_NS 100000000
#define TICKS 10
#define TICKS_ENDING 300

/* ---- Where it is not possible ----------------------------------------- */

static const char by_srun[] = "srun --mpi=pmix --ntasks-per-node=1";
static const char by_mpirun[] = "mpirun -q --map-by ppr:1:node --bind-to none";

static int refuse(char **argv, const char *why, const char *by)
{
	const char *task = getenv("SLURM_PROCID");
	cmd_auto_free char *line = NULL;
	FILE *out;
	size_t size;

	if (task && strcmp(task, "0") != 0) {
		sleep(TOLD_WITHIN);
		return CMD_TROUBLE;
	}
	out = open_memstream(&line, &size);
	if (!out)
		cmd_no_memory();
	for (; *argv; argv++) {
		cmd_auto_free char *word = cmd_quoted(*argv);

		fprintf(out, " %s", word);
	}
	if (fclose(out) != 0)
		cmd_no_memory();
	cmd_message("Slurm gave this step no PMIx, and %s; type: %s%s", why, by,
		    line);
	return CMD_TROUBLE;
}

/* ---- mpirun ----------------------------------------------------------- */

/* The nodes of the step are to be taken for the job's, and nothing of a PMI
 * that is only this task's. */
static void set_environment(const struct launch *l)
{
	static const char *const gone[] = { "PMI_FD",
					    "PMI_RANK",
					    "PMI_SIZE",
					    "PMI_JOBID",
					    "PMI_ID",
					    "PMI_PORT",
					    "PMI2_JOBID",
					    "PMI_UNIVERSE_SIZE",
					    "SLURM_JOB_CPUS_PER_NODE" };
	char nodes[16];

	snprintf(nodes, sizeof(nodes), "%u", l->nodes);
	for (size_t i = 0; i < sizeof(gone) / sizeof(*gone); i++)
		unsetenv(gone[i]);
	setenv("SLURM_NODELIST", l->hosts, 1);
	setenv("SLURM_JOB_NODELIST", l->hosts, 1);
	setenv("SLURM_NNODES", nodes, 1);
	setenv("SLURM_JOB_NUM_NODES", nodes, 1);
	setenv("SLURM_OVERLAP", "1", 1);
	setenv(LAUNCH_MARK, l->step, 1);
}

/*
 * In the child.  SIGTERM stays blocked: Slurm sends it to all processes of a
 * step, and an mpirun that already ends, as its rank got it too, dies of it.
 */
static void begin(const char **argv, const sigset_t *was, pid_t parent)
{
	sigset_t mask = *was;

	/* until mpirun takes it: the rank gets it anyhow */
	signal(SIGUSR1, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGINT);
	if (getppid() != parent)
		_exit(CMD_TROUBLE);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	execv(argv[0], (char *const *)argv);
	cmd_message("%s: %s", argv[0], strerror(errno));
	_exit(CMD_TROUBLE);
}

static pid_t run_mpirun(const struct launch *l, const char *mpirun, char **argv,
			bool pretend, const sigset_t *was)
{
	struct cmd_strings s = { 0 };
	char self[PATH_MAX], ranks[16];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *words[] = { mpirun,	     "-q",
				"-n",	     ranks,
				"--map-by",  pretend ? "slot" : "ppr:1:node",
				"--bind-to", "none",
				"-x",	     LAUNCH_MARK };
	pid_t parent = getpid(), child;

	self[n < 0 ? 0 : n] = '\0';
	snprintf(ranks, sizeof(ranks), "%u", launch_ranks(l, pretend));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		cmd_strings_add(&s, words[i]);
	cmd_strings_add(&s, n < 0 ? argv[0] : self);
	while (*++argv)
		cmd_strings_add(&s, *argv);
	cmd_strings_add(&s, NULL);
	child = fork();
	if (child == 0) {
		set_environment(l);
		begin(s.v, was, parent);
	}
	free(s.v);
	return child;
}

/*
 * Until it has ended, as waitpid() says; *ret_end: by which signal it was to.
 * That goes to the rank here, with which mpirun ends; or to mpirun, if there is
 * none.
 */
static int supervise(pid_t child, const struct launch *l,
		     const sigset_t *signals, int *ret_end)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	struct launch_rank rank = { .step = l->step, .dir = -1 };
	int status = CMD_TROUBLE << 8, ticks = 0;

	rank.wish = cmd_stop;
	while (waitpid(child, &status, WNOHANG) == 0) {
		/* it may be gone when the first signal is here */
		int signal = rank.wish || rank.end || !rank.met ?
				     sigtimedwait(signals, NULL, &tick) :
				     sigwaitinfo(signals, NULL);

		launch_rank_take(&rank, signal);
		if (rank.end)
			*ret_end = rank.end;
		if (!launch_rank_pass(&rank) && rank.end &&
		    ++ticks > (rank.met ? TICKS_ENDING : TICKS)) {
			kill(child, SIGINT);
			rank.end = 0;
		}
	}
	launch_rank_release(&rank);
	return status;
}

/* The other tasks: one letter to Slurm, whose way to them all it is. */
static void wake(const struct launch *l, const sigset_t *signals)
{
	const char *argv[] = { "scancel", "--quiet", "--signal=URG", l->step,
			       NULL };
	const struct timespec patience = { .tv_sec = WOKEN_WITHIN };
	pid_t child = fork();

	if (child == 0) {
		int null = open("/dev/null", O_RDWR);

		for (int fd = 0; fd < 3 && null >= 0; fd++)
			dup2(null, fd);
		execvp(argv[0], (char *const *)argv);
		_exit(CMD_TROUBLE);
	}
	if (child < 0)
		return;
	while (waitpid(child, NULL, WNOHANG) == 0)
		if (sigtimedwait(signals, NULL, &patience) < 0)
			kill(child, SIGKILL);
}

static int task_0(const struct launch *l, const char *mpirun, char **argv,
		  bool pretend)
{
	sigset_t was, signals;
	int status, end = 0;
	pid_t child;

	sigprocmask(SIG_BLOCK, NULL, &was);
	signals = launch_signals();
	child = run_mpirun(l, mpirun, argv, pretend, &was);
	if (child < 0) {
		cmd_message("no process for mpirun: %s", strerror(errno));
		status = CMD_TROUBLE;
	} else {
		status = supervise(child, l, &signals, &end);
		status = launch_status(status, end);
	}
	if (l->tasks > 1)
		wake(l, &signals);
	return status;
}

bool launch(char **argv, uint32_t pretend, int *ret_status)
{
	struct launch l = launch_decide(environ, launch_mpi());
	cmd_auto_free char *mpirun = NULL;

	if (l.kind == LAUNCH_NOTHING)
		return false;
	mpirun = launch_mpirun();
	if (l.kind == LAUNCH_AGAIN)
		*ret_status = refuse(argv, "mpirun does not help", by_srun);
	else if (!mpirun)
		*ret_status =
			refuse(argv, "there is no mpirun of this MPI", by_srun);
	else if (!launch_has("srun"))
		*ret_status = refuse(argv, "there is no srun for mpirun here",
				     by_mpirun);
	else
		*ret_status = l.kind == LAUNCH_WAIT ?
				      launch_wait(&l) :
				      task_0(&l, mpirun, argv, pretend);
	return true;
}
