/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader.  Its workers plan shares ahead, one worker at a time, and read
 * them in that order, which is the order in which steps need them.  The
 * caller's thread waits for what its own turn needs and makes a batch of it.
 * Who does what when changes nothing of what comes out.
 *
 * Why it never gets stuck: a share is read only when all that are needed before
 * it are, or are being, read; and what the turn that is awaited needs is read
 * even if it does not fit.
 *
 * One lock guards what is not said to belong to somebody: to whoever is
 * planning, or to the caller of hpdsl_loader_next().
 */
#ifndef HP_LOAD_H
#define HP_LOAD_H

#include "hpdsl/metrics.h"
#include "load/divide.h"
#include "load/lead.h"
#include "load/unit.h"

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

/* What the page cache has is read so far ahead, in bytes, and no further: it is
 * quickly had, and memory that is used again is in the caches. */
#define HP_LOAD_NEAR (UINT64_C(64) << 20)

/*
 * Units of a lane, in order.  Under the lock; but whoever has seen a unit that
 * is planned may go on from it to others that are.
 */
struct hp_load_lane {
	struct hp_load_unit *head, *tail;
	struct hp_load_unit *near; /* where a sample of the turn was, or NULL */
};

/* An epoch that is being loaded, as far as it is this reader's. */
struct hp_load_epoch {
	struct hp_load_epoch *next;
	struct hpdsl_epoch *e;
	struct hp_load_plan plan;
	struct hp_shares *shares; /* the planner's */
	struct hp_load_extents extents;
	struct hp_load_division division;
	uint64_t number;    /* as in the order */
	uint64_t base, end; /* its first turn, and behind its last */
	uint64_t lanes;
	struct hp_load_lane apart; /* what fills the last step up */
	struct hp_load_lane lane[];
};

/* The turn's step, and back. */
static inline uint64_t hp_load_step(const struct hp_load_epoch *e,
				    uint64_t turn)
{
	return e->plan.own->first + (turn - e->base) * e->plan.own->stride;
}

static inline uint64_t hp_load_turn(const struct hp_load_epoch *e,
				    uint64_t step)
{
	return e->base + (step - e->plan.own->first) / e->plan.own->stride;
}

/* A batch, with what it holds on to. */
struct hp_load_batch {
	struct hpdsl_batch pub; /* the first: the caller's pointer is to it */
	struct hpdsl_loader *loader;
	struct hp_load_batch *next; /* of those that are to be had */
	struct hp_load_unit **of;   /* of each sample .. */
	uint64_t *x;		    /* .. which one of its lane */
	struct hp_load_row **row;   /* once they have been read */
	struct hp_load_unit **unit; /* each once */
	uint32_t units;
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

/* Units that are planned and nobody reads yet. */
struct hp_load_queue {
	struct hp_load_unit *head, *tail;
	uint32_t n;
};

/* Who is planning, one thread at a time, has these without the lock. */
struct hp_load_planner {
	struct hp_load_epoch *epoch; /* the last one that is kept */
	uint64_t next;		     /* the number of the epoch behind it */
};

/* The caller of hpdsl_loader_next() has these without the lock. */
struct hp_load_caller {
	struct hp_load_epoch *epoch; /* of the turn; the oldest */
	struct hp_load_batch *half;  /* being made; its units are not here */
	struct hp_load_unit *over;   /* that end with this turn */
	uint64_t held;		     /* bytes of units that turns have needed
					and may need again */
	bool warned_over;	     /* that more memory is taken */
	double stalls;		     /* since when it waits; 0: it does not */
	bool hasty;		     /* it takes only what is there */
	bool *told_lacking; /* of each suffix: that a sample lacks it */
};

struct hpdsl_loader {
	/* Never changed once it is made. */
	const struct hpdsl_dataset *ds;
	struct hpdsl_loader_options opt;
	char **suffix; /* owned */
	struct hp_fetch *fetch;
	uint64_t memory;
	struct hp_load_division division;
	pid_t pid;	       /* that made it */
	uint64_t until;	       /* no epoch from this one on */
	uint32_t slot, places; /* of a step: the first, and how many at most */
	double began;
	struct hpdsl_sources before;
	struct hpdsl_metrics *metrics; /* the caller's; NULL: none */
	struct hp_load_play *play;     /* the caller's; NULL: no job is measured
					*/

