/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datasets of samples of any sizes, of which there is the index alone: what is
 * read of their chunks is made up, and so may be of any size.
 */
#ifndef FORGED_H
#define FORGED_H

#include "packed.h"
#include "sys/io.h"

enum { FORGED_CHUNKS = 64, FORGED_FDS = 1024 };

struct forged {
	struct hp_io io;   /* to open it with; no checksum is right */
	struct packed dir; /* dir.out is the dataset */
	bool cached;	   /* the page cache has all of it, or nothing */
	/* By descriptor: one more than the chunk. */
	uint8_t chunk[FORGED_FDS];
	uint64_t bytes[FORGED_CHUNKS];
};

struct forged_options {
	uint64_t samples;
	/* Bytes of a sample, which is one member. */
	uint64_t (*size)(uint64_t sample);
	uint32_t chunks;
	bool not_shuffled;
};

void forged_begin(struct forged *f, const struct forged_options *opt);
void forged_end(struct forged *f);
struct hpdsl_dataset *forged_open(struct forged *f);

/* These are the bytes that the sample's member has; of large ones their
 * begin and end are looked at. */
void forged_check(const struct hpdsl_dataset *ds, uint64_t member,
		  const void *data, size_t size);
/* A batch's samples that are not bad. */
void forged_check_batch(const struct hpdsl_dataset *ds,
			const struct hpdsl_batch *b);

#endif
