/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where bytes of a chunk come from: one table of sources, for who reads a
 * dataset, for the stager, and for what it reads of the origin.
 *
 * What holds for each of them:
 *
 * - A source has a chunk in one form, as it is stored or as the plain tar.
 *   Which one is asked, and which one next, is said by where.h alone.
 * - It has no words.  Whether the chunk is there, and is what the index says,
 *   it finds out; what that is called is known to who asks.
 * - A stretch is taken by hp_source_submit(), and done() is called for it once:
 *   by any thread, in any order, before that returns or later.  Until then
 *   buffer and stretch are the source's, and afterwards never again.  Fewer
 *   bytes than were asked for are the end, and no failure.
 * - A source that has read() is one that is at once: all is done when
 *   hp_source_submit() returns.  It pays nothing for the others: no lock, no
 *   memory, no look at a clock.  These have submit() instead, and end each
 *   stretch in bounded time, by its deadline or without one.
 * - It tries once.  Trying again, pace, O_DIRECT, counting, and watching over
 *   what does not return are left to who asks.
 *
 * Any number of threads.
 */
#ifndef HP_SOURCE_H
#define HP_SOURCE_H

#include "hpdsl/dataset.h"
#include "sys/fd_cache.h"

#include <errno.h>

/* The kinds; for the caches, too: their numbers go into keys. */
enum hp_chunk_at {
	HP_AT_HERE,	/* in the dataset's directory, as it stores it */
	HP_AT_EXPANDED, /* there, as the plain tar of a compressed chunk */
	HP_AT_ORIGIN,
	HP_AT_PEER,	  /* at another node of the job, as it is stored */
	HP_AT_PEER_PLAIN, /* there, as the plain tar of a compressed chunk */
	HP_SOURCES
};

/* Who sent: nobody who could be blamed, several, else his number and one. */
enum { HP_SENT_NOBODY = 0 };
#define HP_SENT_SEVERAL UINT32_MAX
struct hp_sent {
	uint32_t last; /* what was waited for last */
	uint32_t all;  /* since this was zero */
};

/* A chunk at a source that was found to have it. */
struct hp_source {
	const struct hp_source_ops *ops;
	const struct hp_io *io;
	void *arg; /* of the table */
	enum hp_chunk_at at;
	uint32_t chunk;
	struct hp_cached_fd fd; /* -1: the source has none */
	struct hp_sent *sent;	/* who sent is noted there; NULL: nowhere */
};

/* Bytes of a chunk in the source's form. */
struct hp_source_stretch {
	uint64_t offset;
	void *buf;
	size_t n;
	ssize_t got;   /* set: as many; fewer, the end; -errno */
	uint32_t sent; /* set, by a source over a network: HP_SENT_.. */
};

/* Maybe by a thread of the source, which is to go on at once. */
typedef void hp_source_done(void *arg, struct hp_source_stretch *s);

/* What there is under the chunk's name. */
enum hp_source_is {
	HP_SOURCE_IS_IT,
	HP_SOURCE_IS_ODD,   /* not a regular file */
	HP_SOURCE_IS_SIZED, /* of another size, *ret_size */
};

/* Whose fault a code is, as bits; 0: the source's, and it will last. */
enum {
	HP_BLAME_SELF = 1,   /* this process's: another source has no remedy */
	HP_BLAME_PASSES = 2, /* it may be gone with another try */
};

/* Of a source over a network: it has the chunk, but in the other form. */
#define HP_OTHER_FORM (-EMEDIUMTYPE)
/* -EHOSTUNREACH: nobody gives it, and the origin is to be asked. */

struct hp_source_ops {
	bool plain; /* of a compressed chunk it has the plain tar */
	/* May it be asked now?  NULL: always.  arg is the table's. */
	bool (*there)(void *arg);
	/*
	 * A descriptor of what has the chunk's name in dir, or -errno; flags
	 * are for open, beside O_RDONLY.  NULL: it works without.
	 */
	int (*open)(const struct hp_io *io, int dir, const char *name,
		    int flags);
	/* Another one of the same chunk, the same way.  NULL: there is none. */
	int (*again)(const struct hp_source *s, int flags);
	/* enum hp_source_is, or -errno. */
	int (*identity)(const struct hp_source *s, const struct hpdsl_chunk *c,
			uint64_t *ret_size);
	/* One of the two.  At once: what got would be. */
	ssize_t (*read)(const struct hp_source *s, void *buf, size_t n,
			uint64_t offset);
	void (*submit)(const struct hp_source *s, struct hp_source_stretch *v,
		       size_t n, uint64_t deadline, hp_source_done *done,
		       void *arg);
	/* As hp_io's: -EOPNOTSUPP. */
	int64_t (*cached)(const struct hp_source *s, uint64_t offset,
			  uint64_t n);
	unsigned (*blame)(int code); /* HP_BLAME_.. */
	/*
	 * What one of them sent of a chunk, which is neither nobody nor
	 * several, is wrong: another source has it right.  NULL: as it may.
	 */
	void (*bad)(const struct hp_source *s, uint32_t sent);
	/* What it is called in messages of the dataset at path. */
	void (*text)(const char *path, const char *name, char *buf,
		     size_t room);
};

/* As hp_fail_errno(), for a code that reading it gave: in words of its own
 * where the system's would be wrong. */
int hp_source_fail(const struct hp_source *s, struct hpdsl_error *err, int code,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

struct hp_sources {
	const struct hp_source_ops *of[HP_SOURCES];
	void *arg[HP_SOURCES];
};

/* All of them are files: source_file.c */
extern const struct hp_sources hp_sources_files;

static inline bool hp_source_is_there(const struct hp_sources *t,
				      enum hp_chunk_at at)
{
	const struct hp_source_ops *ops = t->of[at];

	return ops && (!ops->there || ops->there(t->arg[at]));
}

static inline bool hp_source_is_peer(enum hp_chunk_at at)
{
	return at == HP_AT_PEER || at == HP_AT_PEER_PLAIN;
}

/* A chunk at one of them, that is still to be opened. */
static inline struct hp_source hp_source_of(const struct hp_sources *t,
					    enum hp_chunk_at at,
					    const struct hp_io *io,
					    uint32_t chunk)
{
	return (struct hp_source){
		.ops = t->of[at],
		.io = io,
		.arg = t->arg[at],
		.at = at,
		.chunk = chunk,
		.fd = { -1, -1 },
	};
}

/* Bytes that the chunk has there, if it is what the index says. */
static inline uint64_t hp_source_size(const struct hp_source *s,
				      const struct hpdsl_chunk *c)
{
	return s->ops->plain ? c->plain_bytes : c->bytes;
}

/* Are there frames to be expanded? */
static inline bool hp_source_has_frames(const struct hp_source *s,
					const struct hpdsl_chunk *c)
{
	return c->compressed && !s->ops->plain;
}

/* n stretches, of any; deadline as hp_monotonic(), 0: none. */
void hp_source_submit(const struct hp_source *s, struct hp_source_stretch *v,
		      size_t n, uint64_t deadline, hp_source_done *done,
		      void *arg);

/* One of a source that takes a while. */
ssize_t hp_source_wait(const struct hp_source *s, void *buf, size_t n,
		       uint64_t offset);

/* One of any, waited for: n bytes, fewer at the end, or -errno. */
static inline ssize_t hp_source_read(const struct hp_source *s, void *buf,
				     size_t n, uint64_t offset)
{
	return s->ops->read ? s->ops->read(s, buf, n, offset) :
			      hp_source_wait(s, buf, n, offset);
}

#endif
