/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source that plays the job's other nodes, for who reads a stage directory:
 * it answers at once, with what the origin has, or as it is told to.
 */
#ifndef OTHER_NODES_H
#define OTHER_NODES_H

#include "dataset/source.h"
#include "staged.h"

/* Who sent, as source.h has it. */
enum { OTHER_NODES_HONEST = 5, OTHER_NODES_LIAR = 8 };

/* What they have, what they do, and what they saw; by any threads. */
struct other_nodes {
	const struct staged *f;
	const struct staged *plain; /* they have its chunks, expanded; NULL: as
				       they are stored */
	struct hp_source_ops ops[2];
	struct hp_sources table;
	bool there;
	int fails; /* with this, from stretch k on .. */
	unsigned k;
	uint32_t silent;     /* .. or nobody sends this chunk .. */
	uint64_t silent_at;  /* .. from this byte on */
	bool two;	     /* send in turn; only the second of them flips: */
	bool flips;	     /* a bit of each stretch .. */
	uint32_t flipped;    /* .. or of this chunk .. */
	uint64_t flipped_at; /* .. this one's */
	/* Atomic. */
	unsigned asked, bad; /* stretches; and how often it was told so */
	uint64_t bytes;
};

void other_nodes_begin(struct other_nodes *o, const struct staged *f);
/* Chunks that have odd numbers are not here. */
void other_nodes_stage_half(struct staged *f);
struct hpdsl_dataset *other_nodes_open(const struct other_nodes *o);

#endif
