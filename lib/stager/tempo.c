/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of the origin at a time: a climb on the bytes a second. */
#include "stager/tempo.h"

/* Seconds; a window with too few reads becomes LONGER times as long. */
static const double shortest = 0.25, longest = 16;
enum { LONGER = 4, READS_MIN = 4, PERIOD = 16 };
/* So much less is not the same origin any more. */
static const double fallen = 0.7;

/* ---- Windows ---------------------------------------------------------- */

/* That have passed, of the present length. */
static uint64_t windows(const struct hp_tempo *t, double now)
{
	return (uint64_t)((now - t->origin) / t->length + 1e-6);
}

/* Its end: where all windows of that length end. */
static double next_end(const struct hp_tempo *t, double now)
{
	return t->origin + (double)(windows(t, now) + 1) * t->length;
}

static void begin_window(struct hp_tempo *t, double now)
{
	t->begin = t->last = now;
	t->end = next_end(t, now);
	t->busy = t->bytes = t->seconds = 0;
	t->reads = 0;
}

static void pass(struct hp_tempo *t, double now)
{
	t->busy += t->reading * (now - t->last);
	t->last = now;
}

/* Reads under way on average. */
static double under_way(const struct hp_tempo *t)
{
	return t->busy / (t->last - t->begin);
}

/* By Little's law, so that it does not matter how many ended in time. */
static double rate(const struct hp_tempo *t)
{
	return t->bytes / t->seconds * under_way(t);
}

void hp_tempo_init(struct hp_tempo *t, uint32_t max, double now)
{
	*t = (struct hp_tempo){ .max = max,
				.streams = 1,
				.base = 1,
				.rising = true,
				.origin = now,
				.length = shortest };
	begin_window(t, now);
}

void hp_tempo_begins(struct hp_tempo *t, double now)
{
	pass(t, now);
	t->reading++;
}

void hp_tempo_ends(struct hp_tempo *t, double now, double began, double bytes)
{
	pass(t, now);
	t->reading--;
	if (began < t->begin || bytes <= 0)
		return;
	t->reads++;
	t->bytes += bytes;
	t->seconds += now - began;
}

/* ---- Climbing --------------------------------------------------------- */

/* A quarter of what could be gained, or a tenth. */
static double gain_wanted(const struct hp_tempo *t)
{
	double gain = (double)(t->streams - t->base) / t->base / 4;

	return gain > 0.1 ? gain : 0.1;
}

/* Half of what could be lost, or a tenth. */
static double loss_borne(const struct hp_tempo *t)
{
	double loss = (double)(t->base - t->streams) / t->base / 2;

	return loss < 0.1 ? loss : 0.1;
}

static bool is_better(const struct hp_tempo *t, double now)
{
	if (t->streams > t->base)
		return now > t->rate * (1 + gain_wanted(t));
	return now > t->rate * (1 - loss_borne(t));
}

static uint32_t more(const struct hp_tempo *t)
{
	uint32_t n = t->base + (t->rising ? t->base : 1);

	return n < t->max ? n : t->max;
}

static uint32_t fewer(const struct hp_tempo *t)
{
	return t->base - (t->base >= 8 ? t->base / 4 : t->base > 1);
}

/* All nodes try at the same time; what was of use is tried again at once. */
static void try_next(struct hp_tempo *t, double now, bool fell)
{
	uint64_t n = windows(t, now);

	if (t->rising || t->up || (n % PERIOD == 0 && !t->down))
		t->streams = more(t);
	else if (fell || t->down || n % PERIOD == PERIOD / 2)
		t->streams = fewer(t);
}

static void go_back(struct hp_tempo *t)
{
	t->streams = t->base;
	t->rising = t->up = t->down = false;
}

static void decide(struct hp_tempo *t, double now, double rate)
{
	bool fell = t->streams == t->base && rate < fallen * t->rate;

	t->up = t->streams > t->base;
	t->down = t->streams < t->base;
	if ((t->up || t->down) && !is_better(t, rate)) {
		go_back(t);
		return;
	}
	t->base = t->streams;
	t->rate = rate;
	t->rising = t->rising && t->base < t->max;
	try_next(t, now, fell);
}

uint32_t hp_tempo_streams(struct hp_tempo *t, double now)
{
	uint32_t enough = t->streams > READS_MIN ? t->streams : READS_MIN;

	if (now < t->end)
		return t->streams;
	pass(t, now);
	if (t->reads < enough && t->length < longest) {
		t->length *= LONGER;
		t->end = next_end(t, now);
		/* It began when a shorter one did: go on with it. */
		return t->streams;
	}
	/* If they are not all in use it is not they that matter. */
	if (t->reads && under_way(t) >= 0.5 * t->streams)
		decide(t, now, rate(t));
	else if (t->streams != t->base)
		go_back(t);
	if (t->reads > 2 * LONGER * enough && t->length > shortest)
		t->length /= LONGER;
	begin_window(t, now);
	return t->streams;
}
