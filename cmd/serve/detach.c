/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that goes on without who has started it, who waits until it serves.
 * What it says goes where it went, as long as somebody waits; then only where
 * standard error is a file: a terminal may be another's by then, and ssh would
 * wait for a pipe.
 */
#include "life.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void to_null(int fd, int flags)
{
	int null = open("/dev/null", flags | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, fd);
	close(null);
}

/* What it says in the end: the socket, or nothing. */
static int wait_for(pid_t child, int from)
{
	char socket[sizeof(((struct serve_place *)NULL)->socket)];
	size_t n = 0;
	int status;

	while (n < sizeof(socket)) {
		ssize_t r = read(from, socket + n, sizeof(socket) - n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	if (n && socket[n - 1] == '\0') {
		cmd_output_start();
		cmd_print("%s\n", socket);
		return CMD_DONE;
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return CMD_TROUBLE;
	/* it has told why */
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) :
							  CMD_TROUBLE;
}

int serve_detach(int *ret_ready, int *ret_status)
{
	int ends[2];
	pid_t child = -1;

	if (pipe2(ends, O_CLOEXEC) == 0)
		child = fork();
	if (child < 0) {
		cmd_message("cannot detach: %s", strerror(errno));
		*ret_status = CMD_TROUBLE;
		return -1;
	}
	if (child) {
		close(ends[1]);
		*ret_status = wait_for(child, ends[0]);
		return -1;
	}
	close(ends[0]);
	setsid();
	to_null(STDIN_FILENO, O_RDONLY);
	to_null(STDOUT_FILENO, O_WRONLY);
	*ret_ready = ends[1];
	return 0;
}

void serve_detach_ready(int ready, const char *socket)
{
	struct stat st;

	if (ready < 0)
		return;
	if (fstat(STDERR_FILENO, &st) < 0 || !S_ISREG(st.st_mode))
		to_null(STDERR_FILENO, O_WRONLY);
	/* nobody may be there any more, and SIGPIPE is ignored */
	if (write(ready, socket, strlen(socket) + 1) < 0)
		errno = 0;
	close(ready);
}

bool serve_detach_is_alone(int ready)
{
	struct pollfd p = { .fd = ready };

	return ready >= 0 && poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}
