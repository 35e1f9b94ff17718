/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor from one process to another. */
#include "space.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Room for the one descriptor, as it has to be aligned. */
union control {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int mount_send_fd(int socket, int fd)
{
	char byte = 0;
	struct iovec v = { &byte, 1 };
	union control c = { .room = { 0 } };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &c,
			    .msg_controllen = sizeof(c.room) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	while (sendmsg(socket, &m, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int mount_take_fd(int socket)
{
	char byte;
	struct iovec v = { &byte, 1 };
	union control c;
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &c,
			    .msg_controllen = sizeof(c.room) };
	struct cmsghdr *h;
	ssize_t n;
	int fd;

	while ((n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC)) < 0)
		if (errno != EINTR)
			return -errno;
	h = CMSG_FIRSTHDR(&m);
	if (n == 0 || !h || h->cmsg_level != SOL_SOCKET ||
	    h->cmsg_type != SCM_RIGHTS || h->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -EPIPE;
	memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	return fd;
}
