/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between --status and servers.  Asked is a byte, and the path of a mount, or
 * nothing for any, to the end of what is sent; the answer is the text, or none
 * from a server of another mount.
 */
#ifndef MOUNT_STATUS_SOCKET_H
#define MOUNT_STATUS_SOCKET_H

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
	MOUNT_ASK_WORDS = 'w',
	MOUNT_ASK_JSON = 'j',
	MOUNT_ASKED_MOST = PATH_MAX + 2
};

/* By the folder that is open, whatever its path has become meanwhile. */
/*
 * What the names of the sockets of a mount at place begin with, so that who
 * asks for one of them need not ask the others.  FNV-1a, of 64 bits:
 * http://www.isthe.com/chongo/tech/comp/fnv/
 */
static inline void mount_status_prefix(const char *place, char ret[32])
{
	uint64_t h = 0xcbf29ce484222325;

	for (const char *c = place; *c; c++)
		h = (h ^ (uint8_t)*c) * 0x100000001b3;
	snprintf(ret, 32, "mount-%016" PRIx64 "-", h);
}

static inline struct sockaddr_un mount_status_address(int dir, const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%.64s", dir,
		 name);
	return a;
}

#endif
