/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that outlive a worker, in the file of the one that is there. */
#include "metrics.h"

#include <time.h>

/* As --status calls them. */
struct shown {
	uint64_t requests, lookups, listings, reads, bytes, interrupted, filled,
		failed, replaced;
};

#define ROW(member, help)                                                 \
	CMD_METRIC(COUNTER, "hpdsl_mount_" #member "_total", false, help, \
		   shown, member)

static const struct cmd_metric rows[] = {
	ROW(requests, "Requests of the kernel"),
	ROW(lookups, "Names looked up"),
	ROW(listings, "Listings of folders"),
	ROW(reads, "Reads of files"),
	ROW(bytes, "Bytes read of files"),
	ROW(interrupted, "Requests that were interrupted"),
	ROW(filled, "Files given to the kernel before being asked"),
	ROW(failed, "Reads that failed"),
	ROW(replaced, "Workers that died and were replaced"),
};

static void put(const struct mount_metrics *m)
{
	const struct mount_counts *c = &m->slots->counts;
	const struct shown of = {
		.requests = atomic_load(&c->all),
		.lookups = atomic_load(&c->lookups),
		.listings = atomic_load(&c->lists),
		.reads = atomic_load(&c->reads),
		.bytes = atomic_load(&c->bytes),
		.interrupted = atomic_load(&c->interrupted),
		.filled = atomic_load(&c->stored),
		.failed = atomic_load(&c->wrong),
		.replaced = atomic_load(&c->replaced),
	};

	cmd_metrics_put(&m->c, &of);
}

/* The folder may be on a file system that hangs: no thread that serves waits
 * for it. */
static void *thread(void *arg)
{
	struct mount_metrics *m = arg;

	pthread_mutex_lock(&m->lock);
	while (!m->ends) {
		struct timespec next;

		if (hpdsl_metrics_due(m->c.m))
			put(m);
		clock_gettime(CLOCK_MONOTONIC, &next);
		next.tv_sec++;
		pthread_cond_timedwait(&m->end, &m->lock, &next);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

void mount_metrics_begin(struct mount_metrics *m, const struct mount_slots *s)
{
	const struct hpdsl_metrics_options opt = { .part = "mount" };
	pthread_condattr_t clock;

	*m = (struct mount_metrics){
		.slots = s,
		.c = { .rows = rows, .n = sizeof(rows) / sizeof(*rows) },
	};
	cmd_metrics_open(&m->c, &opt);
	if (!m->c.m)
		return;
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&m->end, &clock);
	pthread_condattr_destroy(&clock);
	if (pthread_create(&m->thread, NULL, thread, m) == 0)
		return;
	cmd_warning("no thread: there are no metrics of this mount");
	cmd_metrics_close(&m->c);
}

void mount_metrics_end(struct mount_metrics *m)
{
	if (!m->c.m)
		return;
	pthread_mutex_lock(&m->lock);
	m->ends = true;
	pthread_cond_signal(&m->end);
	pthread_mutex_unlock(&m->lock);
	pthread_join(m->thread, NULL);
	put(m);
	cmd_metrics_close(&m->c);
}
