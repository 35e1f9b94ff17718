/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-pack: from folders of small files to a packed dataset. */
#include "pack.h"

static int usage(const char *what)
{
	cmd_message("%s; try 'hpdsl-pack --help'", what);
	return CMD_USAGE;
}

/* Divides the arguments into INPUT... and OUTPUT. */
static int take_arguments(struct pack *p)
{
	if (p->args.n < 1 || (p->args.n < 2 && !p->files_from))
		return usage("INPUT and OUTPUT are needed");
	if (p->null && !p->files_from)
		return usage("--null goes with --files-from");
	p->opt.output = p->args.v[p->args.n - 1];
	p->opt.inputs = p->args.v;
	p->opt.n_inputs = p->args.n - 1;
	return CMD_DONE;
}

static int check_from(const struct pack *p)
{
	if (!p->from_snapshot)
		return CMD_DONE;
	if (p->files_from)
		return usage("--from-snapshot does not go with --files-from");
	if (p->opt.n_inputs != 1)
		return usage("--from-snapshot goes with one INPUT");
	return CMD_DONE;
}

static int take_names(struct pack *p)
{
	int status;

	if (!p->files_from)
		return CMD_DONE;
	status = cmd_names_read(&p->names, p->files_from, p->null);
	if (status)
		return status;
	/* an empty list is a list, too */
	p->opt.list = p->names.bytes;
	p->opt.list_bytes = p->names.size;
	return CMD_DONE;
}

static void planned(void *arg, const struct hpdsl_pack_report *plan)
{
	pack_tell_names(arg, plan);
}

static int prepare(struct pack *p)
{
	struct hpdsl_pack_options *o = &p->opt;
	int status = p->config ? pack_config(p) : CMD_DONE;

	if (!status)
		status = take_arguments(p);
	if (!status)
		status = check_from(p);
	if (status)
		return status;
	cmd_signals(o->output,
		    o->dry_run ? "" :
				 "; the same command with --resume completes "
				 "the pack");
	if (p->deadline)
		cmd_deadline(p->deadline);
	status = take_names(p);
	if (!status)
		status = pack_snapshot_begin(p);
	if (status)
		return status;
	o->include = p->include.v;
	o->n_include = p->include.n;
	o->exclude = p->exclude.v;
	o->n_exclude = p->exclude.n;
	o->meta = p->meta.v;
	o->n_meta = p->meta.n;
	o->threads = p->common.threads;
	o->foreign_owner = p->common.foreign_owner;
	cmd_watch(&o->watch, p->common.quiet);
	o->watch.arg = p;
	if (!p->common.quiet)
		o->planned = planned;
	return CMD_DONE;
}

static int run(struct pack *p)
{
	struct hpdsl_pack_report report = { 0 };
	struct hpdsl_error err;
	int ret;

	/* Each INPUT and each reader takes one: a thousand class folders. */
	cmd_allow_open_files();
	pack_warn_splits(p);
	ret = hpdsl_pack(&p->opt, &report, &err);
	if (ret < 0) {
		cmd_progress_end();
		return pack_tell(&err);
	}
	ret = pack_snapshot_write(p, &err);
	cmd_progress_end();
	/* the dataset is complete, whatever became of its snapshot */
	pack_report(p, &report);
	if (ret == 0)
		return CMD_DONE;
	ret = pack_tell(&err);
	cmd_message("%s: is complete, and only its snapshot is missing, which "
		    "--resume makes",
		    p->opt.output);
	return ret;
}

static void release(struct pack *p)
{
	pack_snapshot_end(p);
	pack_config_free(p->config_state);
	free(p->args.v);
	free(p->include.v);
	free(p->exclude.v);
	free(p->meta.v);
	free(p->names.bytes);
}

int main(int argc, char **argv)
{
	struct pack p = { 0 };
	int status;

	cmd_start(argv);
	argp_parse(pack_argp(), argc, argv, 0, NULL, &p);
	status = prepare(&p);
	if (!status)
		status = run(&p);
	release(&p);
	return status;
}
