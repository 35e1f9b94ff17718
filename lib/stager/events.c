/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads have done becomes events of the exchange. */
#include "stager/stager.h"

#include "sys/clock.h"

#include <stdio.h>
#include <string.h>

static void tell(struct hpdsl_stager *s, const struct hp_job *j,
		 enum hp_event_kind kind)
{
	hp_exchange_event(s->own.x, kind, j->id.chunk, j->id.offset,
			  j->id.length, j->id.plain);
}

/* Why has been told, and what follows from it is not. */
static void cannot_be_read(struct hpdsl_stager *s, struct hp_job *j)
{
	bool alone = j->result == HPDSL_ECORRUPT;

	if (alone)
		s->own.trouble[j->id.chunk] |= HP_TROUBLE_TOLD;
	tell(s, j, alone ? HP_EV_UNREADABLE : HP_EV_READ_FAILED);
}

static void was_read(struct hpdsl_stager *s, struct hp_job *j)
{
	hp_tempo_ends(&s->own.tempo, hp_now(), j->since,
		      j->result < 0 ? 0 : j->id.length);
	if (j->result < 0) {
		hp_buffers_put(&s->own.buffers, j->buffer);
		cannot_be_read(s, j);
		return;
	}
	tell(s, j, HP_EV_READ);
	j->buffer->id = j->id;
	hp_stager_keep(s, j->chunk, j->buffer);
}

static void was_written(struct hpdsl_stager *s, struct hp_job *j)
{
	if (j->written)
		tell(s, j, HP_EV_WRITTEN);
	else
		j->buffer->known = false;
	hp_buffers_put(&s->own.buffers, j->buffer);
	tell(s, j, HP_EV_FREE);
}

static void has_begun(struct hpdsl_stager *s, struct hp_job *j)
{
	hp_coming_file_put(s, j->chunk->part);
	j->chunk->part = j->part;
	j->part = NULL;
	j->chunk->part_plain = j->id.plain;
}

/* Told in the end, once: whether it helps to try again is not known before. */
static void is_ready(struct hpdsl_stager *s, const struct hp_job *j)
{
	char text[HP_STAGE_NAME + 64];

	s->own.ready[j->id.chunk] = (float)(hp_now() - s->started);
	s->own.report.chunks++;
	if (!(s->own.trouble[j->id.chunk] & HP_TROUBLE_DIFFERED) ||
	    !s->watch.warn)
		return;
	snprintf(text, sizeof text,
		 "%s: what came of it differed, and was fetched again",
		 j->chunk->name);
	s->watch.warn(s->watch.arg, text);
}

static void was_finished(struct hpdsl_stager *s, struct hp_job *j)
{
	bool ready = j->result == 0 && !j->differs;

	j->id.plain = j->plain;
	if (ready) {
		is_ready(s, j);
	} else {
		hp_buffers_forget(&s->own.buffers, j->id.chunk);
		if (j->result == 0)
			s->own.trouble[j->id.chunk] |= HP_TROUBLE_DIFFERED;
	}
	tell(s, j, ready ? HP_EV_VERIFIED : HP_EV_DIFFERS);
}

static void was_filled(struct hp_job *j)
{
	struct hp_outgoing *o = j->out;

	o->buffer->id = j->id;
	o->buffer->known = j->result == 0;
	/* The node has failed.  So that all come to an end the others get
	 * something, which they will find is wrong. */
	if (j->result < 0)
		memset(o->buffer->data, 0, j->id.length);
	o->filled = true;
}

static void take(struct hpdsl_stager *s, struct hp_job *j)
{
	switch (j->kind) {
	case HP_JOB_READ:
		was_read(s, j);
		break;
	case HP_JOB_FILL:
		was_filled(j);
		return; /* the chunk is busy until that is sent */
	case HP_JOB_BEGIN:
		has_begun(s, j);
		break;
	case HP_JOB_WRITE:
		was_written(s, j);
		break;
	case HP_JOB_FINISH:
		was_finished(s, j);
		break;
	case HP_JOB_DROP:
	case HP_JOB_PUT:
	case HP_JOB_BLAME:
		break;
	}
	j->chunk->jobs--;
	s->own.jobs--;
	hp_stager_chunk_done(s, j->chunk);
}

/* Nothing new is begun by a node that has failed, but for a chunk. */
static void see_failure(struct hpdsl_stager *s)
{
	bool fatal;

	pthread_mutex_lock(&s->shared.lock);
	s->own.failing = s->shared.failed;
	fatal = s->shared.fatal;
	pthread_mutex_unlock(&s->shared.lock);
	if (fatal && !s->own.stopped)
		hp_exchange_stop(s->own.x, true);
	s->own.stopped = fatal;
}

void hp_stager_tell(struct hpdsl_stager *s)
{
	struct hp_job *j, *next;

	if (!__atomic_load_n(&s->shared.any_done, __ATOMIC_ACQUIRE))
		return;
	see_failure(s);
	for (j = hp_jobs_done(s); j; j = next) {
		next = j->next;
		take(s, j);
		hp_job_free(s, j);
	}
}
