/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the scan share.  Workers take jobs from one stack: a folder
 * to list, some hundred names to ask for, a piece of the user's list.  What a
 * worker finds stays with it until the end, so that no file costs a lock.
 */
#ifndef HP_SCAN_WALK_H
#define HP_SCAN_WALK_H

#include "scan/scan.h"
#include "sys/crew.h"

#define HP_SCAN_BATCH 128  /* names in a job */
#define HP_SCAN_NAMES 8192 /* bytes in a job, type and NUL of each included */
#define HP_SCAN_NAME_MAX 1024 /* of a base name; FUSE allows so many bytes */

/* What the scan knows of a root beyond struct hp_root. */
struct hp_scan_root {
	char *prefix;	   /* "" or "name/", in front of each member's path */
	char *real;	   /* real path, or NULL if that cannot be had */
	bool above_output; /* so it must not be walked */
	bool compressed;   /* an archive as a whole */
};

enum hp_scan_kind {
	HP_SCAN_BATCHED,
	HP_SCAN_FOLDER,
	HP_SCAN_LISTED,
	HP_SCAN_MEMBERS,
	HP_SCAN_FROZEN,
	HP_SCAN_ARCHIVE,
	/* One that has to be decoded, which takes memory and a core: no more at
	 * a time than there are threads. */
	HP_SCAN_STREAM,
};

struct hp_scan_job {
	struct hp_crew_job job;
	uint16_t root;
	uint16_t n_names;
	uint16_t dir_len;    /* of the folder at text: "" or "a/b/" */
	uint32_t bytes;	     /* of the names */
	const char *names;   /* LISTED: in the user's list, a NUL behind each */
	uint64_t first, end; /* MEMBERS of a dataset, FROZEN: entries */
	char text[];	     /* then BATCHED: d_type, name, NUL of each */
};

struct hp_scan {
	struct hp_crew crew; /* its warnings: links that were left out */
	const struct hpdsl_pack_options *opt;
	const struct hp_io *io;
	struct hp_list *list; /* roots from the start, files at the end */
	struct hp_scan_root *more;
	struct hp_scan_above {
		dev_t dev;
		ino_t ino;
	} * above; /* OUTPUT, or what there is of it, and all folders above */
	size_t n_above;
	char *output;	   /* real path of OUTPUT, if it is there already */
	uint64_t room;	   /* bytes that OUTPUT's file system has left */
	uint64_t streamed; /* atomic: bytes that a stream would take there */

	/* Of an archive, with a list of paths: what was asked for, sorted. */
	struct hp_scan_wish {
		const char *path; /* NUL-terminated */
		size_t len;
		bool found;
	} * wishes;
	size_t n_wishes;
	struct hp_arena *wish_arena;
	bool wish_all; /* the list names the archive as a whole */
};

struct hp_scan_worker {
	struct hp_crew_worker worker;
	struct hp_scan *s;
	struct hp_file *files;
	uint64_t n, cap, told;
	struct hp_arena *arena;
	struct hpdsl_pack_report counts; /* dirs .. sparse, excluded, litter */
	uint32_t ticks;
	bool opens_closed;   /* has opened a file that looked closed */
	unsigned char opens; /* FROZEN: files whose modes let read so; bits */
	char *dents;	     /* for getdents */
	uint64_t outside;    /* links that lead outside, .. */
	struct hpdsl_error *outside_first; /* .. and what is said of one */
	struct hp_scan_job *batch;	   /* being filled */
	size_t len;			   /* of path */
	char path[HPDSL_PATH_MAX + 1 + HP_SCAN_NAME_MAX + 1];
};

/* root.c: opens INPUTs, refuses what cannot be one. */
int hp_scan_roots(struct hp_scan *s, struct hpdsl_error *err);
/* Is OUTPUT this folder, or below it? */
bool hp_scan_above_output(const struct hp_scan *s, const struct stat *st);
int hp_scan_fail_output(const struct hp_scan *s, const char *input,
			struct hpdsl_error *err);

/* list.c: checks the user's list and makes jobs of it. */
int hp_scan_list(struct hp_scan *s, struct hpdsl_error *err);
void hp_scan_listed(struct hp_scan_worker *w, const struct hp_scan_job *job);

/* of_dataset.c: pushes jobs for all members of a dataset; 0 or -ENOMEM. */
int hp_scan_enter_dataset(struct hp_scan *s, uint16_t root);
void hp_scan_members(struct hp_scan_worker *w, const struct hp_scan_job *job);

