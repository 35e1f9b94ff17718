/* SPDX-License-Identifier: Apache-2.0 */
/* Over a chunk, front to back: stretches of bytes, some at a time. */
#include "dataset/chunk_walk.h"

#include "base/error.h"
#include "base/mem.h"
#include "chunk/tar.h"

#include <stdlib.h>
#include <string.h>

int hp_chunk_walk_each(struct hp_chunk_walk *w, uint64_t n,
		       hp_chunk_walk_fn *each, void *arg,
		       struct hpdsl_error *err)
{
	struct hp_pass *p = w->pass;

	while (n) {
		int r = hp_chunk_walk_need(w, 1, err);
		size_t k = n < p->have ? (size_t)n : p->have;

		if (r)
			return r;
		each(arg, p->at, k);
		hp_pass_take(p, k);
		n -= k;
	}
	return 0;
}

static void ignore(void *arg, const uint8_t *p, size_t n)
{
	(void)arg;
	(void)p;
	(void)n;
}

int hp_chunk_walk_over(struct hp_chunk_walk *w, uint64_t n,
		       struct hpdsl_error *err)
{
	return hp_chunk_walk_each(w, n, ignore, NULL, err);
}

static void copy(void *arg, const uint8_t *p, size_t n)
{
	uint8_t **to = arg;

	memcpy(*to, p, n);
	*to += n;
}

int hp_chunk_walk_copy(struct hp_chunk_walk *w, size_t n, uint8_t **ret,
		       struct hpdsl_error *err)
{
	hp_auto_free uint8_t *all = malloc(n ? n : 1);
	uint8_t *to = all;
	int r;

	if (!all)
		return hp_fail_nomem(err);
	r = hp_chunk_walk_each(w, n, copy, &to, err);
	if (r == 0)
		*ret = hp_take(all);
	return r;
}

int hp_chunk_walk_same(struct hp_chunk_walk *w, const uint8_t *want, size_t n,
		       bool *ret, struct hpdsl_error *err)
{
	int r = hp_chunk_walk_need(w, n, err);

	if (r)
		return r;
	*ret = memcmp(w->pass->at, want, n) == 0;
	hp_pass_take(w->pass, n);
	return 0;
}

static void hash(void *arg, const uint8_t *p, size_t n)
{
	hp_content_update(arg, p, n);
}

int hp_chunk_walk_content(struct hp_chunk_walk *w, uint64_t size,
			  struct hp_content_hash *ret, struct hpdsl_error *err)
{
	int r;

	if (size <= w->pass->have) {
		hp_content_hash_sha256(w->pass->at, (size_t)size, w->sha256,
				       ret);
		hp_pass_take(w->pass, (size_t)size);
		return 0;
	}
	hp_content_begin_sha256(&w->state, w->sha256);
	r = hp_chunk_walk_each(w, size, hash, &w->state, err);
	if (r == 0)
		hp_content_end(&w->state, ret);
	return r;
}

int hp_chunk_walk_zeros(struct hp_chunk_walk *w, uint64_t n, bool *odd,
			struct hpdsl_error *err)
{
	static const uint8_t zero[HP_TAR_BLOCK];

	while (n) {
		size_t k = n < HP_TAR_BLOCK ? (size_t)n : HP_TAR_BLOCK;
		int r = hp_chunk_walk_need(w, k, err);

		if (r)
			return r;
		if (memcmp(w->pass->at, zero, k) != 0) {
			if (!odd)
				return w->ops->odd(w->arg, err);
			*odd = true;
		}
		hp_pass_take(w->pass, k);
		n -= k;
	}
	return 0;
}
