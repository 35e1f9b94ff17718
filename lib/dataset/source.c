/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of a chunk, from sources that are at once and from others. */
#include "dataset/source.h"

#include <semaphore.h>

void hp_source_submit(const struct hp_source *s, struct hp_source_stretch *v,
		      size_t n, uint64_t deadline, hp_source_done *done,
		      void *arg)
{
	if (!s->ops->read) {
		s->ops->submit(s, v, n, deadline, done, arg);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		v[i].got = s->ops->read(s, v[i].buf, v[i].n, v[i].offset);
		done(arg, &v[i]);
	}
}

/* ---- Waiting ---------------------------------------------------------- */

static void tell(void *arg, struct hp_source_stretch *s)
{
	(void)s;
	sem_post(arg);
}

/* Of what is read in several stretches it may be one of several. */
static void note_sender(struct hp_sent *sent, uint32_t who)
{
	bool first = sent->all == HP_SENT_NOBODY;

	sent->all = first || sent->all == who ? who : HP_SENT_SEVERAL;
	sent->last = who;
}

ssize_t hp_source_wait(const struct hp_source *s, void *buf, size_t n,
		       uint64_t offset)
{
	struct hp_source_stretch v = { .offset = offset, .buf = buf, .n = n };
	sem_t done;

	sem_init(&done, 0, 0);
	s->ops->submit(s, &v, 1, 0, tell, &done);
	while (sem_wait(&done) < 0)
		; /* by a signal */
	sem_destroy(&done);
	if (s->sent && v.got > 0)
		note_sender(s->sent, v.sent);
	return v.got;
}
