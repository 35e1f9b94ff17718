/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader.  Its workers plan turns ahead, one worker at a time, and read
 * the blocks that come of it, in the order in which they are first needed; who
 * has no block to read helps to plan.  The caller's thread waits for the blocks
 * of its own turn and makes a batch of them.  Who does what when changes
 * nothing of what comes out.
 *
 * Why it never gets stuck: a block is read only when all blocks that are needed
 * before it are, or are being, read, and what is planned to be read as a window
 * fits into the memory beside all else that its turns need.  Who plans waits
 * only for what others have begun to help with, and that waits for nothing.
 *
 * One lock guards what is not said to belong to somebody: to whoever is
 * planning, or to the caller of hpdsl_loader_next().
 */
#ifndef HP_LOAD_H
#define HP_LOAD_H

#include "load/live.h"
#include "load/plan.h"
#include "load/queue.h"

#include <pthread.h>
#include <sys/types.h>

/* What the page cache has is read so far ahead, in bytes, and no further: it is
 * quickly had, and what is copied should stay in the caches. */
#define LATE_BYTES (UINT64_C(64) << 20)

/*
 * Units of a lane, in order.  The planner adds at the tail; the caller's head
 * follows, and never leaves the last one, so they do not meet.
 */
struct hp_load_lane {
	struct hp_load_unit *head, *tail;
	/* The planner's: samples of the lane decided on, and where it is. */
	uint64_t planned;
	struct hp_load_unit *at;
};

struct hp_load_epoch {
	struct hp_load_epoch *next;
	struct hpdsl_epoch *e;
	struct hp_load_share share;
	uint64_t number; /* as in the order */
	uint64_t end;	 /* turn behind its last */
	bool windows;	 /* they fit: are read as wholes */
	uint32_t lanes;
	struct hp_load_lane turns; /* units of single turns */
	struct hp_load_lane lane[];
};

/* A batch, with what it holds on to. */
struct hp_load_batch {
	struct hpdsl_batch pub; /* the first: the caller's pointer is to it */
	struct hpdsl_loader *loader;
	struct hp_load_batch *next; /* of those that are to be had */
	struct hp_load_unit **unit; /* of each sample */
	struct hp_load_row **row;
	struct hp_load_block **block; /* each once */
	uint32_t blocks;
	uint32_t left; /* those behind these have been read */
	size_t member_room;
	/* pub's arrays, to be written. */
	const void **data;
	size_t *size, *first, *member_size;
	uint64_t *number, *member_number;
	uint32_t *label;
	uint8_t *mask, *bad;
	const void **member_data;
};

/* A window whose unit is made: by whoever has taken it, until that is done. */
struct hp_load_job {
	struct hp_window w;
	struct hp_load_unit *unit; /* NULL: there is nothing to be read */
	int code; /* 1; 0: it cannot be read as a whole; -errno */
};

enum { HP_LOAD_JOBS = 64 };

/*
 * Windows whose units are made at the same time: as many as take less than half
 * of the memory, or a single one.
 */
struct hp_load_jobs {
	struct hp_load_job v[HP_LOAD_JOBS];
	/* The planner's. */
	uint32_t n;
	uint64_t samples;
	/* Under the lock. */
	const struct hp_load_epoch *epoch;
	uint32_t next, end;  /* those between them nobody has taken */
	uint32_t busy;	     /* that somebody has */
	pthread_cond_t done; /* none is left */
};

struct hpdsl_loader {
	const struct hpdsl_dataset *ds;
	struct hpdsl_loader_options opt;
	struct hpdsl_order order; /* of the first epoch, filled */
	struct hp_load_plan plan;
	char **suffix; /* the plan's, owned */
	struct hp_fetch *fetch;
	uint64_t memory;
	pid_t pid; /* that made it */
	uint8_t pack[16];
	uint32_t places; /* of a batch */
	uint64_t mean;	 /* bytes of a sample, as stored */

	pthread_mutex_t lock;
	pthread_cond_t work;  /* there may be something to do */
	pthread_cond_t ready; /* the caller may go on */
	pthread_mutex_t warn_lock;
	pthread_t *thread;
	uint32_t threads; /* none: the caller does all */
	uint32_t asleep;  /* of these: they wait for work */
	bool ending;

	struct hp_slots slots;
	struct hp_load_queue queue; /* to be read */
	uint32_t reading;	    /* blocks */
	bool over;		    /* the next block may exceed the memory */

	/* Planning. */
	bool planning;	  /* somebody is at it */
	uint64_t planned; /* turns before this one are */
	bool planned_all; /* there are no more */
	int failed;	  /* and why there are no more */
	struct hpdsl_error err;
	uint64_t late;	    /* bytes of turns' units that are not released */
	uint64_t late_most; /* of these there shall be no more */
	uint64_t serial;
	struct hp_load_jobs jobs;
	/* The planner's. */
	struct hp_load_epoch *plan_epoch;
	uint64_t epochs_planned;
	struct hp_load_live live;
	struct hpdsl_place *place;
	bool *want;
	bool warned; /* that samples are read one by one */

