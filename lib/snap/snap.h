/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a snapshot: over memory, whoever mapped or read it.  Opening looks at
 * the header and the section table only; every 64 KiB block is checked against
 * its checksum at first touch, every number at each use.  Hostile bytes give
 * HPDSL_ECORRUPT, never a fault, never an endless loop.  hpdsl-format(5),
 * "Snapshot".
 */
#ifndef HP_SNAP_H
#define HP_SNAP_H

#include "hpdsl/snapshot.h"

#define HP_SNAP_MAGIC "\x89HPDSLS\n"
#define HP_SNAP_VERSION 1

enum hp_snap_section {
	HP_SNAP_ENTRIES = 1,   /* rows of 40 */
	HP_SNAP_FOLDERS = 2,   /* rows of 12, one more than folders */
	HP_SNAP_NAMES = 3,     /* each with a NUL behind it */
	HP_SNAP_TARGETS = 4,   /* of symbolic links, each with a NUL */
	HP_SNAP_CHECKSUMS = 5, /* rows of 8, one a member */
	HP_SNAP_LOOKUP = 6,    /* slots of 8 */
	HP_SNAP_KINDS = 6,
};

enum {
	HP_SNAP_FIXED = 136, /* bytes of the header before the table */
	HP_SNAP_ENTRY_ROW = 40,
	HP_SNAP_FOLDER_ROW = 12,
};

/* Header flags. */
enum { HP_SNAP_FROM_DATASET = 1 };

/*
 * Opens size bytes at p, which must stay and not change until it is closed.
 * name is for messages and is copied.
 */
int hp_snap_open(const void *p, uint64_t size, const char *name,
		 struct hpdsl_snapshot **ret, struct hpdsl_error *err);

/* "entry 7: why": HPDSL_ECORRUPT. */
int hp_snap_bad_entry(const struct hpdsl_snapshot *s, uint64_t number,
		      const char *why, struct hpdsl_error *err);

#endif
