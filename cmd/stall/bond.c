/* SPDX-License-Identifier: Apache-2.0 */
/* A socket whose end is the end of the job's processes, by the kernel: see
 * preload/guard/bond.c. */
#include "stall.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
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

/* Where it cannot be, ranks look at the beat. */
void stall_bond(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	uint64_t number;
	char name[32];
	int size, fd = socket(AF_UNIX,
			      SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	if (getrandom(&number, sizeof(number), 0) < 0) {
		close(fd);
		return;
	}
	snprintf(name, sizeof(name), "%016llx", (unsigned long long)number);
	size = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1,
			"hpdsl-stall.%s", name);
	if (bind(fd, (struct sockaddr *)&at,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			     (size_t)size)) < 0 ||
	    listen(fd, WAITING) < 0) {
		close(fd);
		return;
	}
	if (setenv("HPDSL_STALL_RUN", name, 1) < 0)
		cmd_no_memory();
	take(fd);
}

void stall_bond_tend(void)
{
	int fd;
	size_t left = 1;

	if (!n)
		return;
	while (n < HELD &&
	       (fd = accept4(held[0].fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		take(fd);
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
