/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-order: prints the order of an epoch, or what the order costs and what
 * it does to the classes of a batch.  Reads nothing but the index.
 */
#include "order.h"

#include <string.h>

enum {
	OPT_FROM = CMD_OPT_OWN,
	OPT_COUNT,
	OPT_COST,
	OPT_CLASSES,
};

static const struct argp_option options[] = {
	{ "from", OPT_FROM, "P", 0, "Positions from this one on (default: 0)",
	  1 },
	{ "count", OPT_COUNT, "N", 0, "So many positions at most", 1 },
	{ "cost", OPT_COST, NULL, 0,
	  "Print what the window costs: memory, reads, and how much likelier "
	  "than in a full shuffle two samples of a chunk meet in a step",
	  1 },
	{ "classes", OPT_CLASSES, NULL, 0,
	  "Print how many classes a batch has, and how much of it the most "
	  "frequent one is",
	  1 },
	{ "json", CMD_OPT_JSON, NULL, 0,
	  "One JSON object a position; a single one with --cost or --classes",
	  1 },
	CMD_FOREIGN_OWNER,
	{ 0 }
};

static const struct argp_child children[] = {
	{ &cmd_order_argp, 0, NULL, 0 },
	{ 0 },
};

static uint64_t number(const char *name, const char *arg,
		       struct argp_state *state)
{
	struct cmd_why why;
	uint64_t n = 0;

	if (cmd_value_count(name, arg, 0, &n, &why) < 0)
		argp_error(state, "--%s", why.text);
	return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct order *w = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &w->o;
		return 0;
	case OPT_FROM:
		w->from = number("from", arg, state);
		return 0;
	case OPT_COUNT:
		w->count = number("count", arg, state);
		w->count_given = true;
		return 0;
	case OPT_COST:
		w->cost = true;
		return 0;
	case OPT_CLASSES:
		w->classes = true;
		return 0;
	case CMD_OPT_JSON:
		w->json = true;
		return 0;
	case CMD_OPT_FOREIGN_OWNER:
		w->foreign_owner = true;
		return 0;
	case ARGP_KEY_END:
		if ((w->cost || w->classes) && (w->from || w->count_given))
			argp_error(state, "--from and --count are for the list "
					  "of positions");
		/* fall through */
	default:
		return cmd_take_dataset(key, arg, state, &w->dataset);
	}
}

static const struct argp argp = {
	options,
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

/* ---- The list ----------------------------------------------------------- */

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

/* ---- All of it ---------------------------------------------------------- */

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
	argp_parse(&argp, argc, argv, 0, NULL, &w);
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
