/* SPDX-License-Identifier: Apache-2.0 */
/* One question to a server of this node, over its socket, and the answer. */
#include "life.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* About a KiB a node. */
enum { ANSWER = 64 << 20, SECONDS = 5 };

static const char question[] = "GET /v1/status HTTP/1.0\r\n"
			       "Host: localhost\r\n"
			       "Connection: close\r\n\r\n";

/* "HTTP/1.1 200 OK", fields, an empty line, the body. */
char *serve_answer_body(char *answer)
{
	char *s = strstr(answer, "\r\n\r\n");

	return s && strncmp(answer, "HTTP/1.", 7) == 0 &&
			       strncmp(answer + 8, " 200 ", 5) == 0 ?
		       s + 4 :
		       NULL;
}

/* All of it, in time. */
static int receive(int fd, char *answer)
{
	double until = serve_now() + SECONDS;
	size_t n = 0;

	for (;;) {
		ssize_t r = recv(fd, answer + n, ANSWER - 1 - n, 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		answer[n += (size_t)r] = '\0';
		if (r == 0)
			return 0;
		if (n == ANSWER - 1)
			return -EMSGSIZE;
		if (serve_now() > until)
			return -ETIMEDOUT;
	}
}

int serve_ask_status(const struct serve_place *p, char **ret,
		     struct hpdsl_error *err)
{
	cmd_auto_free char *answer = cmd_alloc(1, ANSWER);
	char *body = NULL;
	pid_t pid;
	int fd = serve_unix_connect(p, SECONDS, &pid, err), r = 0;

	if (fd < 0)
		return fd;
	if (send(fd, question, strlen(question), MSG_NOSIGNAL) < 0)
		r = -errno;
	if (r == 0)
		r = receive(fd, answer);
	close(fd);
	if (r == 0) {
		body = serve_answer_body(answer);
		r = body ? 0 : -EPROTO;
	}
	if (r < 0) {
		err->code = r;
		snprintf(err->msg, sizeof(err->msg), "%.800s: %s", p->socket,
			 r == -EPROTO ? "no answer of a server" : strerror(-r));
		return r;
	}
	*ret = strdup(body);
	if (!*ret)
		cmd_no_memory();
	return 0;
}
