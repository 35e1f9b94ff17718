/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ls, stat, find and du of hpdsl-snapshot: their arguments, and a tour through
 * all that is below an entry.
 */
#ifndef CMD_SNAPSHOT_TOUR_H
#define CMD_SNAPSHOT_TOUR_H

#include "snapshot.h"

/* FILE [PATH...]; no PATH is the top. */
struct snapshot_paths {
	const char *file;
	char **v;
	size_t n;
	bool json, null;
};

/* For a parser: takes FILE and PATHs, and knows no other key. */
error_t snapshot_take_paths(int key, struct argp_state *state,
			    struct snapshot_paths *p);

/*
 * Opens FILE, looks up each PATH and hands it on, cleaned; what is absent has
 * been told.  The worst exit status of all.
 */
int snapshot_each_path(const struct snapshot_paths *p,
		       int (*one)(void *arg, const struct hpdsl_snapshot *s,
				  const struct hpdsl_entry *e,
				  const char *path),
		       void *arg);

struct snapshot_level {
	uint64_t folder;    /* entry */
	uint64_t next, end; /* entries that are in it, not seen yet */
	size_t len;	    /* of its path */
};

struct snapshot_tour {
	const char *file;
	const struct hpdsl_snapshot *s;
	struct hpdsl_entry top;
	bool begun;
	struct snapshot_level *levels; /* folders that the tour is in */
	size_t depth;
	/* Of the entry that was met last; "" of the snapshot's top. */
	char path[HPDSL_PATH_MAX + 1];
	size_t len;
};

enum {
	SNAPSHOT_TOUR_END = 0,
	SNAPSHOT_TOUR_MEET = 1, /* an entry; folders before what they hold */
	SNAPSHOT_TOUR_LEAVE = 2 /* a folder, behind all that is below it */
};

/*
 * A tour through e, whose path it is, and all that is below e; file is the
 * snapshot's, for messages.
 */
void snapshot_tour_begin(struct snapshot_tour *t, const char *file,
			 const struct hpdsl_snapshot *s,
			 const struct hpdsl_entry *e, const char *path);
/* The next step, names in order; negative: damaged. */
int snapshot_tour_next(struct snapshot_tour *t, struct hpdsl_entry *ret,
		       struct hpdsl_error *err);
void snapshot_tour_end(struct snapshot_tour *t);

#endif
