/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-stage's options. */
#include "stage.h"

#include "common/option_table.h"

#include <string.h>

#define MEMORY_MIN (UINT64_C(4) << 20)
#define NODES_MAX (1 << 24)
#define TIMEOUT 300
#define PORT_MAX (65535 - 15)

/* ---- Values that only this command takes ------------------------------ */

static int take_mode(const struct cmd_option *row, void *to, const char *arg,
		     struct cmd_why *why)
{
	struct stage_options *o = to;
	uint64_t n;

	if (!strcmp(arg, "auto")) {
		o->mode = HPDSL_STAGE_AUTO;
	} else if (!strcmp(arg, "replicate")) {
		o->mode = HPDSL_STAGE_REPLICATE;
	} else if (!strcmp(arg, "partition")) {
		o->mode = HPDSL_STAGE_PARTITION;
	} else if (!strncmp(arg, "copies=", 7)) {
		if (cmd_parse_count(arg + 7, &n) < 0 || !n || n > NODES_MAX)
			return cmd_refuse(why,
					  "%s: copies: '%s' is no "
					  "number from 1 on",
					  row->name, arg + 7);
		o->mode = HPDSL_STAGE_COPIES;
		o->copies = (uint32_t)n;
	} else {
		return cmd_refuse(why,
				  "%s: '%s' is none of auto, replicate, "
				  "partition and copies=R",
				  row->name, arg);
	}
	return 0;
}

static int take_capacity(const struct cmd_option *row, void *to,
			 const char *arg, struct cmd_why *why)
{
	struct stage_options *o = to;
	size_t n = strlen(arg);
	char digits[32];

	o->capacity_given = true;
	o->capacity_percent = n && arg[n - 1] == '%';
	if (!o->capacity_percent && cmd_parse_size(arg, &o->capacity) == 0)
		return 0;
	if (o->capacity_percent && n < sizeof(digits)) {
		memcpy(digits, arg, n - 1);
		digits[n - 1] = '\0';
		if (cmd_parse_count(digits, &o->capacity) == 0 &&
		    o->capacity <= 100)
			return 0;
	}
	return cmd_refuse(why,
			  "%s: '%s' is neither a size nor 0%% to "
			  "100%%",
			  row->name, arg);
}

static int take_interface(const struct cmd_option *row, void *to,
			  const char *arg, struct cmd_why *why)
{
	if (!hpdsl_peer_only_check(arg))
		return cmd_refuse(why,
				  "%s: '%s' is neither the beginning of an "
				  "interface's name nor a subnet, as "
				  "10.1.0.0/16",
				  row->name, arg);
	((struct stage_options *)to)->interface = arg;
	return 0;
}

/* "origin=20G,link=12G" */
static int take_rates(const struct cmd_option *row, void *to, const char *arg,
		      struct cmd_why *why)
{
	struct hpdsl_stage_rates *r = &((struct stage_options *)to)->rates;
	const struct {
		const char *name;
		double *rate;
	} known[] = { { "origin", &r->origin },
		      { "link", &r->link },
		      { "write", &r->write },
		      { "read", &r->read } };
	cmd_auto_free char *list = strdup(arg);
	char *save = NULL, *w;

	if (!list)
		cmd_no_memory();
	for (w = strtok_r(list, ",", &save); w;
	     w = strtok_r(NULL, ",", &save)) {
		char *value = strchr(w, '=');
		uint64_t n = 0;
		size_t i = 0;

		if (value)
			*value++ = '\0';
		while (i < 4 && strcmp(known[i].name, w) != 0)
			i++;
		if (i == 4)
			return cmd_refuse(why,
					  "%s: '%s' is none of origin, "
					  "link, write and read",
					  row->name, w);
		if (!value || cmd_parse_size(value, &n) < 0 || !n)
			return cmd_refuse(why, "%s: %s: '%s' is no size",
					  row->name, w, value ? value : "");
		*known[i].rate = (double)n;
	}
	return 0;
}

/* ---- The table -------------------------------------------------------- */

#define FLAG(member) CMD_FLAG(struct stage_options, member)
#define STRING(member) CMD_STRING(struct stage_options, member)
#define SIZE(member, from) CMD_SIZE(struct stage_options, member, from)
#define NODES(member) CMD_NUMBER(struct stage_options, member, 1, NODES_MAX)

