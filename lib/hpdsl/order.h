/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples an epoch has, and the order in which it reads them. */
#ifndef HPDSL_ORDER_H
#define HPDSL_ORDER_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hpdsl_dataset;

/* The parameters of an epoch's order; zero: the default in brackets. */
struct hpdsl_order {
	uint64_t seed, epoch, step;
	uint32_t window;    /* W, chunks [16] */
	uint32_t lanes;	    /* L, a multiple of D [8, or the next multiple] */
	uint32_t run;	    /* K, samples [32] */
	uint32_t step_runs; /* Q, runs [8] */
	uint32_t parts;	    /* D [1] */
};

/*
 * The dataset's chunks, all of them, in the order in which such an epoch, from
 * the step on, first wants them.  ret: a number for each.
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
	/* Sample numbers, in any order; one that repeats counts once.  NULL: no
	 * list. */
	const uint64_t *samples;
	uint64_t n_samples;
	/*
	 * A share of all n samples of the dataset, whatever else is asked:
	 * sample s is in if floor(from n / ONE) <= P(s) < floor(to n / ONE),
	 * ONE being HPDSL_SPLIT_ONE and P the permutation of n with key
	 * H(split_seed, "split").  So shares that do not overlap have no sample
	 * in common.  Both 0: no split.
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
 * HPDSL_EUSAGE: no such class or sample, shares that are none, two kinds of
 * weights, a weight above HPDSL_WEIGHT_MOST, or not one sample is left;
 * HPDSL_ECORRUPT, -ENOMEM.
 */
HPDSL_API int hpdsl_choose(const struct hpdsl_dataset *ds,
			   const struct hpdsl_choice_options *opt,
			   struct hpdsl_choice **ret, struct hpdsl_error *err);
/* NULL is harmless. */
HPDSL_API void hpdsl_choice_free(struct hpdsl_choice *c);
/* Samples chosen, each once, and whether one of them is it. */
HPDSL_API uint64_t hpdsl_choice_samples(const struct hpdsl_choice *c);
HPDSL_API bool hpdsl_choice_has(const struct hpdsl_choice *c, uint64_t sample);
/* What identifies it in a loader's state: see hpdsl-order(7). */
HPDSL_API void hpdsl_choice_digest(const struct hpdsl_choice *c,
				   uint8_t ret[16]);

/* ---- The order of an epoch -------------------------------------------- */

/*
 * Defined in hpdsl-order(7): a pure function of the dataset, the choice, and
 * struct hpdsl_order.  Memory: a few numbers a piece, and pieces are hardly
 * more than chunks and lanes; with a choice, a bit a sample besides.  Never
 * changed once made; any number of threads.
 */
struct hpdsl_epoch;

/* What the last step is like where samples do not fill it. */
enum hpdsl_end {
	HPDSL_END_MASK,	  /* filled from positions 0, 1, .. with mask 0 */
	HPDSL_END_REPEAT, /* the same, with mask 1 */
	HPDSL_END_DROP,	  /* there is no such step */
};

/*
 * choice: NULL, or one of this dataset; it must outlive the epoch, the dataset
 * need not.  order->step plays no part.  HPDSL_EUSAGE: D does not divide L, or
 * weights left not one sample; HPDSL_ECORRUPT, -ENOMEM.
 */
HPDSL_API int hpdsl_epoch_new(const struct hpdsl_dataset *ds,
			      const struct hpdsl_choice *choice,
			      const struct hpdsl_order *order,
			      struct hpdsl_epoch **ret,
			      struct hpdsl_error *err);
/* NULL is harmless. */
HPDSL_API void hpdsl_epoch_free(struct hpdsl_epoch *e);

struct hpdsl_epoch_info {
	struct hpdsl_order order; /* defaults filled in */
	uint64_t samples;	  /* N: positions 0 .. N - 1 */
	uint64_t chunks;	  /* that have any of them */
	uint64_t windows;	  /* of all lanes */
	uint64_t batch;		  /* G = QK: samples of a step, of all ranks */
};
HPDSL_API void hpdsl_epoch_info(const struct hpdsl_epoch *e,
				struct hpdsl_epoch_info *ret);
/* S. */
HPDSL_API uint64_t hpdsl_epoch_steps(const struct hpdsl_epoch *e,
				     enum hpdsl_end end);

/* The sample at a position.  -ERANGE from N on. */
HPDSL_API int hpdsl_epoch_at(const struct hpdsl_epoch *e, uint64_t position,
			     uint64_t *ret_sample, struct hpdsl_error *err);

/* Who of a job reads: rank of ranks, and of that rank worker of workers. */
struct hpdsl_share {
	uint32_t rank, ranks;	  /* 0 ranks: 1 */
	uint32_t worker, workers; /* 0 workers: 1 */
	/* Ranks that do not divide Q: batches then differ by a run. */
	bool uneven;
};

/* One place of a step. */
struct hpdsl_place {
	uint64_t position;
	uint64_t sample;
	bool real; /* the mask: false where it only fills the last step up */
};
/*
 * The places of a step that are rank's of ranks, in its order: how many, at
 * most room.  With ranks 1, or no share (NULL), it is the whole step.  A rank
 * has the same number of places, K * Q / ranks, in each step, if ranks divides
 * Q; ask for it with ret NULL and room 0.  Workers take whole steps in turn,
 * and change nothing here.  -ERANGE: no such step; HPDSL_EUSAGE: no such rank
 * or worker, more ranks than Q, ranks that do not divide Q (but see uneven);
 * -ENOSPC.
 */
HPDSL_API int64_t hpdsl_epoch_step(const struct hpdsl_epoch *e,
				   enum hpdsl_end end, uint64_t step,
				   const struct hpdsl_share *share,
				   struct hpdsl_place *ret, size_t room,
				   struct hpdsl_error *err);

/* What a window costs, and what a small one is worth. */
struct hpdsl_epoch_cost {
	uint64_t window_bytes; /* largest window, as stored */
	uint64_t job_bytes;    /* all lanes' windows at a time, at most */
	uint64_t reads;	       /* pieces: stretches of a chunk that are read */
	uint64_t smallest_read, median_read; /* bytes */
	/*
	 * Chunk-mates are two samples of one chunk.  How much likelier than in
	 * a full shuffle two of them meet in a step: the exact expectation for
	 * this epoch's windows, over all ways to shuffle within them, and what
	 * this epoch has.  NAN where no chunk has two, or no step.
	 */
	double mates_expected, mates_measured;
};
HPDSL_API int hpdsl_epoch_cost(const struct hpdsl_epoch *e,
			       const struct hpdsl_dataset *ds,
			       struct hpdsl_epoch_cost *ret,
			       struct hpdsl_error *err);

#ifdef __cplusplus
}
#endif
#endif
