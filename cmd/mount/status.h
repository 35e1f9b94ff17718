/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mount's server says of itself, to --status: over a socket in a folder
 * that is its user's alone, whichever name space the mount is in.
 */
#ifndef MOUNT_STATUS_H
#define MOUNT_STATUS_H

#include "metrics.h"
#include "session.h"

#include <stdio.h>

struct mount_options;

struct mount_status {
	const struct mount_options *o;
	struct mount_slots *slots;
	char *manifest; /* of the dataset; NULL: too large, or gone */
	size_t manifest_bytes;
	/* Its own: */
	int socket; /* -1: none */
	pthread_t thread;
	struct cmd_metrics metrics; /* the thread's, while there is one */
};

/* Without it the mount works: what is wrong is a warning. */
void mount_status_begin(struct mount_status *s);
void mount_status_end(struct mount_status *s);

/* The asker's side; an exit status: 1, nothing is mounted. */
int mount_status_show(const struct mount_options *o);

/* A server's answer: lines for people, or an object on one. */
void mount_status_put(const struct mount_status *s, bool json, FILE *out);

#endif