	/* Of the first epoch, filled.  Changed by the caller, when nobody is
	 * planning. */
	struct hpdsl_order order;
	struct hp_load_planner planner;
	struct hp_load_caller caller;

	pthread_mutex_t lock;
	pthread_cond_t work;  /* there may be something to do */
	pthread_cond_t ready; /* the caller may go on */
	pthread_mutex_t warn_lock;
	pthread_t *thread;
	uint32_t threads; /* none: the caller does all */
	uint32_t asleep;  /* of these: they wait for work */
	bool ending;
	bool seeking; /* nothing is begun any more, for now */
	bool paused;  /* .. nor for longer */

	struct hp_arena arena;
	struct hp_load_queue queue;
	uint32_t reading; /* units */
	uint32_t making;  /* of these: their epoch is needed */
	uint64_t ahead;	  /* bytes that units take, read or not, that no turn
			     needs so far */
	uint64_t made;	  /* bytes of members that were read */
	double full;	  /* since when nothing is read for want of room; 0: */
	double blocked;	  /* .. it is; and seconds of that before */
	bool cached;	  /* the page cache had what was read last */
	struct hp_lead lead;
	double busy; /* for so long the loop is, until .. */
	double left; /* .. it left the loader; 0: it is there, or never was */
	bool over;   /* the next unit may exceed the memory */

	bool planning;	  /* somebody is at it */
	uint64_t planned; /* turns before this one are */
	bool planned_all; /* there are no more */
	int failed;	  /* and why there are no more */
	struct hpdsl_error err;

	uint64_t turn; /* the caller's: it alone changes it */
	uint64_t most; /* what only this turn and later ones need is not read */
	bool waiting;  /* the caller is */
	struct hp_load_unit *awaited; /* for this one, at least */

