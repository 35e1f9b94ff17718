/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-order: prints the order of an epoch, or what the order costs and what
 * it does to the classes of a batch.  Reads nothing but the index.
 */
#include "order.h"

#include "common/table.h"

#include <string.h>

static int take_count(const struct cmd_option *o, void *to, const char *arg,
		      struct cmd_why *why)
{
	struct order *w = to;

	w->count_given = true;
	return cmd_value_count(o->name, arg, 0, &w->count, why);
}

#define FLAG(member) CMD_FLAG(struct order, member)

static const struct cmd_option options[] = {
	{ "from", "P", "Positions from this one on (default: 0)",
	  CMD_COUNT(struct order, from, 0) },
	{ "count", "N", "So many positions at most", .take = take_count },
	{ "cost", NULL,
	  "Print what the window costs: memory, reads, and how much likelier "
	  "than in a full shuffle two samples of a chunk meet in a step",
	  FLAG(cost) },
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
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct order *w = state->input;
	error_t ret;

	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = &w->o;
		return 0;
	}
	if (key == ARGP_KEY_END && (w->cost || w->classes) &&
	    (w->from || w->count_given))
		argp_error(state, "--from and --count are for the list of "
				  "positions");
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

/* ---- The list --------------------------------------------------------- */

static void print_json(const struct hpdsl_place *p, uint64_t step,
		       const struct hpdsl_sample *s)
{
	struct cmd_json j = { .out = stdout };

	cmd_json_open(&j, NULL, '{');
	cmd_json_u64(&j, "step", step);
	cmd_json_u64(&j, "position", p->position);
	cmd_json_u64(&j, "sample", p->sample);
	if (s->label == HPDSL_NO_LABEL)
		cmd_json_null(&j, "label");
	else
		cmd_json_u64(&j, "label", s->label);
	cmd_json_name(&j, "key", s->key, s->key_len);
	cmd_json_line(&j);
}

static int print_place(struct order *w, uint64_t step,
		       const struct hpdsl_place *p)
{
	struct hpdsl_sample s;
	int r = hpdsl_sample_get(w->ds, p->sample, &s, &w->err);

	if (r < 0)
		return r;
	if (w->json) {
		print_json(p, step, &s);
		return 0;
	}
	cmd_print("%llu\t%llu\t", (unsigned long long)p->position,
		  (unsigned long long)p->sample);
	cmd_print_name(s.key, s.key_len, false);
	return 0;
}

static int print_step(struct order *w, uint64_t step,
		      const struct hpdsl_place *place, size_t n, void *arg)
{
	uint64_t *left = arg;

	for (size_t i = 0; i < n; i++) {
		int r;

		if (place[i].position < w->from)
			continue;
		if (!*left)
			return 1;
		r = print_place(w, step, &place[i]);
		if (r < 0)
			return r;
		--*left;
	}
	return !*left;
}

static int list(struct order *w)
{
	uint64_t left = w->count_given ? w->count : UINT64_MAX;

	return order_walk(w, print_step, &left);
}

/* ---- All of it -------------------------------------------------------- */

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
	return w->cost || w->classes ? sum_up(w) : list(w);
}

int main(int argc, char **argv)
{
	struct order w = { 0 };
	int status;

	cmd_start(argv);
	cmd_order_show();
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
