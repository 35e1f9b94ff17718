/* SPDX-License-Identifier: Apache-2.0 */
/* Where a loader is, and what it did. */
#include "load/load.h"

#include "base/error.h"
#include "sys/clock.h"

#include <string.h>

/* It is only the lock that changes. */
static pthread_mutex_t *lock_of(const struct hpdsl_loader *l)
{
	return (pthread_mutex_t *)&l->lock;
}

static uint64_t sub(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void sources(const struct hpdsl_loader *l, struct hpdsl_sources *ret)
{
	const struct hpdsl_sources *b = &l->before;

	hpdsl_sources(l->ds, ret);
	ret->local_bytes = sub(ret->local_bytes, b->local_bytes);
	ret->origin_bytes = sub(ret->origin_bytes, b->origin_bytes);
	ret->absent_chunks = sub(ret->absent_chunks, b->absent_chunks);
	ret->overtaken_chunks = sub(ret->overtaken_chunks, b->overtaken_chunks);
	ret->failed_chunks = sub(ret->failed_chunks, b->failed_chunks);
	ret->wait_seconds -= b->wait_seconds;
}

void hpdsl_loader_stats(const struct hpdsl_loader *l,
			struct hpdsl_loader_stats *ret)
{
	struct hp_fetch_counts n;

	if (!l) {
		*ret = (struct hpdsl_loader_stats){ 0 };
		return;
	}
	hp_fetch_count(l->fetch, &n);
	pthread_mutex_lock(lock_of(l));
	*ret = l->stats;
	ret->memory_peak = l->arena.peak;
	pthread_mutex_unlock(lock_of(l));
	sources(l, &ret->sources);
	ret->reads = n.reads;
	ret->read_bytes = n.read_bytes;
	ret->direct_bytes = n.direct_bytes;
	for (unsigned i = 0; i < 40; i++)
		ret->read_sizes[i] = n.read_sizes[i];
	ret->median_read = n.median_read;
	ret->seconds = hp_now() - l->began;
	ret->memory = l->memory;
	ret->share_bytes = l->division.share_bytes;
	ret->unchecked = l->opt.unchecked;
}

void hpdsl_loader_state(const struct hpdsl_loader *l, struct hpdsl_state *ret)
{
	*ret = (struct hpdsl_state){ 0 };
	if (!l)
		return;
	ret->end = l->opt.end;
	pthread_mutex_lock(lock_of(l));
	ret->order = l->reached;
	pthread_mutex_unlock(lock_of(l));
	/* The whole index is read for it, once: not before somebody asks. */
	hpdsl_pack_id(l->ds, ret->pack);
	if (l->play)
		memset(ret->pack, HPDSL_STATE_MEASURED, sizeof ret->pack);
	ret->has_choice = l->opt.choice;
	if (ret->has_choice)
		hpdsl_choice_digest(l->opt.choice, ret->choice);
}

uint64_t hpdsl_loader_steps(const struct hpdsl_loader *l, uint64_t epoch)
{
	struct hpdsl_order o;
	struct hpdsl_epoch *e;
	uint64_t steps;

	if (!l)
		return 0;
	pthread_mutex_lock(lock_of(l));
	o = l->order;
	pthread_mutex_unlock(lock_of(l));
	o.epoch = epoch;
	if (hpdsl_epoch_new(l->ds, l->opt.choice, &o, &e, NULL) < 0)
		return 0;
	steps = hpdsl_epoch_steps(e, l->opt.end);
	hpdsl_epoch_free(e);
	return steps;
}

int hpdsl_loader_mapping(const struct hpdsl_loader *l, int *ret_fd,
			 const void **ret_base, size_t *ret_size,
			 struct hpdsl_error *err)
{
	if (!l || l->arena.fd < 0)
		return hp_fail(err, HPDSL_EUSAGE,
			       "the loader shares no memory");
	*ret_fd = l->arena.fd;
	*ret_base = l->arena.base;
	*ret_size = l->arena.mapped;
	return 0;
}
