/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file of a stage directory as its readers see it: open, a byte read
 * at each look, so that a file that somebody cuts short is one that says no
 * more, and looked for again when a newer generation may have taken its place.
 * Any number of threads.
 */
#ifndef HP_STAGE_WATCH_H
#define HP_STAGE_WATCH_H

#include "format/stage_state.h"
#include "sys/io.h"

#include <pthread.h>

struct hp_stage_watch {
	const struct hp_io *io;
	int dir; /* borrowed */
	uint64_t chunks;
	bool foreign_owner;  /* anybody's is taken */
	uint8_t boot_id[16]; /* this machine's */
	pthread_mutex_t lock;
	/* All below under the lock. */
	int fd; /* -1: the stager has made none yet */
	struct hp_state_header header;
	uint64_t looked; /* when a newer one was looked for, hp_monotonic */
	uint64_t probed; /* .. when the stager's lock was, and was it free? */
	bool orphan;
};

/* What is known of a chunk. */
struct hp_stage_seen {
	enum hp_chunk_state state;
	bool counts; /* of this boot, and whole: the state is to be believed */
	bool alive;  /* a stager is at work; looked for only where the chunk is
		      * coming, or there is no state file */
	bool born;   /* there is a state file */
};

/*
 * dir is a dataset of that many chunks.  -ENOENT: it is no stage directory,
 * with neither a state file nor the stager's lock, which is there before.
 * HPDSL_ECORRUPT, HPDSL_ENOTOURS, HPDSL_ETOONEW: nor one to be used.  Names in
 * messages have no folder.  -EPERM: the directory or the file is neither the
 * caller's nor root's, unless w->foreign_owner was set before.  *w is to be
 * closed after success only.
 */
int hp_stage_watch_open(struct hp_stage_watch *w, const struct hp_io *io,
			int dir, uint64_t chunks, struct hpdsl_error *err);
void hp_stage_watch_close(struct hp_stage_watch *w);

void hp_stage_watch_see(struct hp_stage_watch *w, uint64_t chunk,
			struct hp_stage_seen *ret);

/*
 * The bytes of all chunks at once, as hp_state_of() takes them: false, and
 * zeros, if nothing is known, or nothing of it counts.
 */
bool hp_stage_watch_all(struct hp_stage_watch *w, uint8_t *ret);

/* Is a stager at work here?  One that was killed has left its lock. */
bool hp_stage_watch_alive(struct hp_stage_watch *w);

/*
 * Takes the file that has the name now, unless that was done less than age
 * nanoseconds ago: was it?  What is there no more, cannot be used, or is of
 * another pack or owner leaves all as it is.
 */
bool hp_stage_watch_renew(struct hp_stage_watch *w, uint64_t age);

/* Path of a file at the origin: free it; NULL: no memory. */
char *hp_stage_watch_origin(struct hp_stage_watch *w, const char *name);

#endif
