/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a loader, whatever is under way. */
#include "load.h"

#include "mem.h"

static void end_threads(struct hpdsl_loader *l)
{
	pthread_mutex_lock(&l->lock);
	l->ending = true;
	pthread_cond_broadcast(&l->work);
	pthread_mutex_unlock(&l->lock);
	for (uint32_t i = 0; i < l->threads; i++)
		pthread_join(l->thread[i], NULL);
	free(l->thread);
}

static void free_batches(struct hpdsl_loader *l)
{
	struct hp_load_batch *b;

	while (l->newest)
		hpdsl_batch_release(l, &l->newest->pub);
	if (l->half)
		hp_load_put_batch(l, l->half);
	hp_load_drop_over(l);
	while ((b = l->idle)) {
		l->idle = b->next;
		hp_load_batch_free(b);
	}
}

static void free_epochs(struct hpdsl_loader *l)
{
	struct hp_load_epoch *e;

	while ((e = l->epoch)) {
		l->epoch = e->next;
		hp_load_epoch_free(l, e);
	}
}

void hpdsl_loader_free(struct hpdsl_loader *l)
{
	if (!l)
		return;
	end_threads(l);
	free_batches(l);
	free_epochs(l);
	hp_slots_release(&l->slots);
	hp_load_queue_release(&l->queue);
	hp_load_live_release(&l->live);
	hp_fetch_free(l->fetch);
	for (size_t i = 0; l->suffix && i < l->opt.n_suffixes; i++)
		free(l->suffix[i]);
	free(l->suffix);
	free(l->place);
	free(l->want);
	pthread_cond_destroy(&l->ready);
	pthread_cond_destroy(&l->jobs.done);
	pthread_cond_destroy(&l->work);
	pthread_mutex_destroy(&l->warn_lock);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
