/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that outlive a worker, in the file of the one that is there. */
#include "metrics.h"

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

static void put(const struct cmd_metrics *m, const struct mount_slots *s)
{
	const struct mount_counts *c = &s->counts;
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

	cmd_metrics_put(m, &of);
}

void mount_metrics_begin(struct cmd_metrics *m, const struct mount_slots *s)
{
	const struct hpdsl_metrics_options opt = { .part = "mount" };

	*m = (struct cmd_metrics){
		.rows = rows,
		.n = sizeof(rows) / sizeof(*rows),
	};
	cmd_metrics_open(m, &opt);
	mount_metrics_look(m, s);
}

void mount_metrics_look(const struct cmd_metrics *m,
			const struct mount_slots *s)
{
	if (hpdsl_metrics_due(m->m))
		put(m, s);
}

void mount_metrics_end(struct cmd_metrics *m, const struct mount_slots *s)
{
	if (m->m)
		put(m, s);
	cmd_metrics_close(m);
}
