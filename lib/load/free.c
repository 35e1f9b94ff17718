/* SPDX-License-Identifier: Apache-2.0 */
/* The end of batches, and of a loader, whatever is under way. */
#include "load/load.h"

#include "base/mem.h"

/* They begin nothing any more. */
static void stop_threads(struct hpdsl_loader *l)
{
	pthread_mutex_lock(&l->lock);
	l->ending = true;
	pthread_cond_broadcast(&l->work);
	pthread_mutex_unlock(&l->lock);
	hp_fetch_quit(l->fetch);
}

static void end_threads(struct hpdsl_loader *l)
{
	stop_threads(l);
	for (uint32_t i = 0; i < l->threads; i++)
		pthread_join(l->thread[i], NULL);
	free(l->thread);
}

static void free_batches(struct hpdsl_loader *l)
{
	struct hp_load_batch *b;

	while ((b = l->idle)) {
		l->idle = b->next;
		hp_load_batch_free(b);
	}
}

/* Nobody will read there again: it is wanted only as long as it is lent. */
static void free_bytes(struct hpdsl_loader *l, struct hp_load_unit *u)
{
	if (u->lent || !u->place.p)
		return;
	hp_arena_put(&l->arena, &u->place);
	u->place.p = NULL;
}

static void free_lane_bytes(struct hpdsl_loader *l, struct hp_load_lane *lane)
{
	for (struct hp_load_unit *u = lane->head; u; u = u->next)
		free_bytes(l, u);
}

void hp_load_free_half(struct hpdsl_loader *l)
{
	if (l->caller.half)
		hp_load_put_batch(l, l->caller.half);
	l->caller.half = NULL;
}

/* What was read ahead. */
static void free_unlent(struct hpdsl_loader *l)
{
	for (struct hp_load_epoch *e = l->caller.epoch; e; e = e->next) {
		free_lane_bytes(l, &e->apart);
		for (uint64_t i = 0; i < e->lanes; i++)
			free_lane_bytes(l, &e->lane[i]);
	}
	hp_arena_trim(&l->arena);
}

void hp_load_free_epochs(struct hpdsl_loader *l)
{
	struct hp_load_epoch *e;

	while ((e = l->caller.epoch)) {
		l->caller.epoch = e->next;
		hp_load_epoch_free(l, e);
	}
}

/* All that is there when nobody needs a batch any more. */
static void free_rest(struct hpdsl_loader *l)
{
	free_batches(l);
	hp_load_free_epochs(l);
	hp_load_play_free(l);
	hp_arena_release(&l->arena);
	pthread_cond_destroy(&l->ready);
	pthread_cond_destroy(&l->work);
	pthread_mutex_destroy(&l->warn_lock);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* What only reading needs. */
static void free_reading(struct hpdsl_loader *l)
{
	hp_fetch_free(l->fetch);
	for (size_t i = 0; l->suffix && i < l->opt.n_suffixes; i++)
		free(l->suffix[i]);
	free(l->suffix);
	free(l->caller.told_lacking);
}

void hpdsl_loader_free(struct hpdsl_loader *l)
{
	bool last;

	if (!l || !hp_load_is_ours(l))
		return;
	hp_load_play_end(l);
	end_threads(l);
	hp_load_metrics_end(l);
	free_reading(l);
	pthread_mutex_lock(&l->lock);
	l->freed = true;
	last = !l->out;
	hp_load_free_half(l);
	if (!last)
		free_unlent(l);
	pthread_mutex_unlock(&l->lock);
	if (last)
		free_rest(l);
}

void hpdsl_loader_leave(struct hpdsl_loader *l)
{
	if (!l || !hp_load_is_ours(l))
		return;
	hp_load_play_end(l);
	stop_threads(l);
	hp_load_metrics_end(l);
	hp_load_stopped(l, NULL);
}

void hpdsl_loader_freep(struct hpdsl_loader **l)
{
	hpdsl_loader_free(__atomic_exchange_n(l, NULL, __ATOMIC_ACQ_REL));
}

void hpdsl_batch_release(const struct hpdsl_batch *pub)
{
	struct hp_load_batch *b = (struct hp_load_batch *)pub;
	struct hpdsl_loader *l = b ? b->loader : NULL;
	bool last;

	if (!b || !hp_load_is_ours(l))
		return;
	pthread_mutex_lock(&l->lock);
	l->out--;
	for (uint32_t i = 0; i < b->units; i++) {
		b->unit[i]->lent--;
		if (l->freed)
			free_bytes(l, b->unit[i]);
	}
	hp_load_put_batch(l, b);
	last = l->freed && !l->out;
	if (l->freed && !last)
		hp_arena_trim(&l->arena);
	pthread_mutex_unlock(&l->lock);
	if (last)
		free_rest(l);
}
