/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a training job's steps waits for data: a job whose loaders play
 * phases that whoever holds one of these gives them.  hpdsl-stall(1) tells what
 * the phases are and what follows from them.
 */
#ifndef HPDSL_STALL_H
#define HPDSL_STALL_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In the order in which a round plays them. */
enum hpdsl_stall_phase {
	HPDSL_STALL_REPLAY, /* batches that are kept, again and again: compute
			     */
	HPDSL_STALL_LOAD,   /* the same while the loader reads on: interference
			     */
	HPDSL_STALL_WARM,   /* from memory: preparation */
	HPDSL_STALL_COLD,   /* past all caches: a first epoch */
	HPDSL_STALL_REAL,   /* what the job does by itself */
	HPDSL_STALL_PHASES
};

/* What a step is made of. */
enum hpdsl_stall_part {
	HPDSL_STALL_COMPUTE,
	HPDSL_STALL_INTERFERENCE,
	HPDSL_STALL_HAND_OVER,
	HPDSL_STALL_PREPARATION,
	HPDSL_STALL_FETCH,
	HPDSL_STALL_PARTS
};

/* Some steps of a rank, one after the other. */
struct hpdsl_stall_block {
	enum hpdsl_stall_phase phase;
	uint32_t round, block;
	uint32_t steps;
	double seconds;	    /* without interruptions */
	double interrupted; /* seconds of these */
	double waited;	    /* of seconds: until batches were there */
	/* Bytes of members made ready and handed out; seconds in which some
	 * could be made. */
	uint64_t made, out;
	double making;
	/* What it took to hand over a batch that was there: of the steps for
	 * which one was, the least but a tenth.  Negative: there was none. */
	double hand_over;
};

/* A figure, and between what it is with a probability of 95 %. */
struct hpdsl_stall_figure {
	double is, low, high;
};

struct hpdsl_stall_split {
	bool has[HPDSL_STALL_PHASES];
	struct hpdsl_stall_figure step[HPDSL_STALL_PHASES]; /* seconds */
	struct hpdsl_stall_figure part[HPDSL_STALL_PARTS];  /* seconds; their
							sum is the cold step */
	double hand_over;				    /* seconds */
	double names; /* seconds of the fetch stall that are of steps from
			 memory, too: files are opened */
	bool knows_hand_over;	       /* or no batch was ever there in time */
	double warm_rate, cold_rate;   /* steps a second that the loader makes;
					  0: not known */
	double warm_model, cold_model; /* seconds of a step, by these */
	bool enough; /* blocks of all phases that were played */
	/* What a cold step is as long as it is for: compute, preparation or
	 * fetch. It takes more than its interval and a hundredth of the step to
	 * be one of the latter two. */
	enum hpdsl_stall_part bound;
	/* A part is less than nothing, beyond its interval: phases were not
	 * alike. */
	bool disagrees;
	uint32_t ranks;
	uint32_t slowest; /* the one, as hpdsl_stall_rank() counts them, whose
			     loader makes least in cold blocks */
	double slowness;  /* what ranks in the middle make, to what it makes */
};

struct hpdsl_stall;

struct hpdsl_stall_options {
	/* The folder in which its own is made, that all nodes of the job see;
	 * NULL: "." */
	const char *parent;
	uint32_t rounds, blocks, steps; /* of a block; 0: as many as make sense
					 */
	bool no_load;		/* interference is not told from preparation */
	bool separate;		/* the job is started anew for each phase */
	bool dry;		/* nothing is played: ranks train as ever */
	const struct hp_io *io; /* NULL: the system's */
};

/* Makes a folder that nobody else may enter.  -errno, -ENOMEM. */
HPDSL_API int hpdsl_stall_new(const struct hpdsl_stall_options *opt,
			      struct hpdsl_stall **ret,
			      struct hpdsl_error *err);
/* What HPDSL_STALL has to be in the environment of the job; its own. */
HPDSL_API const char *hpdsl_stall_beat(const struct hpdsl_stall *s);

enum hpdsl_stall_state {
	HPDSL_STALL_WAITING, /* until the steps of all ranks are alike */
	HPDSL_STALL_PLAYING,
	HPDSL_STALL_MEASURED, /* and told: ranks end themselves */
};

