/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes where: pure functions from the sorted list, options and seed to
 * chunks and offsets.  Packed sample number p is the list's sample
 * plan->order[p]; chunk c holds a run of packed sample numbers.
 */
#ifndef HP_PLAN_H
#define HP_PLAN_H

#include "chunk/tar.h"
#include "format/names.h"
#include "plan/list.h"

struct hp_plan {
	const struct hp_list *list;
	uint64_t *order; /* NULL: the identity */
	uint64_t *sizes; /* of each chunk as a tar file, bytes */
	uint64_t n_samples;
	uint32_t n_chunks;
	uint64_t tar_bytes; /* of all chunks */
	uint64_t bytes;	    /* of all contents */
	uint64_t chunk_min, chunk_median, chunk_max;
};

/*
 * Plans.  HPDSL_EUSAGE where the wanted number of chunks cannot be: more than
 * samples, more than HP_CHUNKS_MAX, two of the three ways to give it.
 */
int hp_plan_make(struct hp_plan *plan, const struct hp_list *list,
		 const struct hpdsl_pack_options *opt, struct hpdsl_error *err);
void hp_plan_release(struct hp_plan *plan);

/* First packed sample of chunk c (c = n_chunks: the number of samples). */
static inline uint64_t hp_plan_first(const struct hp_plan *plan, uint32_t c)
{
	uint64_t q = plan->n_samples / plan->n_chunks;
	uint64_t r = plan->n_samples % plan->n_chunks;

	return q * c + (c < r ? c : r);
}

/* The list's sample at packed number p. */
static inline uint64_t hp_plan_sample(const struct hp_plan *plan, uint64_t p)
{
	return plan->order ? plan->order[p] : p;
}

/* Walks the members of packed samples [first, end) in packed order. */
struct hp_plan_walk {
	const struct hp_plan *plan;
	uint64_t sample, end; /* packed numbers: at, behind the last */
	uint64_t file;	      /* the list's number of the next file */
	uint64_t file_end;
	uint64_t offset; /* in the chunk: of the next header */
};

void hp_plan_walk_begin(struct hp_plan_walk *w, const struct hp_plan *plan,
			uint64_t first, uint64_t end);

/* Those of chunk c. */
void hp_plan_walk_chunk(struct hp_plan_walk *w, const struct hp_plan *plan,
			uint32_t c);

/* A member in its place. */
struct hp_plan_place {
	uint64_t file;	 /* the list's number */
	uint64_t sample; /* packed number */
	uint64_t header; /* offset of its header in the chunk */
	uint64_t data;	 /* offset of its content */
	uint64_t next;	 /* offset behind its padding */
};

/* 1 and the next member, or 0 at the end. */
int hp_plan_walk_next(struct hp_plan_walk *w, struct hp_plan_place *ret);

/* The tar header of a file of the list, with its stored name. */
void hp_plan_header(const struct hp_list *list, uint64_t file,
		    struct hp_tar_member *ret);

/* Members of chunk c. */
uint64_t hp_plan_members(const struct hp_plan *plan, uint32_t c);

/* Bytes of chunk c as a tar file. */
static inline uint64_t hp_plan_chunk_bytes(const struct hp_plan *plan,
					   uint32_t c)
{
	return plan->sizes[c];
}

#endif
