/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What TCP allows: ranges of files by sendfile(), on one connection, with
 * nothing around them.
 *
 *     reads_raw serve ADDRESS FILE..        its port to stdout; to its end
 *     reads_raw read ADDRESS PORT FILES BYTES SIZE UNDER_WAY SECONDS
 */
#include "reads.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

struct range {
	uint64_t file, offset, n;
};

static void die(const char *what)
{
	fprintf(stderr, "reads_raw: %s: %s\n", what, strerror(errno));
	exit(3);
}

/* As the other side's sockets have it. */
static void options(int fd)
{
	const char *how = getenv("HPDSL_TCP_CONGESTION");
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (how && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, how,
			      (socklen_t)strlen(how)) < 0)
		die(how);
}

static int make(const char *address, unsigned port, struct sockaddr_in *ret)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)port) };
	if (fd < 0 || inet_pton(AF_INET, address, &ret->sin_addr) != 1)
		die(address);
	options(fd);
	return fd;
}

/* False: the other side has gone. */
static int take(int fd, void *buf, size_t n)
{
	for (size_t k = 0; k < n;) {
		ssize_t got = recv(fd, (char *)buf + k, n - k, MSG_WAITALL);

		if (got <= 0)
			return 0;
		k += (size_t)got;
	}
	return 1;
}

/* ---- One side --------------------------------------------------------- */

static void give(int to, const int *files, uint64_t n)
{
	struct range r;

	while (take(to, &r, sizeof r)) {
		off_t at = (off_t)r.offset;

		for (uint64_t left = r.n; left && r.file < n;) {
			ssize_t k = sendfile(to, files[r.file], &at, left);

			if (k <= 0)
				return;
			left -= (uint64_t)k;
		}
	}
}

static _Noreturn void serve(char **argv, int n)
{
	struct sockaddr_in a;
	socklen_t size = sizeof a;
	int fd = make(argv[0], 0, &a),
	    *files = reads_memory(sizeof(int) * 4096);

	for (int i = 1; i < n && i < 4096; i++)
		if ((files[i - 1] = open(argv[i], O_RDONLY | O_CLOEXEC)) < 0)
			die(argv[i]);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 ||
	    listen(fd, 4) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &size) < 0)
		die(argv[0]);
	printf("%u\n", ntohs(a.sin_port));
	fflush(stdout);
	/* Who reads goes away in the midst of it. */
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		int to = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (to < 0)
			die("accept");
		options(to);
		give(to, files, (uint64_t)n - 1);
		close(to);
	}
}

/* ---- The other -------------------------------------------------------- */

static void ask(int fd, struct reads *r, uint64_t *began)
{
	struct range q = { .n = r->size };

	q.file = reads_draw(r, r->files);
	q.offset = reads_offset(r, r->bytes);
	*began = reads_now();
	if (send(fd, &q, sizeof q, MSG_NOSIGNAL) != sizeof q)
		die("send");
}

static int read_all(char **argv)
{
	struct sockaddr_in a;
	uint64_t began[READS_WAYS];
	struct reads r;
	unsigned asked = 0;
	char *buf;
	int fd = make(argv[0], (unsigned)atoi(argv[1]), &a);

	if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
		die(argv[0]);
	r.files = strtoull(argv[2], NULL, 10);
	r.bytes = strtoull(argv[3], NULL, 10);
	reads_begin(&r, argv + 4);
	buf = reads_memory(r.size * r.under_way);
	while (asked < r.under_way)
		ask(fd, &r, &began[asked++]);
	for (unsigned i = 0; reads_go_on(&r); i = (i + 1) % r.under_way) {
		if (!take(fd, buf + i * r.size, r.size))
			die("recv");
		reads_one(&r, began[i]);
		ask(fd, &r, &began[i]);
	}
	reads_end(&r);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "serve") == 0)
		serve(argv + 2, argc - 2);
	if (argc == 9 && strcmp(argv[1], "read") == 0)
		return read_all(argv + 2);
	return 2;
}
