/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-order: prints the order of an epoch, when a sample comes, what the
 * order costs, or what it does to the classes of a batch.  Reads nothing but
 * the index.
 */
#include "order.h"

#include "common/option_table.h"

#include <string.h>

static int take_count(const struct cmd_option *o, void *to, const char *arg,
		      struct cmd_why *why)
{
	struct order *w = to;

	w->count_given = true;
	return cmd_value_count(o->name, arg, 0, &w->count, why);
}

static int take_where(const struct cmd_option *o, void *to, const char *arg,
		      struct cmd_why *why)
{
	struct order *w = to;

	w->where = true;
	return cmd_value_count(o->name, arg, 0, &w->sample, why);
}

#define FLAG(member) CMD_FLAG(struct order, member)
#define COUNT(member, from) CMD_COUNT(struct order, member, from)

static const struct cmd_option options[] = {
	{ "from", "P", "Positions from this one on (default: 0)",
	  COUNT(from, 0) },
	{ "count", "N", "So many positions at most", .take = take_count },
	{ "steps", "N", "So many steps at most, from --step on",
	  COUNT(some, 1) },
	{ "where", "SAMPLE",
	  "Print when this sample comes: position, step and place in the step",
	  .take = take_where },
	{ "cost", NULL,
	  "Print what a rank has to hold and to read for this order, and how "
	  "well it mixes",
	  FLAG(cost) },
	{ "memory", "SIZE",
	  "With --cost: for what was read, as a loader's (default: 1G)",
	  CMD_MEMORY(struct order, memory) },
	{ "classes", NULL,
	  "Print how many classes a batch has, and how much of it the most "
	  "frequent one is",
	  FLAG(classes) },
	{ "json", NULL,
	  "One JSON object a position; a single one with --cost or --classes",
	  FLAG(json) },
	{ "foreign-owner", NULL, CMD_FOREIGN_OWNER_TEXT, FLAG(foreign_owner) },
	{ 0 }
};

static const struct argp_child children[] = {
	{ &cmd_order_argp, 0, NULL, 0 },
	{ &cmd_share_argp, 0, NULL, 0 },
	{ 0 },
};

static void check(const struct order *w, const struct argp_state *state)
{
	bool summary = w->cost || w->classes;

	if ((summary || w->where) && (w->from || w->count_given))
		argp_error(state, "--from and --count are for the list of "
				  "positions");
	if (w->where &&
	    (summary || w->some || w->o.order.step ||
	     cmd_share_gave(&w->o, "rank") || cmd_share_gave(&w->o, "worker")))
		argp_error(state, "--where is of a whole epoch, and goes with "
				  "nothing that is less");
	if (w->memory && !w->cost)
		argp_error(state, "--memory goes with --cost");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct order *w = state->input;
	error_t ret;

	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = &w->o;
		state->child_inputs[1] = &w->o;
		return 0;
	}
	if (key == ARGP_KEY_END)
		check(w, state);
	ret = cmd_options_parse(options, key, arg, state);
	return ret == ARGP_ERR_UNKNOWN ?
		       cmd_take_dataset(key, arg, state, &w->dataset) :
		       ret;
}

static const struct argp argp = {
	NULL,
	parse,
	"DATASET",
	"Print the order in which an epoch reads the samples of a dataset.\v"
	"A line is a position, the number of the sample there, and its key, "
	"with tabs between them. Places that only fill the last step "
	"up are not printed. The order is a function of these options and the "
	"dataset alone; hpdsl-order(7) defines it.",
	children,
	NULL,
	NULL
};

static int sum_up(struct order *w)
{
	struct cmd_json j = { .out = stdout };
	int status = CMD_DONE;

	if (w->json)
		cmd_json_open(&j, NULL, '{');
	if (w->cost)
		status = order_cost(w, &j);
	if (status == CMD_DONE && w->classes)
		status = order_classes(w, &j);
	if (w->json && status == CMD_DONE)
		cmd_json_line(&j);
	return status;
}

static int with_dataset(struct order *w)
{
	int status = cmd_order_begin(&w->o, w->ds, &w->choice);

	if (status != CMD_DONE)
		return status;
	if (hpdsl_epoch_new(w->ds, w->choice, &w->o.order, &w->e, &w->err) < 0)
		return cmd_tell(&w->err);
	hpdsl_epoch_info(w->e, &w->info);
	w->steps = hpdsl_epoch_steps(w->e, w->o.end);
	if (w->o.order.step > w->steps) {
		cmd_message("no step %llu, the epoch has %llu",
			    (unsigned long long)w->o.order.step,
			    (unsigned long long)w->steps);
		return CMD_USAGE;
	}
	w->end = w->steps;
	if (w->some && w->some < w->steps - w->o.order.step)
		w->end = w->o.order.step + w->some;
	if (w->where)
		return order_where(w);
	return w->cost || w->classes ? sum_up(w) : order_list(w);
}

int main(int argc, char **argv)
{
	struct order w = { 0 };
	int status;

	cmd_start(argv);
	cmd_order_show();
	cmd_share_show();
	cmd_parse(options, &argp, argc, argv, 0, &w);
	cmd_signals(w.dataset, "");
	if (cmd_open(w.dataset, w.foreign_owner, &w.ds, &w.err) < 0)
		status = cmd_tell(&w.err);
	else
		status = with_dataset(&w);
	hpdsl_epoch_free(w.e);
	hpdsl_choice_free(w.choice);
	cmd_order_release(&w.o);
	hpdsl_close(w.ds);
	return status;
}
