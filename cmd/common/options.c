/* SPDX-License-Identifier: Apache-2.0 */
/* How every command begins, and the options that the long-running ones share.
 */
#include "option_table.h"

#include <errno.h>

#define FLAG(member) CMD_FLAG(struct cmd_common, member)

static const struct cmd_option options[] = {
	{ "threads", "N", CMD_THREADS_TEXT,
	  CMD_THREADS(struct cmd_common, threads), .letter = 'j' },
	{ "quiet", NULL, "No progress and no summary", FLAG(quiet),
	  .letter = 'q' },
	{ "json", NULL, "The summary as one JSON object on standard output",
	  FLAG(json), .letter = CMD_OPT_JSON },
	{ "foreign-owner", NULL, CMD_FOREIGN_OWNER_TEXT, FLAG(foreign_owner),
	  .letter = CMD_OPT_FOREIGN_OWNER },
	{ 0 }
};

/* As argp has it. */
static struct argp_option shown[sizeof(options) / sizeof(*options)];

int cmd_common_set(struct cmd_common *c, int key, const char *arg,
		   struct cmd_why *why)
{
	return cmd_options_set(options, key, c, arg, why);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_common *c = state->input;

	c->threads_given |= key == 'j';
	return cmd_options_parse(options, key, arg, state);
}

const struct argp cmd_common_argp = {
	shown, parse, NULL, NULL, NULL, NULL, NULL
};

const struct argp_child cmd_common_children[] = {
	{ &cmd_common_argp, 0, NULL, 9 },
	{ 0 },
};

static void print_version(FILE *out, struct argp_state *state)
{
	(void)state;
	fprintf(out, "%s %s\n", program_invocation_short_name, hpdsl_version());
}

void cmd_start(char **argv)
{
	/* getopt puts argv[0], with its folders, in front of its messages */
	argv[0] = program_invocation_short_name;
	argp_err_exit_status = CMD_USAGE;
	argp_program_version_hook = print_version;
	cmd_options_show(options, shown);
	cmd_output_start();
}

void cmd_missing(const struct argp_state *state, const char *what)
{
	argp_error(state, "%s is missing", what);
}

void cmd_not_also(const struct argp_state *state, const char *what,
		  const char *arg)
{
	argp_error(state, "one %s, not also '%s'", what, arg);
}

error_t cmd_take_arguments(int key, char *arg, struct argp_state *state,
			   const char *const *names, const char **ret, size_t n)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num >= n)
			cmd_not_also(state, names[n - 1], arg);
		ret[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < n)
			cmd_missing(state, names[state->arg_num]);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

error_t cmd_take_dataset(int key, char *arg, struct argp_state *state,
			 const char **dataset)
{
	static const char *const names[] = { "DATASET" };

	return cmd_take_arguments(key, arg, state, names, dataset, 1);
}

struct argp_state cmd_after(const struct argp *argp)
{
	return (struct argp_state){ .root_argp = argp,
				    .name = program_invocation_short_name,
				    .err_stream = stderr };
}
