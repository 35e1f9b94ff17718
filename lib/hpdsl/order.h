/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples an epoch has, and the order in which it reads them. */
#ifndef HPDSL_ORDER_H
#define HPDSL_ORDER_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hpdsl_dataset;

struct hpdsl_choice;

/*
 * The parameters of an epoch's order, defined in hpdsl-order(7).  What is 0 of
 * batch, lanes, piece, windows and parts is filled in by hpdsl_order_fill();
 * the others need all of them.
 */
struct hpdsl_order {
	uint64_t seed, epoch, step;
	uint64_t lanes;	  /* L: a multiple or a divisor of batch */
	uint64_t piece;	  /* b: samples in a row that a lane reads */
	uint32_t batch;	  /* G: samples of a step, of all ranks together */
	uint32_t windows; /* v: parts of an epoch, shuffled by themselves */
	uint32_t parts;	  /* D: chunk c is in part c mod D */
	bool plain; /* stored order: lanes, piece, windows, parts play no part
		     */
};

/* What a job is started with, from which its order's defaults follow. */
struct hpdsl_order_start {
	const struct hpdsl_choice *choice; /* NULL: all samples */
	uint32_t batch_size; /* samples of a step of one rank, of uneven ones
				the most; 0: 64, or the share of one rank of
				order->batch */
	uint32_t ranks;	     /* 0: 1 */
	uint32_t workers;    /* that read steps in turn; 0: 1 */
};
#define HPDSL_BATCH_SIZE 64

/*
 * Fills in what is 0, so that reads are large, steps mixed, and memory small:
 * hpdsl-order(7) says how.  A plain order gets lanes, piece, windows and parts
 * of 1, whatever was given.  HPDSL_EUSAGE: a batch of 2^32 samples or more, or
 * one that is not batch_size on each rank, no samples, or a choice of another
 * dataset; HPDSL_ECORRUPT, -ENOMEM.
 */
HPDSL_API int hpdsl_order_fill(const struct hpdsl_dataset *ds,
			       const struct hpdsl_order_start *start,
			       struct hpdsl_order *order,
			       struct hpdsl_error *err);

/*
 * The dataset's chunks, all of them, in the order in which such an epoch, from
 * the step on, first wants them; those that it wants no more, or never, come
 * last.  ret: a number for each.  order: filled.
 */
HPDSL_API int hpdsl_order_first_use(const struct hpdsl_dataset *ds,
				    const struct hpdsl_order *order,
				    uint32_t *ret, struct hpdsl_error *err);

/* ---- Choosing samples ------------------------------------------------- */

/*
 * Which samples an epoch has, and how often each: all of them once where there
 * is no choice.  Decided on the index alone; nothing is rewritten.  A choice is
 * never changed and may be used by any number of threads; the dataset it was
 * made of may be closed before it.
 */
struct hpdsl_choice;

/* Weights are in units of this: a weight of 1.5 is 3 * HPDSL_WEIGHT_ONE / 2. */
#define HPDSL_WEIGHT_ONE (UINT64_C(1) << 32)
#define HPDSL_WEIGHT_MOST (HPDSL_WEIGHT_ONE << 31) /* that can be given */
/* Shares of a split are in units of this. */
#define HPDSL_SPLIT_ONE UINT32_C(1000000000)

/* A sample has to pass all that is given. */
struct hpdsl_choice_options {
	/* Class numbers; HPDSL_NO_LABEL stands for samples without a class. */
	const uint32_t *labels;
	size_t n_labels;
	/* As hpdsl_glob_match; a sample is in if one of its members' paths
	 * matches, but out if any of them matches exclude. */
	const char *const *include, *const *exclude;
	size_t n_include, n_exclude;
	/*
	 * Folders such as "val" or "train/cat": a sample is in if it lies below
	 * one of them, as all of its members do.  Byte by byte; slashes at the
	 * ends and "." components do not count.  Each has to have a sample,
	 * whatever else is asked.
	 */
	const char *const *folders;
	size_t n_folders;
	/*
	 * File names of chunks, in no folder, or patterns of hpdsl_glob_match:
	 * a sample is in if it lies in one of these.  Each has to match a
	 * chunk.
	 */
	const char *const *tars;
	size_t n_tars;
	/* Sample numbers, in any order; one that repeats counts once.  NULL: no
	 * list. */
	const uint64_t *samples;
	uint64_t n_samples;
	/*
	 * A share of all n samples of the dataset, whatever else is asked, so
	 * with folders about that share of each of them: sample s is in if
	 * floor(from n / ONE) <= P(s) < floor(to n / ONE), ONE being
	 * HPDSL_SPLIT_ONE and P the permutation of n with key H(split_seed,
	 * "split").  So shares that do not overlap have no sample in common.
	 * Both 0: no split.
	 */
	uint32_t split_from, split_to;
	uint64_t split_seed;
	/*
	 * How often a sample comes in an epoch, on average; at most one of
	 * these.  A sample of weight w comes floor(w) times, and once more if
	 * the upper half of H(seed, "weight", epoch, sample) is less than the
	 * fraction of w, in 32 bits.
	 */
	bool balanced; /* each class of the choice equally often, and as many
			  samples in all as were chosen; those without a class
			  count as one */
	const uint64_t *class_weight;  /* of each class, and one more: none */
	const uint64_t *sample_weight; /* of each sample of the dataset */
};

