/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the snapshot's writer share.  Entries are taken in ranges
 * of RANGE, whose rows are just five blocks: where a range's names and targets
 * begin is found in a first pass, and then any part of any section can be made
 * by itself.
 */
#ifndef HP_SNAP_WRITER_H
#define HP_SNAP_WRITER_H

#include "format/lookup.h"
#include "snap/write.h"

enum {
	HP_SNAP_RANGE = 8192,	  /* entries */
	HP_SNAP_RANGE_BLOCKS = 5, /* of their rows */
	HP_SNAP_FOLDER_PART = 3,  /* blocks: 16384 rows of folders */
	HP_SNAP_PART = 8,	  /* blocks of other sections in a job */
	HP_SNAP_BUCKETS = 256,
};

struct hp_snap_range {
	uint64_t names, targets; /* bytes of those before it */
};

/* Hashes that begin with one byte, in the order of the slots. */
struct hp_snap_bucket {
	uint64_t first, end; /* in hashed */
	uint64_t next;	     /* slot: the first one that may be free for it */
	uint64_t most;	     /* where it would end if next were 0 */
};

struct hp_snap_writer {
	const struct hp_tree *t;
	const struct hp_sink_at *sink;
	struct hp_section_place place[HP_SNAP_KINDS + 1];
	struct hp_snap_range *ranges; /* n_ranges + 1 */
	uint64_t n_ranges;
	struct hp_hashed *hashed; /* entries less the top */
	uint8_t *checksums;	  /* rows of members, or NULL */
	struct hp_snap_bucket buckets[HP_SNAP_BUCKETS];
	uint8_t digest[16], files_digest[16];
};

struct hp_tree_cursor {
	const struct hp_tree *t;
	const struct hp_folder *folder;
	uint64_t at; /* the node that comes next */
};

/* To an entry that is not the top. */
void hp_tree_seek(const struct hp_tree *t, uint64_t entry,
		  struct hp_tree_cursor *ret);

/* The next entry, which has to exist; c->folder is where it is. */
static inline const struct hp_node *hp_tree_next(struct hp_tree_cursor *c)
{
	while (c->at == c->folder->n) {
		c->folder = c->t->folders[c->folder->number + 1];
		c->at = 0;
	}
	hp_folder_ahead(c->folder, c->at);
	return &c->folder->nodes[c->at++];
}

static inline uint64_t hp_snap_range_end(const struct hp_snap_writer *w,
					 uint64_t range)
{
	uint64_t end = (range + 1) * HP_SNAP_RANGE;

	return end < w->t->entries ? end : w->t->entries;
}

typedef int hp_snap_job(struct hp_snap_writer *w, uint64_t number,
			struct hpdsl_error *err);

hp_snap_job hp_snap_measure_range;			/* first, by ranges */
hp_snap_job hp_snap_write_entries;			/* by ranges */
hp_snap_job hp_snap_write_folders, hp_snap_write_names, /* by parts */
	hp_snap_write_targets, hp_snap_write_checksums;
hp_snap_job hp_snap_digest;	  /* 1: both */
hp_snap_job hp_snap_split_lookup; /* 1, after the first */
hp_snap_job hp_snap_sort_lookup;  /* by buckets, then */
hp_snap_job hp_snap_write_lookup; /* by parts, after: */

/* Where buckets begin; returns the number of slots. */
uint64_t hp_snap_place_lookup(struct hp_snap_writer *w);

/*
 * A part of a section, for a job: from part number * blocks on.  Once finished
 * or failed, to be released.
 */
int hp_snap_part_begin(struct hp_snap_writer *w, enum hp_snap_section kind,
		       uint64_t number, uint64_t blocks,
		       struct hp_section_out *ret, struct hpdsl_error *err);
void hp_snap_part_release(struct hp_section_out *o);
#define hp_auto_part __attribute__((cleanup(hp_snap_part_release)))

uint64_t hp_snap_parts(const struct hp_section_place *place, uint64_t blocks);

#endif
