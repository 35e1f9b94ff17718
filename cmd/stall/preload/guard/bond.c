/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of the job does not outlive hpdsl-stall: whoever may have been
 * handed batches again must keep nothing, and would, at an exception or a
 * signal that it can catch.
 *
 * Each has a connection to hpdsl-stall's socket, in the abstract name space, as
 * the run's folder may be on a file system that has no sockets.  When
 * hpdsl-stall ends, however it does, the kernel closes the other end, and sends
 * what F_SETSIG says: it takes no thread and no look, and comes in a loop, a
 * write and a sleep alike.  On another node, or in another network name space,
 * there is no such socket: see beat.c.
 */
#include "next.h"

#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* Where programs that count descriptors do not come by. */
enum { HIGH = 900 };

static int bond = -1;
static pid_t whose; /* hpdsl-stall, as this process sees it; 0: it cannot */

/* The kernel says a process's number as this name space has it, or 0; /proc may
 * be another one's. */
static bool sees_processes(void)
{
	char text[24];
	ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return strtol(text, NULL, 10) == getpid();
}

static int connected(const char *name)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int n = snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1,
			 "hpdsl-stall.%s", name);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				     1 + (size_t)n);
	struct ucred who;
	socklen_t room = sizeof(who);
	int fd;

	if (n < 0 || (size_t)n >= sizeof(to.sun_path) - 1)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	/* Anybody may have a socket of any name. */
	if (connect(fd, (struct sockaddr *)&to, size) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &room) < 0 ||
	    who.uid != geteuid()) {
		guard_raw_close(fd);
		return -1;
	}
	whose = sees_processes() ? who.pid : 0;
	return fd;
}

/* A bond, or -1.  The first process of a name space takes no such signal. */
static int hold(void)
{
	const char *name = secure_getenv("HPDSL_STALL_RUN");
	int fd, high;

	if (!name || !*name || getpid() == 1)
		return -1;
	fd = connected(name);
	if (fd < 0)
		return -1;
	high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
	if (high >= 0) {
		guard_raw_close(fd);
		fd = high;
	}
	if (fcntl(fd, F_SETSIG, SIGKILL) == 0 &&
	    fcntl(fd, F_SETOWN, getpid()) == 0 &&
	    fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0)
		return fd;
	guard_raw_close(fd);
	return -1;
}

/* Is it at its end?  The kernel closes one socket after the other, and a
 * process may see its child killed before its own turn: but not before this is
 * so. */
static bool is_ending(pid_t pid)
{
	enum { EXITING = 4 }; /* of the flags in proc_pid_stat(5) */
	char name[40], text[512], *at;
	unsigned flags;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%ld/stat", (long)pid);
	fd = guard_raw_open(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return errno == ENOENT && sees_processes();
	n = syscall(SYS_read, fd, text, sizeof(text) - 1);
	guard_raw_close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* Behind the name, which may have anything in it. */
	at = strrchr(text, ')');
	return at &&
	       sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & EXITING;
}

/* A program may have closed it, and have something else by that number. */
static bool is_bound(void)
{
	int was = errno;

	if (bond >= 0 && fcntl(bond, F_GETSIG) != SIGKILL) {
		bond = -1;
		guard_first_beat();
	}
	errno = was;
	return bond >= 0;
}

static void end_if_alone(int fd)
{
	int was = errno;
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno == ECONNRESET) ||
	    (whose > 0 && is_ending(whose)))
		guard_die();
	errno = was;
}

void guard_end_if_alone(int dir, const char *path, bool adds)
{
	if (is_bound())
		end_if_alone(bond);
	else
		guard_await_beat(dir, path, adds);
}

/* For the library, in the same process. */
PUBLIC unsigned hpdsl_stall_bond(void);
PUBLIC unsigned hpdsl_stall_bond(void)
{
	return is_bound();
}

static void begin(void)
{
	bond = hold();
	if (bond >= 0)
		end_if_alone(bond);
	else
		guard_first_beat();
}

/* The signal goes to the one that asked for it. */
static void in_child(void)
{
	int was = errno, old = bond;

	if (is_bound()) {
		begin();
		end_if_alone(old);
		guard_raw_close(old);
	}
	errno = was;
}

__attribute__((constructor)) static void begin_early(void)
{
	int was = errno;

	begin();
	if (bond >= 0)
		pthread_atfork(NULL, NULL, in_child);
	errno = was;
}