/*
 * HPDSL_EUSAGE: no such class, sample, folder or chunk, shares that are none,
 * two kinds of weights, a weight above HPDSL_WEIGHT_MOST, or not one sample is
 * left; HPDSL_ECORRUPT, -ENOMEM.
 */
HPDSL_API int hpdsl_choose(const struct hpdsl_dataset *ds,
			   const struct hpdsl_choice_options *opt,
			   struct hpdsl_choice **ret, struct hpdsl_error *err);
/* NULL is harmless. */
HPDSL_API void hpdsl_choice_free(struct hpdsl_choice *c);
/* Samples chosen, each once, and whether one of them is it. */
HPDSL_API uint64_t hpdsl_choice_samples(const struct hpdsl_choice *c);
HPDSL_API bool hpdsl_choice_has(const struct hpdsl_choice *c, uint64_t sample);
/*
 * Their numbers, from the one numbered from, or the next that is chosen, on, in
 * order: how many, at most room.  Fewer than room: these are the last.
 */
HPDSL_API uint64_t hpdsl_choice_list(const struct hpdsl_choice *c,
				     uint64_t from, uint64_t *ret,
				     uint64_t room);
/*
 * How many samples of a choice, or with NULL of all, each class has: ret is
 * of as many numbers as there are classes, and one more, for those without a
 * class.  Reads the index of each of these samples.  HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_count_classes(const struct hpdsl_dataset *ds,
				  const struct hpdsl_choice *c, uint64_t *ret,
				  struct hpdsl_error *err);
/* What identifies it in a loader's state: see hpdsl-order(7). */
HPDSL_API void hpdsl_choice_digest(const struct hpdsl_choice *c,
				   uint8_t ret[16]);

/* ---- The order of an epoch -------------------------------------------- */

/*
 * Defined in hpdsl-order(7): a pure function of the dataset, the choice, and
 * struct hpdsl_order.  Memory: a few numbers a chunk and a part; with a choice
 * a bit a sample besides, with weights four bytes for each time that a sample
 * comes.  Never changed once made; any number of threads.
 */
struct hpdsl_epoch;

/* What the last step is like where samples do not fill it. */
enum hpdsl_end {
	HPDSL_END_MASK,	  /* filled with samples that came before; mask 0 */
	HPDSL_END_REPEAT, /* the same, with mask 1 */
	HPDSL_END_DROP,	  /* there is no such step */
	HPDSL_END_SHORT,  /* it has what is left, dealt to the ranks anew */
};

/*
 * choice: NULL, or one of this dataset; it must outlive the epoch, the dataset
 * need not.  order->step plays no part.  HPDSL_EUSAGE: an order that is not
 * filled, lanes that are neither a multiple nor a divisor of batch, weights
 * that left not one sample, or a sample that comes more than 65,536 times;
 * HPDSL_ECORRUPT, -ENOMEM.
 */
HPDSL_API int hpdsl_epoch_new(const struct hpdsl_dataset *ds,
			      const struct hpdsl_choice *choice,
			      const struct hpdsl_order *order,
			      struct hpdsl_epoch **ret,
			      struct hpdsl_error *err);
/* NULL is harmless. */
HPDSL_API void hpdsl_epoch_free(struct hpdsl_epoch *e);

struct hpdsl_epoch_info {
	struct hpdsl_order order;
	uint64_t samples; /* N: positions 0 .. N - 1 */
	uint64_t chunks;  /* that have any of them */
};
HPDSL_API void hpdsl_epoch_info(const struct hpdsl_epoch *e,
				struct hpdsl_epoch_info *ret);
