/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the packer, shared by its parts: target, resume, write, index. */
#ifndef HP_RUN_H
#define HP_RUN_H

#include "format/manifest.h"
#include "index/write.h"
#include "plan/labels_file.h"
#include "plan/list.h"
#include "plan/plan.h"
#include "sys/fd_cache.h"
#include "write/journal.h"

/* Where the dataset is made, and how it gets its name. */
struct hp_target {
	const struct hp_io *io;
	const char *output; /* as given, for messages */
	int parent;	    /* folder that holds both names below; or -1 */
	int dir;	    /* where chunks are written */
	bool replace;	    /* dir is work, to be swapped in for name */
	bool complete;	    /* a whole dataset is there already */
	bool resumable;	    /* the journal tells of finished chunks */
	bool made;	    /* the directory is new */
	bool found;	    /* a journal was there before */
	bool begun;	    /* something was written that a resume can use */
	uint64_t chunks;    /* of the plan; 0: there is none yet */
	struct hp_journal *journal;
	char name[256]; /* of OUTPUT in parent; beside it: */
	char work[272]; /* the dataset that will replace it, .. */
	char old[272];	/* .. and what was replaced, to be removed */
	char work_journal[288];
};

struct hp_parts;

struct hp_pack {
	const struct hpdsl_pack_options *opt;
	const struct hp_io *io;
	struct hpdsl_pack_report *report;
	struct hp_labels_file labels;
	struct hp_list list;
	struct hp_plan plan;
	struct hp_pairs options;
	struct hp_target target;
	struct hp_chunk_made *done;   /* plan.n_chunks of them */
	struct hp_fd_cache *archives; /* by number of the root */
	/* Side files, once they are written; their names are in one block. */
	struct hp_manifest_file *files;
	size_t n_files;
	char *file_names;
	/* While chunks are compressed whose members have been put there. */
	struct hp_parts *parts;
};

/*
 * Writes the chunks that are not done, all of whose members can be read in any
 * order.  HPDSL_ESTOPPED: some are left.
 */
int hp_write_in_order(struct hp_pack *p, struct hpdsl_error *err);

#endif
