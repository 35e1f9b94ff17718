/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a loader's memory is divided: what is read of a lane at a time.  The same
 * for one that reads and one that is only counted.
 */
#ifndef HP_LOAD_DIVIDE_H
#define HP_LOAD_DIVIDE_H

#include "load/own.h"

struct hp_load_division {
	uint64_t sample_bytes; /* in plain chunks, with its headers: the mean */
	uint64_t piece_bytes;  /* of a piece, as far as one read can have it:
				  of one chunk and one lane; 0: the order has
				  none */
	uint64_t lanes;	       /* that the reader may have samples of */
	uint64_t share_bytes;  /* that are read of a lane at a time, at most */
	uint64_t cure; /* a memory with which shares are not smaller than
			  pieces; 0: they are not */
};

/* So many places of a step: what is kept of each takes memory that must be
 * there, too.  HPDSL_EUSAGE: it is not. */
int hp_load_check_places(uint64_t places, uint64_t memory,
			 struct hpdsl_error *err);

/* Of own samples in the epoch.  HPDSL_ECORRUPT. */
int hp_load_divide(const struct hpdsl_dataset *ds, const struct hpdsl_epoch *e,
		   const struct hp_own *own, uint64_t memory,
		   struct hp_load_division *ret, struct hpdsl_error *err);

/* "reads of 0.9 MiB: with a memory of 2.0 GiB they would be 3.9 MiB" */
enum { HP_LOAD_DIVISION_TEXT = 120 };
void hp_load_division_text(const struct hp_load_division *d,
			   char buf[HP_LOAD_DIVISION_TEXT]);

#endif
