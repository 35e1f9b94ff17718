/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Over a chunk, front to back, as everybody does who reads all of it: headers,
 * contents that are hashed, padding and trailers that are zeros.  Whoever walks
 * says what it means if the file cannot be read, ends or is not what it should
 * be; what these functions return ends the walk, unless it is 0.
 */
#ifndef HP_CHUNK_WALK_H
#define HP_CHUNK_WALK_H

#include "dataset/pass.h"

struct hp_chunk_walk_ops {
	/* n bytes are wanted at hand: there are less.  Fewer: the end. */
	int (*fill)(void *arg, size_t n, struct hpdsl_error *err);
	/* The file ends before what is wanted. */
	int (*ended)(void *arg, struct hpdsl_error *err);
	/* What comes next should be zeros. */
	int (*odd)(void *arg, struct hpdsl_error *err);
};

/* 64-byte aligned; state is of a content that is not at hand as a whole. */
struct hp_chunk_walk {
	struct hp_pass *pass;
	const struct hp_chunk_walk_ops *ops;
	void *arg;
	struct hp_sha256 *sha256; /* of contents, too: borrowed, or NULL */
	struct hp_content_state state;
};

static inline void hp_chunk_walk_begin(struct hp_chunk_walk *w,
				       struct hp_pass *pass,
				       const struct hp_chunk_walk_ops *ops,
				       void *arg)
{
	w->pass = pass;
	w->ops = ops;
	w->arg = arg;
	w->sha256 = NULL;
}

/* n bytes (at most HP_PASS_PIECE / 2) are at hand. */
static inline int hp_chunk_walk_need(struct hp_chunk_walk *w, size_t n,
				     struct hpdsl_error *err)
{
	int r;

	if (w->pass->have >= n)
		return 0;
	r = w->ops->fill(w->arg, n, err);
	return r || w->pass->have >= n ? r : w->ops->ended(w->arg, err);
}

/* n bytes go by, some at a time. */
typedef void hp_chunk_walk_fn(void *arg, const uint8_t *p, size_t n);
int hp_chunk_walk_each(struct hp_chunk_walk *w, uint64_t n,
		       hp_chunk_walk_fn *each, void *arg,
		       struct hpdsl_error *err);
/* The same, and nobody looks at them. */
int hp_chunk_walk_over(struct hp_chunk_walk *w, uint64_t n,
		       struct hpdsl_error *err);
/* The same: *ret is malloc'ed. */
int hp_chunk_walk_copy(struct hp_chunk_walk *w, size_t n, uint8_t **ret,
		       struct hpdsl_error *err);
/* Are they these?  At most HP_TAR_HEADER_MAX. */
int hp_chunk_walk_same(struct hp_chunk_walk *w, const uint8_t *want, size_t n,
		       bool *ret, struct hpdsl_error *err);
/* A content of size bytes: its checksums. */
int hp_chunk_walk_content(struct hp_chunk_walk *w, uint64_t size,
			  struct hp_content_hash *ret, struct hpdsl_error *err);
/* n zeros, block by block.  With odd it is set by others, and they go by. */
int hp_chunk_walk_zeros(struct hp_chunk_walk *w, uint64_t n, bool *odd,
			struct hpdsl_error *err);

#endif
