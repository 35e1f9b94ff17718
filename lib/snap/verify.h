/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes of hpdsl_snapshot_verify share. */
#ifndef HP_SNAP_VERIFY_H
#define HP_SNAP_VERIFY_H

#include "format/findings.h"
#include "snap/private.h"

struct hp_snap_check {
	const struct hpdsl_snapshot *s;
	struct hp_findings f;
	uint64_t *hashes;  /* of each entry's path */
	uint64_t *folders; /* the entry of each */
	uint64_t *used;	   /* a bit for each member that an entry has */
	/* Counted: */
	uint64_t files, symlinks, bytes, members;
	uint64_t names, targets; /* where the next ones begin */
};

/* "entry 7: why" */
void hp_snap_wrong(struct hp_snap_check *c, uint64_t number, const char *why);

/* Every entry is in one folder, these are numbered as they should. */
void hp_snap_check_folders(struct hp_snap_check *c);
/* Paths are no longer than they may be; fills hashes; compares digests. */
void hp_snap_check_paths(struct hp_snap_check *c);

#endif
