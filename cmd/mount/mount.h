/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-mount: what it was told, and its parts. */
#ifndef MOUNT_MOUNT_H
#define MOUNT_MOUNT_H

#include "space.h"

#include "common/common.h"

#include <sys/types.h>

enum mount_view { MOUNT_VIEW_FILES, MOUNT_VIEW_CHUNKS };
enum mount_verify { MOUNT_VERIFY_AUTO, MOUNT_VERIFY_ALL };

struct mount_options {
	const char *dataset, *point;
	char **command; /* NULL: none */
	const char *folder;
	struct cmd_strings include, exclude, labels;
	char *place; /* of the point, absolute; NULL with undo, status, check */
	char *data;  /* of the dataset, the same */
	uint64_t memory;	/* bytes */
	uint32_t process;	/* --while; 0: none */
	uint64_t process_start; /* when that began */
	bool join, isatty, foreground, undo, check, status, json;
	bool attrs; /* --xattr */
	bool allow_other, foreign_owner, no_plus;
	bool no_links;
	unsigned view;	 /* enum mount_view */
	unsigned verify; /* enum mount_verify */
	unsigned fill;	 /* enum mount_fill_when */
};

void mount_parse(int argc, char **argv, struct mount_options *ret);

/* All give an exit status. */
int mount_run(const struct mount_options *o);	     /* life.c */
int mount_foreground(const struct mount_options *o); /* life.c */
int mount_check(void);				     /* check.c */

/* ---- while.c ---------------------------------------------------------- */

/* By the user's way: 0, or -errno and *err. */
int mount_unmount(const char *point, struct hpdsl_error *err);
/* From now on the mount goes with o->process, if there is one. */
void mount_while(const struct mount_options *o);

/* ---- dead.c ----------------------------------------------------------- */

/* Has a server of ours mounted it for that user, as a process sees it?  It is
 * an absolute path; nobody is asked. */
bool mount_is_users(const char *place, uid_t user, pid_t process);
/* Was it mounted by a server of ours, which is no more? */
bool mount_is_dead(const char *point);

/* ---- place.c ---------------------------------------------------------- */

/* Is the path, which may be NULL, the folder's or below it?  Both are absolute.
 */
bool mount_is_in(const char *path, const char *folder);

/* ---- ranks.c ---------------------------------------------------------- */

/* Is this the first of several processes that a launcher began on the node? */
bool mount_is_first_of_several(void);

/* ---- choose.c: the files that are mounted ----------------------------- */

/* Is it but some of them, by more than --folder? */
bool mount_chooses(const struct mount_options *o);
/*
 * The tree of those that are chosen.  -ENODATA: there is none, or no such
 * class; a folder that is not there is an empty tree.
 */
int mount_choose(const struct mount_options *o, const struct hpdsl_dataset *ds,
		 struct hpdsl_snapshot **ret, struct hpdsl_error *err);

/* ---- serve.c: the server's side --------------------------------------- */

struct mount_server;

struct mount_slots;

/*
 * Opens what is mounted; an exit status, what is wrong has been told.  A worker
 * that follows another one opens it, too; where that is wrong, or it is
 * another dataset by now, all that is asked is to fail.
 */
int mount_server_open(const struct mount_options *o, struct mount_slots *slots,
		      struct mount_server **ret);
/*
 * Serves the device until it is mounted no more; ready() is called when the
 * kernel has been answered, if it was not before.  An exit status; s is gone.
 */
int mount_server_run(struct mount_server *s, const struct mount_device *d,
		     void (*ready)(void *arg), void *arg);

#endif
