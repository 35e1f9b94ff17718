/* SPDX-License-Identifier: Apache-2.0 */
/* What the stager tells of itself, though a thread of it may be stuck. */
#include "stager/stager.h"

#include "sys/clock.h"

#include <stdio.h>

/* Takes no lock that is held while the system is asked for anything. */
static void find_stuck(const struct hpdsl_stager *s,
		       struct hpdsl_stager_report *ret)
{
	const struct hp_operation *oldest = NULL;
	uint64_t first = UINT64_MAX, now = hp_monotonic();

	for (uint32_t i = 0; i < s->shared.n_threads; i++) {
		const struct hp_operation *o = &s->shared.thread[i].now;
		uint64_t since = __atomic_load_n(&o->since, __ATOMIC_ACQUIRE);

		if (since && since < first) {
			first = since;
			oldest = o;
		}
	}
	if (!oldest)
		return;
	ret->stuck_seconds = first < now ? (double)(now - first) * 1e-9 : 0;
	snprintf(ret->stuck, sizeof ret->stuck, "%s %s",
		 __atomic_load_n(&oldest->what, __ATOMIC_RELAXED),
		 __atomic_load_n(&oldest->name, __ATOMIC_RELAXED));
}

void hpdsl_stager_report(const struct hpdsl_stager *s,
			 struct hpdsl_stager_report *ret)
{
	/* Only the lists are kept apart by it: nobody waits with it held. */
	pthread_mutex_t *lock = (pthread_mutex_t *)&s->shared.lock;
	struct hp_exchange_counts x;

	hp_exchange_count(s->own.x, &x);
	*ret = s->own.report;
	ret->idle = x.idle && s->own.jobs == 0;
	ret->refetch_chunks = x.refetch_chunks;
	ret->refetch_bytes = x.refetch_bytes;
	ret->lost_chunks = x.given_up;
	pthread_mutex_lock(lock);
	ret->origin_bytes = s->shared.counts.origin_bytes;
	ret->written_bytes = s->shared.counts.written_bytes;
	ret->retries = s->shared.counts.retries;
	ret->read_seconds = s->shared.counts.read_seconds;
	ret->write_seconds = s->shared.counts.write_seconds;
	ret->hash_seconds = s->shared.counts.hash_seconds;
	ret->expand_seconds = s->shared.counts.expand_seconds;
	pthread_mutex_unlock(lock);
	find_stuck(s, ret);
}

double hpdsl_stager_ready(const struct hpdsl_stager *s, uint64_t chunk)
{
	return chunk < s->chunks ? (double)s->own.ready[chunk] : -1;
}