	/* The caller's. */
	struct hp_load_epoch *epoch; /* of the turn; the oldest */
	uint64_t turn;
	struct hp_load_batch *half; /* being made; its blocks are not here */
	struct hp_load_unit *over_units; /* that it is the last turn of */
	bool waiting;			 /* under the lock, as the next */
	struct hp_load_block *awaited;	 /* for this one, at least */
	bool warned_over;		 /* that more memory is taken */

	struct hp_load_batch *idle; /* batches to be filled again */
	uint32_t out;		    /* that the caller has */
	bool freed; /* it goes with the last of them; under the lock */
	/* Under the lock. */
	struct hpdsl_order reached;
	struct hpdsl_loader_stats stats;
	struct hpdsl_sources before;
	double began;
};

/* ---- Epochs: epoch.c -------------------------------------------------- */

/* The epoch of this order, of which o->step is the first step; its first turn
 * is base. */
int hp_load_epoch_new(const struct hpdsl_loader *l, const struct hpdsl_order *o,
		      uint64_t base, struct hp_load_epoch **ret,
		      struct hpdsl_error *err);
/* Under the lock: with all that its lanes hold. */
void hp_load_epoch_free(struct hpdsl_loader *l, struct hp_load_epoch *e);
/* Adds a unit behind the others. */
void hp_load_lane_add(struct hp_load_lane *lane, struct hp_load_unit *u);
/* Under the lock: one user less. */
void hp_load_unit_drop(struct hpdsl_loader *l, struct hp_load_unit *u);

/* ---- Turns: turn.c ---------------------------------------------------- */

/* Units that a turn has brought, one behind the other. */
struct hp_load_new {
	struct hp_load_unit **v;
	uint32_t n, room;
	uint64_t blocks;
	uint64_t late; /* bytes of blocks for this turn alone */
	bool over;     /* there is no such turn */
};

/* What may be live of windows, in bytes; the rest is for turns. */
uint64_t hp_load_window_limit(const struct hpdsl_loader *l);
/* Not under the lock. */
void hp_load_warn_one_by_one(struct hpdsl_loader *l);
/* The planner: what the turn l->planned needs. */
int hp_load_turn(struct hpdsl_loader *l, struct hp_load_new *ret,
		 struct hpdsl_error *err);

/* ---- Windows of a turn: jobs.c ---------------------------------------- */

/* Under the lock: as many as n of those that sleep look for work. */
void hp_load_wake_some(struct hpdsl_loader *l, uint32_t n);
/* The planner: lists the window, behind the others.  False: there is no room
 * for it before these are done. */
bool hp_load_jobs_add(struct hpdsl_loader *l, const struct hp_window *w);
/* The planner: makes the units of all that are listed, with others' help. */
void hp_load_jobs_do(struct hpdsl_loader *l, const struct hp_load_epoch *e);
/* Under the lock, which it gives up meanwhile: makes one of them; false: nobody
 * is needed. */
bool hp_load_job(struct hpdsl_loader *l);

/* ---- Workers: work.c -------------------------------------------------- */

/* Under the lock, which it gives up meanwhile: does one thing, if there is any
 * to do now. */
bool hp_load_work(struct hpdsl_loader *l);
/* Under the lock: there may be more to do than before; wakes one if so. */
void hp_load_wake(struct hpdsl_loader *l);
/* A thread: works until the loader ends. */
void *hp_load_worker(void *loader);
/* Under the lock: a turn does not need the block any more. */
void hp_load_block_drop(struct hpdsl_loader *l, struct hp_load_block *b);

/* ---- Batches: batch.c, tell.c ----------------------------------------- */

struct hp_load_batch *hp_load_batch_new(const struct hpdsl_loader *l);
void hp_load_batch_free(struct hp_load_batch *b);
/* The caller: which samples the turn has, and which blocks. */
void hp_load_gather(struct hpdsl_loader *l, struct hp_load_batch *b);
/* Under the lock: units that the turn is the last of are dropped. */
void hp_load_drop_over(struct hpdsl_loader *l);
/* Under the lock: what it holds is of no more use to it. */
void hp_load_put_batch(struct hpdsl_loader *l, struct hp_load_batch *b);
/* What a batch counts for; what fills its step up does not. */
struct hp_load_counts {
	uint64_t samples, bytes, bad;
};
/*
 * All blocks have been read: fills the batch.
 * HPDSL_ECORRUPT, -errno: a bad one that is not to be skipped; -ENOMEM.
 */
int hp_load_fill(struct hpdsl_loader *l, struct hp_load_batch *b,
		 struct hp_load_counts *ret, struct hpdsl_error *err);
/* Why sample i of the batch is bad; code is its member's or its row's. */
int hp_load_why(struct hpdsl_loader *l, const struct hp_load_batch *b, size_t i,
		int code, struct hpdsl_error *err);
void hp_load_tell_bad(struct hpdsl_loader *l, const struct hp_load_batch *b,
		      size_t i, const struct hpdsl_error *why);
/* Tells the caller's watch, one call at a time, unless that has stopped. */
void hp_load_warn(void *loader, const char *text);

#endif
