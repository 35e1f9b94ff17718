/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors from one process to another. */
#include "space.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Room for both, as it has to be aligned. */
union control {
	char room[CMSG_SPACE(2 * sizeof(int))];
	struct cmsghdr align;
};

int mount_send_device(int socket, const struct mount_device *d)
{
	const int fd[] = { d->fd, d->clone };
	const size_t bytes = (d->clone < 0 ? 1 : 2) * sizeof(int);
	char byte = 0;
	struct iovec v = { &byte, 1 };
	union control c = { .room = { 0 } };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &c,
			    .msg_controllen = CMSG_SPACE(bytes) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(h), fd, bytes);
	while (sendmsg(socket, &m, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int mount_take_device(int socket, struct mount_device *ret)
{
	int fd[] = { -1, -1 };
	char byte;
	struct iovec v = { &byte, 1 };
	union control c;
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &c,
			    .msg_controllen = sizeof(c.room) };
	struct cmsghdr *h;
	ssize_t n;

	while ((n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC)) < 0)
		if (errno != EINTR)
			return -errno;
	h = CMSG_FIRSTHDR(&m);
	if (n == 0 || !h || h->cmsg_level != SOL_SOCKET ||
	    h->cmsg_type != SCM_RIGHTS || h->cmsg_len < CMSG_LEN(sizeof(int)) ||
	    h->cmsg_len > CMSG_LEN(sizeof(fd)))
		return -EPIPE;
	memcpy(fd, CMSG_DATA(h), h->cmsg_len - CMSG_LEN(0));
	*ret = (struct mount_device){ fd[0], fd[1] };
	return 0;
}
