/* SPDX-License-Identifier: Apache-2.0 */
/* The job that is measured, as a process of this one. */
#include "stall.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PASS_ON "OMPI_MCA_mca_base_env_list"

enum { POLL_MS = 20 };

/* Lines, each a glob of whole paths: one without a slash is of names, wherever
 * these are, and one that does not begin with it of what is here. */
static void allow_globs(const struct cmd_strings *allow)
{
	cmd_auto_free char *here = getcwd(NULL, 0), *all = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&all, &n);

	if (!out)
		cmd_no_memory();
	for (size_t i = 0; i < allow->n; i++) {
		const char *glob = allow->v[i];

		fprintf(out, "%s%s%s\n",
			*glob == '/' || !strchr(glob, '/') ? "" :
			here				   ? here :
							     "",
			*glob == '/'	  ? "" :
			strchr(glob, '/') ? "/" :
					    "*/",
			glob);
	}
	if (fclose(out) != 0 || setenv("HPDSL_STALL_ALLOW", all, 1) < 0)
		cmd_no_memory();
}

/* Open MPI hands on what it is told to, and warns of what is not there; others
 * hand on all. */
void stall_hand_on(bool keep_saves, const struct cmd_strings *allow)
{
	const char *was = getenv(PASS_ON);
	cmd_auto_free char *list = NULL;

	if (asprintf(&list,
		     "%s%sHPDSL_STALL;HPDSL_STALL_SAVES;"
		     "HPDSL_STALL_ALLOW%s%s%s",
		     was ? was : "", was && *was ? ";" : "",
		     getenv("HPDSL_STALL_RUN") ? ";HPDSL_STALL_RUN" : "",
		     getenv("PYTHONPATH") ? ";PYTHONPATH" : "",
		     getenv("LD_PRELOAD") ? ";LD_PRELOAD" : "") < 0)
		cmd_no_memory();
	allow_globs(allow);
	if (setenv("HPDSL_STALL_SAVES", keep_saves ? "1" : "", 1) < 0 ||
	    setenv(PASS_ON, list, 1) < 0)
		cmd_no_memory();
}

/* What happens behind the fork is told through a pipe that exec closes. */
static void become(char **command, int tell, pid_t parent)
{
	sigset_t none;
	ssize_t n;
	int why;

	/* What is linked statically has no bond. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(command[0], command);
	why = errno;
	n = write(tell, &why, sizeof(why));
	(void)n;
	_exit(127);
}

pid_t stall_start(char **command, const char *beat)
{
	int tell[2], why = 0;
	pid_t pid, parent = getpid();
	ssize_t n;

	if (pipe2(tell, O_CLOEXEC) < 0) {
		cmd_message("%s", strerror(errno));
		return -1;
	}
	if (setenv("HPDSL_STALL", beat, 1) < 0)
		cmd_no_memory();
	pid = fork();
	if (pid == 0)
		become(command, tell[1], parent);
	why = pid < 0 ? errno : 0;
	close(tell[1]);
	do
		n = read(tell[0], &why, sizeof(why));
	while (n < 0 && errno == EINTR);
	close(tell[0]);
	if (!why)
		return pid;
	cmd_message("%s: %s", command[0], strerror(why));
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return -1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

bool stall_has_ended(pid_t pid, double seconds, int *ret)
{
	const struct timespec poll = { .tv_nsec = POLL_MS * 1000000L };
	bool was_stopped = __atomic_load_n(&cmd_stop, __ATOMIC_RELAXED);
	double until = now() + seconds;

	for (;;) {
		int status;
		pid_t r = waitpid(pid, &status, WNOHANG);

		if (r == pid || (r < 0 && errno != EINTR)) {
			*ret = r < 0		   ? 0 :
			       WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
						     WEXITSTATUS(status);
			return true;
		}
		if (now() >= until ||
		    (!was_stopped &&
		     __atomic_load_n(&cmd_stop, __ATOMIC_RELAXED)))
			return false;
		stall_bond_tend();
		nanosleep(&poll, NULL);
	}
}
