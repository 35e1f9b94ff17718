/* SPDX-License-Identifier: Apache-2.0 */
/* Making a loader: its share, its memory, its threads. */
#include "load/load.h"

#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "load/fit.h"
#include "sys/clock.h"
#include "sys/pool.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
	THREADS_LEAST = 4,
	PLACE = 128, /* bytes for a sample of a step, but for its content */
};
#define MEMORY (UINT64_C(4) << 30)

/* ---- Options ---------------------------------------------------------- */

static void fill(struct hpdsl_loader *l)
{
	struct hpdsl_share *s = &l->opt.share;

	if (!s->ranks)
		s->ranks = 1;
	if (!s->workers)
		s->workers = 1;
	l->memory = l->opt.memory ? l->opt.memory : MEMORY;
	l->began = hp_now();
	hpdsl_sources(l->ds, &l->before);
}

static int check_limits(const struct hpdsl_loader *l, struct hpdsl_error *err)
{
	uint32_t threads = l->opt.threads;

	if (l->memory < HPDSL_LOADER_MEMORY_LEAST)
		return hp_fail(err, HPDSL_EUSAGE,
			       "a loader needs a memory of 16 MiB or more, not "
			       "%" PRIu64 " bytes",
			       l->memory);
	if (threads > HPDSL_THREADS_MOST && threads != HPDSL_SERIAL)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%u threads are too many: %d at most", threads,
			       HPDSL_THREADS_MOST);
	return 0;
}

static int copy_suffixes(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	size_t n = l->opt.n_suffixes;

	if (n > UINT16_MAX)
		return hp_fail(err, HPDSL_EUSAGE, "too many suffixes");
	l->suffix = calloc(n ? n : 1, sizeof(*l->suffix));
	if (!l->suffix)
		return hp_fail_nomem(err);
	for (size_t i = 0; i < n; i++) {
		l->suffix[i] = strdup(l->opt.suffixes[i]);
		if (!l->suffix[i])
			return hp_fail_nomem(err);
	}
	l->plan.suffixes = (const char *const *)l->suffix;
	l->plan.n_suffixes = (uint32_t)n;
	return 0;
}

/* ---- Memory ----------------------------------------------------------- */

static void chunk_size(const void *arg, uint32_t chunk, uint64_t *ret_bytes,
		       uint64_t *ret_samples)
{
	const struct hpdsl_loader *l = arg;
	struct hpdsl_chunk c;

	if (hpdsl_chunk_get(l->ds, chunk, &c, NULL) < 0) {
		*ret_bytes = *ret_samples = 0;
		return;
	}
	*ret_bytes = c.plain_bytes;
	*ret_samples = c.samples;
}

/*
 * Each lane, and each of a few turns, has slots that are not full: they must
 * not take all the memory.  And none larger than there is something for.
 */
static size_t slot_size(const struct hpdsl_loader *l,
			const struct hp_load_fit *fit)
{
	size_t slot = HP_SLOT_MAX;

	while (slot > HP_SLOT_MIN &&
	       (slot / 2 > fit->largest ||
		(UINT64_C(2) * fit->lanes + 8) * slot > l->memory / 4))
		slot /= 2;
	return slot;
}

static int divide_memory(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	struct hp_load_sizes sizes = { .chunk = chunk_size, .arg = l };
	struct hp_load_epoch *e = l->epoch;
	struct hp_load_fit fit;
	struct hpdsl_counts n;

	hpdsl_count(l->ds, &n);
	l->mean = n.samples ? n.bytes / n.samples : 0;
	sizes.chosen = (double)e->share.samples / (double)n.samples;
	if (sizes.chosen > 1)
		sizes.chosen = 1;
	hp_load_windows(e->e, &e->share, &sizes, &fit);
	l->plan.slot = slot_size(l, &fit);
	if (hp_slots_init(&l->slots, l->memory, l->plan.slot) < 0)
		return hp_fail_nomem(err);
	l->stats.windows_bytes = fit.bytes;
	e->windows = fit.bytes + (uint64_t)fit.lanes * l->plan.slot <=
		     hp_load_window_limit(l);
	l->late_most = e->windows ? LATE_BYTES : l->memory / 2;
	if (!e->windows)
		hp_load_warn_one_by_one(l);
	return 0;
}

