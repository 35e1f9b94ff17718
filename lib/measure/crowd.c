/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a measured job. */
#include "measure/crowd.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int corrupt(const char *name, struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ECORRUPT, "%s: no rank's records", name);
}

/* "rank.NODE.PID", where NODE may have dots. */
static bool take_name(const char *name, struct hp_measure_one *o)
{
	size_t skip = strlen(HP_MEASURE_RANK);
	const char *node = name + skip, *dot = strrchr(name, '.');
	size_t digits = dot ? strspn(dot + 1, "0123456789") : 0;

	if (strlen(name) >= sizeof o->name ||
	    strncmp(name, HP_MEASURE_RANK, skip) != 0 || dot <= node ||
	    !digits || digits > 18 || dot[1 + digits])
		return false;
	snprintf(o->name, sizeof o->name, "%s", name);
	snprintf(o->node, sizeof o->node, "%.*s", (int)(dot - node), node);
	o->pid = strtoll(dot + 1, NULL, 10);
	return true;
}

int hp_measure_meet(struct hp_measure_crowd *c, const char *name,
		    struct hp_measure_one **ret, struct hpdsl_error *err)
{
	struct hp_measure_one one = { .seen = true }, *more;

	for (size_t i = 0; i < c->n; i++) {
		if (strcmp(c->of[i].name, name) != 0)
			continue;
		c->of[i].seen = true;
		*ret = &c->of[i];
		return 0;
	}
	if (!take_name(name, &one))
		return corrupt(name, err);
	more = realloc(c->of, (c->n + 1) * sizeof *more);
	if (!more)
		return hp_fail_nomem(err);
	c->of = more;
	c->of[c->n] = one;
	*ret = &c->of[c->n++];
	return 0;
}

/* ---- Lines ------------------------------------------------------------ */

static bool add_block(struct hp_measure_one *o,
		      const struct hpdsl_stall_block *b)
{
	struct hpdsl_stall_block *more =
		realloc(o->block, (o->n + 1) * sizeof *more);

	if (!more)
		return false;
	o->block = more;
	o->block[o->n++] = *b;
	return true;
}

static void add_cache(struct hpdsl_stall_cache *to,
		      const struct hpdsl_stall_cache *c)
{
	to->asked += c->asked;
	to->there += c->there;
	to->unknown += c->unknown;
}

static void add_asks(struct hpdsl_stall_asks *to,
		     const struct hpdsl_stall_asks *a)
{
	to->batches += a->batches;
	to->opens += a->opens;
	to->stats += a->stats;
	to->entries += a->entries;
	to->reads += a->reads;
	to->bytes += a->bytes;
	to->all_reads += a->all_reads;
	to->all_bytes += a->all_bytes;
	to->from_storage += a->from_storage;
	to->names += a->names;
}

/* HPDSL_ECORRUPT without a text. */
static int hear_line(struct hp_measure_crowd *c, struct hp_measure_one *o,
		     const struct hp_stall_record *line, double now)
{
	enum hpdsl_stall_phase phase;
	struct hpdsl_stall_cache cache;
	struct hpdsl_stall_asks asks;
	struct hpdsl_stall_block b;
	uint32_t serial;

	if (hp_stall_get_start(line, &o->start)) {
		o->started = true;
		o->started_at = now;
		return o->start.ranks > o->start.rank ? 0 : HPDSL_ECORRUPT;
	}
	if (hp_stall_get_block(line, &serial, &b))
		return serial != c->serial || add_block(o, &b) ? 0 : -ENOMEM;
	if (hp_stall_get_cache(line, &serial, &phase, &cache)) {
		if (serial == c->serial)
			add_cache(&o->cache[phase], &cache);
		return 0;
	}
	if (hp_stall_get_asks(line, &serial, &phase, &asks)) {
		if (serial == c->serial)
			add_asks(&o->asks[phase], &asks);
		return 0;
	}
	if (hp_stall_record_is(line, "late", 2)) {
		o->late = (uint32_t)line->v[0];
		o->start.step = (uint64_t)line->v[1];
		o->started_at = now;
	} else if (hp_stall_record_is(line, "done", 1)) {
		o->done = line->v[0] == c->serial;
	} else if (hp_stall_record_is(line, "gone", 1)) {
		o->gone = true;
		o->gone_at = (uint64_t)line->v[0];
	} else {
		return HPDSL_ECORRUPT;
	}
	return 0;
}

