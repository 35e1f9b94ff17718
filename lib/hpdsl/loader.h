/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads epochs in their order: own threads read ahead what each lane has next,
 * in large reads, verify, and hand out batches that point into what was read.
 */
#ifndef HPDSL_LOADER_H
#define HPDSL_LOADER_H

#include "core.h"
#include "dataset.h"
#include "order.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hpdsl_damage;

struct hpdsl_loader;

enum hpdsl_cache {
	/* What the page cache has is taken from there; what it has not is read
	 * past it, where the file system allows that. */
	HPDSL_CACHE_AUTO,
	/* All is read through the page cache, and stays as far as there is
	 * room: for data that fits into the node's memory. */
	HPDSL_CACHE_KEEP,
};

#define HPDSL_LOADER_MEMORY_LEAST (UINT64_C(16) << 20)
#define HPDSL_LOADER_MEMORY (UINT64_C(1) << 30) /* if nothing is said */

struct hpdsl_loader_options {
	struct hpdsl_order order;	   /* begins at its epoch and step; what
					      is 0 is filled */
	uint32_t batch_size;		   /* as hpdsl_order_fill() takes it */
	uint64_t epochs;		   /* how many; 0: no end */
	const struct hpdsl_choice *choice; /* borrowed; NULL: all samples */
	enum hpdsl_end end;
	struct hpdsl_share share;
	/*
	 * Members that are wanted, by their suffixes ("jpg"), in this order;
	 * one dot in front is passed over (".jpg").  Of two members of one
	 * suffix it is the first.  None: all members but those that the packer
	 * made.  A suffix that not one sample of the choice has is an error: of
	 * 10 million of them, as far as their rows are sound; one that some
	 * lack is not.  What a sample lacks has no bytes, is counted, and is
	 * told to watch.warn once for each suffix, unless may_lack says that
	 * this is no news.
	 */
	const char *const *suffixes;
	size_t n_suffixes;
	bool may_lack;
	/*
	 * Bytes for what was read; 0: HPDSL_LOADER_MEMORY.  Two thirds are for
	 * what lanes have next, the rest is for reading ahead: with less memory
	 * reads are smaller, in the same order, and watch.warn says so where
	 * they are smaller than a piece.  What a single step needs is read even
	 * if it does not fit, and told.  What is held beside it: memory_peak.
	 * It is a bound.  Beside what steps hold that are not over, only twice
	 * what the loop takes while a read is under way is read ahead, and at
	 * least 128 MiB of memory, of what the page cache has 64; a step that
	 * the loop has to wait for, and that was held back though there was
	 * memory for it, doubles these 128 for good.  Until the first batch is
	 * taken nothing is known of the loop: all of it is used.
	 */
	uint64_t memory;
	uint32_t threads; /* that read and verify; 0: as many as cores, at least
			     4 */
	bool unchecked;	  /* checksums are not compared */
	bool skip_bad;	  /* a bad sample is told and comes without bytes */
	enum hpdsl_cache cache;
	/* Called for each bad sample that is skipped, one call at a time. */
	void (*bad)(void *arg, const struct hpdsl_damage *d);
	void *arg;
	struct hpdsl_watch watch; /* warn, stop and io */
	/*
	 * What is read lies in shared memory, which processes that were forked
	 * later have, too: hpdsl_loader_mapping().
	 */
	bool shared;
	/* hpdsl_loader_next() gives up after so long with -EAGAIN, and may be
	 * called again; 0: it waits as long as it takes. */
	uint32_t wait_ms;
};

/*
 * A step's samples, those of this share: arrays of n, except where it says
 * otherwise.  All of it is read-only, and valid until it is released.
 */
struct hpdsl_batch {
	uint64_t epoch, step;
	size_t n;
	/* The content of its first wanted member; NULL: it has none. */
	const void *const *data;
	const size_t *size;
	const uint64_t *number; /* of the sample */
	const uint32_t *label;	/* class number or HPDSL_NO_LABEL */
	const uint8_t *mask;	/* 1: counts; 0: fills the step up */
	const uint8_t *bad;	/* 1: could not be read, and has no bytes */
	/* All wanted members of sample i: first[i] .. first[i + 1] - 1 of the
	 * three that follow; n + 1 of them. */
	const size_t *first;
	const void *const *member_data;
	const size_t *member_size;
	const uint64_t *member_number; /* UINT64_MAX: the sample has none */
	/* Samples of the step that count, those of all ranks together: bad ones
	 * are among them.  In a job that hpdsl-stall measures it may be another
	 * step that is handed out in this one's place; then it is of that. */
	uint64_t whole;
};