/* ---- Threads ---------------------------------------------------------- */

/* With fewer than wanted it goes on; with none, the caller does all. */
static int start(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	uint32_t n = hp_threads(l->opt.threads);

	if (n == HPDSL_SERIAL)
		return 0;
	if (!l->opt.threads && n < THREADS_LEAST)
		n = THREADS_LEAST;
	l->thread = hp_array(n, sizeof *l->thread);
	if (!l->thread)
		return hp_fail_nomem(err);
	pthread_mutex_lock(&l->lock);
	while (l->threads < n &&
	       hp_thread_start(&l->thread[l->threads], hp_load_worker, l) == 0)
		l->threads++;
	pthread_mutex_unlock(&l->lock);
	return 0;
}

static void init_locks(struct hpdsl_loader *l)
{
	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->warn_lock, NULL);
	pthread_cond_init(&l->work, NULL);
	pthread_cond_init(&l->jobs.done, NULL);
	hp_cond_init(&l->ready);
}

/* ---- New -------------------------------------------------------------- */

/* What is kept of each place takes memory that must be there, too. */
static uint64_t most_places(const struct hpdsl_loader *l)
{
	uint64_t n = (l->memory > MEMORY ? l->memory : MEMORY) / PLACE;

	return n < UINT32_MAX / 2 ? n : UINT32_MAX / 2;
}

static int open_epoch(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	struct hpdsl_epoch_info info;
	uint64_t places;
	int r;

	if ((unsigned)l->opt.end > HPDSL_END_DROP)
		return hp_fail(err, HPDSL_EUSAGE, "no such end of an epoch");
	r = hp_load_epoch_new(l, &l->opt.order, 0, &l->epoch, err);
	if (r < 0)
		return r;
	l->plan_epoch = l->epoch;
	l->epochs_planned = 1;
	hpdsl_epoch_info(l->epoch->e, &info);
	l->order = l->reached = info.order;
	l->reached.step = l->opt.order.step;
	if (l->opt.order.step > l->epoch->share.steps)
		return hp_fail(err, HPDSL_EUSAGE,
			       "no step %" PRIu64 ", the epoch has %" PRIu64,
			       l->opt.order.step, l->epoch->share.steps);
	r = hp_epoch_check_share(l->epoch->e, &l->opt.share, err);
	if (r < 0)
		return r;
	places = (uint64_t)hp_load_runs(&l->epoch->share) * info.order.run;
	if (places > most_places(l))
		return hp_fail(err, HPDSL_EUSAGE, "steps are too large");
	l->places = (uint32_t)places;
	return 0;
}

static int make(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	struct hp_fetch_options opt = {
		.cache = l->opt.cache,
		.unchecked = l->opt.unchecked,
		.warn = hp_load_warn,
		.arg = l,
	};
	int r = check_limits(l, err);

	if (r == 0)
		r = open_epoch(l, err);
	if (r == 0)
		r = copy_suffixes(l, err);
	if (r < 0)
		return r;
	hpdsl_pack_id(l->ds, l->pack);
	l->plan.index = l->ds->index;
	l->fetch = hp_fetch_new(l->ds, &opt);
	l->place = hp_array(l->places, sizeof *l->place);
	l->want = hp_array(l->places, sizeof *l->want);
	if (!l->fetch || !l->place || !l->want)
		return hp_fail_nomem(err);
	r = divide_memory(l, err);
	return r < 0 ? r : start(l, err);
}

int hpdsl_loader_new(const struct hpdsl_dataset *ds,
		     const struct hpdsl_loader_options *opt,
		     struct hpdsl_loader **ret, struct hpdsl_error *err)
{
	struct hpdsl_loader *l = calloc(1, sizeof *l);
	int r;

	if (!l)
		return hp_fail_nomem(err);
	l->ds = ds;
	l->opt = *opt;
	l->pid = getpid();
	init_locks(l);
	fill(l);
	r = make(l, err);
	if (r < 0) {
		hpdsl_loader_free(l);
		return r;
	}
	*ret = l;
	return 0;
}
