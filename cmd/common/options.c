/* SPDX-License-Identifier: Apache-2.0 */
/* How every command begins, and the options that the long-running ones share.
 */
#include "common.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

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
	cmd_output_start();
}

int cmd_refuse(struct cmd_why *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return -1;
}

static const struct argp_option options[] = {
	{ "threads", 'j', "N", 0,
	  "Threads for CPU work (default: one a core, at most 16); 0 does "
	  "everything in place, in one thread",
	  0 },
	{ "quiet", 'q', NULL, 0, "No progress and no summary", 0 },
	{ "json", CMD_OPT_JSON, NULL, 0,
	  "The summary as one JSON object on standard output", 0 },
	CMD_FOREIGN_OWNER,
	{ 0 }
};

static int set_threads(struct cmd_common *c, const char *arg,
		       struct cmd_why *why)
{
	uint64_t n;

	if (cmd_parse_count(arg, &n) < 0 || n > HPDSL_THREADS_MOST)
		return cmd_refuse(why,
				  "threads: '%s' is no number from 0 to %d",
				  arg, HPDSL_THREADS_MOST);
	c->threads = n ? (uint32_t)n : HPDSL_SERIAL;
	return 0;
}

int cmd_common_set(struct cmd_common *c, int key, const char *arg,
		   struct cmd_why *why)
{
	switch (key) {
	case 'j':
		return set_threads(c, arg, why);
	case 'q':
		c->quiet = true;
		return 0;
	case CMD_OPT_JSON:
		c->json = true;
		return 0;
	case CMD_OPT_FOREIGN_OWNER:
		c->foreign_owner = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_common *c = state->input;
	struct cmd_why why;
	int ret = cmd_common_set(c, key, arg, &why);

	if (ret < 0)
		argp_error(state, "--%s", why.text);
	if (key == 'j')
		c->threads_given = true;
	return ret == ARGP_ERR_UNKNOWN ? ARGP_ERR_UNKNOWN : 0;
}

const struct argp cmd_common_argp = { options, parse, NULL, NULL,
				      NULL,    NULL,  NULL };

const struct argp_child cmd_common_children[] = {
	{ &cmd_common_argp, 0, NULL, 9 },
	{ 0 },
};

error_t cmd_take_dataset(int key, char *arg, struct argp_state *state,
			 const char **dataset)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (*dataset)
			argp_error(state, "one DATASET, not also '%s'", arg);
		*dataset = arg;
		return 0;
	case ARGP_KEY_END:
		if (!*dataset)
			argp_error(state, "DATASET is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}