/*
 * What hpdsl_loader_new() looks at first: would it refuse these options with
 * any order and share?  Of them memory, threads, end, choice and suffixes
 * count. HPDSL_EUSAGE: yes; -ENOMEM.
 */
HPDSL_API int hpdsl_loader_check(const struct hpdsl_dataset *ds,
				 const struct hpdsl_loader_options *opt,
				 struct hpdsl_error *err);
/*
 * The dataset must outlive the loader.  HPDSL_EUSAGE: an order, a share or a
 * step that make no sense, ranks that do not divide the batch (but see uneven),
 * memory below HPDSL_LOADER_MEMORY_LEAST, more threads than HPDSL_THREADS_MOST,
 * a suffix that no sample has; HPDSL_STALL in the environment names no
 * hpdsl-stall(1) that is alive, or the loader is none that it can measure;
 * HPDSL_ECORRUPT, -ENOMEM.
 */
HPDSL_API int hpdsl_loader_new(const struct hpdsl_dataset *ds,
			       const struct hpdsl_loader_options *opt,
			       struct hpdsl_loader **ret,
			       struct hpdsl_error *err);
/*
 * Ends its threads, and waits for reads that are under way, but not for chunks
 * that a stager is bringing.  Batches that are out stay valid, and the blocks
 * of neighbouring samples that they are in, until they are released, even when
 * the dataset has been closed; all other memory goes back.  In a child of the
 * process that made it, which has none of its threads, nothing is done.  NULL
 * is harmless.
 */
HPDSL_API void hpdsl_loader_free(struct hpdsl_loader *l);
/*
 * The same for *l, which becomes NULL, in one step: for cleanup attributes, and
 * for languages in which an exception may come between any two.  Until it
 * returns, nobody else may be using the loader.
 */
HPDSL_API void hpdsl_loader_freep(struct hpdsl_loader **l);
/*
 * For a process that is about to end, and nobody else is using the loader, once
 * what watch.stop points to is set: reads that are under way are not waited
 * for, as on storage that hangs, and no memory goes back.  When it returns
 * nothing is told any more, nor anything new begun.  Dataset and options have
 * to stay as long as the process, or until hpdsl_loader_free(), which waits.
 */
HPDSL_API void hpdsl_loader_leave(struct hpdsl_loader *l);
/*
 * The next batch: 1; 0: the last epoch's last step was handed out.  A bad
 * sample is HPDSL_ECORRUPT or -errno, *err names chunk and sample, and the next
 * call goes on behind that step, which counts as reached when it has;
 * -ENOBUFS: nothing can be read, because two batches or more that were not
 * released hold all the memory; HPDSL_ESTOPPED, -EAGAIN.  After these three it
 * is the same step that comes next, after -ENOMEM it may be: the count of
 * failed_steps tells.  Once it has been stopped, neither bad nor watch.warn is
 * called any more.  One thread at a time.  NULL, as hpdsl_loader_freep() leaves
 * it, is HPDSL_ESTOPPED; in a child of the process that made it, which has none
 * of its threads, it is HPDSL_EUSAGE.
 */
HPDSL_API int hpdsl_loader_next(struct hpdsl_loader *l,
				const struct hpdsl_batch **ret,
				struct hpdsl_error *err);
/*
 * The next batch will be of this step of this epoch, whatever came before, and
 * what comes behind it is what a loader that was made to begin there gives. The
 * last epoch is the same as before; at one that is behind it there is nothing.
 * What was read ahead is dropped; threads, memory and statistics are kept, and
 * batches that are out stay valid.  Reads that are under way are not waited
 * for, and hold their memory until they are done.  HPDSL_EUSAGE: the epoch has
 * no such step, and is not so long either; the loader is of another process;
 * HPDSL_ECORRUPT, -ENOMEM, HPDSL_ESTOPPED: after all of these it goes on where
 * it was.  The thread that calls hpdsl_loader_next(), and not within bad or
 * watch.warn.
 */
HPDSL_API int hpdsl_loader_seek(struct hpdsl_loader *l, uint64_t epoch,
				uint64_t step, struct hpdsl_error *err);
/* Any thread, in any order; in a child nothing is done.  NULL is harmless. */
HPDSL_API void hpdsl_batch_release(const struct hpdsl_batch *b);
/*
 * Where what is read lies, with the option shared: a file of so many bytes, and
 * where it is mapped here.  All bytes that batches point to are within it, and
 * are there as long as the batch is not released.  It is the loader's.
 * HPDSL_EUSAGE: the loader has none.
 */
