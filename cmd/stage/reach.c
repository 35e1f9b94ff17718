/* SPDX-License-Identifier: Apache-2.0 */
/* One connection, to see whether there can be any. */
#include "reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORTS = 16 };

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

struct cmd_text reach_text(const uint8_t ip[16])
{
	bool four = memcmp(ip, mapped, sizeof(mapped)) == 0;
	struct cmd_text t;

	if (!inet_ntop(four ? AF_INET : AF_INET6, ip + (four ? 12 : 0), t.s,
		       sizeof(t.s)))
		snprintf(t.s, sizeof(t.s), "?");
	return t;
}

/* ---- Sockets ---------------------------------------------------------- */

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

static socklen_t put(const uint8_t ip[16], uint32_t port, union address *a)
{
	memset(a, 0, sizeof(*a));
	if (memcmp(ip, mapped, sizeof(mapped)) == 0) {
		a->four.sin_family = AF_INET;
		a->four.sin_port = htons((uint16_t)port);
		memcpy(&a->four.sin_addr, ip + 12, 4);
		return sizeof(a->four);
	}
	a->six.sin6_family = AF_INET6;
	a->six.sin6_port = htons((uint16_t)port);
	memcpy(&a->six.sin6_addr, ip, 16);
	return sizeof(a->six);
}

static void get(const union address *a, uint8_t ip[16])
{
	if (a->any.sa_family == AF_INET) {
		memcpy(ip, mapped, sizeof(mapped));
		memcpy(ip + 12, &a->four.sin_addr, 4);
	} else {
		memcpy(ip, &a->six.sin6_addr, 16);
	}
}

static int new_socket(const union address *a, int type)
{
	int fd = socket(a->any.sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);

	return fd < 0 ? -errno : fd;
}

bool reach_from(const uint8_t ip[16], uint8_t ret[16])
{
	union address to, from;
	socklen_t n = put(ip, 9, &to), size = sizeof(from);
	int fd = new_socket(&to, SOCK_DGRAM); /* nothing is sent */
	bool found;

	if (fd < 0)
		return false;
	found = connect(fd, &to.any, n) == 0 &&
		getsockname(fd, &from.any, &size) == 0;
	close(fd);
	if (found)
		get(&from, ret);
	return found;
}

static int listen_at(const uint8_t ip[16], uint32_t port)
{
	union address a;
	socklen_t n = put(ip, port, &a);
	int fd = new_socket(&a, SOCK_STREAM), one = 1, code = 0;

	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, &a.any, n) < 0 || listen(fd, 4) < 0)
		code = -errno;
	if (code < 0)
		close(fd);
	return code < 0 ? code : fd;
}

int reach_listen(const uint8_t ip[16], uint32_t port, uint32_t *ret_port)
{
	int fd = -EADDRINUSE;

	for (uint32_t i = 0; i < PORTS && fd == -EADDRINUSE; i++) {
		fd = listen_at(ip, port + i);
		*ret_port = port + i;
	}
	return fd;
}

static int wait_for(int fd, int milliseconds)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int code = 0, n;
	socklen_t size = sizeof(code);

	do
		n = poll(&p, 1, milliseconds);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0)
		return -errno;
	return -code;
}

int reach_try(const uint8_t ip[16], uint32_t port, int milliseconds)
{
	union address a;
	socklen_t n = put(ip, port, &a);
	int fd = new_socket(&a, SOCK_STREAM), code = 0;

	if (fd < 0)
		return fd;
	if (connect(fd, &a.any, n) < 0)
		code = errno == EINPROGRESS ? wait_for(fd, milliseconds) :
					      -errno;
	close(fd);
	return code;
}