int hp_measure_hear(struct hp_measure_crowd *c, struct hp_measure_one *o,
		    const char *text, size_t n, double now,
		    struct hpdsl_error *err)
{
	struct hp_stall_record line;
	size_t one;

	for (; (one = hp_stall_record_parse(text, n, &line));
	     text += one, n -= one) {
		int r = hear_line(c, o, &line, now);

		if (r == -ENOMEM)
			return hp_fail_nomem(err);
		if (r < 0)
			return corrupt(o->name, err);
		o->read += one;
	}
	return 0;
}

/* ---- All of them ------------------------------------------------------ */

void hp_measure_anew(struct hp_measure_crowd *c, uint32_t serial)
{
	c->serial = serial;
	for (size_t i = 0; i < c->n; i++) {
		c->of[i].n = 0;
		c->of[i].done = false;
		memset(c->of[i].cache, 0, sizeof c->of[i].cache);
		memset(c->of[i].asks, 0, sizeof c->of[i].asks);
	}
}

void hp_measure_forget_unseen(struct hp_measure_crowd *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (c->of[i].seen)
			c->of[n++] = c->of[i];
		else
			free(c->of[i].block);
	}
	c->n = n;
}

static int by_rank(const void *x, const void *y)
{
	const struct hp_measure_one *a = x, *b = y;

	if (a->start.rank != b->start.rank)
		return a->start.rank < b->start.rank ? -1 : 1;
	return strcmp(a->name, b->name);
}

void hp_measure_sort(struct hp_measure_crowd *c)
{
	if (c->n)
		qsort(c->of, c->n, sizeof *c->of, by_rank);
}

static int check_run(const struct hp_measure_crowd *to,
		     const struct hp_measure_crowd *from,
		     struct hpdsl_error *err)
{
	if (to->n != from->n)
		return hp_fail(err, HPDSL_EUSAGE,
			       "the job had %zu ranks, and when it was started "
			       "again %zu",
			       to->n, from->n);
	for (size_t i = 0; i < to->n; i++)
		if (to->of[i].start.rank != from->of[i].start.rank)
			return hp_fail(err, HPDSL_EUSAGE,
				       "the job had a rank %u, and none when "
				       "it was started again",
				       to->of[i].start.rank);
	return 0;
}

/* As ranks that have said nothing yet. */
static int add_ranks(struct hp_measure_crowd *to,
		     const struct hp_measure_crowd *from)
{
	to->of = calloc(from->n, sizeof *to->of);
	if (!to->of)
		return -ENOMEM;
	to->n = from->n;
	for (size_t i = 0; i < to->n; i++)
		to->of[i].start = from->of[i].start;
	return 0;
}

static int add_one(struct hp_measure_one *to, const struct hp_measure_one *from)
{
	memcpy(to->node, from->node, sizeof to->node);
	to->pid = from->pid;
	to->start.unsteady |= from->start.unsteady;
	for (size_t k = 0; k < from->n; k++)
		if (!add_block(to, &from->block[k]))
			return -ENOMEM;
	for (unsigned i = 0; i < HPDSL_STALL_PHASES; i++) {
		add_cache(&to->cache[i], &from->cache[i]);
		add_asks(&to->asks[i], &from->asks[i]);
	}
	return 0;
}

int hp_measure_add_run(struct hp_measure_crowd *to,
		       const struct hp_measure_crowd *from,
		       struct hpdsl_error *err)
{
	int r = to->n ? check_run(to, from, err) : add_ranks(to, from);

	if (r == -ENOMEM)
		return hp_fail_nomem(err);
	for (size_t i = 0; r == 0 && i < from->n; i++)
		if (add_one(&to->of[i], &from->of[i]) < 0)
			return hp_fail_nomem(err);
	return r;
}

void hp_measure_crowd_release(struct hp_measure_crowd *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->of[i].block);
	free(c->of);
	*c = (struct hp_measure_crowd){ 0 };
}