/* of_snapshot.c: pushes jobs for all entries; 0 or -ENOMEM. */
int hp_scan_enter_snapshot(struct hp_scan *s);
void hp_scan_frozen(struct hp_scan_worker *w, const struct hp_scan_job *job);

/*
 * archive.c: what the file of that name is; its root is not open yet.
 * HPDSL_EUSAGE: no archive.
 */
int hp_scan_open_archive(struct hp_scan *s, const char *name,
			 struct hpdsl_error *err);
/* Pushes the job for it; 0 or -ENOMEM. */
int hp_scan_enter_archive(struct hp_scan *s, uint16_t root);
void hp_scan_archive(struct hp_scan_worker *w, const struct hp_scan_job *job);

/* job.c: one with n bytes of text; without memory the scan ends, and NULL. */
struct hp_scan_job *hp_scan_job(struct hp_scan *s, uint16_t root, size_t n);

/* dir.c */
void hp_scan_folder(struct hp_scan_worker *w, const struct hp_scan_job *job);

/* names.c: what is at w->path?  type: d_type, may be DT_UNKNOWN. */
void hp_scan_name(struct hp_scan_worker *w, uint16_t root, unsigned char type,
		  bool listed);
void hp_scan_batch(struct hp_scan_worker *w, const struct hp_scan_job *job);
/* w->path becomes a name in the job's folder; false: too long, and told. */
bool hp_scan_path_name(struct hp_scan_worker *w, const struct hp_scan_job *job,
		       const char *name, size_t n);
/* Pushes the folder at w->path, or at the root itself if that is its prefix. */
void hp_scan_enter(struct hp_scan_worker *w, uint16_t root);
/* The same for one that the walk met, unless a pattern leaves it out. */
void hp_scan_meet(struct hp_scan_worker *w, uint16_t root);

/*
 * litter.c: is the folder at w->path left out as litter?  Counts it.  And is
 * one that the folder at w->path is in, or itself, which the walk has met?
 */
bool hp_scan_litter_folder(struct hp_scan_worker *w, uint16_t root);
bool hp_scan_in_litter(const struct hp_scan_worker *w, size_t prefix,
		       size_t len);
/* The same for the file or link at w->path; st NULL: it is not to be had. */
bool hp_scan_litter_file(struct hp_scan_worker *w, uint16_t root,
			 const struct stat *st);
/* For who knows how it fits the list, and that it counts: is it left out? */
bool hp_scan_count_litter(struct hp_scan_worker *w, int row, uint64_t bytes);
/* Does the rule hold here at all? */
bool hp_scan_leaves_litter(const struct hp_scan_worker *w);

/* found.c: the file at w->path is to be packed. */
void hp_scan_add(struct hp_scan_worker *w, uint16_t root, const struct stat *st,
		 unsigned flags);
/*
 * Is it clear that the file at w->path cannot be read?  -EACCES or -EPERM; 1:
 * it can, 0: nobody knows.  Better told now than by a pack that has run for
 * hours.  flags: 0 or O_NOFOLLOW.
 */
int hp_scan_try_open(struct hp_scan_worker *w, uint16_t root, int flags);
/* Is a folder above w->path, behind its prefix, left out as a whole? */
bool hp_scan_pruned(struct hp_scan_worker *w, size_t prefix);
/* Adds the file at w->path; f says the rest.  Counts nothing. */
void hp_scan_put(struct hp_scan_worker *w, const struct hp_file *f);
/* "is a FIFO" and the like. */
const char *hp_scan_special(mode_t mode);
/* link.c: a symbolic link at w->path. */
void hp_scan_link(struct hp_scan_worker *w, uint16_t root);
/* The link at w->path leads to a folder. */
void hp_scan_linked(struct hp_scan_worker *w);

/* tell.c */
/* A problem with w->path: code's text, or what (then code may be our own). */
void hp_scan_problem(struct hp_scan_worker *w, uint16_t root, int code,
		     const char *what);
void hp_scan_warning(struct hp_scan_worker *w, uint16_t root, const char *what);
/* The link at w->path leads out of the input: many are one problem. */
void hp_scan_outside(struct hp_scan_worker *w, uint16_t root, const char *what);
/* Tells of those of all n workers. */
void hp_scan_tell_outside(struct hp_scan_worker *w, uint32_t n);
/* Now and then: progress. */
void hp_scan_tick(struct hp_scan_worker *w);

#endif
