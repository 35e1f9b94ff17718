/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of files for the kernel, verified before it keeps them: a member of up
 * to 16 MiB whole, at the first read of any of it, once.  Larger ones only with
 * all, as random access into them would read them over and over.
 */
#ifndef MOUNT_BYTES_H
#define MOUNT_BYTES_H

#include "bad.h"
#include "errors.h"

#include <hpdsl.h>
#include <pthread.h>
#include <stdatomic.h>

struct mount_bytes {
	const struct hpdsl_dataset *ds;
	bool all; /* --verify=all */
	/* For members that are read whole for a part: what there is of it, and
	 * what is left. */
	uint64_t room, left;
	uint64_t tickets, turn; /* of those who want some, in order */
	pthread_mutex_t lock;
	pthread_cond_t more;
	uint64_t members;
	_Atomic uint64_t
		told; /* the last member of which a line said so, + 1 */
	_Atomic uint8_t *good; /* a bit a member: it was verified */
	struct mount_bad bad;
	_Atomic uint64_t *wrong; /* reads that were answered EIO */
	struct mount_errors *errors;
};

/* dataset: where ds is; 0, or -ENOMEM. */
int mount_bytes_init(struct mount_bytes *b, const struct hpdsl_dataset *ds,
		     const char *dataset, bool all, uint64_t room);
void mount_bytes_release(struct mount_bytes *b);

/* Was it read, or verified, before? */
bool mount_bytes_is_good(const struct mount_bytes *b, uint64_t member);
/* Somebody else has held it against its checksum. */
void mount_bytes_verified(struct mount_bytes *b, uint64_t member);

/*
 * Bytes of member from offset on, n at most, into buf: how many, 0 behind the
 * end, or the -errno that the reader is to get; what is wrong has been told.
 * Any number of threads.
 */
int64_t mount_bytes_read(struct mount_bytes *b, uint64_t member,
			 uint64_t offset, void *buf, size_t n);

/* For who reads chunks: the same, and what is wrong is in *err. */
int64_t mount_bytes_try(struct mount_bytes *b, uint64_t member, uint64_t offset,
			void *buf, size_t n, struct hpdsl_error *err);
/* That of one which is known to be damaged: told to its first reader alone. */
int mount_bytes_known_bad(struct hpdsl_error *err);
/* Is a part of it not to be given before all of it was looked at? */
bool mount_bytes_is_unproven(const struct mount_bytes *b,
			     const struct hpdsl_member *m);
/*
 * Tells, unless that was said last of that member, and counts: what the reader
 * is to get.
 */
int64_t mount_bytes_tell(struct mount_bytes *b, uint64_t member,
			 const struct hpdsl_error *err);

/* The same if nothing has to be waited for, else -EAGAIN. */
int64_t mount_bytes_now(struct mount_bytes *b, uint64_t member, uint64_t offset,
			void *buf, size_t n);

#endif
