/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that keeps a mount alive: it holds the descriptors, opens
 * no dataset, and serves nothing.  A worker, its child, does that; one that
 * dies is followed by another.  It has one thread.
 */
#ifndef MOUNT_KEEP_H
#define MOUNT_KEEP_H

#include "mount.h"
#include "slots.h"
#include "status.h"

struct mount_keeper {
	const struct mount_options *o;
	struct mount_slots *slots;
	struct mount_device device; /* once it is mounted */
	struct mount_figures_file figures;
	int link; /* to the worker */
	pid_t worker;
	uint64_t answered; /* when the last worker died */
	unsigned in_vain;  /* workers that died one after the other, since */
};

/* A worker that has opened what is mounted; an exit status, which was told. */
int mount_keep_begin(struct mount_keeper *k, const struct mount_options *o);

/*
 * Until it is mounted no more; ready() is called when the kernel has been
 * answered, once.  In the foreground, signals that end others unmount.  An exit
 * status.
 */
int mount_keep_run(struct mount_keeper *k, const struct mount_device *d,
		   void (*ready)(void *arg), void *arg);

/* One byte over a socket, and -1 where nobody is any more. */
void mount_say(int socket, int status);
int mount_hear(int socket);

#endif
