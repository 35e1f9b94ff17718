/* SPDX-License-Identifier: Apache-2.0 */
/* What the windows of an order cost, for people and as JSON. */
#include "order.h"

#include <math.h>

static void print_order(const struct order *w)
{
	const struct hpdsl_epoch_info *i = &w->info;

	cmd_print("order:       window %u, %u lanes, run %u, step of %u runs, "
		  "%s\n",
		  i->order.window, i->order.lanes, i->order.run,
		  i->order.step_runs, cmd_many(i->order.parts, "part").s);
	cmd_print("epoch:       %s in %s, ", cmd_many(i->samples, "sample").s,
		  cmd_many(i->chunks, "chunk").s);
	cmd_print("%s, %s of %llu\n", cmd_many(i->windows, "window").s,
		  cmd_many(w->steps, "step").s, (unsigned long long)i->batch);
}

static void print_mates(const struct hpdsl_epoch_cost *c)
{
	if (isnan(c->mates_expected))
		cmd_print("chunk-mates: none that could meet in a step\n");
	else
		cmd_print("chunk-mates: meet in a step %.3f times as often as "
			  "in a full shuffle (in this epoch: %.3f)\n",
			  c->mates_expected, c->mates_measured);
}

static void print_cost(const struct order *w, const struct hpdsl_epoch_cost *c)
{
	print_order(w);
	cmd_print("memory:      %s for all lanes' windows, the largest is %s\n",
		  cmd_bytes(c->job_bytes).s, cmd_bytes(c->window_bytes).s);
	cmd_print("reads:       %s, the median %s, the smallest %s\n",
		  cmd_thousands(c->reads).s, cmd_bytes(c->median_read).s,
		  cmd_bytes(c->smallest_read).s);
	print_mates(c);
}

static void put_ratio(struct cmd_json *j, const char *name, double value)
{
	if (isnan(value))
		cmd_json_null(j, name);
	else
		cmd_json_real(j, name, value);
}

static void put_cost(const struct order *w, const struct hpdsl_epoch_cost *c,
		     struct cmd_json *j)
{
	const struct hpdsl_epoch_info *i = &w->info;

	cmd_json_u64(j, "W", i->order.window);
	cmd_json_u64(j, "L", i->order.lanes);
	cmd_json_u64(j, "K", i->order.run);
	cmd_json_u64(j, "Q", i->order.step_runs);
	cmd_json_u64(j, "D", i->order.parts);
	cmd_json_u64(j, "samples", i->samples);
	cmd_json_u64(j, "chunks", i->chunks);
	cmd_json_u64(j, "windows", i->windows);
	cmd_json_u64(j, "steps", w->steps);
	cmd_json_u64(j, "batch", i->batch);
	cmd_json_u64(j, "window_bytes", c->window_bytes);
	cmd_json_u64(j, "job_bytes", c->job_bytes);
	cmd_json_u64(j, "reads", c->reads);
	cmd_json_u64(j, "smallest_read", c->smallest_read);
	cmd_json_u64(j, "median_read", c->median_read);
	put_ratio(j, "mates_expected", c->mates_expected);
	put_ratio(j, "mates_measured", c->mates_measured);
}

int order_cost(struct order *w, struct cmd_json *j)
{
	struct hpdsl_epoch_cost cost;

	if (hpdsl_epoch_cost(w->e, w->ds, &cost, &w->err) < 0)
		return cmd_tell(&w->err);
	if (w->json)
		put_cost(w, &cost, j);
	else
		print_cost(w, &cost);
	return CMD_DONE;
}
