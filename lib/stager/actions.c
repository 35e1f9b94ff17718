/* SPDX-License-Identifier: Apache-2.0 */
/* What the exchange wants to be done becomes jobs and messages. */
#include "stager/stager.h"

#include "sys/clock.h"

static struct hp_segment_id id_of(const struct hp_message *m)
{
	return (struct hp_segment_id){ .chunk = m->chunk,
				       .offset = m->offset,
				       .length = m->length,
				       .plain = m->plain };
}

/* A job of a chunk that is coming. */
static struct hp_job *job_of(struct hpdsl_stager *s, enum hp_job_kind kind,
			     const struct hp_action *a)
{
	struct hp_stager_chunk *c = hp_stager_chunk(s, a->msg.chunk);
	struct hp_job *j = c ? hp_job_new(s, kind, c) : NULL;

	if (!j)
		return NULL;
	j->id = id_of(&a->msg);
	return j;
}

static void start(struct hpdsl_stager *s, struct hp_job *j)
{
	j->chunk->jobs++;
	s->own.jobs++;
	hp_job_start(s, j);
}

static void do_job(struct hpdsl_stager *s, enum hp_job_kind kind,
		   const struct hp_action *a)
{
	struct hp_segment_id id = id_of(&a->msg);
	struct hp_job *j = job_of(s, kind, a);

	if (j)
		start(s, j);
	else if (kind == HP_JOB_FINISH)
		hp_stager_lost(s, HP_EV_DIFFERS, &id);
}

static void do_read(struct hpdsl_stager *s, const struct hp_action *a)
{
	struct hp_segment_id id = id_of(&a->msg);
	struct hp_job *j = job_of(s, HP_JOB_READ, a);
	struct hpdsl_error err;

	if (!j) {
		hp_stager_lost(s, HP_EV_READ_FAILED, &id);
		return;
	}
	j->again = a->msg.attempt > 0;
	j->buffer = hp_buffers_get(&s->own.buffers);
	if (j->buffer) {
		j->since = hp_now();
		hp_tempo_begins(&s->own.tempo, j->since);
		start(s, j);
		return;
	}
	hp_job_free(s, j);
	hp_stager_fail(s, hp_fail_nomem(&err), &err);
	hp_stager_lost(s, HP_EV_READ_FAILED, &id);
}

void hp_stager_keep(struct hpdsl_stager *s, struct hp_stager_chunk *c,
		    struct hp_buffer *b)
{
	struct hp_job *j = hp_job_new(s, HP_JOB_WRITE, c);

	if (!j) {
		hp_stager_lost(s, HP_EV_FREE, &b->id);
		hp_buffers_put(&s->own.buffers, b);
		return;
	}
	j->buffer = b;
	j->id = b->id;
	b->known = true;
	start(s, j);
}

/* What was received is not needed any more, or is the published file. */
static void do_close(struct hpdsl_stager *s, uint64_t number)
{
	struct hp_stager_chunk *c = s->own.chunk[number];
	struct hp_job *j;

	if (!c || !c->part)
		return;
	j = hp_job_new(s, HP_JOB_PUT, c);
	if (!j)
		return;
	j->part = c->part;
	c->part = NULL;
	start(s, j);
}

/* Its file goes, for those too who might have read it. */
static void do_drop(struct hpdsl_stager *s, const struct hp_action *a)
{
	hp_buffers_forget(&s->own.buffers, a->msg.chunk);
	do_close(s, a->msg.chunk);
	do_job(s, HP_JOB_DROP, a);
}

static void do_action(struct hpdsl_stager *s, const struct hp_action *a)
{
	switch (a->kind) {
	case HP_ACT_SEND:
		hp_stager_send(s, a);
		break;
	case HP_ACT_READ:
		do_read(s, a);
		break;
	case HP_ACT_BEGIN:
		hp_buffers_forget(&s->own.buffers, a->msg.chunk);
		do_close(s, a->msg.chunk);
		do_job(s, HP_JOB_BEGIN, a);
		break;
	case HP_ACT_FINISH:
		do_job(s, HP_JOB_FINISH, a);
		break;
	case HP_ACT_DROP:
		do_drop(s, a);
		break;
	case HP_ACT_CLOSE:
		do_close(s, a->msg.chunk);
		break;
	case HP_ACT_GIVE_UP:
		do_drop(s, a);
		if (!(s->own.trouble[a->msg.chunk] & HP_TROUBLE_TOLD))
			do_job(s, HP_JOB_BLAME, a);
		break;
	}
}

/* What begins with a segment that is at hand, and nothing else. */
void hp_stager_act_begin(struct hpdsl_stager *s)
{
	struct hp_action a;

	while (hp_exchange_next_begin(s->own.x, &a) > 0)
		do_action(s, &a);
}

void hp_stager_act(struct hpdsl_stager *s)
{
	struct hp_action a;

	hp_exchange_read_streams(s->own.x,
				 hp_tempo_streams(&s->own.tempo, hp_now()));
	while (hp_stager_can_send(s) && hp_exchange_next(s->own.x, &a) > 0)
		do_action(s, &a);
}
