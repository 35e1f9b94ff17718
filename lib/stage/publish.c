/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file as its one writer keeps it: a new one for each plan, under a
 * temporary name until it says all that is true; then byte by byte.
 */
#include "stage/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "spread/fit.h"
#include "spread/plan.h"
#include "stage/stage.h"
#include "sys/boot.h"
#include "sys/clock.h"
#include "sys/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- A new generation ------------------------------------------------- */

static void fill_header(const struct hpdsl_stage *s,
			const struct hpdsl_stage_plan *plan,
			struct hp_state_header *h)
{
	uint64_t last = s->state   ? s->now.generation :
			s->has_old ? s->old.generation :
				     0;

	memcpy(h->pack, s->pack, 16);
	memcpy(h->boot_id, s->boot_id, 16);
	h->chunks = s->chunks;
	h->generation = last < UINT64_MAX ? last + 1 : 1;
	h->started = (int64_t)time(NULL);
	h->pid_start = hp_pid_start(s->io);
	h->pid = (uint32_t)getpid();
	h->node = s->node;
	h->nodes = s->nodes;
	h->parts = hpdsl_stage_plan_parts(plan);
	h->part = hpdsl_stage_parts_of(s->nodes, h->parts, s->node).first;
	memcpy(h->host, s->host, sizeof h->host);
	memcpy(h->job, s->job, sizeof h->job);
	strncpy(h->origin, s->origin, sizeof h->origin - 1);
}

static void fill_bytes(const struct hpdsl_stage *s,
		       const struct hpdsl_stage_plan *plan, void *state)
{
	for (uint64_t i = 0; i < s->chunks; i++) {
		enum hp_chunk_state here = hp_stage_here(s, i);

		if (here == HP_CHUNK_ABSENT &&
		    hp_spread_holds(plan, s->node, i))
			here = HP_CHUNK_COMING;
		hp_state_set(state, i, here);
	}
	hp_state_beat(state, hp_monotonic());
}

/*
 * Its space is reserved where that can be done, and each byte is written before
 * it is mapped: where the disk is full that is an error here, not a signal
 * later.  From then on single bytes, the beat and the end are stored in place,
 * and it never changes its size.
 *
 * What remains: a file system that copies on write (btrfs, ZFS, bcachefs) may
 * need a new block for a page that was written back before, and when others
 * have filled it a store is a SIGBUS.  The stager is killed then, as by any
 * signal: what has its name stays whole, and the next run completes it.  So is
 * it where the disk itself fails.
 */
static int write_state(struct hpdsl_stage *s, const void *bytes, size_t size,
		       void **ret, struct hpdsl_error *err)
{
	struct hp_outfile f;
	void *p = NULL;
	int r = hp_outfile_open(&f, s->io, s->dir, HP_STATE_NAME, size, false,
				err);

	if (r < 0)
		return r;
	r = hp_outfile_pwrite(&f, bytes, size, 0, err);
	if (r == 0) {
		r = s->io->map_shared(s->io, f.fd, size, &p);
		if (r < 0)
			hp_fail_errno(err, r, "%s: cannot be mapped",
				      HP_STATE_NAME);
	}
	if (r == 0)
		r = hp_outfile_commit(&f, err);
	if (r < 0 && p)
		s->io->unmap(s->io, p, size);
	hp_outfile_abandon(&f);
	if (r == 0)
		*ret = p;
	return r;
}

/* Whoever beats meanwhile is not kept waiting for files. */
static void swap(struct hpdsl_stage *s, void *state, uint64_t size,
		 const struct hp_state_header *h)
{
	void *old;
	uint64_t old_size;

	pthread_mutex_lock(&s->state_lock);
	old = s->state;
	old_size = s->state_size;
	s->state = state;
	s->state_size = size;
	s->now = *h;
	/* What has come since its bytes were made. */
	for (uint64_t i = 0; i < s->chunks; i++)
		if (hp_stage_here(s, i) != HP_CHUNK_ABSENT)
			hp_state_set(state, i, hp_stage_here(s, i));
	pthread_mutex_unlock(&s->state_lock);
	if (old)
		s->io->unmap(s->io, old, old_size);
}

