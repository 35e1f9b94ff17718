/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chunk, or frame of one, is to be put into the kernel's page cache next,
 * and for how long that is a good idea: over memory alone, and nothing is
 * waited for.
 */
#ifndef MOUNT_FILL_H
#define MOUNT_FILL_H

#include <stdbool.h>
#include <stdint.h>

enum mount_fill_when { MOUNT_FILL_AUTO, MOUNT_FILL_ON, MOUNT_FILL_OFF };

/* Chunks that somebody reads of, in that order. */
struct mount_fill {
	uint32_t chunks;
	uint8_t *state;
	uint32_t *queue; /* a ring: none is in it twice */
	uint32_t first, n;
};

enum { MOUNT_FILL_TRIES = 2 /* of a chunk, if few of its files were known */ };

/* 0, or -ENOMEM. */
int mount_fill_init(struct mount_fill *f, uint32_t chunks);
void mount_fill_release(struct mount_fill *f);

/* Is there any use in wanting it?  May be asked without a lock. */
bool mount_fill_is_new(const struct mount_fill *f, uint32_t chunk);
/* Neither is it queued, nor is it filled at the moment.  As above. */
bool mount_fill_is_over(const struct mount_fill *f, uint32_t chunk);
/* A file of the chunk is read.  Is it one more that is queued? */
bool mount_fill_want(struct mount_fill *f, uint32_t chunk);
/* Takes the next one; false: there is none. */
bool mount_fill_next(struct mount_fill *f, uint32_t *ret);
/*
 * It has been filled: of tried files the kernel knew the names of known.  If
 * these were less than half, it may be wanted once more, after a listing.
 */
void mount_fill_done(struct mount_fill *f, uint32_t chunk, uint64_t tried,
		     uint64_t known);

enum { MOUNT_FRAMES = 64 };

/*
 * Frames that were decoded for a reader of one of their files, who was given
 * that: the others of them.  Of those that come faster than they can be taken
 * the newest are left out.
 */
struct mount_frames {
	struct mount_run {
		uint64_t first, n; /* members */
		bool again;	   /* those too that were there once */
	} run[MOUNT_FRAMES];	   /* a ring */
	unsigned first, n;
	/* Where the kernel knows few of the names, most are let pass. */
	unsigned futile, passed;
};

/* Is it one more that is queued? */
bool mount_frames_want(struct mount_frames *f, const struct mount_run *run);
/* Takes the next one; false: there is none. */
bool mount_frames_next(struct mount_frames *f, struct mount_run *ret);
/* Of so many files that were tried the kernel knew the names of known. */
void mount_frames_done(struct mount_frames *f, uint64_t tried, uint64_t known);

/* Memory in bytes, when it began and now; UINT64_MAX: nobody knows. */
struct mount_memory {
	uint64_t all, available;
};

/* Do files of so many bytes fit into half of what may be used? */
bool mount_fill_fits(const struct mount_memory *m, uint64_t bytes,
		     uint64_t files);
/* Is an eighth still free? */
bool mount_fill_goes_on(const struct mount_memory *m);

#endif
