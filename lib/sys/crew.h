/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that take jobs off stacks, one a kind, and push more of them.  The
 * caller's thread is one of them, so it goes on with however few threads there
 * are.  The first kind goes first, and of a kind the last job on: a walk goes
 * into the depth, and the stacks stay short.  What is wrong is collected and
 * told at the end, the same for any number of threads.
 */
#ifndef HP_CREW_H
#define HP_CREW_H

#include "sys/lines.h"

#include <pthread.h>

enum { HP_CREW_KINDS = 8 };

/* The first member of what a job is, one block of malloc's. */
struct hp_crew_job {
	struct hp_crew_job *next; /* on the stack */
	unsigned kind;
};

/* The first member of what a worker has for itself. */
struct hp_crew_worker {
	struct hp_crew *crew;
	pthread_t thread;
};

struct hp_crew {
	const struct hpdsl_watch *watch;
	const char *phase; /* of progress */
	const char *name;  /* "stopped during the NAME" */
	/* Owns the job; called for all, also when it is over. */
	void (*work)(struct hp_crew_worker *w, struct hp_crew_job *job);

	pthread_mutex_t lock; /* of the next five */
	pthread_cond_t wake;
	struct hp_crew_stack {
		struct hp_crew_job *top;
		uint32_t waiting, doing;
		uint32_t room; /* for jobs that are offered */
		uint32_t most; /* at a time; 0: any number */
	} stacks[HP_CREW_KINDS];
	uint32_t busy; /* workers with a job */
	uint32_t idle; /* workers that wait */
	struct hpdsl_error failed;
	int over; /* atomic: what is left is dropped */

	pthread_mutex_t tell;	  /* of what calls back, and of: */
	struct hp_lines problems; /* nothing comes of it */
	struct hp_lines warnings;
	uint64_t next_tell; /* nanoseconds */
	uint64_t done;	    /* atomic: so far, about */
};

void hp_crew_init(struct hp_crew *c);
/* With the jobs that nobody has begun. */
void hp_crew_release(struct hp_crew *c);

/*
 * Until there is no job any more: n workers, each of size bytes.  0, or why it
 * was given up.
 */
int hp_crew_run(struct hp_crew *c, void *workers, size_t size, uint32_t n,
		struct hpdsl_error *err);
/*
 * Takes over jobs of one kind, a list or NULL; soon: this worker is about to
 * take one.
 */
void hp_crew_push(struct hp_crew *c, struct hp_crew_job *list, bool soon);
/*
 * Takes one over if there is room and nothing of a later kind to do, else
 * false: the caller does it.
 */
bool hp_crew_offer(struct hp_crew *c, struct hp_crew_job *job);
/* Ends it as a whole; the first reason counts. */
void hp_crew_abort(struct hp_crew *c, int code, const char *text);
void hp_crew_no_memory(struct hp_crew *c);
/* Asked all the time: has it ended, or should it? */
bool hp_crew_over(struct hp_crew *c);

void hp_crew_problem(struct hp_crew *c, const struct hpdsl_error *line);
void hp_crew_warning(struct hp_crew *c, const struct hpdsl_error *line);
/* n more are done; now and then that is told. */
void hp_crew_tick(struct hp_crew *c, uint64_t n);
/*
 * Tells what was collected; warnings that are too many are "5 more MORE".  The
 * error if there were problems, in PLACE.
 */
int hp_crew_conclude(const struct hp_crew *c, const char *more,
		     const char *place, struct hpdsl_error *err);

#endif