int hpdsl_stage_publish(struct hpdsl_stage *s,
			const struct hpdsl_stage_plan *plan,
			struct hpdsl_error *err)
{
	struct hp_state_header h = { .pid = 0 };
	uint64_t size = hp_state_size(s->chunks);
	hp_auto_free void *bytes = NULL;
	struct hpdsl_error why;
	void *state = NULL;
	int r = hp_stage_in_order(s, __func__,
				  HP_STEP(HP_STEP_BEGUN) |
					  HP_STEP(HP_STEP_PUBLISHED) |
					  HP_STEP(HP_STEP_AT_WORK),
				  err);

	if (r < 0)
		return r;
	if (plan->chunks != s->chunks || plan->nodes != s->nodes || !size)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: the plan is not for this directory",
			       s->path);
	bytes = hp_array(size, 1);
	if (!bytes)
		return hp_fail_nomem(err);
	fill_header(s, plan, &h);
	hp_state_format(&h, bytes);
	fill_bytes(s, plan, bytes);
	r = write_state(s, bytes, size, &state, &why);
	if (r < 0)
		return hp_fail(err, r, "%s/%s", s->path, why.msg);
	swap(s, state, size, &h);
	return 0;
}

/* ---- Byte by byte ----------------------------------------------------- */

void hpdsl_stage_beat(struct hpdsl_stage *s)
{
	pthread_mutex_lock(&s->state_lock);
	if (s->state)
		hp_state_beat(s->state, hp_monotonic());
	pthread_mutex_unlock(&s->state_lock);
}

void hp_stage_ready(struct hpdsl_stage *s, uint64_t chunk, bool expanded)
{
	enum hp_chunk_state how = expanded ? HP_CHUNK_EXPANDED : HP_CHUNK_READY;

	if (chunk >= s->chunks)
		return;
	__atomic_store_n(s->here + chunk, (uint8_t)how, __ATOMIC_RELEASE);
	pthread_mutex_lock(&s->state_lock);
	if (s->state)
		hp_state_set(s->state, chunk, how);
	pthread_mutex_unlock(&s->state_lock);
}

/* What is coming comes no more; then how it ended. */
int hpdsl_stage_end(struct hpdsl_stage *s, int how, struct hpdsl_error *err)
{
	enum hp_stage_end end = how == 0	      ? HP_STAGE_COMPLETE :
				how == HPDSL_ESTOPPED ? HP_STAGE_STOPPED :
							HP_STAGE_FAILED;
	int r = hp_stage_in_order(
		s, __func__,
		HP_STEP(HP_STEP_BEGUN) | HP_STEP(HP_STEP_PUBLISHED), err);

	if (r < 0)
		return r;
	s->ended = true;
	pthread_mutex_lock(&s->state_lock);
	for (uint64_t i = 0; s->state && i < s->chunks; i++) {
		if (hp_state_get(s->state, i) != HP_CHUNK_COMING)
			continue;
		hp_state_set(s->state, i, HP_CHUNK_ABSENT);
		if (end == HP_STAGE_COMPLETE)
			end = HP_STAGE_FAILED;
	}
	if (s->state)
		hp_state_end(s->state, end);
	pthread_mutex_unlock(&s->state_lock);
	return 0;
}

/* ---- What an earlier plan has left ------------------------------------ */

uint64_t hpdsl_stage_surplus(const struct hpdsl_stage *s,
			     const struct hpdsl_stage_plan *plan)
{
	uint64_t sum = hp_stage_sides_held(s, plan);

	for (uint64_t c = 0; c < plan->chunks; c++)
		if (hpdsl_stage_holds(s, c) &&
		    !hp_spread_holds(plan, s->node, c))
			sum = hp_fit_add(sum, hp_stage_chunk_bytes(s, c));
	return sum;
}