	struct hp_load_batch *idle; /* batches to be filled again */
	uint32_t out;		    /* that the caller has */
	bool freed;		    /* it goes with the last of them */
	struct hpdsl_order reached;
	struct hpdsl_loader_stats stats;
};

/* Threads do not come along when a process forks, and locks come as they are.
 */
static inline bool hp_load_is_ours(const struct hpdsl_loader *l)
{
	return l->pid == getpid();
}

/* ---- Epochs: epoch.c -------------------------------------------------- */

/* The epoch of this order, of which o->step is the first step; its first turn
 * is base. */
int hp_load_epoch_new(const struct hpdsl_loader *l, const struct hpdsl_order *o,
		      uint64_t base, struct hp_load_epoch **ret,
		      struct hpdsl_error *err);
/* Under the lock: with all that its lanes hold. */
void hp_load_epoch_free(struct hpdsl_loader *l, struct hp_load_epoch *e);
/* Has an epoch of so many steps this one, or is it its end? */
int hp_load_check_step(uint64_t step, uint64_t steps, struct hpdsl_error *err);
/* The lane of a share, or of own slots. */
struct hp_load_lane *hp_load_lane(struct hp_load_epoch *e, uint64_t lane);
/* Under the lock: one user less; the last one gives it back. */
void hp_load_unit_drop(struct hpdsl_loader *l, struct hp_load_unit *u);

/* ---- Planning: plan.c ------------------------------------------------- */

/* What units take that are planned, and nobody reads: about the most. */
uint64_t hp_load_planned_bytes(const struct hpdsl_loader *l);
/* Under the lock: should somebody plan? */
bool hp_load_has_to_plan(const struct hpdsl_loader *l);
/* Under the lock, which it gives up meanwhile: plans some shares. */
void hp_load_plan(struct hpdsl_loader *l);

/* ---- Workers: work.c -------------------------------------------------- */

/* Under the lock, which it gives up meanwhile: does one thing, if there is any
 * to do now. */
bool hp_load_work(struct hpdsl_loader *l);
/* Under the lock: is there memory for it? */
bool hp_load_has_room(const struct hpdsl_loader *l,
		      const struct hp_load_unit *u);
/* Under the lock: there may be more to do than before; wakes one if so. */
void hp_load_wake(struct hpdsl_loader *l);
/* A thread: works until the loader ends. */
void *hp_load_worker(void *loader);

/* ---- Ends: free.c, next.c --------------------------------------------- */

/* Under the lock: the batch that was to be made. */
void hp_load_free_half(struct hpdsl_loader *l);
/* Under the lock: all of them, with their units. */
void hp_load_free_epochs(struct hpdsl_loader *l);
/* Nobody freed it, or forked, or stopped it: HPDSL_ESTOPPED, once nobody tells
 * anything any more; HPDSL_EUSAGE. */
int hp_load_may_go_on(struct hpdsl_loader *l, struct hpdsl_error *err);
/* HPDSL_ESTOPPED, once nobody tells anything any more. */
int hp_load_stopped(struct hpdsl_loader *l, struct hpdsl_error *err);

/* ---- Batches: batch.c, fill.c, tell.c --------------------------------- */

struct hp_load_batch *hp_load_batch_new(const struct hpdsl_loader *l);
void hp_load_batch_free(struct hp_load_batch *b);
/* For n members; false: no memory. */
bool hp_load_batch_members(struct hp_load_batch *b, size_t n);
/* The caller: which samples the turn has, and of which units. */
void hp_load_gather(struct hpdsl_loader *l, struct hp_load_batch *b);
/* Under the lock: the turn is over, and units that it is the last of. */
void hp_load_end_turn(struct hpdsl_loader *l);
/* Under the lock: what it holds is of no more use to it. */
void hp_load_put_batch(struct hpdsl_loader *l, struct hp_load_batch *b);
/* What a batch counts for; what fills its step up does not. */
struct hp_load_counts {
	uint64_t samples, bytes, bad, lacking;
};
/*
 * All units have been read: fills the batch.
 * HPDSL_ECORRUPT, -errno: a bad one that is not to be skipped; -ENOMEM.
 */
int hp_load_fill(struct hpdsl_loader *l, struct hp_load_batch *b,
		 struct hp_load_counts *ret, struct hpdsl_error *err);
/* Why sample i of the batch is bad; code is its member's or its row's. */
int hp_load_why(struct hpdsl_loader *l, const struct hp_load_batch *b, size_t i,
		int code, struct hpdsl_error *err);
void hp_load_tell_bad(struct hpdsl_loader *l, const struct hp_load_batch *b,
		      size_t i, const struct hpdsl_error *why);
/* The caller: that sample i has no member of suffix k, once for each. */
void hp_load_tell_lacking(struct hpdsl_loader *l, const struct hp_load_batch *b,
			  size_t i, uint32_t k);
/* Tells the caller's watch, one call at a time, unless that has stopped. */
void hp_load_warn(void *loader, const char *text);

/* ---- One step: next.c, seek.c ------------------------------------------ */

/* As hpdsl_loader_next() and _seek(), whatever is played; the first one under
 * the lock. */
int hp_load_next(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		 struct hpdsl_error *err);
int hp_load_seek(struct hpdsl_loader *l, uint64_t epoch, uint64_t step,
		 struct hpdsl_error *err);

/* ---- A job that is measured: play*.c ------------------------------------- */

/* l->play stays NULL where none is. */
int hp_load_play_new(struct hpdsl_loader *l, struct hpdsl_error *err);
/* The caller, without the lock: as hpdsl_loader_next(). */
int hp_load_play_next(struct hpdsl_loader *l, const struct hpdsl_batch **ret,
		      struct hpdsl_error *err);
/* The same for hpdsl_loader_seek(): true if that is all there is to do. */
bool hp_load_play_seek(struct hpdsl_loader *l, uint64_t epoch, uint64_t step);
/* It says that it goes. */
void hp_load_play_end(struct hpdsl_loader *l);
/* When no batch is out any more. */
void hp_load_play_free(struct hpdsl_loader *l);

/* ---- Metrics: metrics.c ----------------------------------------------- */

/* All of these are the caller's, without the lock. */
void hp_load_metrics_begin(struct hpdsl_loader *l);
void hp_load_metrics_put(struct hpdsl_loader *l);
void hp_load_metrics_end(struct hpdsl_loader *l);

#endif