HPDSL_API int hpdsl_loader_mapping(const struct hpdsl_loader *l, int *ret_fd,
				   const void **ret_base, size_t *ret_size,
				   struct hpdsl_error *err);
/* Steps of an epoch, of all workers; of NULL 0. */
HPDSL_API uint64_t hpdsl_loader_steps(const struct hpdsl_loader *l,
				      uint64_t epoch);

/*
 * Where a loop is that has got all steps before this one: text to be kept, for
 * hpdsl_state_parse(); a JSON object in one line.  Returns its length, at most
 * HPDSL_STATE_MAX with the closing NUL.
 */
#define HPDSL_STATE_MAX 512
#define HPDSL_STATE_MEASURED 0xff
struct hpdsl_state {
	struct hpdsl_order order; /* its step is the next one */
	enum hpdsl_end end;
	/* XXH3-128 of the index; all zero: not known; each byte
	 * HPDSL_STATE_MEASURED: of a run that hpdsl-stall measured, which
	 * trained nothing, so nothing goes on from there. */
	uint8_t pack[16];
	bool has_choice;
	uint8_t choice[16];
};
HPDSL_API size_t hpdsl_state_format(const struct hpdsl_state *s, char *buf);
/*
 * Inverse: a JSON or YAML map.  One that has "format" is whole, and names that
 * are not known are passed over; in one without it, anything may be missing,
 * and is zero then, or the default, but not all, and no name is unknown.  name
 * is for messages.  HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_state_parse(const char *text, size_t size, const char *name,
				struct hpdsl_state *ret,
				struct hpdsl_error *err);
/* Of what this loader has handed out: the state that resumes behind it.  Of
 * NULL it is all zero, and so are the statistics. */
HPDSL_API void hpdsl_loader_state(const struct hpdsl_loader *l,
				  struct hpdsl_state *ret);
/*
 * May a loader of this dataset and choice go on from there?  HPDSL_EDIFFERS: it
 * is of another pack or another choice, or its epoch has no such step;
 * HPDSL_EUSAGE, HPDSL_ECORRUPT, -ENOMEM: that epoch cannot be.  A state that
 * knows of no pack and has no choice is of any choice.
 */
HPDSL_API int hpdsl_state_check(const struct hpdsl_state *s,
				const struct hpdsl_dataset *ds,
				const struct hpdsl_choice *choice,
				const char *name, struct hpdsl_error *err);

struct hpdsl_loader_stats {
	/* Handed out, but for what fills a step up; bytes of members. */
	uint64_t steps, samples, bytes;
	uint64_t bad_samples;  /* of these samples: they came without bytes */
	uint64_t lacking;      /* wanted members that these samples, but for bad
				  ones, have not */
	uint64_t failed_steps; /* that gave an error in place of a batch */
	struct hpdsl_sources sources; /* since the loader was made */
	uint64_t reads, read_bytes;   /* of chunk files */
	uint64_t direct_bytes;	      /* of these past the page cache */
	uint64_t read_sizes[40];      /* reads of 2^i to 2^(i+1) - 1 bytes */
	double stall_seconds; /* hpdsl_loader_next() waited: data stall */
	double seconds;	      /* since the loader was made */
	/*
	 * Bound, and bytes held at most: of what was read, with the rows of its
	 * samples and members, and of what is planned.  Not counted, and held
	 * beside it: for each thread that reads compressed chunks 8 MiB and 8
	 * KiB, for what is stored and for a frame, and a decoder of zstd's, of
	 * 100 KB; for as many batches as were out at a time, and one more, the
	 * arrays, of 70 bytes a sample and 24 a wanted member, of these as many
	 * as samples at least; and what no reading makes larger: the order, the
	 * index, and stacks.
	 */
	uint64_t memory, memory_peak;
	uint64_t held_peak;   /* for steps not over, without what was
				 read ahead; as hpdsl_epoch_cost() */
	uint64_t lanes;	      /* that have samples of this rank */
	uint64_t share_bytes; /* read of a lane at a time, at most */
	bool unchecked;
	uint64_t median_read; /* half of read_bytes are in reads of no more,
				 within 3 % */
};
HPDSL_API void hpdsl_loader_stats(const struct hpdsl_loader *l,
				  struct hpdsl_loader_stats *ret);

#ifdef __cplusplus
}
#endif
#endif
