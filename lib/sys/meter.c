/* SPDX-License-Identifier: Apache-2.0 */
/* Progress and warnings from many threads, one at a time. */
#include "sys/meter.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WARNINGS 20

void hp_meter_init(struct hp_meter *m, const struct hpdsl_watch *watch)
{
	*m = (struct hp_meter){ .watch = watch };
	pthread_mutex_init(&m->lock, NULL);
}

void hp_meter_release(struct hp_meter *m)
{
	pthread_mutex_destroy(&m->lock);
}

/* With the lock held. */
static void tell(struct hp_meter *m)
{
	if (m->watch->progress)
		m->watch->progress(m->watch->arg, &m->at);
}

void hp_meter_phase(struct hp_meter *m, const char *phase, uint64_t total,
		    bool bytes)
{
	pthread_mutex_lock(&m->lock);
	m->at = (struct hpdsl_progress){ phase, 0, total, bytes };
	tell(m);
	pthread_mutex_unlock(&m->lock);
}

void hp_meter_add(struct hp_meter *m, uint64_t n)
{
	pthread_mutex_lock(&m->lock);
	m->at.done += n;
	tell(m);
	pthread_mutex_unlock(&m->lock);
}

void hp_meter_warn(struct hp_meter *m, const char *fmt, ...)
{
	char text[sizeof m->last];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&m->lock);
	if (strcmp(text, m->last) != 0) {
		strcpy(m->last, text);
		if (m->warned++ < WARNINGS && m->watch->warn)
			m->watch->warn(m->watch->arg, text);
	}
	pthread_mutex_unlock(&m->lock);
}

void hp_meter_warn_end(struct hp_meter *m, const char *what)
{
	char text[128];

	if (m->warned > WARNINGS && m->watch->warn) {
		snprintf(text, sizeof text, "and %" PRIu64 " more %s",
			 m->warned - WARNINGS, what);
		m->watch->warn(m->watch->arg, text);
	}
	m->warned = 0;
}
