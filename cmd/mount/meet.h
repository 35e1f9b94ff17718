/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One mount a node, whoever of a job comes first (--join).  Who does, mounts,
 * and writes down its process and its server's; who comes later enters the name
 * spaces of one that is written down and lives.  Nobody holds a name space for
 * others: it is gone with the last process in it.
 *
 * A file of a user, for each pair of dataset and directory: a line a process.
 */
#ifndef MOUNT_MEET_H
#define MOUNT_MEET_H

#include <hpdsl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct mount_options;

/* A process for good: its number is given to others later, with its start. */
struct mount_process {
	uint64_t space; /* the name space of process numbers that it is in */
	uint64_t pid, start;
};

struct mount_meeter {
	struct mount_process who;
	uint64_t server, server_start;
};

/* A line of the file and its end; back: false, it is none.  Pure. */
int mount_meeter_format(const struct mount_meeter *m, char *ret, size_t cap);
bool mount_meeter_parse(const char *line, struct mount_meeter *ret);

struct mount_meeting {
	int file; /* locked; -1: none */
	char folder[32], name[96];
};

/* "/tmp/hpdsl-1000", where a user's processes of a node find each other. */
void mount_meet_folder(uid_t user, char ret[32]);

/*
 * Waits until nobody else is about to mount the same.  0 or -errno; the lock
 * goes with the descriptor, which is closed when a program is run.
 */
int mount_meet(const struct mount_options *o, struct mount_meeting *ret,
	       struct hpdsl_error *err);
/* 1: this process is in a mount of another one now; 0: there is none. */
int mount_meet_join(struct mount_meeting *m, struct hpdsl_error *err);
/* This process, in what server serves, may be joined. */
int mount_meet_add(struct mount_meeting *m, pid_t server,
		   struct hpdsl_error *err);
/* By the server, in the end: the file goes if nobody else serves. */
void mount_meet_end(const struct mount_meeting *m);

#endif
