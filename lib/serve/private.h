/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a server's core share. */
#ifndef HP_SERVE_PRIVATE_H
#define HP_SERVE_PRIVATE_H

#include "base/pace.h"
#include "dataset/dataset.h"
#include "hpdsl/serve.h"
#include "peers/book_file.h"
#include "peers/table.h"
#include "serve/decide.h"

#include <pthread.h>

struct hpdsl_serve {
	const struct hp_io *io;
	struct hpdsl_dataset *ds;  /* LOCALDIR, as its readers see it */
	struct hp_fd_cache *files; /* of its own: no links are followed */
	uint64_t queue;
	uint64_t memory; /* bytes of adopted chunks that may be there */
	uint32_t chunks;
	uint8_t pack[16];
	struct stat dir, index; /* as opened, to be held against their names */
	bool draining, quit;	/* atomic */
	uint64_t rate;		/* atomic: the book's; bytes a second; 0: any */
	struct hp_adopting *adoption;
	pthread_mutex_t pace_lock; /* of pace: what others are given */
	struct hp_pace pace;
	struct hp_held *held; /* atomic; the last book's */
	/* Of all chunks, as looked at last; with the books under the lock. */
	pthread_rwlock_t lock;
	uint8_t *state; /* HP_CHUNK_.. */
	uint8_t *have;	/* what /v1/have says */
	/* The one that there is, and the one that it took the place of: who
	 * has read that is served until the server ends. */
	struct hp_book_file *book, *before;
	struct hp_table_file table_file; /* of book, if there is one */
	struct hp_table table;
	uint64_t up;   /* when that was read */
	uint16_t port; /* where it listens; 0: not known */
	char told[sizeof(((struct hpdsl_error *)0)->msg)]; /* of a bad one */
	/* Atomic. */
	struct hpdsl_serve_stats count; /* but for chunks, here, coming */
	uint64_t here, coming;
};

static inline bool hp_serve_quits(const struct hpdsl_serve *s)
{
	return __atomic_load_n(&s->quit, __ATOMIC_RELAXED);
}

static inline void hp_serve_add(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

/* What is known of a chunk, now; false: it has no such number. */
bool hp_serve_know(struct hpdsl_serve *s, uint32_t chunk,
		   struct hpdsl_chunk *ret_row, struct hp_serve_known *ret);

/* The file of a chunk that is here, for the answer alone: -errno. */
int hp_serve_open_chunk(struct hpdsl_serve *s, const struct hpdsl_chunk *row,
			bool plain);

#endif