struct hpdsl_stall_progress {
	enum hpdsl_stall_state state;
	uint32_t loaders;	 /* processes of the job that made one */
	uint32_t started, ranks; /* of so many, as far as is known */
	uint64_t blocks, of;	 /* that have been played */
	uint64_t steps;		 /* that all of it takes a rank .. */
	double seconds;		 /* .. and about how long */
	unsigned run, runs;	 /* that the job is started for */
	uint32_t late; /* times that ranks got the schedule too late */
	bool unsteady; /* the steps of some never became alike */
};

/*
 * Reads what ranks have written, tells them what is next, and that somebody is
 * there: to be called once a second; who has not called for a minute is taken
 * for dead.  HPDSL_EUSAGE: *err says why it cannot be measured: a rank is
 * missing, its loader ended, there is too little memory; HPDSL_ECORRUPT: a rank
 * wrote what makes no sense; -errno, -ENOMEM.
 */
HPDSL_API int hpdsl_stall_tend(struct hpdsl_stall *s,
			       struct hpdsl_stall_progress *ret,
			       struct hpdsl_error *err);

/*
 * When a run of the job has been measured and has ended: 1: it is to be started
 * once more, with hpdsl_stall_beat() as that is now; 0: all has been measured.
 * Only with separate is there more than one; replay and load share theirs.
 * -errno, -ENOMEM.
 */
HPDSL_API int hpdsl_stall_again(struct hpdsl_stall *s, struct hpdsl_error *err);

/* Of the bytes that a phase read, those that the page cache had, and those of
 * which that cannot be known. */
struct hpdsl_stall_cache {
	uint64_t asked, there, unknown;
};

/* What a rank's processes asked file systems for in a phase, as far as their
 * calls were seen, and what the kernel counts of their reads: zero where nobody
 * knows. */
struct hpdsl_stall_asks {
	uint64_t batches; /* that this was for */
	uint64_t opens, stats, entries, reads, bytes;
	uint64_t all_reads, all_bytes, from_storage; /* reads, bytes, bytes */
	/* What opens and stats took, by as many processes as do so side by
	 * side.
	 */
	double names;
};

/* A rank that was measured. */
struct hpdsl_stall_rank {
	uint32_t rank;
	const char *node; /* and its process there; the object's */
	int64_t pid;
	uint64_t epoch;	      /* steps; 0: not known */
	uint32_t lead;	      /* for which what it reads first lasts */
	double first_seconds; /* until its first batch was there */
	const struct hpdsl_stall_block *block;
	size_t blocks;
	struct hpdsl_stall_cache cache[HPDSL_STALL_PHASES];
	struct hpdsl_stall_asks asks[HPDSL_STALL_PHASES];
};

/* Rank i of those that have been measured, in the order of their numbers, by
 * all runs so far; false: there are not so many.  Valid until the next call of
 * hpdsl_stall_tend(). */
HPDSL_API bool hpdsl_stall_rank(const struct hpdsl_stall *s, size_t i,
				struct hpdsl_stall_rank *ret);
/* What all of it says.  HPDSL_EUSAGE: it has not been measured; -ENOMEM. */
HPDSL_API int hpdsl_stall_split(const struct hpdsl_stall *s,
				struct hpdsl_stall_split *ret,
				struct hpdsl_error *err);
/* Early: ranks that may have been handed batches again end themselves, as they
 * do when it has been measured, within a second and a step; it has to be tended
 * meanwhile.  -errno. */
HPDSL_API int hpdsl_stall_give_up(struct hpdsl_stall *s,
				  struct hpdsl_error *err);
/* Takes the folder away.  NULL is harmless. */
HPDSL_API void hpdsl_stall_free(struct hpdsl_stall *s);

/* ---- A rank that is measured ------------------------------------------- */

/* Loaders do this by themselves; it is for those who hand out batches above
 * one, as from processes that decode, or without one. */

/* Of a rank, ever growing. */
struct hpdsl_stall_counters {
	double now; /* seconds, on the clock of whoever takes batches */
	/* Bytes that were made ready to be handed out, and handed out: of
	 * members, without what is read around them. */
	uint64_t made, out;
	/* Seconds in which nothing was made because there was no room. */
	double blocked;
};

