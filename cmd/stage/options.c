/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-stage's options. */
#include "stage.h"

#include <string.h>

#define MEMORY_MIN (UINT64_C(4) << 20)
#define NODES_MAX (1 << 24)
#define TIMEOUT 300

enum {
	OPT_MODE = CMD_OPT_OWN,
	OPT_CAPACITY,
	OPT_KEEP_COMPRESSED,
	OPT_ORDER_FROM,
	OPT_PRETEND_NODES,
	OPT_RATE,
	OPT_MEMORY,
	OPT_DIRECT,
	OPT_FSYNC,
	OPT_RECHECK,
	OPT_DEADLINE,
	OPT_TIMEOUT,
	OPT_PLAN,
	OPT_NODES,
	OPT_RATES,
	OPT_RATES_FROM,
	OPT_STATUS,
	OPT_CLEAN,
	OPT_REPORT,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What goes where:", 1 },
	{ "mode", OPT_MODE, "MODE", 0,
	  "auto (default): as few parts as there is room for; replicate: all "
	  "on every node; partition: each chunk on one; copies=R: on R nodes",
	  1 },
	{ "capacity", OPT_CAPACITY, "SIZE|N%", 0,
	  "Room for chunks on a node (default: what is free less 5 %)", 1 },
	{ "keep-compressed", OPT_KEEP_COMPRESSED, NULL, 0,
	  "Leave .tar.zst chunks as they are", 1 },
	{ "order-from", OPT_ORDER_FROM, "STATE", 0,
	  "Fetch chunks in the order that a loader's state tells", 1 },
	{ "pretend-nodes", OPT_PRETEND_NODES, "N", 0,
	  "Split the ranks of one machine into N nodes", 1 },

	{ NULL, 0, NULL, 0, "How:", 2 },
	{ "rate", OPT_RATE, "SIZE", 0,
	  "Read at most SIZE bytes a second from DATASET, all nodes together",
	  2 },
	{ "memory", OPT_MEMORY, "SIZE", 0,
	  "Memory for buffers on a node (default: 256M)", 2 },
	{ "direct", OPT_DIRECT, NULL, 0,
	  "Read DATASET past the page cache, where there is such a thing", 2 },
	{ "fsync", OPT_FSYNC, NULL, 0,
	  "Put each chunk on the disk before it gets its name", 2 },
	{ "recheck", OPT_RECHECK, NULL, 0,
	  "Verify the chunks that are there before they count", 2 },
	{ "deadline", OPT_DEADLINE, "TIME", 0,
	  "Stop in time, with exit status 75: seconds from now, or Slurm's "
	  "[D-]HH:MM:SS",
	  2 },
	{ "timeout", OPT_TIMEOUT, "SECONDS", 0,
	  "End the job when a node was silent for so long (default: 300)", 2 },

	{ NULL, 0, NULL, 0, "Instead of staging:", 3 },
	{ "plan", OPT_PLAN, NULL, 0,
	  "Print what would be done and how long it takes; write nothing", 3 },
	{ "nodes", OPT_NODES, "N", 0,
	  "With --plan and one rank: for N nodes, all alike", 3 },
	{ "rates", OPT_RATES, "LIST", 0,
	  "With --plan: bytes a second, "
	  "origin=SIZE,link=SIZE,write=SIZE,read=SIZE",
	  3 },
	{ "rates-from", OPT_RATES_FROM, "REPORT", 0,
	  "With --plan: the rates of an earlier run, from its --report", 3 },
	{ "status", OPT_STATUS, NULL, 0, "Print what is in LOCALDIR", 3 },
	{ "clean", OPT_CLEAN, NULL, 0,
	  "Remove what was staged in LOCALDIR, and nothing else", 3 },

	{ NULL, 0, NULL, 0, "Messages:", 4 },
	{ "report", OPT_REPORT, "FILE", 0, "Write an account to FILE, as JSON",
	  4 },
	{ 0 }
};

static int set_mode(struct stage_options *o, const char *arg,
		    struct cmd_why *why)
{
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
					  "mode: copies: '%s' is no "
					  "number from 1 on",
					  arg + 7);
		o->mode = HPDSL_STAGE_COPIES;
		o->copies = (uint32_t)n;
	} else {
		return cmd_refuse(why,
				  "mode: '%s' is none of auto, replicate, "
				  "partition and copies=R",
				  arg);
	}
	return 0;
}

static int set_capacity(struct stage_options *o, const char *arg,
			struct cmd_why *why)
{
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
			  "capacity: '%s' is neither a size nor 0%% to "
			  "100%%",
			  arg);
}

static int size(const char *name, const char *arg, uint64_t least,
		uint64_t *ret, struct cmd_why *why)
{
	if (cmd_parse_size(arg, ret) < 0)
		return cmd_refuse(why, "%s: '%s' is no size", name, arg);
	if (*ret < least)
		return cmd_refuse(why, "%s: at least %s", name,
				  cmd_bytes(least).s);
	return 0;
}

static int nodes(const char *name, const char *arg, uint32_t *ret,
		 struct cmd_why *why)
{
	uint64_t n;

	if (cmd_parse_count(arg, &n) < 0 || !n || n > NODES_MAX)
		return cmd_refuse(why, "%s: '%s' is no number from 1 to %d",
				  name, arg, NODES_MAX);
	*ret = (uint32_t)n;
	return 0;
}

/* "origin=20G,link=12G" */
static int set_rates(struct hpdsl_stage_rates *r, const char *arg,
		     struct cmd_why *why)
{
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
					  "rates: '%s' is none of origin, "
					  "link, write and read",
					  w);
		if (!value || cmd_parse_size(value, &n) < 0 || !n)
			return cmd_refuse(why, "rates: %s: '%s' is no size", w,
					  value ? value : "");
		*known[i].rate = (double)n;
	}
	return 0;
}

