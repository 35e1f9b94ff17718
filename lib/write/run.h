/* SPDX-License-Identifier: Apache-2.0 */
/* What is written in one run: chunks, by the writer or scattered. */
#ifndef HP_RUN_H
#define HP_RUN_H

#include "index/write.h"
#include "plan/list.h"
#include "plan/plan.h"
#include "sys/fd_cache.h"
#include "write/journal.h"

struct hp_parts;

/* Chunks to be written: from which list, by which plan, and what is done. */
struct hp_writing {
	const struct hpdsl_pack_options *opt;
	const struct hp_io *io;
	struct hpdsl_pack_report *report;
	struct hp_list list;
	struct hp_plan plan;
	int dir; /* where they are written, and the journal of it */
	struct hp_journal *journal;
	struct hp_chunk_made *done;   /* plan.n_chunks of them */
	struct hp_fd_cache *archives; /* by number of the root */
	/* While chunks are compressed whose members have been put there. */
	struct hp_parts *parts;
};

/*
 * Writes the chunks that are not done, all of whose members can be read in any
 * order.  HPDSL_ESTOPPED: some are left.
 */
int hp_write_in_order(struct hp_writing *p, struct hpdsl_error *err);

#endif