HPDSL_API uint64_t hpdsl_epoch_steps(const struct hpdsl_epoch *e,
				     enum hpdsl_end end);

/* The sample at a position.  -ERANGE from N on. */
HPDSL_API int hpdsl_epoch_at(const struct hpdsl_epoch *e, uint64_t position,
			     uint64_t *ret_sample, struct hpdsl_error *err);
/*
 * The inverse: the position at which a sample comes for the nth time, from 0;
 * in order of its lists, not of positions.  -ERANGE: no such sample; -ENOENT:
 * it does not come that often in this epoch.
 */
HPDSL_API int hpdsl_epoch_where(const struct hpdsl_epoch *e, uint64_t sample,
				uint64_t nth, uint64_t *ret_position,
				struct hpdsl_error *err);

/* Who of a job reads: rank of ranks, and of that rank worker of workers. */
struct hpdsl_share {
	uint32_t rank, ranks;	  /* 0 ranks: 1 */
	uint32_t worker, workers; /* 0 workers: 1 */
	/* Ranks that do not divide the batch: they differ by a sample. */
	bool uneven;
};

/* One place of a step. */
struct hpdsl_place {
	uint64_t position;
	uint64_t sample;
	bool real; /* the mask: false where it only fills the last step up */
};
/*
 * The places of a step that are rank's of ranks, in order of its slots: how
 * many, at most room.  With ranks 1, or no share (NULL), it is the whole step.
 * A rank has the same number of places, batch / ranks, in each step, if ranks
 * divides batch; ask for it with ret NULL and room 0.  With HPDSL_END_SHORT the
 * last step may have fewer, 1 at least, and a rank of which it has no sample
 * has one that is not real; no step has more than batch / ranks, rounded up.
 * Workers take whole steps in turn, and change nothing here.  -ERANGE: no such
 * step; HPDSL_EUSAGE: no such rank or worker, more ranks than batch, ranks that
 * do not divide batch (but see uneven); -ENOSPC.
 */
HPDSL_API int64_t hpdsl_epoch_step(const struct hpdsl_epoch *e,
				   enum hpdsl_end end, uint64_t step,
				   const struct hpdsl_share *share,
				   struct hpdsl_place *ret, size_t room,
				   struct hpdsl_error *err);

/* What is to be counted: a loader of this share and memory. */
struct hpdsl_cost_options {
	struct hpdsl_share share;
	uint64_t memory; /* as a loader's; 0: its default */
	enum hpdsl_end end;
	uint64_t first,
		steps; /* these steps; 0 steps: to the end of the epoch */
	/* As a loader's: members that are wanted, of which there are some. */
	const char *const *suffixes;
	size_t n_suffixes;
};

/* What a loader does to read them; bytes as stored. */
struct hpdsl_epoch_cost {
	uint64_t steps;
	uint64_t lanes;	      /* that have samples of the rank */
	uint64_t share_bytes; /* that are read of a lane at a time, at most */
	uint64_t piece_bytes; /* the mean of pieces; of those that are larger
				 than a chunk or a lane, what one read can have
				 of them */
	uint64_t cure; /* a memory with which reads are not smaller than pieces;
			  0: they are not */
	uint64_t reads, read_bytes;
	uint64_t wanted_bytes; /* of the rank's samples */
	uint64_t median_read;  /* half of the bytes are in reads of no more */
	uint64_t held_peak;    /* bytes held at a time for steps not over */
	uint64_t first_batch;  /* bytes until the first step is there */
	double step_pieces, step_chunks; /* that a step has samples of: mean */
	/*
	 * Chunk-mates are two samples of one chunk.  How much more often than
	 * in a full shuffle two of them meet in a step of all ranks, counted
	 * over these steps, or as many of them, spread evenly, as have a
	 * million samples.  NAN where no chunk has two, or no step.
	 */
	double mates;
};
/*
 * By the loader's own planner, reading nothing.  HPDSL_EUSAGE: a share that
 * makes no sense, a memory that is too small, or a suffix that no sample has;
 * -ERANGE: no such steps; HPDSL_ECORRUPT, -ENOMEM.
 */
HPDSL_API int hpdsl_epoch_cost(const struct hpdsl_epoch *e,
			       const struct hpdsl_dataset *ds,
			       const struct hpdsl_cost_options *opt,
			       struct hpdsl_epoch_cost *ret,
			       struct hpdsl_error *err);

#ifdef __cplusplus
}
#endif
#endif
