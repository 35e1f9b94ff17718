/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-stall run: a job that is measured, and ended when it has been. */
#include "stall.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK 0.5 /* seconds between two looks at what ranks say */
#define GRACE 10 /* .. that ranks and launcher have to end by themselves */

struct run {
	struct hpdsl_stall_options opt;
	struct cmd_common common;
	const char *output;
	bool keep_saves;
	struct cmd_strings allow;
	uint64_t deadline;
	char **command;
	/* While it runs: */
	struct hpdsl_stall *stall;
	pid_t pid;
	struct hpdsl_stall_progress progress;
	enum hpdsl_stall_state said; /* of it, to the user */
	struct stall_told told;	     /* of files, by the job */
	int status;		     /* of the job, in a dry run */
};

#define FLAG(member) CMD_FLAG(struct run, member)
#define NUMBER(member) CMD_NUMBER(struct run, member, 1, 1000000)

const struct cmd_option stall_run_options[] = {
	{ "dir", "DIR",
	  "Where ranks and hpdsl-stall meet: a folder that all nodes of the "
	  "job see (default: the current one)",
	  CMD_STRING(struct run, opt.parent) },
	{ "rounds", "N", "Play all phases N times (default: 3)",
	  NUMBER(opt.rounds) },
	{ "blocks", "N", "Blocks of a phase in a round (default: 3)",
	  NUMBER(opt.blocks) },
	{ "steps", "N",
	  "Steps of a block (default: what is read at a time, or 5 seconds)",
	  NUMBER(opt.steps) },
	{ "no-load", NULL,
	  "Do not tell interference from preparation, which is quicker",
	  FLAG(opt.no_load) },
	{ "separate", NULL,
	  "Start the job anew for each phase, so that none is played beside "
	  "another",
	  FLAG(opt.separate) },
	{ "keep-saves", NULL,
	  "Guard nothing: let the job change and replace what was there "
	  "before",
	  FLAG(keep_saves) },
	{ "allow", "GLOB",
	  "Let the job change files of these names or paths that were there "
	  "before",
	  CMD_STRINGS(struct run, allow) },
	{ "dry-run", NULL,
	  "Measure nothing: let the job train to its end, and tell which files "
	  "that were there before it would change",
	  FLAG(opt.dry) },
	{ "output", "FILE", "Write the report there, not to standard output",
	  CMD_STRING(struct run, output), .letter = 'o' },
	{ "deadline", "TIME",
	  "End with status 75 before TIME has passed: seconds or [D-]HH:MM:SS",
	  CMD_DEADLINE(struct run, deadline) },
	{ "quiet", NULL, "Only warnings and errors, beside the report",
	  FLAG(common.quiet), .letter = 'q' },
	{ "json", NULL, "The report as one JSON object on one line",
	  FLAG(common.json) },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run *r = state->input;
	error_t ret = cmd_options_parse(stall_run_options, key, arg, state);

	if (ret != ARGP_ERR_UNKNOWN)
		return ret;
	switch (key) {
	case ARGP_KEY_ARG:
		/* what follows is the job's */
		r->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		cmd_missing(state, "COMMAND");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp stall_run_argp = {
	NULL,
	parse,
	"-- COMMAND [ARGUMENT...]",
	"Run a training job that uses HPDSL's loader or PyTorch's, measure it, "
	"and end it.\v"
	"COMMAND is what starts the job, as mpirun, srun, torchrun or python, "
	"with all its arguments. Its ranks train on a few batches again and "
	"again: nothing that they write is of any use. Exit status: 0 it was "
	"measured, 1 it made no such loader, 3 trouble, or it ended "
	"before, "
	"75 stopped early.",
	NULL,
	NULL,
	NULL
};

/* ---- While it runs ---------------------------------------------------- */

static const char *which_run(const struct run *r)
{
	static char which[40];

	if (r->progress.runs > 1)
		snprintf(which, sizeof(which),
			 "run %u of %u: ", r->progress.run + 1,
			 r->progress.runs);
	return which;
}

static void tell_state(struct run *r)
{
	const struct hpdsl_stall_progress *p = &r->progress;

	if (r->said == p->state || r->common.quiet)
		return;
	r->said = p->state;
	if (p->state == HPDSL_STALL_WAITING)
		return;
	if (p->state == HPDSL_STALL_PLAYING)
		cmd_message(
			"%s%s, alike by now: measuring takes each %s, about "
			"%s",
			which_run(r), cmd_many(p->started, "rank").s,
			cmd_many(p->steps, "step").s,
			cmd_seconds(p->seconds).s);
	else
		cmd_message("%smeasured; now the job is killed, whatever its "
			    "launcher says of that",
			    which_run(r));
}

/* "exit status 1"; as shells have them, those of signals are 128 more. */
static const char *how(int status)
{
	static char text[80];

	if (status > 128 && status < 128 + 65)
		snprintf(text, sizeof(text), "exit status %d (%s)", status,
			 strsignal(status - 128));
	else
		snprintf(text, sizeof(text), "exit status %d", status);
	return text;
}

/* The job came to its end before it was measured. */
static int ended_early(const struct run *r, int status)
{
	const struct hpdsl_stall_progress *p = &r->progress;

	if (!p->loaders) {
		cmd_message("%s%s ended with %s, and made no loader "
			    "of HPDSL, and no DataLoader of PyTorch's that "
			    "could be seen (python -I and -E do not look)",
			    which_run(r), r->command[0], how(status));
		return CMD_NO;
	}
	if (p->state == HPDSL_STALL_WAITING)
		cmd_message("%s%s ended with %s before its loaders had handed "
			    "out 20 steps that were alike: let it run for more "
			    "epochs",
			    which_run(r), r->command[0], how(status));
	else
		cmd_message("%s%s ended with %s when %llu of %llu "
			    "blocks had been measured, which take %llu steps "
			    "a rank: more epochs, or --steps, make it do",
			    which_run(r), r->command[0], how(status),
			    (unsigned long long)p->blocks,
			    (unsigned long long)p->of,
			    (unsigned long long)p->steps);
	return CMD_TROUBLE;
}

/* Has it ended, within GRACE?  Its ranks see all the time that somebody lives.
 */
static bool ends(struct run *r)
{
	struct hpdsl_error err;
	int status;

	for (unsigned i = 0; i < GRACE / TICK; i++) {
		if (stall_has_ended(r->pid, TICK, &status))
			return true;
		hpdsl_stall_tend(r->stall, &r->progress, &err);
	}
	return false;
}

/* Without the processes that it has here, a launcher sees its own end.  What
 * was started may as well be a rank itself, which a TERM would tell to save. */
static void end_launcher(struct run *r)
{
	stall_bond_anew(r->pid);
	if (ends(r))
		return;
	kill(r->pid, SIGKILL);
	while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Ranks kill themselves; launchers see that, or not. */
static void see_end(struct run *r)
{
	if (!ends(r))
		end_launcher(r);
}

/*
 * A job that replays must not be told to end: it would keep what it has
 * "trained".  One that does not yet may.
 */
static void give_up(struct run *r)
{
	struct hpdsl_error err;
	bool trains = r->progress.state == HPDSL_STALL_WAITING;
	bool knows = hpdsl_stall_give_up(r->stall, &err) == 0;

	if (trains)
		kill(r->pid, SIGTERM);
	if (trains || knows)
		see_end(r);
	else
		end_launcher(r);
}

/* An exit status; 0: it has been measured, and has ended. */
static int watch(struct run *r)
{
	struct hpdsl_error err;
	int status = 0;

	for (;;) {
		bool ended = stall_has_ended(r->pid, TICK, &status);

		if (__atomic_load_n(&cmd_stop, __ATOMIC_RELAXED)) {
			if (!ended)
				give_up(r);
			if (!cmd_signals_came())
				cmd_message("stopped early, by SIGUSR1 or "
					    "--deadline, before %s was "
					    "measured",
					    r->command[0]);
			return CMD_STOPPED;
		}
		if (hpdsl_stall_tend(r->stall, &r->progress, &err) < 0) {
			if (!ended)
				give_up(r);
			cmd_message("%s", err.msg);
			return CMD_TROUBLE;
		}
		tell_state(r);
		if (r->progress.state == HPDSL_STALL_MEASURED) {
			if (!ended)
				see_end(r);
			return CMD_DONE;
		}
		if (ended && r->opt.dry && r->progress.loaders) {
			r->status = status;
			return CMD_DONE;
		}
		if (ended)
			return ended_early(r, status);
	}
}

/* An exit status, as watch() has it, of as many runs as it takes. */
static int measure(struct run *r)
{
	struct hpdsl_error err;
	int status, again;

	do {
		memset(&r->progress, 0, sizeof(r->progress));
		r->pid = stall_start(r->command, hpdsl_stall_beat(r->stall));
		if (r->pid < 0)
			return CMD_TROUBLE;
		status = watch(r);
		if (stall_told_read(&r->told, hpdsl_stall_beat(r->stall)) !=
			    CMD_DONE &&
		    status == CMD_DONE)
			status = CMD_TROUBLE;
		if (status != CMD_DONE)
			return status;
		again = hpdsl_stall_again(r->stall, &err);
	} while (again > 0);
	return again < 0 ? cmd_tell(&err) : CMD_DONE;
}

/* ---- The report ------------------------------------------------------- */

static int write_file(const char *file, const char *text, size_t size,
		      struct hpdsl_error *err)
{
	struct cmd_file f;
	int r = cmd_file_open(&f, file, err);

	if (r < 0)
		return r;
	fwrite(text, 1, size, f.out); /* closing tells what went wrong */
	return cmd_file_close(&f, err);
}

/* Beside the report: what an xargs -0 rm takes. */
static int write_made(const struct run *r, char **ret)
{
	const struct stall_paths *made = &r->told.of[STALL_MADE];
	struct hpdsl_error err;
	cmd_auto_free char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		cmd_no_memory();
	for (size_t i = 0; i < made->n; i++)
		fwrite(made->v[i], 1, strlen(made->v[i]) + 1, out);
	if (fclose(out) != 0 ||
	    (r->output ?
		     asprintf(ret, "%s.made", r->output) :
		     asprintf(ret, "hpdsl-stall-made.%ld", (long)getpid())) < 0)
		cmd_no_memory();
	return write_file(*ret, text, n, &err) < 0 ? cmd_tell(&err) : CMD_DONE;
}

/* Whatever became of the job: an exit status. */
static int tell_files(struct run *r)
{
	cmd_auto_free char *list = NULL;
	int status = CMD_DONE;

	stall_told_end(&r->told);
	/* One of an earlier run would name what may be results by now. */
	if (r->told.of[STALL_MADE].n || r->output)
		status = write_made(r, &list);
	stall_told_show(&r->told, list);
	return status;
}

static void report_dry(FILE *out, const struct run *r)
{
	const struct stall_told *t = &r->told;

	fprintf(out,
		"all %s that made a loader were guarded; %s ended with %s\n"
		"of files that were there before %zu would be written to, %zu "
		"changed in place, %zu removed, moved or replaced; it made "
		"%zu\n",
		cmd_many(r->progress.loaders, "process").s, r->command[0],
		how(r->status), t->of[STALL_ASIDE].n, t->of[STALL_REFUSED].n,
		t->of[STALL_KEPT].n, t->of[STALL_MADE].n);
}

static int report(const struct run *r)
{
	struct stall_report s = { .stall = r->stall,
				  .progress = r->progress,
				  .command = r->command,
				  .told = &r->told,
				  .dry = r->opt.dry,
				  .status = r->status };
	struct hpdsl_error err;
	char *text = NULL;
	size_t size;
	FILE *out;
	int status = CMD_DONE;

	if (!r->opt.dry && hpdsl_stall_split(r->stall, &s.split, &err) < 0)
		return cmd_tell(&err);
	out = open_memstream(&text, &size);
	if (!out)
		cmd_no_memory();
	if (r->common.json)
		stall_report_json(out, &s);
	else if (r->opt.dry)
		report_dry(out, r);
	else
		stall_report_text(out, &s);
	if (fclose(out) != 0)
		cmd_no_memory();
	if (!r->output)
		cmd_write(text, size);
	else if (write_file(r->output, text, size, &err) < 0)
		status = cmd_tell(&err);
	free(text);
	return status;
}

int stall_run(int argc, char **argv)
{
	struct run r = { 0 };
	struct hpdsl_error err;
	int status, files = CMD_DONE;

	cmd_parse(stall_run_options, &stall_run_argp, argc, argv, ARGP_IN_ORDER,
		  &r);
	cmd_output_start();
	if (r.output && cmd_file_try(r.output, &err) < 0)
		return cmd_tell(&err);
	cmd_signals(r.command[0], "");
	cmd_signals_wait();
	if (r.deadline)
		cmd_deadline(r.deadline);
	if (hpdsl_stall_new(&r.opt, &r.stall, &err) < 0)
		return cmd_tell(&err);
	/* What trains as ever may go on. */
	if (!r.opt.dry)
		stall_bond();
	status = stall_hook();
	stall_hand_on(r.keep_saves, &r.allow);
	if (status == CMD_DONE) {
		status = measure(&r);
		files = tell_files(&r);
	}
	if (status == CMD_DONE)
		status = report(&r);
	if (status == CMD_DONE)
		status = files;
	hpdsl_stall_free(r.stall);
	stall_told_release(&r.told);
	free(r.allow.v);
	cmd_signals_end();
	return status;
}