static const struct cmd_option options[] = {
	{ NULL, NULL, "What goes where:", .group = 1 },
	{ "mode", "MODE",
	  "auto (default): as few parts as there is room for; replicate: all "
	  "on every node; partition: each chunk on one; copies=R: on R nodes",
	  .take = take_mode },
	{ "capacity", "SIZE|N%",
	  "Room for chunks on a node (default: what is free less 5 %)",
	  .take = take_capacity },
	{ "keep-compressed", NULL, "Leave .tar.zst chunks as they are",
	  FLAG(keep_compressed) },
	{ "pretend-nodes", "N", "Split the ranks of one machine into N nodes",
	  NODES(pretend) },

	{ NULL, NULL, "How:", .group = 2 },
	{ "rate", "SIZE",
	  "Read at most SIZE bytes a second from DATASET, all nodes together",
	  SIZE(rate, 1) },
	{ "memory", "SIZE", "Memory for buffers on a node (default: 256M)",
	  SIZE(memory, MEMORY_MIN) },
	{ "direct", NULL,
	  "Read DATASET past the page cache, where there is such a thing",
	  FLAG(direct) },
	{ "fsync", NULL, "Put each chunk on the disk before it gets its name",
	  FLAG(sync) },
	{ "recheck", NULL, "Verify the chunks that are there before they count",
	  FLAG(recheck) },
	{ "deadline", "TIME",
	  "Stop in time, with exit status 75: seconds from now, or Slurm's "
	  "[D-]HH:MM:SS",
	  CMD_DEADLINE(struct stage_options, deadline) },
	{ "timeout", "SECONDS",
	  "End the job when a node was silent for so long (default: 300)",
	  CMD_COUNT(struct stage_options, timeout, 1) },
	{ "interface", "PREFIX",
	  "Nodes that serve each other do so over interfaces whose names begin "
	  "so, or over a subnet, 10.1.0.0/16",
	  .take = take_interface },
	{ "peer-port", "BASE",
	  "and on ports BASE to BASE+15 (default: drawn, below 32015)",
	  CMD_NUMBER(struct stage_options, peer_port, 1, PORT_MAX) },

	/* the heading and most rows are cmd_order_argp's */
	{ "ranks", "N",
	  "Ranks of the job that will read (default: as many as nodes)",
	  CMD_NUMBER(struct stage_options, order.share.ranks, 1, UINT32_MAX),
	  .group = 3 },
	{ "order-from", "STATE",
	  "All of this from a loader's state; what is given besides must agree",
	  STRING(order.state), .group = 3 },

	{ NULL, NULL, "Instead of staging:", .group = 4 },
	{ "plan", NULL,
	  "Print what would be done and how long it takes; write nothing",
	  FLAG(plan) },
	{ "nodes", "N", "With --plan and one rank: for N nodes, all alike",
	  NODES(nodes) },
	{ "rates", "LIST",
	  "With --plan: bytes a second, "
	  "origin=SIZE,link=SIZE,write=SIZE,read=SIZE",
	  .take = take_rates },
	{ "rates-from", "REPORT",
	  "With --plan: the rates of an earlier run, from its --report",
	  STRING(rates_from) },
	{ "status", NULL, "Print what is in LOCALDIR", FLAG(status) },
	{ "clean", NULL, "Remove what was staged in LOCALDIR, and nothing else",
	  FLAG(clean) },

	{ NULL, NULL, "Messages:", .group = 5 },
	{ "report", "FILE", "Write an account to FILE, as JSON",
	  STRING(report) },
	{ 0 }
};

static void take(struct stage_options *o, char *arg, struct argp_state *state)
{
	/* --status and --clean may stand behind LOCALDIR */
	if (!o->dataset)
		o->dataset = arg;
	else if (!o->local)
		o->local = arg;
	else
		cmd_not_also(state, "LOCALDIR", arg);
}

static void check_arguments(struct stage_options *o, struct argp_state *state)
{
	bool alone = o->status || o->clean;

	if (o->plan + o->status + o->clean > 1)
		argp_error(state, "--plan, --status and --clean exclude each "
				  "other");
	if (alone && o->local && strcmp(o->local, "auto") != 0)
		cmd_not_also(state, "LOCALDIR", o->local);
	if (alone) {
		/* DATASET auto */
		o->of = o->local ? o->dataset : NULL;
		o->local = o->local ? o->local : o->dataset;
		o->dataset = NULL;
	}
	if (!alone && !o->dataset)
		cmd_missing(state, "DATASET");
	if (!o->local && !o->plan)
		cmd_missing(state, "LOCALDIR");
}

static void check(struct stage_options *o, struct argp_state *state)
{
	struct hpdsl_error err;

	check_arguments(o, state);
	if (!o->plan && (o->nodes || o->rates_from || o->rates.origin ||
			 o->rates.link || o->rates.write || o->rates.read))
		argp_error(state, "--nodes, --rates and --rates-from go with "
				  "--plan");
	if (o->capacity_percent && !o->local)
		argp_error(state, "--capacity=N%% is of what is free in "
				  "LOCALDIR, which is missing");
	if (o->local && stage_local_check(o, &err) < 0)
		argp_error(state, "%s", err.msg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stage_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		o->timeout = TIMEOUT;
		state->child_inputs[0] = &o->order;
		state->child_inputs[1] = &o->common;
		return 0;
	case ARGP_KEY_ARG:
		take(o, arg, state);
		return 0;
	case ARGP_KEY_END:
		check(o, state);
		return 0;
	default:
		return cmd_options_parse(options, key, arg, state);
	}
}

static const struct argp_child children[] = {
	{ &cmd_order_argp, 0, NULL, 0 },
	{ &cmd_common_argp, 0, NULL, 9 },
	{ 0 },
};

static const struct argp argp = {
	NULL,
	parse,
	"DATASET LOCALDIR\n--plan DATASET [LOCALDIR]\n--status LOCALDIR\n"
	"--clean LOCALDIR\n--status|--clean DATASET auto",
	"Put a packed dataset on the SSDs of a job's nodes, each byte read "
	"once; to be started on all of them, by mpirun or srun.\v"
	"In LOCALDIR %n is the number of the node, %h its name, %r the rank, "
	"%% a percent sign, and $NAME a variable of the node's environment; "
	"auto or auto:NAME is a place that is found there, and printed. Exit "
	"status, the same for all ranks: 0 all that "
	"was planned is here, 1 DATASET is damaged or another one is in "
	"LOCALDIR, 2 wrong options, 3 trouble, 75 stopped early as asked.",
	children,
	NULL,
	NULL
};

void stage_parse(int argc, char **argv, struct stage_options *o)
{
	cmd_order_show();
	cmd_parse(options, &argp, argc, argv, 0, o);
}
