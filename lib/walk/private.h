/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the walk share.  A folder is listed by one worker, into
 * batches of names.  It asks for their attributes itself, unless others have
 * nothing to do; whoever is done last puts the folder's nodes together.  So no
 * name costs a lock, and a folder of a million names keeps all workers busy.
 */
#ifndef HP_WALK_PRIVATE_H
#define HP_WALK_PRIVATE_H

#include "plan/list.h"
#include "sys/crew.h"
#include "walk/walk.h"

#define HP_WALK_BATCH 128
#define HP_WALK_NAME_MAX 1024 /* of a name; FUSE allows so many bytes */

/* Batches go first, since they keep a folder open. */
enum hp_walk_kind { HP_WALK_BATCHED, HP_WALK_FOLDER };

struct hp_walk_batch {
	struct hp_crew_job job;	    /* if it was offered */
	struct hp_walk_batch *next; /* of the same folder */
	struct hp_walk_dir *dir;
	uint32_t n;
	/* Until it was asked for, of a node the name and type are set. */
	struct hp_node nodes[HP_WALK_BATCH];
};

/* A folder, from when it was met until all its names were asked for. */
struct hp_walk_dir {
	struct hp_crew_job job;
	struct hp_folder *folder; /* gets the nodes */
	dev_t dev;		  /* what was met, as the next three */
	ino_t ino;
	struct timespec mtime, ctime;
	int fd;	       /* -1: not open */
	bool kept;     /* known.c: only folders in it are asked */
	bool has_own;  /* skip_name and skip_temp are in here */
	uint32_t left; /* atomic: batches, and the listing itself */
	struct hp_walk_batch *first, *last;
	size_t len;
	char path[]; /* below the top: "" or "a/b" */
};

struct hp_walk {
	struct hp_crew crew; /* its warnings: mount points */
	const struct hp_walk_options *with;
	const struct hpdsl_snapshot_options *opt;
	const struct hp_io *io;
	struct hp_root root; /* for messages; its fd is the top's */
	dev_t dev;	     /* the top's */
};

struct hp_walk_worker {
	struct hp_crew_worker worker;
	struct hp_walk *s;
	struct hp_arena *arena;
	/*
	 * All folders that it met, linked by their parent until hp_tree_finish
	 * sets that: should there be no tree, they are found here.
	 */
	struct hp_folder *folders;
	struct hp_crew_job *met; /* folders not yet on the stack */
	struct hp_walk_batch *spare;
	uint64_t excluded, mounts, kept;
	char *dents; /* for getdents */
	size_t len;  /* of path */
	char path[HPDSL_PATH_MAX + 1 + HP_WALK_NAME_MAX + 1];
	char target[HPDSL_PATH_MAX + 1];
};

/* dir.c: the jobs of the walk. */
void hp_walk_dir(struct hp_walk_worker *w, struct hp_walk_dir *dir);
void hp_walk_batch(struct hp_walk_worker *w, struct hp_walk_batch *b);

/* batch.c */
/*
 * A node for one more name of the folder, name and mode set, in a batch that
 * is asked for when it is full; NULL: no memory, the walk has ended.
 */
struct hp_node *hp_walk_add(struct hp_walk_worker *w, struct hp_walk_dir *dir,
			    const char *name, size_t n, mode_t mode);
/* It may be used again. */
void hp_walk_batch_free(struct hp_walk_worker *w, struct hp_walk_batch *b);

/* wanted.c: is a name left out, by a pattern or as our own file?  Counts it. */
bool hp_walk_leaves_out(struct hp_walk_worker *w, const struct hp_walk_dir *dir,
			const char *name, size_t n, mode_t mode);
/* Neither that, nor too long, which is told. */
bool hp_walk_wants(struct hp_walk_worker *w, const struct hp_walk_dir *dir,
		   const char *name, size_t n, mode_t mode);

/* ask.c: attributes of a batch's names; those that are none are dropped.
 */
void hp_walk_ask(struct hp_walk_worker *w, struct hp_walk_batch *b, bool last);
/* A folder at w->path, to be pushed; NULL: no memory, the walk has ended. */
struct hp_walk_dir *hp_walk_meet(struct hp_walk_worker *w,
				 struct hp_folder *folder,
				 const struct stat *st);
int hp_walk_stat(const struct hp_walk *s, int dir, const char *name,
		 struct stat *ret, int flags);

/* known.c: may it be taken from the known snapshot?  Its entry. */
bool hp_walk_is_known(struct hp_walk_worker *w, const struct hp_walk_dir *dir,
		      uint64_t *ret);
void hp_walk_keep(struct hp_walk_worker *w, struct hp_walk_dir *dir,
		  uint64_t entry);

/* tell.c: w->path becomes a name in the folder; no bytes: the folder. */
void hp_walk_path(struct hp_walk_worker *w, const struct hp_walk_dir *dir,
		  const char *name, size_t n);
/* A problem with w->path. */
void hp_walk_problem(struct hp_walk_worker *w, int code);
/* It is a mount point, and stays closed. */
void hp_walk_mount(struct hp_walk_worker *w);

#endif