static int set_number(struct stage_options *o, int key, const char *arg,
		      struct cmd_why *why)
{
	switch (key) {
	case OPT_PRETEND_NODES:
		return nodes("pretend-nodes", arg, &o->pretend, why);
	case OPT_NODES:
		return nodes("nodes", arg, &o->nodes, why);
	case OPT_RATE:
		return size("rate", arg, 1, &o->rate, why);
	case OPT_MEMORY:
		return size("memory", arg, MEMORY_MIN, &o->memory, why);
	case OPT_DEADLINE:
		return cmd_value_deadline(arg, &o->deadline, why);
	default: /* OPT_TIMEOUT */
		return cmd_value_count("timeout", arg, 1, &o->timeout, why);
	}
}

static int set(struct stage_options *o, int key, const char *arg,
	       struct cmd_why *why)
{
	switch (key) {
	case OPT_MODE:
		return set_mode(o, arg, why);
	case OPT_CAPACITY:
		return set_capacity(o, arg, why);
	case OPT_RATES:
		return set_rates(&o->rates, arg, why);
	case OPT_PRETEND_NODES:
	case OPT_NODES:
	case OPT_RATE:
	case OPT_MEMORY:
	case OPT_DEADLINE:
	case OPT_TIMEOUT:
		return set_number(o, key, arg, why);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Flags, and names of files. */
static bool set_plain(struct stage_options *o, int key, const char *arg)
{
	const struct {
		int key;
		bool *flag;
		const char **text;
	} plain[] = {
		{ OPT_KEEP_COMPRESSED, &o->keep_compressed, NULL },
		{ OPT_DIRECT, &o->direct, NULL },
		{ OPT_FSYNC, &o->sync, NULL },
		{ OPT_RECHECK, &o->recheck, NULL },
		{ OPT_PLAN, &o->plan, NULL },
		{ OPT_STATUS, &o->status, NULL },
		{ OPT_CLEAN, &o->clean, NULL },
		{ OPT_ORDER_FROM, NULL, &o->order_from },
		{ OPT_RATES_FROM, NULL, &o->rates_from },
		{ OPT_REPORT, NULL, &o->report },
	};

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		if (plain[i].key != key)
			continue;
		if (plain[i].flag)
			*plain[i].flag = true;
		else
			*plain[i].text = arg;
		return true;
	}
	return false;
}

static void take(struct stage_options *o, char *arg, struct argp_state *state)
{
	/* --status and --clean may stand behind LOCALDIR */
	if (!o->dataset)
		o->dataset = arg;
	else if (!o->local)
		o->local = arg;
	else
		argp_error(state, "one DATASET and one LOCALDIR, not also '%s'",
			   arg);
}

static void check_arguments(struct stage_options *o, struct argp_state *state)
{
	bool alone = o->status || o->clean;

	if (o->plan + o->status + o->clean > 1)
		argp_error(state, "--plan, --status and --clean exclude each "
				  "other");
	if (alone && o->local)
		argp_error(state, "one LOCALDIR, not also '%s'", o->local);
	if (alone) {
		o->local = o->dataset;
		o->dataset = NULL;
	}
	if (!alone && !o->dataset)
		argp_error(state, o->plan ? "DATASET is missing" :
					    "DATASET and LOCALDIR are missing");
	if (!o->local && !o->plan)
		argp_error(state, "LOCALDIR is missing");
}

static void check(struct stage_options *o, struct argp_state *state)
{
	const struct stage_where nowhere = { .host = "" };

	check_arguments(o, state);
	if (!o->plan && (o->nodes || o->rates_from || o->rates.origin ||
			 o->rates.link || o->rates.write || o->rates.read))
		argp_error(state, "--nodes, --rates and --rates-from go with "
				  "--plan");
	if (o->capacity_percent && !o->local)
		argp_error(state, "--capacity=N%% is of what is free in "
				  "LOCALDIR, which is missing");
	if (o->local) {
		cmd_auto_free char *path = stage_expand(o->local, &nowhere);

		if (!path)
			argp_error(state,
				   "LOCALDIR '%s': only %%n, %%h, %%r "
				   "and %%%% have a meaning, and no %s",
				   o->local, "other %");
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stage_options *o = state->input;
	struct cmd_why why;
	int ret;

	switch (key) {
	case ARGP_KEY_INIT:
		o->timeout = TIMEOUT;
		state->child_inputs[0] = &o->common;
		return 0;
	case ARGP_KEY_ARG:
		take(o, arg, state);
		return 0;
	case ARGP_KEY_END:
		check(o, state);
		return 0;
	default:
		ret = set(o, key, arg, &why);
		if (ret == -1)
			argp_error(state, "--%s", why.text);
		if (ret == 0 || set_plain(o, key, arg))
			return 0;
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp stage_argp = {
	options,
	parse,
	"DATASET LOCALDIR\n--plan DATASET [LOCALDIR]\n--status LOCALDIR\n"
	"--clean LOCALDIR",
	"Put a packed dataset on the SSDs of a job's nodes, each byte read "
	"once; to be started on all of them, by mpirun or srun.\v"
	"In LOCALDIR %n is the number of the node, %h its name, %r the rank, "
	"%% a percent sign. Exit status, the same for all ranks: 0 all that "
	"was planned is here, 1 DATASET is damaged or another one is in "
	"LOCALDIR, 2 wrong options, 3 trouble, 75 stopped early as asked.",
	cmd_common_children,
	NULL,
	NULL
};
