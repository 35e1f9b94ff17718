/* SPDX-License-Identifier: Apache-2.0 */
#include "keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	/* Workers that died before they had answered anything, one after the
	 * other; each waits longer than the one before, up to a second. */
	IN_VAIN_MOST = 64,
	TOLD = 10, /* lines about workers that died */
};

/* ---- Over a socket ---------------------------------------------------- */

void mount_say(int socket, int status)
{
	uint8_t byte = (uint8_t)status;

	while (send(socket, &byte, 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

int mount_hear(int socket)
{
	uint8_t byte;
	ssize_t n;

	while ((n = recv(socket, &byte, 1, 0)) < 0 && errno == EINTR)
		;
	return n == 1 ? byte : -1;
}

/* ---- The worker ------------------------------------------------------- */

/* What the keeper waits for; in the foreground it unmounts for some. */
static sigset_t awaited(const struct mount_options *o)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGIO); /* who asks for its figures */
	if (!o->foreground)
		return set;
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

/*
 * What ends the job's processes is not to end it before them: it goes when what
 * it serves is mounted no more.
 */
static void outlive(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

static void say_ready(void *arg)
{
	int *link = arg;

	mount_say(*link, CMD_DONE);
	close(*link);
	*link = -1;
}

static int work(const struct mount_keeper *k, int link)
{
	const sigset_t set = awaited(k->o);
	struct mount_server *s;
	struct mount_device d;
	int status;

	/* Without the keeper nobody would follow it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != k->slots->keeper)
		return CMD_TROUBLE;
	/* Ctrl-C is the keeper's, from now on. */
	outlive();
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	status = mount_server_open(k->o, k->slots, &s);
	mount_say(link, status);
	if (status)
		return status;
	/* That it could not be mounted was told. */
	if (mount_take_device(link, &d) < 0)
		return CMD_TROUBLE;
	return mount_server_run(s, &d, say_ready, &link);
}

/* 0, or -errno: there is none. */
static int begin(struct mount_keeper *k)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	k->worker = fork();
	if (k->worker == 0) {
		close(ends[1]);
		exit(work(k, ends[0]));
	}
	close(ends[0]);
	k->link = ends[1];
	if (k->worker > 0) {
		atomic_store(&k->slots->worker, k->worker);
		return 0;
	}
	close(k->link);
	return -errno;
}

/* ---- The keeper ------------------------------------------------------- */

static void tell_how(const struct mount_keeper *k, int status, const char *then)
{
	const char *place = k->o->place;

	if (WIFSIGNALED(status))
		cmd_message("%s: the server was ended by signal %d (%s)%s",
			    place, WTERMSIG(status),
			    strsignal(WTERMSIG(status)), then);
	else
		cmd_message("%s: the server ended early%s", place, then);
}

int mount_keep_begin(struct mount_keeper *k, const struct mount_options *o)
{
	const sigset_t set = awaited(o);
	int r, status;

	*k = (struct mount_keeper){ .o = o, .link = -1, .figures.fd = -1 };
	k->slots = mount_slots_new();
	if (!k->slots)
		cmd_no_memory();
	k->slots->keeper = getpid();
	k->slots->since = time(NULL);
	/* Whoever began this may ignore it, and nobody would hear of workers
	 * that die. */
	signal(SIGCHLD, SIG_DFL);
	r = begin(k);
	if (r < 0) {
		cmd_message("no process for the server: %s", strerror(-r));
		return CMD_TROUBLE;
	}
	r = mount_hear(k->link);
	/* Until then Ctrl-C ends it. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (r >= 0)
		return r;
	if (waitpid(k->worker, &status, 0) == k->worker)
		tell_how(k, status, "");
	return CMD_TROUBLE;
}

/* The worker gets the descriptors; one that is not the first says before how
 * its opening went. */
static void hand_over(struct mount_keeper *k, bool first,
		      void (*ready)(void *arg), void *arg)
{
	if (mount_send_device(k->link, &k->device) == 0 &&
	    !atomic_load(&k->slots->greeted) &&
	    (first || mount_hear(k->link) == CMD_DONE) &&
	    mount_hear(k->link) == CMD_DONE) {
		atomic_store(&k->slots->greeted, true);
		if (ready)
			ready(arg);
	}
	close(k->link);
	k->link = -1;
}

/* ---- A worker's end --------------------------------------------------- */

/* What a file of /proc has of it, in ret; "": it is no more. */
static void look(pid_t worker, const char *file, char *ret, size_t cap)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%.40s", (int)worker, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, ret, cap - 1);
	if (fd >= 0)
		close(fd);
	ret[n > 0 ? n : 0] = '\0';
}

/* One letter; 0: it is no more. */
static char state_of(pid_t worker, const char *thread)
{
	char text[512], file[40], *end;

	snprintf(file, sizeof(file), "task/%.20s/stat", thread);
	look(worker, file, text, sizeof(text));
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

/* It has failed, and its memory is to be written somewhere, when all its
 * threads have ended. */
static bool is_dumped(pid_t worker)
{
	char text[4096];

	look(worker, "status", text, sizeof(text));
	return strstr(text, "\nCoreDumping:\t1\n");
}

/*
 * The signal that has ended it but for threads that cannot be: they wait for a
 * disk, or for a page that somebody waits for whom the next worker is to
 * answer. 0: there is none.
 */
static int ended_by(pid_t worker)
{
	char folder[40], leader[16];
	bool dumped, ended;
	struct dirent *e;
	DIR *d;

	snprintf(folder, sizeof(folder), "/proc/%d/task", (int)worker);
	snprintf(leader, sizeof(leader), "%d", (int)worker);
	dumped = is_dumped(worker);
	if (!dumped && state_of(worker, leader) != 'Z')
		return 0;
	d = opendir(folder);
	ended = d != NULL;
	while (d && (e = readdir(d))) {
		char state =
			*e->d_name == '.' ? 0 : state_of(worker, e->d_name);

		ended = ended && (!state || strchr("ZXD", state));
	}
	if (d)
		closedir(d);
	return !ended ? 0 : dumped ? SIGABRT : SIGKILL;
}

/* Its status, as waitpid() gives it. */
static int await(struct mount_keeper *k)
{
	const struct timespec second = { 1, 0 };
	const sigset_t set = awaited(k->o);
	struct hpdsl_error err;
	int signal, status;
	pid_t r;

	for (;;) {
		/* others: workers before it, whose last thread has ended */
		while ((r = waitpid(-1, &status, WNOHANG)) > 0)
			if (r == k->worker)
				return status;
		if (r < 0 && errno == ECHILD)
			return SIGKILL;
		status = ended_by(k->worker);
		if (status)
			return status;
		mount_status_look(&k->figures, k->o, k->slots);
		signal = sigtimedwait(&set, NULL, &second);
		if (signal > 0 && signal != SIGCHLD && signal != SIGIO &&
		    mount_unmount(k->o->place, &err) < 0)
			cmd_message("%s", err.msg);
	}
}

/* Somebody else ended it, and not what it was at. */
static bool was_killed(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void tell(const struct mount_keeper *k, int status)
{
	const uint64_t n = atomic_fetch_add(&k->slots->counts.replaced, 1) + 1;

	if (n <= TOLD)
		tell_how(k, status,
			 n < TOLD ? ", and another one goes on" :
				    ", and another one goes on; more of this "
				    "is counted only");
}

/* Those that die one after the other are begun less and less often. */
static void rest(struct mount_keeper *k)
{
	const uint64_t now = atomic_load(&k->slots->counts.answered);
	const unsigned ms = k->in_vain < 10 ? 1U << k->in_vain : 1000;
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	k->in_vain = now == k->answered ? k->in_vain + 1 : 0;
	k->answered = now;
	if (k->in_vain)
		nanosleep(&t, NULL);
}

/* Another one, which may die as it begins; false: no more. */
static bool replace(struct mount_keeper *k, int status)
{
	int r;

	if (atomic_exchange(&k->slots->serves, false))
		mount_slots_failed(k->slots, was_killed(status));
	tell(k, status);
	do {
		rest(k);
		if (k->in_vain >= IN_VAIN_MOST) {
			cmd_message("%s: no server lives long enough to answer "
				    "anything: given up",
				    k->o->place);
			return false;
		}
		r = begin(k);
		if (r < 0)
			cmd_message("%s: no process for another server: %s",
				    k->o->place, strerror(-r));
	} while (r < 0);
	return true;
}

static int keep(struct mount_keeper *k, void (*ready)(void *arg), void *arg)
{
	bool first = true;
	int status;

	for (;;) {
		hand_over(k, first, ready, arg);
		first = false;
		status = await(k);
		if (atomic_load(&k->slots->ended))
			return WIFEXITED(status) ? WEXITSTATUS(status) :
						   CMD_TROUBLE;
		if (!replace(k, status))
			return CMD_TROUBLE;
	}
}

int mount_keep_run(struct mount_keeper *k, const struct mount_device *d,
		   void (*ready)(void *arg), void *arg)
{
	int status;

	k->device = *d;
	if (!k->o->foreground)
		outlive();
	/* it is there before anybody can ask for it */
	mount_status_begin(&k->figures, k->o, k->slots);
	status = keep(k, ready, arg);
	mount_status_end(&k->figures);
	return status;
}
