/* SPDX-License-Identifier: Apache-2.0 */
/* A socket whose end is the end of the job's processes, by the kernel: see
 * preload/guard/bond.c. */
#include "stall.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	WAITING = 4096, /* that connect between two looks */
	HELD = 512,	/* more wait, which holds them as well: files have to be
			   opened, too */
};

/* The first one is what listens. */
static struct pollfd *held;
static size_t n;

static void take(int fd)
{
	held = cmd_grow(held, n, sizeof(*held));
	held[n++] = (struct pollfd){ .fd = fd };
}

/* A socket of that name, or -1. */
static int listener(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int size = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1,
			    "hpdsl-stall.%s", name);
	socklen_t all = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				    (size_t)size);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && (bind(fd, (struct sockaddr *)&at, all) < 0 ||
			listen(fd, WAITING) < 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Where there is none, the job's processes look at the beat. */
void stall_bond(void)
{
	uint64_t number;
	char name[32];
	int fd;

	if (getrandom(&number, sizeof(number), 0) < 0)
		number = (uint64_t)getpid();
	snprintf(name, sizeof(name), "%016llx", (unsigned long long)number);
	if (setenv("HPDSL_STALL_RUN", name, 1) < 0)
		cmd_no_memory();
	fd = listener(name);
	if (fd >= 0)
		take(fd);
}

static void take_waiting(void)
{
	int fd;

	while (n < HELD &&
	       (fd = accept4(held[0].fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		take(fd);
}

void stall_bond_tend(void)
{
	size_t left = 1;

	if (!n)
		return;
	take_waiting();
	if (poll(held, n, 0) <= 0)
		return;
	/* Those that have ended. */
	for (size_t i = 1; i < n; i++) {
		if (held[i].revents)
			close(held[i].fd);
		else
			held[left++] = held[i];
	}
	n = left;
}

static bool is_of(int fd, pid_t pid)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
	       who.pid == pid;
}

void stall_bond_anew(pid_t but)
{
	struct pollfd *old;
	size_t all;

	if (!n)
		return;
	take_waiting();
	old = held;
	all = n;
	held = NULL;
	n = 0;
	stall_bond();
	for (size_t i = 0; i < all; i++) {
		if (n && i && is_of(old[i].fd, but))
			take(old[i].fd);
		else
			close(old[i].fd);
	}
	free(old);
}
