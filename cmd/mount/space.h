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

/* The files of /dev/fuse that are of one mount. */
struct mount_device {
	int fd;
	int clone; /* for who gives pages (store.h); -1: there is none */
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

/*
 * Another device file of the mount that fd is of, or -1: there is none.  By who
 * has mounted, as there are kernels that want both files to have been opened in
 * one user name space.
 */
int mount_space_clone(int fd);

/* What is mounted at path goes: 0, or -errno and *err. */
int mount_undo(const char *path, struct hpdsl_error *err);
int mount_undo_by_helper(const char *path, struct hpdsl_error *err);

/* Over a socket, with a byte; 0 or -errno. */
int mount_send_device(int socket, const struct mount_device *d);
/* 0; -EPIPE: nobody is there any more; -errno. */
int mount_take_device(int socket, struct mount_device *ret);

#endif
