/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members that were found to be damaged, at the origin, too: whoever reads on
 * in one of them is told at once, and it is not verified for each of its pages.
 * It is forgotten when the file that the chunk is in has become another one, or
 * was written to.  Any number of threads.
 */
#ifndef MOUNT_BAD_H
#define MOUNT_BAD_H

#include <hpdsl.h>
#include <pthread.h>
#include <stdatomic.h>

/* A file as it was; zeros: it is not to be had. */
struct mount_file {
	uint64_t dev, ino, size;
	int64_t mtime, mtime_nsec, ctime, ctime_nsec;
};

struct mount_bad_chunk {
	uint32_t number;
	struct mount_file is;
};

/* Who reads ahead finds what nobody has been told of. */
struct mount_untold {
	uint64_t member;
	struct hpdsl_error err;
};

struct mount_bad {
	const struct hpdsl_dataset *ds;
	char *folder; /* where chunks' files are, or the origin's; NULL: no
		       * memory, and nothing is remembered */
	pthread_mutex_t lock;
	uint64_t members;
	uint8_t *bit; /* one a member; NULL: none so far */
	struct mount_bad_chunk *chunk;
	_Atomic size_t chunks;
	struct mount_untold *untold;
	size_t untolds; /* no more than are told */
};

void mount_bad_init(struct mount_bad *b, const struct hpdsl_dataset *ds,
		    const char *dataset, uint64_t members);
void mount_bad_release(struct mount_bad *b);

/* What file the chunk is in now. */
void mount_bad_look(const struct mount_bad *b, uint32_t chunk,
		    struct mount_file *ret);
/* It was verified after that look, and is damaged. */
void mount_bad_add(struct mount_bad *b, const struct hpdsl_member *m,
		   const struct mount_file *is, const struct hpdsl_error *err);
/* What is to be told of it to its first reader: true, once. */
bool mount_bad_tell(struct mount_bad *b, uint64_t member,
		    struct hpdsl_error *ret);
/* Has the chunk had such members, whether or not it is what it was? */
bool mount_bad_has(struct mount_bad *b, uint32_t chunk);
/* Is it one, and the file what it was? */
bool mount_bad_is(struct mount_bad *b, const struct hpdsl_member *m);

#endif
