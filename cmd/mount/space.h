/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounting: in a mount name space of this process's own, as root, or through
 * fusermount3.  All give the descriptor that the server reads.
 */
#ifndef MOUNT_SPACE_H
#define MOUNT_SPACE_H

#include <hpdsl.h>
#include <stdbool.h>

struct mount_point {
	const char *path;
	bool allow_other;
};

/*
 * From now on this process has a mount name space of its own, and, unless it is
 * root's, a user name space in which its numbers are what they were.  0, or
 * -errno and which step it was.
 */
int mount_space_enter(struct hpdsl_error *err);

/* /dev/fuse mounted there; the descriptor, or -errno and *err. */
int mount_space_mount(const struct mount_point *m, struct hpdsl_error *err);

/* The same by fusermount3, which is setuid. */
int mount_by_helper(const struct mount_point *m, struct hpdsl_error *err);

/* What is mounted at path goes: 0, or -errno and *err. */
int mount_undo(const char *path, struct hpdsl_error *err);
int mount_undo_by_helper(const char *path, struct hpdsl_error *err);

/* One descriptor over a socket, with a byte; 0 or -errno. */
int mount_send_fd(int socket, int fd);
/* The descriptor; -EPIPE: nobody is there any more; -errno. */
int mount_take_fd(int socket);

#endif
