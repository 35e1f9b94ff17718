/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of fetching share. */
#ifndef HP_FETCH_PRIVATE_H
#define HP_FETCH_PRIVATE_H

#include "base/sizes.h"
#include "chunk/frame.h"
#include "dataset/dataset.h"
#include "dataset/fetch.h"

#include <pthread.h>

/* What a thread needs to expand frames. */
struct hp_fetch_desk {
	struct hp_fetch_desk *next;
	uint8_t *buf; /* HP_FETCH_READ and two pages: as stored */
	ZSTD_DCtx *zstd;
};

struct hp_fetch {
	const struct hpdsl_dataset *ds;
	struct hp_fetch_options opt;
	struct hp_fd_cache *files; /* descriptors of its own */
	/* Atomic, all of these. */
	uint8_t *told;		       /* of each chunk: its file here is bad */
	uint8_t no_direct[HP_SOURCES]; /* it cannot be done */
	bool quit;		       /* nobody waits for what is coming */
	struct hp_fetch_counts count;  /* but for median_read: sizes say that */
	struct hp_sizes sizes;
	enum hp_fetch_from from;
	struct hp_fetch_store *store; /* NULL until it was wanted */
	struct hp_fetch_cached cached;
	pthread_mutex_t lock;
	struct hp_fetch_desk *idle; /* under the lock */
};

static inline enum hp_fetch_from hp_fetch_is_from(const struct hp_fetch *f)
{
	return __atomic_load_n(&f->from, __ATOMIC_ACQUIRE);
}

/* Where members lie: fetch_room.c */

static inline uint64_t hp_fetch_page(uint64_t offset)
{
	return offset & ~(uint64_t)(HP_FETCH_PAGE - 1);
}
/* Bytes of the pages that hold these of a file; of none 0. */
uint64_t hp_fetch_pages(uint64_t begin, uint64_t end);
/* Is a member read with those before it, which go from begin to end? */
bool hp_fetch_joins(uint64_t begin, uint64_t end,
		    const struct hp_block_member *m);

/* Bytes of a file: fetch_file.c */

enum hp_fetch_way {
	HP_FETCH_FROM_CACHE, /* the page cache has it, most of it at least */
	HP_FETCH_THROUGH,    /* it has not, or cannot be asked */
	HP_FETCH_PAST,
};

/* What a descriptor is for, beside that of all who read the dataset. */
enum hp_fetch_own {
	HP_FETCH_NONE,
	HP_FETCH_DIRECT, /* past the page cache */
	HP_FETCH_LARGE,	 /* large reads through it */
};

/* A chunk's file being read. */
struct hp_fetch_file {
	struct hp_fetch *f;
	const struct hpdsl_chunk *chunk;
	struct hp_source file;
	enum hp_fetch_own own;
	struct hp_source self; /* the same with that, unless own is NONE */
	uint64_t known;	       /* of what is before .. */
	enum hp_fetch_way way; /* .. this is known */
};

/* file is open, and stays the caller's. */
void hp_fetch_file_begin(struct hp_fetch_file *k, struct hp_fetch *f,
			 const struct hpdsl_chunk *c,
			 const struct hp_source *file);
void hp_fetch_file_end(struct hp_fetch_file *k);
/*
 * Reads on from at, to *ret, which is end or before it; a little at a time
 * where that comes from memory, so that what is read is still at hand when it
 * is looked at.  page is where the page of byte at begins, and there is room
 * for all pages to end.  HPDSL_ECORRUPT: the file ends before; -errno.
 */
int hp_fetch_next(struct hp_fetch_file *k, uint64_t at, uint64_t end,
		  uint8_t *page, uint64_t *ret, struct hpdsl_error *err);
/* "stage/chunk-000017.tar: why" */
int hp_fetch_file_fail(const struct hp_fetch_file *k, int code, const char *why,
		       struct hpdsl_error *err);
/* Tells once of each chunk that is read from the origin for this reason. */
void hp_fetch_tell(struct hp_fetch *f, const struct hpdsl_chunk *c,
		   const struct hpdsl_error *why);
/* What is new of the job's other nodes. */
void hp_fetch_tell_peers(struct hp_fetch *f);
/* n bytes of the file were read at once. */
void hp_fetch_file_count(const struct hp_fetch_file *k, uint64_t n,
			 bool direct);

/* Reads that are kept: fetch_store.c */

/* NULL: no memory. */
struct hp_fetch_store *hp_fetch_store_new(void);
void hp_fetch_store_free(struct hp_fetch_store *s); /* NULL is harmless */
/* The read of a file that began there, if it is no longer than that: its bytes.
 * 0: there is none. */
uint64_t hp_fetch_store_get(struct hp_fetch_store *s, uint64_t key, uint64_t at,
			    uint64_t most, uint8_t *to);
/* If there is memory. */
void hp_fetch_store_put(struct hp_fetch_store *s, uint64_t key, uint64_t at,
			const uint8_t *bytes, uint64_t size);

/* A stretch of members: fetch_stretch.c */

enum { HP_FETCH_PENDING = 1 }; /* code of a member that has no other yet */

struct hp_fetch_stretch {
	struct hp_fetch *f;
	struct hpdsl_chunk chunk;
	struct hp_block_member *m; /* n of them */
	uint32_t n;
	uint64_t begin, end; /* of the plain tar */
	uint8_t *page;	     /* where the page of begin begins */
	uint32_t next;	     /* member that is verified next */
	uint32_t good;
	uint64_t cached; /* bytes that the page cache had */
};

static inline uint8_t *hp_fetch_at(const struct hp_fetch_stretch *s,
				   uint64_t offset)
{
	return s->page + (offset - hp_fetch_page(s->begin));
}

/* Of an empty member it may be anywhere. */
static inline uint8_t *hp_fetch_data(const struct hp_fetch_stretch *s,
				     const struct hp_block_member *m)
{
	return m->size ? hp_fetch_at(s, m->offset) : s->page;
}

/* Gives all its members a code, and *why, if it has none, a reason. */
void hp_fetch_stretch(struct hp_fetch_stretch *s, struct hpdsl_error *why);

/* Its members: fetch_verify.c */

/*
 * All bytes before offset are there: members that end there become good, or
 * stay pending and *err tells of the first.
 */
int hp_fetch_verify(struct hp_fetch_stretch *s, const struct hp_fetch_file *k,
		    uint64_t offset, struct hpdsl_error *err);
/* Those that begin before offset stay pending. */
void hp_fetch_skip(struct hp_fetch_stretch *s, uint64_t offset);

/* Of a compressed chunk: fetch_expand.c */

/*
 * Expands and verifies.  What lies in bad frames stays pending: the first
 * reason.
 */
int hp_fetch_expand(struct hp_fetch_stretch *s, struct hp_fetch_file *k,
		    struct hpdsl_error *err);
void hp_fetch_desks_free(struct hp_fetch *f);

#endif
