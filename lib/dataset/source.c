/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of a chunk, from sources that are at once and from others. */
#include "dataset/source.h"

#include "base/error.h"

#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>

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

/* ---- What is wrong ---------------------------------------------------- */

/* Of the network: their names are the system's, and not what is meant. */
static const char *own_words(const struct hp_source *s, int code)
{
	if (!hp_source_is_peer(s->at))
		return NULL;
	return code == -EHOSTUNREACH ? "none of them gives it" :
	       code == HP_OTHER_FORM ? "they have it in another form" :
				       NULL;
}

int hp_source_fail(const struct hp_source *s, struct hpdsl_error *err, int code,
		   const char *fmt, ...)
{
	char text[sizeof err->msg];
	const char *why = own_words(s, code);
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return why ? hp_fail(err, code, "%s: %s", text, why) :
		     hp_fail_errno(err, code, "%s", text);
}