enum hpdsl_stall_time {
	HPDSL_STALL_BEFORE,
	HPDSL_STALL_IN,
	HPDSL_STALL_BEHIND
};

struct hpdsl_stall_place {
	enum hpdsl_stall_time time;
	/* If it is in: */
	enum hpdsl_stall_phase phase;
	uint32_t round;
	bool begins; /* the first step of its phase in this round */
	bool counts; /* it is of a block .. */
	uint32_t block;
	bool first, last; /* .. and of its steps */
};

struct hpdsl_measured;

struct hpdsl_measured_options {
	uint32_t rank, ranks;
	const struct hp_io *io; /* NULL: the system's */
};

/*
 * *ret is NULL, and 0 is returned, where HPDSL_STALL is not set, or the program
 * has more rights than its caller.  HPDSL_EUSAGE: it names no folder of a
 * hpdsl-stall that is alive, and is this user's; -errno, -ENOMEM.  A process
 * that is not guarded, as hpdsl-stall(1) says, ends here by SIGKILL.  Of a
 * process one is measured, the first whose steps are alike; of the others all
 * steps are before.
 */
HPDSL_API int hpdsl_measured_new(const struct hpdsl_measured_options *opt,
				 struct hpdsl_measured **ret,
				 struct hpdsl_error *err);
/* It goes: if it was to be measured yet, that is said.  NULL is harmless. */
HPDSL_API void hpdsl_measured_free(struct hpdsl_measured *m);
/* Steps until what was in hand is used up behind a change of what is read, and
 * of an epoch, 0: not known; may be changed until they are alike. */
HPDSL_API void hpdsl_measured_lead(struct hpdsl_measured *m, uint32_t lead,
				   uint64_t epoch);
/*
 * A batch is asked for: which phase its step is of.  If that is behind all of
 * them, it has to be asked again, until the process ends, by SIGKILL.  Asked
 * again before hpdsl_measured_leave() it is the same step.  HPDSL_EUSAGE:
 * hpdsl-stall is no longer there, nothing may be played any more; -errno.
 */
HPDSL_API int hpdsl_measured_enter(struct hpdsl_measured *m,
				   const struct hpdsl_stall_counters *at,
				   struct hpdsl_stall_place *ret,
				   struct hpdsl_error *err);
/* Nothing is measured now: of the next hpdsl_measured_enter() only .now counts,
 * and hpdsl_measured_leave()'s does not. */
HPDSL_API bool hpdsl_measured_idle(const struct hpdsl_measured *m);
/* It was there, at once or not. */
HPDSL_API void hpdsl_measured_leave(struct hpdsl_measured *m, double now,
				    bool was_ready);
/* What the page cache had in blocks of a phase. */
HPDSL_API int hpdsl_measured_cache(struct hpdsl_measured *m,
				   enum hpdsl_stall_phase phase,
				   const struct hpdsl_stall_cache *c,
				   struct hpdsl_error *err);
/* What was asked for in a phase. */
HPDSL_API int hpdsl_measured_asks(struct hpdsl_measured *m,
				  enum hpdsl_stall_phase phase,
				  const struct hpdsl_stall_asks *a,
				  struct hpdsl_error *err);
/* How many steps a phase takes in a round. */
HPDSL_API uint64_t hpdsl_measured_steps(const struct hpdsl_measured *m,
					enum hpdsl_stall_phase phase);

struct hpdsl_loader;

/*
 * Of a loader of a measured job that other processes share, which plays nothing
 * by itself: the next batches are of this phase, whose warm steps are so many;
 * HPDSL_STALL_PHASES: as it reads by itself.  *ret_lead (may be NULL): steps
 * for which what it reads first lasts; *ret (may be NULL): what the page cache
 * had of the phase before.  -EAGAIN, with wait_ms, and -ENOBUFS: to be called
 * again; HPDSL_EUSAGE: it is no such loader; and what reading gives.
 */
HPDSL_API int hpdsl_loader_play(struct hpdsl_loader *l,
				enum hpdsl_stall_phase phase,
				uint64_t warm_steps, uint32_t *ret_lead,
				struct hpdsl_stall_cache *ret,
				struct hpdsl_error *err);

#ifdef __cplusplus
}
#endif
#endif
