/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_read.h"

#include "sys/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD = 64, UNTOUCHED = 0xa5 };

static void done(void *arg, const struct hp_client_got *got)
{
	struct peer_read *r = arg;

	pthread_mutex_lock(&r->lock);
	r->got = *got;
	r->done = true;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

void peer_read_begin(struct peer_read *r, struct hp_client *c, uint32_t chunk,
		     uint64_t offset, uint64_t n, double seconds)
{
	const struct hp_client_want want = {
		.chunk = chunk,
		.kind = HP_ASK_PLAIN,
		.offset = offset,
		.n = n,
		.buf = r->buf = malloc(n + GUARD),
		.deadline = seconds > 0 ?
				    hp_monotonic() + (uint64_t)(seconds * 1e9) :
				    0,
	};

	assert_non_null(r->buf);
	memset(r->buf, UNTOUCHED, n + GUARD);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->n = n;
	r->done = false;
	hp_client_submit(c, &want, done, r);
}

void peer_read_wait(struct peer_read *r)
{
	pthread_mutex_lock(&r->lock);
	while (!r->done)
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

bool peer_read_is_done(struct peer_read *r)
{
	bool is;

	pthread_mutex_lock(&r->lock);
	is = r->done;
	pthread_mutex_unlock(&r->lock);
	return is;
}

void peer_read_end(struct peer_read *r)
{
	for (int i = 0; i < GUARD; i++)
		assert_int_equal(r->buf[r->n + (uint64_t)i], UNTOUCHED);
	free(r->buf);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
}

struct hp_client_got peer_read(const struct fault_nodes *f, struct hp_client *c,
			       uint32_t chunk, uint64_t offset, uint64_t n)
{
	const uint64_t size = fault_nodes_size(chunk);
	struct peer_read r;

	peer_read_begin(&r, c, chunk, offset, n, 0);
	peer_read_wait(&r);
	if (r.got.n >= 0) {
		const uint64_t left = offset < size ? size - offset : 0;

		assert_int_equal(r.got.n, n < left ? n : left);
		assert_true(memcmp(r.buf, f->bytes[chunk] + offset,
				   (size_t)r.got.n) == 0);
	}
	peer_read_end(&r);
	return r.got;
}
