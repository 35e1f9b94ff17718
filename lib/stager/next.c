/* SPDX-License-Identifier: Apache-2.0 */
/* One round of the caller's thread: what has come, was done and is to be done.
 */
#include "stager/stager.h"

/* The first that may go: none to the same node that was to go before waits. */
static struct hp_outgoing *find_ready(struct hp_outgoings *q)
{
	for (struct hp_outgoing *o = q->first; o; o = o->next) {
		const struct hp_outgoing *p = q->first;

		if (o->handed || !o->filled)
			continue;
		while (p != o && (p->handed || p->to != o->to))
			p = p->next;
		if (p == o)
			return o;
	}
	return NULL;
}

static int tell_failure(struct hpdsl_stager *s, struct hpdsl_error *err)
{
	pthread_mutex_lock(&s->shared.lock);
	s->own.told = s->own.failing = s->shared.failed;
	if (err)
		*err = s->shared.err;
	pthread_mutex_unlock(&s->shared.lock);
	return s->own.told;
}

int hpdsl_stager_next(struct hpdsl_stager *s, struct hpdsl_stager_message *ret,
		      struct hpdsl_error *err)
{
	struct hp_outgoing *o;

	hp_stager_hear(s);
	hp_stager_tell(s);
	hp_stager_act(s);
	if (s->own.failing != s->own.told)
		return tell_failure(s, err);
	o = find_ready(&s->own.words);
	if (!o)
		o = find_ready(&s->own.data);
	if (!o)
		return 0;
	o->handed = true;
	*ret = (struct hpdsl_stager_message){
		.to = o->to,
		.p = o->buffer ? o->buffer->data - HP_MESSAGE_HEADER :
				 o->header,
		.n = HP_MESSAGE_HEADER + o->id.length,
		.token = o,
	};
	return 1;
}
