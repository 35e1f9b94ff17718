/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-serve's options. */
#include "life.h"

#include "common/option_table.h"

#define FLAG(member) CMD_FLAG(struct serve_options, member)

static const struct cmd_option options[] = {
	{ NULL, NULL, "How:", .group = 1 },
	{ "no-tcp", NULL,
	  "Serve tools of this node alone, over the Unix socket",
	  FLAG(no_tcp) },
	{ "detach", NULL,
	  "Go on in the background, once it serves, and print the socket",
	  FLAG(detach) },
	{ "deadline", "TIME",
	  "End after TIME, with exit status 0: seconds from now, or Slurm's "
	  "[D-]HH:MM:SS",
	  CMD_DEADLINE(struct serve_options, deadline) },

	{ NULL, NULL, "Instead of serving:", .group = 2 },
	{ "status", NULL, "Print what the server of LOCALDIR has done",
	  FLAG(status) },
	{ "stop", NULL, "Let the server of LOCALDIR end, and wait until it has",
	  FLAG(stop) },

	{ NULL, NULL, "Messages:", .group = 3 },
	{ "report", "FILE", "In the end write an account to FILE, as JSON",
	  CMD_STRING(struct serve_options, report) },
	{ "quiet", NULL, "Only warnings and errors", FLAG(quiet),
	  .letter = 'q' },
	{ "json", NULL, "With --status: as one JSON object", FLAG(json) },
	{ 0 }
};

static void check(const struct serve_options *o, struct argp_state *state)
{
	if (o->status && o->stop)
		argp_error(state, "--status and --stop exclude each other");
	if ((o->status || o->stop) &&
	    (o->detach || o->no_tcp || o->deadline || o->report))
		argp_error(state, o->status ? "--status goes with --quiet and "
					      "--json alone" :
					      "--stop goes with --quiet alone");
	if (o->json && !o->status)
		argp_error(state, "--json goes with --status");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const name[] = { "LOCALDIR" };
	struct serve_options *o = state->input;
	error_t ret = cmd_options_parse(options, key, arg, state);

	if (ret != ARGP_ERR_UNKNOWN)
		return ret;
	ret = cmd_take_arguments(key, arg, state, name, &o->local, 1);
	if (key == ARGP_KEY_END)
		check(o, state);
	return ret;
}

static const struct argp argp = {
	NULL,
	parse,
	"LOCALDIR",
	"Serve what hpdsl-stage has put into LOCALDIR to the readers of the "
	"job's other nodes, and to other tools of this one.\v"
	"One process a node, started beside the job by srun or mpirun, or "
	"with --detach. It waits for a directory that is not staged yet, and "
	"ends when it is removed. Exit status: 0 it has ended as asked, 1 "
	"nothing serves LOCALDIR, 2 wrong "
	"options, 3 trouble, 128+signal.",
	NULL,
	NULL,
	NULL
};

void serve_parse(int argc, char **argv, struct serve_options *o)
{
	cmd_parse(options, &argp, argc, argv, 0, o);
}
