/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-serve's options. */
#include "life.h"

#include "common/option_table.h"

#include <string.h>

enum { IDLE = 600 }; /* seconds */
#define NOT_GIVEN UINT64_MAX

static int take_interface(const struct cmd_option *row, void *to,
			  const char *arg, struct cmd_why *why)
{
	if (!hpdsl_peer_only_check(arg))
		return cmd_refuse(why,
				  "%s: '%s' is neither the beginning of an "
				  "interface's name nor a subnet",
				  row->name, arg);
	((struct serve_options *)to)->interface = arg;
	return 0;
}

/* "500M", or "60%". */
static int take_rate(const struct cmd_option *row, void *to, const char *arg,
		     struct cmd_why *why)
{
	struct serve_options *o = to;
	size_t n = strlen(arg);
	char digits[8];
	uint64_t value;

	o->rate = o->percent = 0;
	if (n > 1 && n <= sizeof(digits) && arg[n - 1] == '%') {
		memcpy(digits, arg, n - 1);
		digits[n - 1] = '\0';
		if (cmd_parse_count(digits, &value) == 0 && value >= 1 &&
		    value <= 100) {
			o->percent = (uint32_t)value;
			return 0;
		}
	} else if (cmd_parse_size(arg, &value) == 0 && value) {
		o->rate = value;
		return 0;
	}
	return cmd_refuse(why, "%s: '%s' is neither a size nor 1%% to 100%%",
			  row->name, arg);
}

static int take_idle(const struct cmd_option *row, void *to, const char *arg,
		     struct cmd_why *why)
{
	uint64_t seconds;

	if (cmd_parse_duration(arg, &seconds) < 0 || seconds == UINT64_MAX)
		return cmd_refuse(why,
				  "%s: '%s' is neither seconds nor "
				  "[D-]HH:MM:SS",
				  row->name, arg);
	((struct serve_options *)to)->idle = seconds;
	return 0;
}

#define FLAG(member) CMD_FLAG(struct serve_options, member)

static const struct cmd_option options[] = {
	{ NULL, NULL, "How:", .group = 1 },
	{ "no-tcp", NULL,
	  "Serve tools of this node alone, over the Unix socket",
	  FLAG(no_tcp) },
	{ "detach", NULL,
	  "Go on in the background, once it serves, and print the socket",
	  FLAG(detach) },
	{ "idle", "TIME",
	  "With --detach: end after TIME without a request, as in --deadline; "
	  "0: never (default: 600)",
	  .take = take_idle },
	{ "interface", "PREFIX",
	  "Listen on the address of an interface whose name begins so, or that "
	  "is in a subnet, 10.1.0.0/16",
	  .take = take_interface },
	{ "rate", "SIZE",
	  "Give other nodes at most SIZE bytes a second, or so many % of what "
	  "the interface can do",
	  .take = take_rate },
	{ "deadline", "TIME",
	  "End after TIME, with exit status 0: seconds from now, or Slurm's "
	  "[D-]HH:MM:SS",
	  CMD_DEADLINE(struct serve_options, deadline) },

	{ "memory-cache", "SIZE",
	  "Keep up to SIZE of fetched chunks in memory, where LOCALDIR has no "
	  "room [0]",
	  CMD_SIZE(struct serve_options, memory_cache, 0) },

	{ NULL, NULL, "Without hpdsl-stage's book:", .group = 2 },
	{ "hosts", "FILE",
	  "The job's nodes, a line each: a name, maybe addresses",
	  CMD_STRING(struct serve_options, hosts.hosts) },
	{ "secret", "FILE",
	  "With --hosts: 64 hexadecimal digits, in a file of mode 0600",
	  CMD_STRING(struct serve_options, hosts.secret) },
	{ "node", "N", "With --hosts: this is node N of them, from 0 on",
	  CMD_NUMBER(struct serve_options, hosts.node, 0, UINT32_MAX - 1) },
	{ "peer-port", "PORT",
	  "With --hosts: the first of 16 ports that are tried, for all nodes",
	  CMD_NUMBER(struct serve_options, hosts.port, 1, 65520) },

	{ NULL, NULL, "Instead of serving:", .group = 3 },
	{ "status", NULL, "Print what the server of LOCALDIR has done",
	  FLAG(status) },
	{ "stop", NULL, "Let the server of LOCALDIR end, and wait until it has",
	  FLAG(stop) },
	{ "probe", NULL,
	  "Ask all other nodes of the job whether they answer, and how fast",
	  FLAG(probe) },

	{ NULL, NULL, "Messages:", .group = 4 },
	{ "report", "FILE", "In the end write an account to FILE, as JSON",
	  CMD_STRING(struct serve_options, report) },
	{ "quiet", NULL, "Only warnings and errors", FLAG(quiet),
	  .letter = 'q' },
	{ "json", NULL, "With --status or --probe: as one JSON object",
	  FLAG(json) },
	{ 0 }
};

static void check(const struct serve_options *o, struct argp_state *state)
{
	const bool serves = o->detach || o->no_tcp || o->deadline ||
			    o->report || o->interface || o->hosts.hosts ||
			    o->rate || o->percent || o->memory_cache;
	const char *instead = o->status ? "--status" :
			      o->stop	? "--stop" :
			      o->probe	? "--probe" :
					  NULL;

	if (o->status + o->stop + o->probe > 1)
		argp_error(state, "%s and %s exclude each other", instead,
			   o->probe ? "--probe" : "--stop");
	if (instead && serves)
		argp_error(state, "%s goes with --quiet%s alone", instead,
			   o->stop ? "" : " and --json");
	if (o->idle != NOT_GIVEN && !o->detach)
		argp_error(state, "--idle goes with --detach");
	if (o->json && !o->status && !o->probe)
		argp_error(state, "--json goes with --status or --probe");
	if (!o->hosts.hosts != !o->hosts.secret)
		argp_error(state, "--hosts and --secret go together");
	if (!o->hosts.hosts && (o->hosts.node != UINT32_MAX || o->hosts.port))
		argp_error(state, "--node and --peer-port go with --hosts");
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
	"nothing serves LOCALDIR, or a node does not answer, 2 wrong "
	"options, 3 trouble, 128+signal.",
	NULL,
	NULL,
	NULL
};

void serve_parse(int argc, char **argv, struct serve_options *o)
{
	o->hosts.node = UINT32_MAX;
	o->idle = NOT_GIVEN;
	cmd_parse(options, &argp, argc, argv, 0, o);
	if (o->idle == NOT_GIVEN)
		o->idle = IDLE;
	/* of a subnet there are addresses of the others, too */
	if (o->interface && strchr(o->interface, '/'))
		o->hosts.subnet = o->interface;
}
