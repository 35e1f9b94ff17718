/* SPDX-License-Identifier: Apache-2.0 */
/* Making a loader: its share, its memory, its threads. */
#include "load/load.h"

#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "sys/clock.h"
#include "sys/pool.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
	THREADS_LEAST = 4,
};

/* ---- Options ---------------------------------------------------------- */

static void fill(struct hpdsl_loader *l)
{
	struct hpdsl_share *s = &l->opt.share;

	if (!s->ranks)
		s->ranks = 1;
	if (!s->workers)
		s->workers = 1;
	l->memory = l->opt.memory ? l->opt.memory : HPDSL_LOADER_MEMORY;
	l->began = hp_now();
	hpdsl_sources(l->ds, &l->before);
}

static int check_limits(const struct hpdsl_loader_options *opt,
			struct hpdsl_error *err)
{
	if (opt->memory && opt->memory < HPDSL_LOADER_MEMORY_LEAST)
		return hp_fail(err, HPDSL_EUSAGE,
			       "a loader needs a memory of 16 MiB or more, not "
			       "%" PRIu64 " bytes",
			       opt->memory);
	if (opt->threads > HPDSL_THREADS_MOST && opt->threads != HPDSL_SERIAL)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%u threads are too many: %d at most",
			       opt->threads, HPDSL_THREADS_MOST);
	if ((unsigned)opt->end > HPDSL_END_SHORT)
		return hp_fail(
			err, HPDSL_EUSAGE,
			"no such end of an epoch: %u, and %d is the last",
			(unsigned)opt->end, HPDSL_END_SHORT);
	if (opt->n_suffixes > UINT16_MAX)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%zu suffixes are too many: %d at most",
			       opt->n_suffixes, UINT16_MAX);
	return 0;
}

int hpdsl_loader_check(const struct hpdsl_dataset *ds,
		       const struct hpdsl_loader_options *opt,
		       struct hpdsl_error *err)
{
	const struct hp_load_wanted w = { opt->suffixes,
					  (uint32_t)opt->n_suffixes };
	int r = check_limits(opt, err);

	return r < 0 ? r : hp_load_look(ds, opt->choice, &w, HP_LOAD_LOOK, err);
}

static int copy_suffixes(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	size_t n = l->opt.n_suffixes;

	l->suffix = calloc(n ? n : 1, sizeof(*l->suffix));
	l->caller.told_lacking = calloc(n ? n : 1, 1);
	if (!l->suffix || !l->caller.told_lacking)
		return hp_fail_nomem(err);
	memset(l->caller.told_lacking, l->opt.may_lack, n);
	for (size_t i = 0; i < n; i++) {
		l->suffix[i] = strdup(l->opt.suffixes[i]);
		if (!l->suffix[i])
			return hp_fail_nomem(err);
	}
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
	hp_cond_init(&l->ready);
}

/* ---- New -------------------------------------------------------------- */

static int fill_order(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	struct hpdsl_order_start start = {
		.choice = l->opt.choice,
		.batch_size = l->opt.batch_size,
		.ranks = l->opt.share.ranks,
		.workers = l->opt.share.workers,
	};
	int r;

	l->order = l->opt.order;
	r = hpdsl_order_fill(l->ds, &start, &l->order, err);
	l->reached = l->order;
	return r;
}

static int check_step(const struct hpdsl_loader *l, struct hpdsl_error *err)
{
	const struct hp_load_epoch *e = l->caller.epoch;
	uint64_t steps = hpdsl_epoch_steps(e->e, l->opt.end);
	int r = hp_load_check_step(l->order.step, steps, err);

	return r < 0 ? r : hp_load_check_places(l->places, l->memory, err);
}

static int open_epoch(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	struct hp_load_epoch *e;
	uint32_t end;
	int r;

	r = fill_order(l, err);
	if (r == 0)
		r = hp_load_epoch_new(l, &l->order, 0, &e, err);
	if (r < 0)
		return r;
	l->caller.epoch = l->planner.epoch = e;
	l->planner.next = l->order.epoch + 1;
	if (!l->opt.epochs ||
	    __builtin_add_overflow(l->order.epoch, l->opt.epochs, &l->until))
		l->until = UINT64_MAX;
	l->most = UINT64_MAX;
	l->division = e->division;
	l->stats.lanes = hp_shares_lanes(e->shares);
	hp_epoch_slots(e->e, &l->opt.share, &l->slot, &end);
	l->places = end - l->slot;
	/* Of uneven ranks another one may have one more of a short step. */
	if (l->opt.end == HPDSL_END_SHORT)
		l->places = (l->order.batch - 1) / l->opt.share.ranks + 1;
	return check_step(l, err);
}

static void warn_of_memory(struct hpdsl_loader *l)
{
	char text[HP_LOAD_DIVISION_TEXT];

	if (!l->division.cure)
		return;
	hp_load_division_text(&l->division, text);
	hp_load_warn(l, text);
}

static int make(struct hpdsl_loader *l, struct hpdsl_error *err)
{
	struct hp_fetch_options opt = {
		.cache = l->opt.cache,
		.unchecked = l->opt.unchecked,
		.warn = hp_load_warn,
		.arg = l,
	};
	int r = hpdsl_loader_check(l->ds, &l->opt, err);

	if (r == 0)
		r = copy_suffixes(l, err);
	if (r == 0)
		r = open_epoch(l, err);
	if (r < 0)
		return r;
	l->fetch = hp_fetch_new(l->ds, &opt);
	if (!l->fetch)
		return hp_fail_nomem(err);
	r = hp_arena_init(&l->arena, l->memory, l->opt.shared);
	if (r < 0)
		return hp_fail_errno(err, r, "memory for the loader");
	hp_arena_charge(&l->arena, (int64_t)hp_load_planned_bytes(l));
	warn_of_memory(l);
	r = hp_load_play_new(l, err);
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
	l->arena.fd = -1;
	init_locks(l);
	fill(l);
	r = make(l, err);
	if (r < 0) {
		hpdsl_loader_free(l);
		return r;
	}
	hp_load_metrics_begin(l);
	*ret = l;
	return 0;
}
