/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members fetched in blocks and compared with what they should be, for tests;
 * and file operations that behave as a certain kind of file system does.
 */
#ifndef FETCHING_H
#define FETCHING_H

#include "dataset/fetch.h"
#include "sys/io.h"

struct fetching {
	const struct hpdsl_dataset *ds;
	/* What contents are compared with: any form of the same dataset. */
	const struct hpdsl_dataset *good;
	struct hp_fetch_options opt;
	size_t slot;	/* bytes of a block, unless a member has more; 0: 1 MiB
			 */
	unsigned every; /* only each so-manyth member; 0: all */
	unsigned threads;
	bool uncompared;      /* contents may be anything */
	long fail_allocation; /* the k-th of fetching; 0: none */
	/* What came of it. */
	struct hp_fetch_counts counts;
	long allocations;
	uint64_t members, bytes; /* asked for */
	uint64_t bad;
	struct hpdsl_error why; /* of one of them */
	uint8_t *is_bad;	/* by member, of the dataset's: freed by
				   fetching_end */
};

/*
 * All of it.  A member that is neither right nor told to be bad, or memory
 * beside the block's that was touched, fails the test.  The fetcher itself is
 * made here, which may fail: then it is -ENOMEM, else 0.
 */
int fetching_run(struct fetching *t);
void fetching_end(struct fetching *t);

struct odd_io {
	struct hp_io io;
	/* The page cache has all (1) or nothing (0), or cannot be asked (< 0).
	 */
	int cached;
	int open_direct; /* opening with O_DIRECT fails with this */
	int read_direct; /* reading so fails with this */
	bool dribble;	 /* reads give half of what they could */
	/* Reads that begin in this byte range of a file fail with -EIO. */
	uint64_t bad_from, bad_to;
	uint64_t direct_reads; /* that were tried */
	uint8_t direct[1024];  /* by descriptor */
};

void odd_io_init(struct odd_io *o);

#endif
