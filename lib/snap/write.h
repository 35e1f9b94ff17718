/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a snapshot: sections are independent of each other, and each is a job
 * of its own.  The bytes depend on the tree alone.
 */
#ifndef HP_SNAP_WRITE_H
#define HP_SNAP_WRITE_H

#include "format/section_out.h"
#include "snap/snap.h"
#include "tree/tree.h"

/*
 * Writes the snapshot of a finished tree.  threads as in hpdsl.h (0: one a
 * core).  16 bytes an entry, 8 a member and 128 KiB a thread meanwhile.
 */
int hp_snap_write(const struct hp_tree *t, uint32_t threads,
		  const struct hp_sink_at *sink,
		  struct hpdsl_snapshot_info *ret, struct hpdsl_error *err);

/* No snapshot of this tree has more bytes. */
uint64_t hp_snap_bound(const struct hp_tree *t);

/*
 * The same into the file path, which appears whole; threads at a time, and
 * processes.  A symbolic link is replaced itself, as by rename(2).  -EINVAL:
 * path, or what it links to, is there and is no regular file; -EBUSY: another
 * process is writing it.
 */
int hp_snap_save(const struct hp_tree *t, uint32_t threads,
		 const struct hp_io *io, const char *path,
		 struct hpdsl_snapshot_info *ret, struct hpdsl_error *err);

/*
 * Before work begins whose end is hp_snap_save: could the file be written, as
 * far as can be known?  Its temporary file is made and removed.
 */
int hp_snap_save_check(const struct hp_io *io, const char *path,
		       struct hpdsl_error *err);

/* The same into memory of its own, opened; both are freed by the caller. */
int hp_snap_in_memory(const struct hp_tree *t, uint32_t threads,
		      const char *name, void **ret_bytes,
		      struct hpdsl_snapshot **ret, struct hpdsl_error *err);
/* The same; closing it frees its memory, too. */
int hp_snap_own(const struct hp_tree *t, uint32_t threads, const char *name,
		struct hpdsl_snapshot **ret, struct hpdsl_error *err);

#endif
