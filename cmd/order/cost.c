/* SPDX-License-Identifier: Apache-2.0 */
/* What an order costs one rank, and how it mixes, for people and as JSON. */
#include "order.h"

#include <math.h>

typedef unsigned long long LLU;

static uint64_t memory_of(const struct order *w)
{
	return w->memory ? w->memory : HPDSL_LOADER_MEMORY;
}

/* Places of the last step that have samples of before, of all ranks; where it
 * is short, those of ranks that have none of it. */
static uint64_t filling(const struct order *w)
{
	uint64_t ranks = w->o.share.ranks ? w->o.share.ranks : 1;
	uint64_t left = w->info.samples % w->info.order.batch;

	if (!w->steps || w->o.end == HPDSL_END_DROP)
		return 0;
	if (w->o.end == HPDSL_END_SHORT)
		return left && left < ranks ? ranks - left : 0;
	return w->steps * w->info.order.batch - w->info.samples;
}

/* Of a step, which is not the short last one unless there is no other: how many
 * samples all ranks have .. */
static uint64_t whole_step(const struct order *w)
{
	uint64_t batch = w->info.order.batch, n = w->info.samples;

	return w->o.end == HPDSL_END_SHORT && n < batch ? n : batch;
}

/* .. and this one, or the error. */
static int64_t rank_step(struct order *w)
{
	struct hpdsl_place place;
	int64_t n;

	if (!w->steps)
		return 0;
	n = hpdsl_epoch_step(w->e, w->o.end, 0, &w->o.share, NULL, 0, &w->err);
	if (n != 1 || w->o.end != HPDSL_END_SHORT)
		return n;
	n = hpdsl_epoch_step(w->e, w->o.end, 0, &w->o.share, &place, 1,
			     &w->err);
	return n < 0 ? n : place.real;
}

/* ---- For people ------------------------------------------------------- */

static void print_order(const struct order *w, const struct hpdsl_epoch_cost *c)
{
	const struct hpdsl_order *o = &w->info.order;

	cmd_print("order:       batch %u, ", o->batch);
	if (o->plain)
		cmd_print("not shuffled, ");
	else
		cmd_print("%s, pieces of %s (%s), %s, ",
			  cmd_many(o->lanes, "lane").s,
			  cmd_many(o->piece, "sample").s,
			  cmd_bytes(c->piece_bytes).s,
			  cmd_many(o->windows, "window").s);
	cmd_print("%s\n", cmd_many(o->parts, "part").s);
	cmd_print("epoch:       %s in %s, ",
		  cmd_many(w->info.samples, "sample").s,
		  cmd_many(w->info.chunks, "chunk").s);
	cmd_print("%s", cmd_many(w->steps, "step").s);
	if (filling(w))
		cmd_print(", %llu again to fill the last", (LLU)filling(w));
	cmd_print("\n");
	if (c->steps != w->steps)
		cmd_print("here:        %s, from step %llu on\n",
			  cmd_many(c->steps, "step").s, (LLU)o->step);
}

static void print_rank(const struct order *w, const struct hpdsl_epoch_cost *c,
		       uint64_t samples)
{
	uint64_t memory = memory_of(w);

	cmd_print("a rank:      %llu of %s a step, %s; holds %s of %s",
		  (LLU)samples, cmd_many(whole_step(w), "sample").s,
		  cmd_many(c->lanes, "lane").s, cmd_bytes(c->held_peak).s,
		  cmd_bytes(memory).s);
	cmd_print("%s\n", c->held_peak < memory ?
				  ", the rest is read-ahead" :
				  ", for which there is no room");
	cmd_print("reads:       %llu", (LLU)c->reads);
	if (c->reads)
		cmd_print(", the median %s; %.2f times the bytes; the first "
			  "batch after %s",
			  cmd_bytes(c->median_read).s,
			  (double)c->read_bytes / (double)c->wanted_bytes,
			  cmd_bytes(c->first_batch).s);
	cmd_print("\n");
	if (c->cure)
		cmd_print("memory:      reads are smaller than pieces: not so "
			  "with %s\n",
			  cmd_bytes(c->cure).s);
}

static void print_mixing(const struct hpdsl_epoch_cost *c)
{
	if (!c->steps)
		return;
	cmd_print("mixing:      a step has samples of %.0f pieces of %.0f "
		  "chunks; ",
		  c->step_pieces, c->step_chunks);
	if (isnan(c->mates))
		cmd_print("no chunk has two samples\n");
	else
		cmd_print("chunk-mates meet %.1f times as often as in a full "
			  "shuffle\n",
			  c->mates);
}

/* ---- For programs ----------------------------------------------------- */

static void put_order(const struct order *w, struct cmd_json *j)
{
	const struct hpdsl_order *o = &w->info.order;

	cmd_json_u64(j, "batch", o->batch);
	cmd_json_u64(j, "lanes", o->lanes);
	cmd_json_u64(j, "piece", o->piece);
	cmd_json_u64(j, "windows", o->windows);
	cmd_json_u64(j, "parts", o->parts);
	cmd_json_bool(j, "shuffle", !o->plain);
	cmd_json_u64(j, "samples", w->info.samples);
	cmd_json_u64(j, "chunks", w->info.chunks);
	cmd_json_u64(j, "steps", w->steps);
	cmd_json_u64(j, "filling_samples", filling(w));
}

static void put_cost(const struct order *w, const struct hpdsl_epoch_cost *c,
		     uint64_t samples, struct cmd_json *j)
{
	put_order(w, j);
	cmd_json_u64(j, "first_step", w->info.order.step);
	cmd_json_u64(j, "counted_steps", c->steps);
	cmd_json_u64(j, "memory", memory_of(w));
	cmd_json_u64(j, "rank_samples", samples);
	cmd_json_u64(j, "rank_lanes", c->lanes);
	cmd_json_u64(j, "piece_bytes", c->piece_bytes);
	cmd_json_u64(j, "share_bytes", c->share_bytes);
	cmd_json_u64(j, "cure", c->cure);
	cmd_json_u64(j, "held_peak", c->held_peak);
	cmd_json_u64(j, "reads", c->reads);
	cmd_json_u64(j, "read_bytes", c->read_bytes);
	cmd_json_u64(j, "wanted_bytes", c->wanted_bytes);
	cmd_json_u64(j, "median_read", c->median_read);
	cmd_json_u64(j, "first_batch_bytes", c->first_batch);
	cmd_json_real(j, "step_pieces", c->step_pieces);
	cmd_json_real(j, "step_chunks", c->step_chunks);
	if (isnan(c->mates))
		cmd_json_null(j, "mates");
	else
		cmd_json_real(j, "mates", c->mates);
}

int order_cost(struct order *w, struct cmd_json *j)
{
	const struct hpdsl_cost_options opt = {
		.share = w->o.share,
		.memory = w->memory,
		.end = w->o.end,
		.first = w->o.order.step,
		.steps = w->end - w->o.order.step,
	};
	struct hpdsl_epoch_cost cost;
	int64_t samples = rank_step(w);

	if (samples < 0)
		return cmd_tell(&w->err);
	if (hpdsl_epoch_cost(w->e, w->ds, &opt, &cost, &w->err) < 0)
		return cmd_tell(&w->err);
	if (w->json) {
		put_cost(w, &cost, (uint64_t)samples, j);
	} else {
		print_order(w, &cost);
		print_rank(w, &cost, (uint64_t)samples);
		print_mixing(&cost);
	}
	return CMD_DONE;
}
