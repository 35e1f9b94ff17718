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
#include "sys/view.h"

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

struct hp_snap;

/*
 * Opens size bytes at p, which must stay and not change until it is freed.
 * name is for messages and is copied.
 */
int hp_snap_open(const void *p, uint64_t size, const char *name,
		 struct hp_snap **ret, struct hpdsl_error *err);
void hp_snap_free(struct hp_snap *s);

/* As the hpdsl_snapshot_ functions of the same name. */
void hp_snap_info(const struct hp_snap *s, struct hpdsl_snapshot_info *ret);
int hp_snap_stat(const struct hp_snap *s, uint64_t number,
		 struct hpdsl_entry *ret, struct hpdsl_error *err);
int hp_snap_lookup(const struct hp_snap *s, const char *path, size_t path_len,
		   struct hpdsl_entry *ret, struct hpdsl_error *err);
int64_t hp_snap_lookup_many(const struct hp_snap *s,
			    const struct hpdsl_path *paths, size_t n,
			    struct hpdsl_entry *ret, int *codes,
			    struct hpdsl_error *err);
int64_t hp_snap_readdir(const struct hp_snap *s, uint64_t folder,
			uint64_t *cursor, struct hpdsl_entry *ret, size_t room,
			struct hpdsl_error *err);
int hp_snap_folder(const struct hp_snap *s, uint64_t folder,
		   uint64_t *ret_first, uint64_t *ret_n, uint64_t *ret_end,
		   struct hpdsl_error *err);
int hp_snap_path(const struct hp_snap *s, uint64_t number, char *buf,
		 size_t *ret_len, struct hpdsl_error *err);
int hp_snap_target(const struct hp_snap *s, const struct hpdsl_entry *e,
		   const char **ret, struct hpdsl_error *err);
int hp_snap_checksum(const struct hp_snap *s, const struct hpdsl_entry *e,
		     uint64_t *ret, struct hpdsl_error *err);
int hp_snap_verify(const struct hp_snap *s,
		   void (*told)(void *arg, const char *reason), void *arg,
		   struct hpdsl_error *err);

/* "entry 7: why": HPDSL_ECORRUPT. */
int hp_snap_bad_entry(const struct hp_snap *s, uint64_t number, const char *why,
		      struct hpdsl_error *err);

/* Compares, see hpdsl_snapshot_diff. */
int hp_snap_diff(const struct hp_snap *before, const struct hp_snap *after,
		 const struct hpdsl_diff_options *opt,
		 struct hpdsl_diff_report *ret, struct hpdsl_error *err);
/* The text, see hpdsl_snapshot_dump. */
int hp_snap_dump(const struct hp_snap *s,
		 int (*sink)(void *arg, const void *buf, size_t n,
			     struct hpdsl_error *err),
		 void *arg, struct hpdsl_error *err);

/* ---- The handle of the public functions: open.c ------------------------ */

struct hpdsl_snapshot {
	const struct hp_io *io;
	struct hp_view view;
	struct hp_snap *snap;
};

#endif
