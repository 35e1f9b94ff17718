/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was there before a measured run stays as it was.
 *
 * Old is a regular file that is not empty, a symbolic link, or a folder that is
 * not empty, which no process of this job on this node has made; no clock
 * decides, since those of servers differ and what is appended to looks new.
 * What processes of a node know of files is a page that all of them map, in the
 * run's folder, HPDSL_STALL:
 *
 *	guard.NODE		struct guard_page
 *	aside.NODE.DEV.INO	what the job wrote to an old file
 *	told.NODE		records for hpdsl-stall: a letter, the inode in
 *				hexadecimal digits, a path, a NUL
 *
 * All here goes by system calls, so that nothing is guarded or counted twice.
 */
#ifndef STALL_GUARD_H
#define STALL_GUARD_H

#include "set.h"

#include <stdint.h>
#include <sys/types.h>

/* Not for the job to see. */
#pragma GCC visibility push(hidden)

enum {
	GUARD_VERSION = 1,
	GUARD_PATH = 4096,
	GUARD_SMALL = 64, /* bytes that may be changed in place: locks, and
			     files that hold a process's number */
};

/* Letters of records. */
#define GUARD_MADE 'm'	  /* a file, or a folder of such, by that name now */
#define GUARD_FILLED 'e'  /* one that was empty, opened to be written */
#define GUARD_LINK 'l'	  /* a name, of a file that may be old */
#define GUARD_ASIDE 'a'	  /* an old one that was written to */
#define GUARD_REFUSED 'r' /* .. that was to be changed in place */
#define GUARD_KEPT 'k'	  /* .. to be removed, or replaced */

struct guard_file {
	uint64_t dev, ino, size;
	int64_t mtime;
	mode_t mode;
};

/* Two that change by themselves; 0: unknown. */
struct guard_beat {
	uint64_t look;	/* the last, as beat.c has it */
	uint64_t alive; /* ms, by CLOCK_MONOTONIC: not before, it was */
};

/* What is found at a path. */
enum guard_is {
	GUARD_NONE, /* nothing, or nobody can say */
	GUARD_FREE, /* to be written, moved and removed at will */
	GUARD_OLD,
};

/* ---- page.c ----------------------------------------------------------- */

/* Is anything guarded in this process?  The first call looks. */
bool guard_on(void);
/* The run's folder, with its name resolved; "": it is not there, and nothing
 * can be set aside. */
const char *guard_folder(void);

bool guard_was_made(const struct guard_file *f);
void guard_forget_made(const struct guard_file *f);
/* Pretended to be removed. */
bool guard_is_gone(const struct guard_file *f);
void guard_set_gone(const struct guard_file *f);
/* Was it so?  It is not any more. */
bool guard_take_gone(const struct guard_file *f);
/* Is anything of this node set aside? */
bool guard_has_aside(void);
/* .. this one, so that it is read from there?  Not while nothing is in it, and
 * nobody has emptied it: touch(1) has only opened it. */
bool guard_is_aside(const struct guard_file *f);

/* A file, folder or link that this job makes, at that path if it is to be
 * listed, or NULL; is_new: it was not there, empty. */
void guard_make(const struct guard_file *f, const char *path, bool is_new);
/* Tells of an old file, once; and the user of the first of each kind. */
void guard_tell(char letter, const struct guard_file *f, const char *path);
/* GUARD_MADE, GUARD_LINK: a name. */
void guard_note(char letter, const struct guard_file *f, const char *path);
/* Has a process on another node made what is there? */
bool guard_was_made_elsewhere(const struct guard_file *f, const char *path);
/* May it be changed in place, as it is small, or was when it first was? */
bool guard_passes(const struct guard_file *f);
/* Opens what stands for an old file; flags and errno as of open(2). */
int guard_open_aside(const struct guard_file *f, const char *path, int flags);
/* Tells of it: -1, EROFS. */
int guard_refuse(const struct guard_file *f, const char *path);
/* From now on that file stands for it; false: it cannot. */
bool guard_move_aside(const struct guard_file *f, int dir, const char *path);
int guard_truncate_aside(const struct guard_file *f, off_t size);
/* Its path: a name in the run's folder. */
void guard_aside_path(const struct guard_file *f, char *ret);
/* What processes of this node know of hpdsl-stall's beat. */
struct guard_beat *guard_beat(void);

/* ---- bond.c ----------------------------------------------------------- */

/* SIGKILL, where hpdsl-stall has ended: asked before anything is kept at that
 * path.  adds: only to what is there. */
void guard_end_if_alone(int dir, const char *path, bool adds);

/* ---- beat.c: where there is no bond ----------------------------------- */

/* As a process begins, or its bond ends. */
void guard_first_beat(void);
/* Returns when hpdsl-stall is alive. */
void guard_await_beat(int dir, const char *path, bool adds);
/* SIGKILL; the first process of a name space is none the worse for it, and
 * ends without a handler. */
void guard_die(void);

/* ---- elsewhere.c ------------------------------------------------------ */

/* Has any node of the job told that it made this path? */
bool guard_told_elsewhere(const char *path);

/* ---- old.c ------------------------------------------------------------ */

/* What is there; its path, resolved, in GUARD_PATH bytes, if it is old and for
 * what the job makes, and "" where it is not known.  follow: the last link. */
enum guard_is guard_look(int dir, const char *path, bool follow,
			 struct guard_file *ret, char *ret_path);
bool guard_stat(int dir, const char *path, bool follow, struct guard_file *ret);
bool guard_stat_fd(int fd, struct guard_file *ret);
/* "" where nobody knows. */
void guard_path(int dir, const char *path, bool follow, char *ret);
void guard_path_fd(int fd, char *ret);
/* Devices, caches, what MPI has for itself, what --allow names, the run's own.
 */
bool guard_leaves(const char *path);

/* ---- raw.c ------------------------------------------------------------ */

int guard_raw_open(int dir, const char *path, int flags, mode_t mode);
void guard_raw_close(int fd);

#pragma GCC visibility pop

#endif
