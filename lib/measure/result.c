/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from what ranks said. */
#include "base/error.h"
#include "base/mem.h"
#include "measure/stall.h"

#include <string.h>

bool hpdsl_stall_rank(const struct hpdsl_stall *s, size_t i,
		      struct hpdsl_stall_rank *ret)
{
	const struct hp_measure_one *o;

	if (i >= s->heard.n)
		return false;
	o = &s->heard.of[i];
	*ret = (struct hpdsl_stall_rank){
		.rank = o->start.rank,
		.node = o->node,
		.pid = o->pid,
		.epoch = o->start.epoch,
		.lead = o->start.lead,
		.first_seconds = o->start.first_seconds,
		.block = o->block,
		.blocks = o->n,
	};
	memcpy(ret->cache, o->cache, sizeof ret->cache);
	memcpy(ret->asks, o->asks, sizeof ret->asks);
	return true;
}

/* A batch of the rank for which that takes longest. */
static double names_of_a_step(const struct hpdsl_stall *s)
{
	double most = 0;

	for (size_t i = 0; i < s->heard.n; i++) {
		const struct hpdsl_stall_asks *a =
			&s->heard.of[i].asks[HPDSL_STALL_WARM];
		double one = a->batches ? a->names / (double)a->batches : 0;

		most = one > most ? one : most;
	}
	return most;
}

int hpdsl_stall_split(const struct hpdsl_stall *s,
		      struct hpdsl_stall_split *ret, struct hpdsl_error *err)
{
	hp_auto_free struct hp_stall_of_rank *of = NULL;
	size_t n = 0, at = 0;
	int r;

	if (!s->over || s->gave_up ||
	    (s->opt.separate && s->run + 1 < HP_STALL_RUNS))
		return hp_fail(err, HPDSL_EUSAGE,
			       "the job has not been measured");
	for (size_t i = 0; i < s->heard.n; i++)
		n += s->heard.of[i].n;
	of = hp_array(n, sizeof *of);
	if (!of)
		return hp_fail_nomem(err);
	for (size_t i = 0; i < s->heard.n; i++)
		for (size_t k = 0; k < s->heard.of[i].n; k++)
			of[at++] = (struct hp_stall_of_rank){
				(uint32_t)i, s->heard.of[i].block[k]
			};
	r = hp_stall_split(of, n, ret, err);
	if (r == 0)
		hp_stall_move_names(ret, names_of_a_step(s));
	return r;
}
