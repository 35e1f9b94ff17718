/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a test file for tests/run, and counts what it costs:
 *
 *	reap FD COMMAND [ARGUMENT..]
 *
 * What the command leaves behind comes here, and ends with it.  Then FD gets a
 * line: the CPU seconds of all of them, the seconds that went by, and how many
 * processes there were, where this is process 1 (else 0: nobody counts them).
 * Ends as the command does, 128 and its number for a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/acct.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu(void)
{
	struct rusage r;

	getrusage(RUSAGE_CHILDREN, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

/*
 * The kernel notes each process that ends in this name space, in a file that
 * has no name; threads are none.  -1 where it does not, or may not.
 */
static int count_on(void)
{
	char path[64];
	int fd = getpid() == 1 ? open("/dev/shm",
				      O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) :
				 -1;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fd >= 0 && acct(path) == 0 ? fd : -1;
}

static long count_off(int fd)
{
	struct stat st = { 0 };

	if (fd < 0 || acct(NULL) || fstat(fd, &st))
		return 0;
	return (long)((size_t)st.st_size / sizeof(struct acct_v3));
}

/* Children of a child that is killed come here, and are killed in turn. */
static void end_the_rest(void)
{
	for (;;) {
		FILE *f = fopen("/proc/thread-self/children", "re");
		long pid;

		if (getpid() == 1)
			kill(-1, SIGKILL);
		while (f && fscanf(f, "%ld", &pid) == 1)
			kill((pid_t)pid, SIGKILL);
		if (f)
			fclose(f);
		if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD)
			return;
	}
}

static volatile pid_t child;

/* Who is asked to end asks the command, and ends behind it. */
static void pass_on(int sig)
{
	if (child > 0)
		kill(child, sig);
}

static int run(char **command)
{
	struct sigaction act = { .sa_handler = pass_on };
	int status = 0;
	pid_t pid;

	child = fork();
	if (child == 0) {
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	if (child < 0)
		return 127;
	sigaction(SIGHUP, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	do
		pid = waitpid(-1, &status, 0);
	while (pid != child && (pid >= 0 || errno == EINTR));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	double begin = now();
	int fd, status, counter;

	if (argc < 3)
		return 2;
	fd = atoi(argv[1]);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	counter = count_on();
	status = run(argv + 2);
	end_the_rest();
	dprintf(fd, "%.2f %.1f %ld\n", cpu(), now() - begin,
		count_off(counter));
	return status;
}
