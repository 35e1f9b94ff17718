/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank that mpirun has started on this node, and signals for it: found among
 * this user's processes, by what is in its environment.
 */
#include "launch.h"

#include "common/common.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENVIRON_MAX (1 << 20)

static ssize_t read_all(int dir, const char *name, char *to, size_t room)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0, got = fd < 0 ? -1 : 1;

	while (got > 0 && (size_t)n < room - 1) {
		got = read(fd, to + n, room - 1 - (size_t)n);
		n += got > 0 ? got : 0;
	}
	if (fd >= 0)
		close(fd);
	to[n] = '\0';
	return got < 0 ? -1 : n;
}

/* What is told of a process by its environment. */
struct told {
	bool marked; /* mpirun has started it from that step, or is it */
	bool ranked;
	char *env; /* all of it, for those below */
	const char *session, *job;
};

static const char *value(const char *env, const char *name)
{
	size_t n = strlen(name);

	return strncmp(env, name, n) == 0 ? env + n : NULL;
}

/* Its environment is the caller's to free. */
static struct told look(int dir, const char *step)
{
	/* by its name in Slurm: some see the processes of other nodes */
	const char *node = getenv("SLURMD_NODENAME");
	bool other = false;
	struct told t = { .env = malloc(ENVIRON_MAX),
			  .session = "",
			  .job = "" };
	char mark[sizeof(LAUNCH_MARK) + 64];
	ssize_t n = t.env ? read_all(dir, "environ", t.env, ENVIRON_MAX) : 0;
	const char *v;

	snprintf(mark, sizeof(mark), LAUNCH_MARK "=%s", step);
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(t.env + i) + 1) {
		const char *e = t.env + i;

		t.marked |= !strcmp(e, mark);
		t.ranked |= value(e, "OMPI_COMM_WORLD_RANK=") != NULL;
		v = value(e, "OMPI_MCA_orte_jobfam_session_dir=");
		t.session = v ? v : t.session;
		v = value(e, "OMPI_MCA_ess_base_jobid=");
		t.job = v ? v : t.job;
		v = value(e, "SLURMD_NODENAME=");
		other |= v && node && strcmp(v, node) != 0;
	}
	t.marked &= !other;
	return t;
}

/* Is this what mpirun has started from that step, and not mpirun itself? */
static bool is_rank(struct launch_rank *r, int dir)
{
	struct told t = look(dir, r->step);
	bool is = t.marked && t.ranked;

	if (is && strlen(t.session) < sizeof(r->session) &&
	    launch_is_session(t.session, t.job, geteuid()))
		strcpy(r->session, t.session);
	free(t.env);
	return is;
}

bool launch_rank_any(const char *step)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	bool any = !proc;

	while (proc && !any && (e = readdir(proc))) {
		int dir = *e->d_name < '1' || *e->d_name > '9' ?
				  -1 :
				  openat(dirfd(proc), e->d_name,
					 O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (dir < 0)
			continue;
		if (launch_is_mine(dir)) {
			struct told t = look(dir, step);

			any = t.marked;
			free(t.env);
		}
		close(dir);
	}
	if (proc)
		closedir(proc);
	return any;
}

static void find(struct launch_rank *r)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	while (proc && r->dir < 0 && (e = readdir(proc))) {
		if (*e->d_name < '1' || *e->d_name > '9')
			continue;
		r->pid = atoi(e->d_name);
		r->dir = openat(dirfd(proc), e->d_name,
				O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (r->dir >= 0 &&
		    (!launch_is_mine(r->dir) || !is_rank(r, r->dir))) {
			close(r->dir);
			r->dir = -1;
		}
	}
	if (proc)
		closedir(proc);
	r->met = r->dir >= 0;
}

static bool lives(struct launch_rank *r)
{
	char c[2];

	/* the folder is that of one process, whoever has the number later; of
	 * one that is a zombie there is no environment */
	if (r->dir >= 0 && read_all(r->dir, "environ", c, sizeof(c)) > 0)
		return true;
	if (r->dir >= 0)
		close(r->dir);
	r->dir = -1;
	return false;
}

static bool catches(const struct launch_rank *r, int signal)
{
	char text[8192];
	const char *at;

	if (read_all(r->dir, "status", text, sizeof(text)) <= 0)
		return false;
	at = strstr(text, "SigCgt:");
	return at && strtoull(at + 7, NULL, 16) >> (signal - 1) & 1;
}

void launch_rank_take(struct launch_rank *r, int signal)
{
	if (signal == SIGUSR1)
		r->wish = true;
	if (signal == SIGTERM || signal == SIGINT)
		r->end = signal;
}

bool launch_rank_pass(struct launch_rank *r)
{
	if (!r->met)
		find(r);
	if (!lives(r))
		return false;
	if (r->end) {
		kill(r->pid, r->end);
		r->end = 0;
	}
	/* one that has just begun would be killed by it */
	if (r->wish && catches(r, SIGUSR1)) {
		kill(r->pid, SIGUSR1);
		r->wish = false;
	}
	return true;
}

void launch_rank_release(struct launch_rank *r)
{
	if (r->dir >= 0)
		close(r->dir);
	r->dir = -1;
}

/* What is ignored stays so. */
static void add_signal(sigset_t *set, int signal)
{
	struct sigaction is;

	if (sigaction(signal, NULL, &is) < 0 || is.sa_handler != SIG_IGN)
		sigaddset(set, signal);
}

sigset_t launch_signals(void)
{
	sigset_t set;

	signal(SIGCHLD, SIG_DFL);
	signal(SIGURG, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGURG);
	add_signal(&set, SIGUSR1);
	add_signal(&set, SIGTERM);
	add_signal(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return set;
}
