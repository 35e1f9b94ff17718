/* SPDX-License-Identifier: Apache-2.0 */
/* What the guard in a job's processes told of files. */
#ifndef CMD_STALL_TOLD_H
#define CMD_STALL_TOLD_H

#include "common/common.h"

enum stall_told_kind {
	STALL_ASIDE,	  /* old files that were written to, beside */
	STALL_REFUSED,	  /* .. that were to be changed in place */
	STALL_KEPT,	  /* .. that were to be removed, moved or replaced */
	STALL_MADE,	  /* by the job */
	STALL_TOLD_KINDS, /* of which the user is told */
	STALL_FILLED = STALL_TOLD_KINDS, /* made, where not empty any more */
	STALL_TOLD_ALL
};

struct stall_paths {
	char **v;
	size_t n;
};

/* Of each kind absolute paths, sorted, each once; of what was made until
 * stall_told_end() behind the inode's number in hexadecimal digits. */
struct stall_told {
	struct stall_paths of[STALL_TOLD_ALL];
};

/* ---- told.c: over memory ---------------------------------------------- */

/* Adds records, as cmd/stall/preload/guard/guard.h has them; what is behind the
 * last NUL, or makes no sense, is left out. */
void stall_told_add(struct stall_told *t, const char *text, size_t n);
/* Behind the last of them. */
void stall_told_sort(struct stall_told *t);
void stall_told_release(struct stall_told *t);

/* A copy of it, at the end. */
void stall_paths_add(struct stall_paths *p, const char *path);
void stall_paths_sort(struct stall_paths *p);
void stall_paths_release(struct stall_paths *p);

/* ---- told_files.c ----------------------------------------------------- */

/* Adds those of all nodes, in the run's folder: an exit status, told. */
int stall_told_read(struct stall_told *t, const char *folder);
/* When the job has ended: of what it made that which is there still, and of
 * folders that it moved the files in them. */
void stall_told_end(struct stall_told *t);
/* The user, by messages; list: the file that has all that the job made. */
void stall_told_show(const struct stall_told *t, const char *list);
void stall_told_json(struct cmd_json *j, const struct stall_told *t);

#endif
